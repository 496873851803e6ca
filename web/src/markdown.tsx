/**
 * Model text, drawn. A small part of Markdown becomes React elements; everything else stays the text it
 * is. There is no path from a model's words to HTML, and links lead only to http(s) addresses.
 */

import { memo, type ReactNode } from "react";

export type Align = "left" | "center" | "right";

export interface List {
  kind: "list";
  ordered: boolean;
  start: number;
  items: Item[];
}

export interface Item {
  text: string;
  /** Lists that are set in below it. */
  lists: List[];
}

export type Block =
  | { kind: "paragraph" | "quote"; text: string }
  | { kind: "heading"; text: string }
  | List
  | { kind: "code"; text: string }
  | { kind: "table"; head: string[]; align: Align[]; rows: string[][] }
  | { kind: "rule" };

const FENCE = /^\s*(```|~~~)/;
const BULLET = /^\s{0,16}[-*+•]\s+(.*)$/;
const NUMBER = /^\s{0,16}(\d{1,3})[.)]\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^\s*>/;
/** A cell of the line under a table's head. */
const DELIMITER = /^:?-+:?$/;

function cells(line: string): string[] {
  const row = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function beginsTable(head: string | undefined, under: string | undefined): boolean {
  if (head === undefined || under === undefined || !head.includes("|") || !under.includes("|")) return false;
  const marks = cells(under);
  return marks.every((mark) => DELIMITER.test(mark)) && cells(head).length === marks.length;
}

/** Cuts a text into the sources of its blocks: a finished block keeps its string while text is added. */
export function sources(text: string): string[] {
  const out: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const close = (): void => {
    if (lines.length > 0) out.push(lines.join("\n"));
    lines = [];
  };
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      lines.push(line);
      if (mark === fence) {
        fence = null;
        close();
      }
    } else if (mark !== undefined) {
      close();
      fence = mark;
      lines.push(line);
    } else if (line.trim() === "") {
      close();
    } else if (HEADING.test(line) || RULE.test(line)) {
      close();
      out.push(line);
    } else if (beginsTable(lines[0], lines[1])) {
      if (QUOTE.test(line) || BULLET.test(line) || NUMBER.test(line)) close();
      lines.push(line);
    } else if (beginsTable(lines.at(-1), line)) {
      const head = lines.pop() ?? "";
      close();
      lines = [head, line];
    } else {
      const item = BULLET.test(line) ? "-" : NUMBER.test(line) ? "1" : "";
      const before = lines[0] === undefined ? null : BULLET.test(lines[0]) ? "-" : NUMBER.test(lines[0]) ? "1" : "";
      const within = before !== "" && indent(line) > indent(lines[0] ?? "");
      if (before !== null && item !== "" && before !== item && !within) close();
      lines.push(line);
    }
  }
  close();
  return out;
}

/** How far a line is set in; a tab is as wide as four spaces. */
function indent(line: string): number {
  return (/^\s*/.exec(line)?.[0] ?? "").replaceAll("\t", "    ").length;
}

function readList(lines: readonly string[]): List {
  const begin = (line: string): List => ({
    kind: "list",
    ordered: !BULLET.test(line),
    start: Number(NUMBER.exec(line)?.[1] ?? 1),
    items: [],
  });
  const whole = begin(lines[0] ?? "");
  /** The lists that are open, each within the one before, and how far its items are set in. */
  const open: { list: List; at: number }[] = [{ list: whole, at: indent(lines[0] ?? "") }];
  for (const line of lines) {
    const text = BULLET.exec(line)?.[1] ?? NUMBER.exec(line)?.[2];
    let inner = open.at(-1);
    if (text === undefined) {
      const last = inner?.list.items.at(-1);
      if (last) last.text = `${last.text} ${line.trim()}`.trim();
      continue;
    }
    while (inner && open.length > 1 && indent(line) < inner.at) {
      open.pop();
      inner = open.at(-1);
    }
    const above = inner?.list.items.at(-1);
    if (inner && above && indent(line) >= inner.at + 2) {
      inner = { list: begin(line), at: indent(line) };
      above.lists.push(inner.list);
      open.push(inner);
    }
    inner?.list.items.push({ text, lists: [] });
  }
  return whole;
}

export function readBlock(source: string): Block {
  const lines = source.split("\n");
  const first = lines[0] ?? "";
  if (FENCE.test(first)) {
    const body = lines.slice(1);
    if (body.length > 0 && FENCE.test(body.at(-1) ?? "")) body.pop();
    return { kind: "code", text: body.join("\n") };
  }
  const heading = HEADING.exec(first);
  if (heading && lines.length === 1) return { kind: "heading", text: heading[1] ?? "" };
  if (RULE.test(first) && lines.length === 1) return { kind: "rule" };
  if (beginsTable(first, lines[1])) {
    const head = cells(first);
    const align = cells(lines[1] ?? "").map(
      (mark): Align => (!mark.endsWith(":") ? "left" : mark.startsWith(":") ? "center" : "right"),
    );
    const rows = lines.slice(2).map((line) => {
      const row = cells(line);
      return head.map((_, at) => row[at] ?? "");
    });
    return { kind: "table", head, align, rows };
  }
  if (BULLET.test(first) || NUMBER.test(first)) {
    return readList(lines);
  }
  if (lines.every((line) => QUOTE.test(line))) {
    return { kind: "quote", text: lines.map((line) => line.replace(/^\s*>\s?/, "")).join(" ") };
  }
  return { kind: "paragraph", text: lines.join("\n") };
}

const INLINE =
  /(`+)([\s\S]+?)\1|\*\*(?=\S)([\s\S]+?)\*\*|__(?=\S)([\s\S]+?)__|\*(?=[^\s*])([^*]+?)\*|(?<![\p{L}\p{N}])_(?=[^\s_])([^_]+?)_(?![\p{L}\p{N}])|\[([^\]\n]+)\]\((https?:\/\/(?:[^\s()]|\([^\s()]*\))+)\)|~~(?=\S)([\s\S]+?)~~|(?<![\p{L}\p{N}])(https?:\/\/[^\s<>"'`*]*[^\s<>"'`*.,;:!?)\]])/u;

export function inline(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let rest = text;
  for (let key = 0; rest !== ""; key++) {
    const match = INLINE.exec(rest);
    if (!match) {
      out.push(rest);
      break;
    }
    if (match.index > 0) out.push(rest.slice(0, match.index));
    const [all, , code, strong, strongToo, em, emToo, label, href, struck, bare] = match;
    if (code !== undefined) out.push(<code key={key}>{code}</code>);
    else if (strong !== undefined || strongToo !== undefined) {
      out.push(<strong key={key}>{inline(strong ?? strongToo ?? "")}</strong>);
    } else if (em !== undefined || emToo !== undefined) out.push(<em key={key}>{inline(em ?? emToo ?? "")}</em>);
    else if (struck !== undefined) out.push(<del key={key}>{inline(struck)}</del>);
    else {
      out.push(
        <a key={key} href={bare ?? href} target="_blank" rel="noopener noreferrer nofollow">
          {bare ?? inline(label ?? "")}
        </a>,
      );
    }
    rest = rest.slice(match.index + all.length);
  }
  return out;
}

/** While a text grows, a mark that was opened and not yet closed is closed for the eye. */
export function closeOpen(text: string): string {
  let closed = text.replace(/\*{1,2}$/, "");
  if ((closed.match(/\*\*/g)?.length ?? 0) % 2 === 1) closed += "**";
  return closed;
}

/** The caret stands in the very last item. The list has the direction, not the items: its marks stand at one side. */
function ListView({ list, caret }: { list: List; caret: ReactNode }): ReactNode {
  const items = list.items.map((item, at) => {
    const here = at === list.items.length - 1 ? caret : null;
    return (
      <li key={at}>
        {inline(item.text)}
        {item.lists.map((inner, n) => (
          <ListView key={n} list={inner} caret={n === item.lists.length - 1 ? here : null} />
        ))}
        {item.lists.length === 0 ? here : null}
      </li>
    );
  });
  return list.ordered ? (
    <ol start={list.start} dir="auto">
      {items}
    </ol>
  ) : (
    <ul dir="auto">{items}</ul>
  );
}

const BlockView = memo(function BlockView({ source, growing }: { source: string; growing: boolean }): ReactNode {
  const block = readBlock(growing ? closeOpen(source) : source);
  const caret = growing ? <span className="streaming-cursor" aria-hidden="true" /> : null;
  switch (block.kind) {
    case "rule":
      return <hr />;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself when it is wide, by keys, too
        <pre tabIndex={0} dir="auto">
          <code>{block.text}</code>
          {caret}
        </pre>
      );
    case "table": {
      const width = block.head.length;
      const end = block.rows.length - 1;
      const className = (at: number): string => `align-${block.align[at] ?? "left"}`;
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself when it is wide, by keys, too
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls, and this has none
        <div className="md-table" role="group" aria-label="Table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {block.head.map((cell, at) => {
                  const Cell = cell === "" ? "td" : "th";
                  return (
                    <Cell key={at} dir="auto" className={className(at)} {...(cell === "" ? {} : { scope: "col" })}>
                      {inline(cell)}
                      {end < 0 && at === width - 1 ? caret : null}
                    </Cell>
                  );
                })}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, y) => (
                <tr key={y}>
                  {row.map((cell, at) => (
                    <td key={at} dir="auto" className={className(at)}>
                      {inline(cell)}
                      {y === end && at === width - 1 ? caret : null}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case "heading":
      return (
        <p className="md-heading" dir="auto">
          {inline(block.text)}
          {caret}
        </p>
      );
    case "quote":
      return (
        <blockquote dir="auto">
          {inline(block.text)}
          {caret}
        </blockquote>
      );
    case "list":
      return <ListView list={block} caret={caret} />;
    default:
      return (
        <p dir="auto">
          {inline(block.text)}
          {caret}
        </p>
      );
  }
});

/** `growing`: the text is still being spoken; a caret stands at its end. */
export const Spoken = memo(function Spoken({ text, growing = false }: { text: string; growing?: boolean }): ReactNode {
  const blocks = sources(text);
  return (
    <div className="spoken">
      {blocks.map((source, at) => (
        <BlockView key={at} source={source} growing={growing && at === blocks.length - 1} />
      ))}
    </div>
  );
});
