import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { closeOpen, readBlock, Spoken, sources } from "./markdown";

const drawn = (text: string): string => renderToStaticMarkup(<Spoken text={text} />);
/** Without what every block has, which a test of its own is about. */
const html = (text: string): string => drawn(text).replaceAll(' dir="auto"', "");

describe("Spoken", () => {
  it("lets every block begin at the side that its own words begin at", () => {
    const blocks = drawn("שלום\n\n# מה\n\n> כן\n\n- א\n  1. ב\n\n```\nx\n```\n\n| א | b |\n|--|--|\n| ג | d |");
    const without = [...blocks.matchAll(/<(p|ul|ol|blockquote|pre|td|th)(?![a-z])([^>]*)>/g)].filter(
      ([, , rest]) => !rest?.includes('dir="auto"'),
    );
    expect(without).toEqual([]);
  });

  it("draws paragraphs, emphasis, lists and code", () => {
    expect(html("A **b** and *c*.\n\n- one\n- two `x`\n\n2. two\n3. three")).toBe(
      '<div class="spoken"><p>A <strong>b</strong> and <em>c</em>.</p><ul><li>one</li><li>two <code>x</code></li></ul><ol start="2"><li>two</li><li>three</li></ol></div>',
    );
  });

  it("draws lists within lists, of both kinds", () => {
    expect(html("1. one\n   - a\n     more\n   - b\n     - deep\n2. two\n\n- x\n  1. y")).toBe(
      '<div class="spoken"><ol start="1"><li>one<ul><li>a more</li><li>b<ul><li>deep</li></ul></li></ul></li><li>two</li></ol>' +
        '<ul><li>x<ol start="1"><li>y</li></ol></li></ul></div>',
    );
  });

  it("strikes through, and links bare addresses without the sentence's full stop", () => {
    expect(html("~~no~~ yes, 2~3")).toBe('<div class="spoken"><p><del>no</del> yes, 2~3</p></div>');
    expect(html("See https://example.org/a_b_c.")).toMatch(
      /<a href="https:\/\/example.org\/a_b_c"[^>]*>https:\/\/example.org\/a_b_c<\/a>\.<\/p>/,
    );
    expect(html("[**a** (b)](https://example.org/x_(y))")).toMatch(
      /href="https:\/\/example.org\/x_\(y\)"[^>]*><strong>a<\/strong> \(b\)<\/a>/,
    );
  });

  it("leaves HTML as the text it is", () => {
    expect(html("<img src=x onerror=alert(1)> <script>alert(1)</script>")).not.toMatch(/<img|<script/);
  });

  it("links only to http addresses", () => {
    expect(html("[a](https://example.org/x)")).toContain('href="https://example.org/x"');
    expect(html("[a](javascript:alert(1))")).not.toContain("href");
    expect(html("[a](data:text/html,x)")).not.toContain("href");
  });

  it("leaves single stars and underscores in words alone", () => {
    expect(html("2 * 3 and snake_case_name")).toBe('<div class="spoken"><p>2 * 3 and snake_case_name</p></div>');
  });

  it("keeps finished blocks the same while text is added", () => {
    const text = "One.\n\nTwo\n- a\n- b\n\n```\ncode\n\nstill\n```\nafter\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
    const whole = sources(text);
    for (let at = 0; at < text.length; at++) {
      const part = sources(text.slice(0, at));
      expect(part.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, part.length - 1)));
    }
  });

  it("draws a table, with its alignment, to the width of its head", () => {
    expect(
      html("Thus:\n| Option | Cost |\n|:--|--:|\n| **Wait** | 1 |\n| Go \\| run |\n| Stay | 2 | 3 |\n\nEnd."),
    ).toBe(
      '<div class="spoken"><p>Thus:</p><div class="md-table" role="group" aria-label="Table" tabindex="0"><table>' +
        '<thead><tr><th class="align-left" scope="col">Option</th><th class="align-right" scope="col">Cost</th></tr></thead><tbody>' +
        '<tr><td class="align-left"><strong>Wait</strong></td><td class="align-right">1</td></tr>' +
        '<tr><td class="align-left">Go | run</td><td class="align-right"></td></tr>' +
        '<tr><td class="align-left">Stay</td><td class="align-right">2</td></tr>' +
        "</tbody></table></div><p>End.</p></div>",
    );
  });

  it("ends a table where something else begins, and needs no pipes at the edges", () => {
    const kinds = (text: string): string[] => sources(text).map((source) => readBlock(source).kind);
    expect(kinds("a | b\n--- | ---\n1 | 2\n- one\n- two")).toEqual(["table", "list"]);
    expect(kinds("a | b\n--- | ---\n> so")).toEqual(["table", "quote"]);
    expect(kinds("a | b\n--- | ---\n# so")).toEqual(["table", "heading"]);
    expect(kinds("| a | b |\n|---|---|\n| 1 | 2 |\n| - | - |\n| 3 | 4 |")).toEqual(["table"]);
  });

  it("leaves what only looks like a table alone", () => {
    for (const text of ["a | b\nc | d", "a | b\n---|---|---", "either | or", "a\n|---|", "|---|---|"]) {
      expect(html(text)).not.toContain("<table");
    }
  });

  it("leaves HTML in a table as the text it is", () => {
    const drawn = html(
      "| <img src=x onerror=alert(1)> | [a](javascript:alert(1)) |\n|---|---|\n| <script>alert(1)</script> | `<b>` |",
    );
    expect(drawn).toContain("<table>");
    expect(drawn).not.toMatch(/<img|<script|<b>|href/);
    expect(drawn).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  });

  it("has its caret in the last cell while a table grows", () => {
    const growing = (text: string): string => renderToStaticMarkup(<Spoken text={text} growing />);
    expect(growing("| a | b |\n|---|---|")).toMatch(/b<span class="streaming-cursor"[^>]*><\/span><\/th>/);
    expect(growing("| a | b |\n|---|---|\n| 1 | **2")).toMatch(
      /<strong>2<\/strong><span class="streaming-cursor"[^>]*><\/span><\/td><\/tr><\/tbody>/,
    );
  });

  it("closes what is open while it grows", () => {
    expect(closeOpen("a **b")).toBe("a **b**");
    expect(closeOpen("a **b*")).toBe("a **b**");
    expect(closeOpen("a **b** c")).toBe("a **b** c");
  });
});
