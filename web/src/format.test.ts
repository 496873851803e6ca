import { expect, it } from "vitest";
import { asSentence } from "./format";

it("makes a sentence of what others say went wrong", () => {
  expect(asSentence("the model's reply is no valid JSON")).toBe("The model's reply is no valid JSON.");
  expect(asSentence("gpt-x: the provider is overloaded")).toBe("gpt-x: the provider is overloaded.");
  expect(asSentence("moot is not answering. It may have been stopped.")).toBe(
    "moot is not answering. It may have been stopped.",
  );
  expect(asSentence("He said “no.”")).toBe("He said “no.”");
  expect(asSentence("")).toBe("");
});
