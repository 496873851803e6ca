import { describe, expect, it } from "vitest";
import { renderToStaticMarkup } from "react-dom/server";
import { closeOpen, sources, Spoken } from "./markdown";

const html = (text: string): string => renderToStaticMarkup(<Spoken text={text} />);

describe("Spoken", () => {
  it("draws paragraphs, emphasis, lists and code", () => {
    expect(html("A **b** and *c*.\n\n- one\n- two `x`\n\n2. two\n3. three")).toBe(
      '<div class="spoken"><p>A <strong>b</strong> and <em>c</em>.</p><ul><li>one</li><li>two <code>x</code></li></ul><ol start="2"><li>two</li><li>three</li></ol></div>',
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
    const text = "One.\n\nTwo\n- a\n- b\n\n```\ncode\n\nstill\n```\nafter";
    const whole = sources(text);
    for (let at = 0; at < text.length; at++) {
      const part = sources(text.slice(0, at));
      expect(part.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, part.length - 1)));
    }
  });

  it("closes what is open while it grows", () => {
    expect(closeOpen("a **b")).toBe("a **b**");
    expect(closeOpen("a **b*")).toBe("a **b**");
    expect(closeOpen("a **b** c")).toBe("a **b** c");
  });
});
