import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { closeOpen, Sources, Spoken } from "./markdown";

const sources = (text: string): string[] => new Sources().of(text);
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

  it("lets no address but those of the web through, however it is written", () => {
    const addresses = [
      "javascript:alert(1)",
      "JavaScript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "//example.org",
      "/x",
    ];
    for (const address of [...addresses, " javascript:x", "\\javascript:x", "&#106;avascript:x", "java\tscript:x"]) {
      for (const text of [
        `[a](${address})`,
        `[a](<${address}>)`,
        `![a](${address})`,
        `<${address}>`,
        `[a]: ${address}\n\n[a]`,
      ]) {
        expect(html(text), text).not.toMatch(/<(a|img)\b/);
      }
    }
  });

  it("fetches no image: it is a link to it", () => {
    expect(html("![a *b*](https://example.org/x.png)")).toMatch(
      /<p><a href="https:\/\/example.org\/x.png"[^>]*>a <em>b<\/em><\/a><\/p>/,
    );
    expect(html("![](https://example.org/x.png)")).toContain(">https://example.org/x.png</a>");
  });

  it("draws what stands within items and quotes, and goes on with a list after a blank line", () => {
    expect(html("1. one\n\n   more\n\n   ```\n   x\n   ```\n\n2. two\n\n> a\n>\n> - b")).toBe(
      '<div class="spoken"><ol start="1"><li>one<p>more</p><pre tabindex="0"><code>x</code></pre></li><li>two</li></ol>' +
        "<blockquote>a<ul><li>b</li></ul></blockquote></div>",
    );
    expect(html("- [ ] open\n- [x] done")).toBe('<div class="spoken"><ul><li>☐ open</li><li>☑ done</li></ul></div>');
  });

  it("reads what models write and the standard does not", () => {
    expect(html("• one\n• two")).toBe('<div class="spoken"><ul><li>one</li><li>two</li></ul></div>');
    expect(html("**注意：**这是")).toBe('<div class="spoken"><p><strong>注意：</strong>这是</p></div>');
    expect(html("~5 min (~10 at most)")).toBe('<div class="spoken"><p>~5 min (~10 at most)</p></div>');
    expect(html("Thus:\n---\n[1]: so")).toBe('<div class="spoken"><p>Thus:</p><hr/><p>[1]: so</p></div>');
  });

  it("draws marks within marks without end as text", () => {
    for (const [open, close] of [
      [">", ""],
      ["1. ", ""],
      ["- ", ""],
      ["*a **b ", " c** d*"],
      ["~~a *", "* b~~"],
      ["![", "](https://example.org)"],
    ] as const) {
      const deep = html(`${open.repeat(2000)}x${close.repeat(2000)}`);
      expect(deep).toContain("x");
      expect(deep.match(/<(blockquote|ol|ul|em|strong|del|a)\b/g)?.length ?? 0).toBeLessThan(30);
    }
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

  it("cuts a text that grows as it cuts the whole", () => {
    const text =
      "# One\n\nTwo\n- a\n\n- b\n\n  more\n\n\n1. x\n\n```\ncode\n\nstill\n```\nafter\r\n| a | b |\r\n|---|---|\n| 1 | 2 |\n> so\nand on\n\n> more\n---\n• one\n• two\n\n    far in\n\nend";
    for (const step of [1, 2, 3, 7, 20]) {
      const growing = new Sources();
      for (let at = 0; at < text.length + step; at += step) {
        expect(growing.of(text.slice(0, at)), `step ${step}, at ${at}`).toEqual(sources(text.slice(0, at)));
      }
      expect(growing.of("Another.\n\nText")).toEqual(["Another.", "Text"]);
    }
  });

  it("cuts a text that grows as it cuts the whole, whatever is in it", () => {
    const bits = [
      "a",
      " ",
      "\n",
      "\n\n",
      "- ",
      "-",
      "--",
      "> ",
      "1. ",
      "```",
      "|",
      "| a | b |",
      "|--|--|",
      "# ",
      "    ",
      "**",
      "• ",
      "\r\n",
      "\t",
      "<div>",
      "[x]: y",
      "===",
    ];
    let seed = 1;
    const next = (): number => {
      seed = (seed * 48271) % 2147483647;
      return seed;
    };
    for (let round = 0; round < 300; round++) {
      const growing = new Sources();
      for (let text = ""; text.length < 60; text += bits[next() % bits.length]) {
        expect(growing.of(text), JSON.stringify(text)).toEqual(sources(text));
      }
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
    const kinds = (text: string): string[] =>
      sources(text).map((source) => /<(table|ul|blockquote|p class="md-heading")/.exec(html(source))?.[1] ?? "");
    expect(kinds("a | b\n--- | ---\n1 | 2\n- one\n- two")).toEqual(["table", "ul"]);
    expect(kinds("a | b\n--- | ---\n> so")).toEqual(["table", "blockquote"]);
    expect(kinds("a | b\n--- | ---\n# so")).toEqual(["table", 'p class="md-heading"']);
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
