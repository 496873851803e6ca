import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { pieces, type Reading, ReadingContext, shown, sign, unsigned } from "./citing";
import { Line, Spoken } from "./markdown";
import type { Citation, EvidenceItem } from "./wire";

/** Where the brackets stand, as the server counts: in characters. */
function cite(text: string, brackets: string, ...within: Partial<Citation>[]): Citation[] {
  const characters = [...text];
  const width = [...brackets].length;
  const start = characters.findIndex((_, at) => characters.slice(at, at + width).join("") === brackets);
  const whole = { item: "E1", first: null, last: null, start, end: start + width, check: "verified" as const };
  return (within.length > 0 ? within : [{}]).map((one) => ({ ...whole, ...one }));
}

const item = (id: string): EvidenceItem => ({
  id,
  name: "plan.md",
  origin: "plan.md",
  sha256: "ab",
  mediaType: "text/markdown",
  lines: 9,
  tokens: 9,
  isImage: false,
});
const reading: Reading = { session: "s1", evidence: [item("E1"), item("E2")], open: () => undefined };
const drawn = (text: string, citations: readonly Citation[], growing = false): string =>
  renderToStaticMarkup(
    <ReadingContext value={reading}>
      <Spoken text={text} citations={citations} growing={growing} />
    </ReadingContext>,
  );
const words = (html: string): string => html.replace(/<[^>]+>/g, "");

describe("a citation", () => {
  it("leads to its lines, behind characters that are two halves each", () => {
    const text = "🙂🙂 so [E1:2] it is";
    const html = drawn(text, cite(text, "[E1:2]", { first: 2, last: 2 }));
    expect(words(html)).toBe(text);
    expect(html).toContain(
      '[<span><a href="/s/s1/evidence/E1/2-2" class="cite" title="E1, plan.md, line 2">E1:2</a></span>]',
    );
  });

  it("shares its brackets with others, and each leads to its own", () => {
    const text = "all [E1:3-4, E2] of it";
    const html = drawn(text, cite(text, "[E1:3-4, E2]", { first: 3, last: 4 }, { item: "E2" }));
    expect(words(html)).toBe(text);
    expect([...html.matchAll(/href="([^"]+)"/g)].map((one) => one[1])).toEqual([
      "/s/s1/evidence/E1/3-4",
      "/s/s1/evidence/E2",
    ]);
  });

  it("that was not found says so, and leads only to what is there", () => {
    const text = "see [E1:90] and [E7:1]";
    const html = drawn(text, [
      ...cite(text, "[E1:90]", { first: 90, last: 90, check: "not in the lines" }),
      ...cite(text, "[E7:1]", { item: "E7", first: 1, last: 1, check: "no such item" }),
    ]);
    expect(words(html)).toBe("see [E1:90 not in the lines] and [E7:1 no such item]");
    expect(html.match(/href/g)).toHaveLength(1);
  });

  it("is a link in emphasis, lists, tables and headings, and text in code", () => {
    for (const around of ["**a [E1] b**", "- a [E1]", "> a [E1]", "# a [E1]", "| a [E1] |\n|---|\n| b |"]) {
      expect(drawn(around, cite(around, "[E1]"))).toContain('href="/s/s1/evidence/E1"');
    }
    for (const code of ["`a [E1]`", "```\na [E1]\n```"]) {
      const html = drawn(code, cite(code, "[E1]"));
      expect(html).not.toContain("href");
      expect(html).toContain("a [E1]");
    }
  });

  it("before round brackets is no link of the model's", () => {
    const text = "so [E1](https://evil.example) it";
    const html = drawn(text, cite(text, "[E1]"));
    expect(html).toContain('href="/s/s1/evidence/E1"');
    expect(html).not.toContain("evil.example&quot;");
    expect(html).not.toContain('href="https://evil.example"><');
  });

  it("is text while the words are still coming", () => {
    expect(words(drawn("so [E1:2", [], true))).toBe("so [E1:2");
    expect(drawn("so [E1:2] it", [], true)).not.toContain("href");
  });

  it("in a line of the brief is found by that line", () => {
    const text = "Wait [E1:2].";
    const cited = [{ text, citations: cite(text, "[E1:2]", { first: 2, last: 2 }) }];
    const html = renderToStaticMarkup(
      <ReadingContext value={reading}>
        <Line text={text} cited={cited} />
        <Line text="Go [E1:2]." cited={cited} />
      </ReadingContext>,
    );
    expect(words(html)).toBe("Wait [E1:2].Go [E1:2].");
    expect(html.match(/href/g)).toHaveLength(1);
  });

  it("is written as it stands in brackets", () => {
    expect(shown({ item: "E2", first: null, last: null })).toBe("E2");
    expect(shown({ item: "E2", first: 3, last: 3 })).toBe("E2:3");
    expect(shown({ item: "E2", first: 3, last: 5 })).toBe("E2:3-5");
  });
});

describe("a sign", () => {
  it("that a model has written itself cites nothing", () => {
    const forged = "so [E1]\ue000 and [x]\ue005 it";
    expect(pieces(sign(forged, cite(forged, "[E1]")))).toEqual(["so ", 0, " and [x] it"]);
    const html = drawn(forged, []);
    expect(html).not.toContain("href");
    expect(words(html)).not.toMatch(/[\ue000-\uf8ff]/);
  });

  it("is never left in the words, wherever the server says that something is cited", () => {
    const text = "a *b* [c](d) `e` <f> 🙂 [E1]\n\n- g";
    for (let end = 0; end <= [...text].length + 2; end++) {
      const odd = [{ item: "E1", first: 1, last: 1, start: 0, end, check: "verified" as const }];
      expect(unsigned(sign(text, odd))).toBe(text);
      expect(drawn(text, odd)).not.toMatch(/[\ue000-\uf8ff]/);
    }
  });
});
