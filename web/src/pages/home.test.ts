import { expect, it } from "vitest";
import type { SessionSummary } from "../wire";
import { standing } from "./home";

const written = {
  step: "review",
  hasBrief: true,
  briefStale: false,
  live: false,
  personaCount: 8,
  completeCount: 8,
} as SessionSummary;

it("says of a brief whether it is out of date", () => {
  expect(standing(written)).toBe("Brief ready");
  expect(standing({ ...written, briefStale: true })).toBe("Brief out of date");
});
