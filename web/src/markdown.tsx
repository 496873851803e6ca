/**
 * Model text, drawn. marked reads the Markdown; what it finds becomes React elements, and everything else
 * stays the text it is. There is no path from a model's words to HTML, links lead only to http(s) addresses,
 * and no image is ever fetched.
 */

import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from "marked";
import { Fragment, memo, type ReactNode, useState } from "react";
import { Brackets, CitationsContext, NO_CITATIONS, pieces, sign, unsigned } from "./citing";
import type { Citation, CitedText } from "./wire";

/** How deep lists, quotes and emphasis may nest. Deeper marks stay text, so that none exhausts the stack or freezes the page. */
const DEEPEST = 12;

/** GitHub-flavoured Markdown, except for what is overridden here. */
class Reader extends Tokenizer {
  #depth = 0;

  #within<T>(read: () => T): T | undefined {
    if (this.#depth === DEEPEST) return undefined;
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  override blockquote(source: string): Tokens.Blockquote | undefined {
    return this.#within(() => super.blockquote(source));
  }

  override list(source: string): Tokens.List | undefined {
    return this.#within(() => super.list(source));
  }

  /** The head needs a column, too: `a` above `|---|` is not a table. */
  override table(source: string): Tokens.Table | undefined {
    return /^.*\|/.test(source) ? super.table(source) : undefined;
  }

  // HTML stays text.
  override html(): undefined {}
  override tag(): undefined {}

  /** While a list or a rule is still on its way, its first dash would turn the words above it into a heading. */
  override lheading(): undefined {}

  /** Every block is drawn from its own source, so a definition elsewhere cannot apply: it stays visible. */
  override def(): undefined {}

  /** A single tilde mostly means "about": ~5 (~10). */
  override del(source: string, masked: string, before?: string): Tokens.Del | undefined {
    return source.startsWith("~~") ? this.#within(() => super.del(source, masked, before)) : undefined;
  }

  /** The standard asks for a space beside some **; scripts without spaces have none. */
  override emStrong(source: string, masked: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    if (!/^[*_]/.test(source)) return undefined;
    return this.#within(() => super.emStrong(source, masked, before) ?? this.#strong(source));
  }

  #strong(source: string): Tokens.Strong | undefined {
    const [raw, text] = /^\*\*(?=\S)([^*\n]+)\*\*/.exec(source) ?? [];
    if (raw === undefined || text === undefined) return undefined;
    return { type: "strong", raw, text, tokens: this.lexer.inlineTokens(text) };
  }
}

const lexer = (): Lexer => new Lexer({ gfm: true, tokenizer: new Reader() });

const isBlock = (token: Token): boolean => token.type !== "space";

/**
 * How many blocks at the end of a growing text may still change: the last one grows, and a line that is not complete
 * may yet turn out to belong to the blocks before it.
 */
const OPEN = 3;

/** Splits a text into the sources of its blocks. Keeps those that are finished, so that only the end is read again. */
export class Sources {
  #text = "";
  /** The finished blocks, and where the others begin. */
  #done: string[] = [];
  #rest = 0;

  of(whole: string): string[] {
    const text = whole.replace(/\r\n?/g, "\n");
    if (!text.startsWith(this.#text)) {
      this.#done = [];
      this.#rest = 0;
    }
    this.#text = text;
    const tokens = lexer().blockTokens(text.slice(this.#rest));
    const open = tokens.filter(isBlock).slice(-OPEN);
    for (const token of tokens.slice(0, open[0] ? tokens.indexOf(open[0]) : 0)) {
      if (isBlock(token)) this.#done.push(source(token));
      this.#rest += token.raw.length;
    }
    return [...this.#done, ...open.map(source)];
  }
}

function source({ type, raw }: Token): string {
  // Models use this bullet, which Markdown does not know.
  return (type === "paragraph" ? raw.replace(/^(\s*)•(?=\s)/gm, "$1-") : raw).trimEnd();
}

/** While a text grows, a mark that was opened and not yet closed is closed for the eye. */
export function closeOpen(text: string): string {
  let closed = text.replace(/\*{1,2}$/, "");
  if ((closed.match(/\*\*/g)?.length ?? 0) % 2 === 1) closed += "**";
  return closed;
}

export function inline(text: string): ReactNode[] {
  return drawInline(lexer().inlineTokens(text));
}

function drawInline(tokens: readonly Token[] = []): ReactNode[] {
  return (tokens as readonly MarkedToken[]).map((token, key) => {
    switch (token.type) {
      case "strong":
        return <strong key={key}>{drawInline(token.tokens)}</strong>;
      case "em":
        return <em key={key}>{drawInline(token.tokens)}</em>;
      case "del":
        return <del key={key}>{drawInline(token.tokens)}</del>;
      case "codespan":
        return <code key={key}>{unsigned(token.text)}</code>;
      case "br":
        return <br key={key} />;
      case "link":
      case "image":
        if (!/^https?:\/\//i.test(token.href)) return drawWords(token.raw, key);
        return (
          <a key={key} href={unsigned(token.href)} target="_blank" rel="noopener noreferrer nofollow">
            {token.text === "" ? unsigned(token.href) : drawInline(token.tokens)}
          </a>
        );
      case "checkbox":
        return token.checked ? "☑ " : "☐ ";
      case "text":
      case "escape":
        return drawWords(token.text.replaceAll("\n", " "), key);
      default:
        return drawWords(token.raw, key);
    }
  });
}

/** With links where something is cited. */
function drawWords(text: string, key: number): ReactNode {
  const parts = pieces(text);
  if (parts.every((part) => typeof part === "string")) return parts.join("");
  return (
    <Fragment key={key}>
      {parts.map((part, at) => (typeof part === "string" ? part : <Brackets key={at} at={part} />))}
    </Fragment>
  );
}

interface BlockProps {
  token: Token;
  /** Stands after the very last word of a text that grows. */
  caret: ReactNode;
}

function Block({ token: of, caret }: BlockProps): ReactNode {
  const token = of as MarkedToken;
  switch (token.type) {
    case "hr":
      return <hr />;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself when it is wide, by keys, too
        <pre tabIndex={0} dir="auto">
          <code>{unsigned(token.text)}</code>
          {caret}
        </pre>
      );
    case "table":
      return <Table table={token} caret={caret} />;
    case "list": {
      // The list has the direction, not the items: its marks stand at one side.
      const items = token.items.map((item, at) => (
        <li key={at}>
          <Within tokens={item.tokens} caret={at === token.items.length - 1 ? caret : null} />
        </li>
      ));
      return token.ordered ? (
        <ol start={Number(token.start)} dir="auto">
          {items}
        </ol>
      ) : (
        <ul dir="auto">{items}</ul>
      );
    }
    case "blockquote":
      return (
        <blockquote dir="auto">
          <Within tokens={token.tokens} caret={caret} />
        </blockquote>
      );
    default:
      return (
        <p className={token.type === "heading" ? "md-heading" : undefined} dir="auto">
          {"tokens" in token ? drawInline(token.tokens) : unsigned(token.raw)}
          {caret}
        </p>
      );
  }
}

/** What an item or a quote contains. Its first words are not a block of their own: it takes its direction from them. */
function Within({ tokens, caret }: { tokens: readonly Token[]; caret: ReactNode }): ReactNode {
  const blocks = tokens.filter(isBlock);
  if (blocks.length === 0) return caret;
  return blocks.map((token, at) => {
    const here = at === blocks.length - 1 ? caret : null;
    if (token.type === "checkbox") return <Fragment key={at}>{drawInline([token])}</Fragment>;
    if (token.type !== "text" && !(token.type === "paragraph" && at === 0))
      return <Block key={at} token={token} caret={here} />;
    return (
      <Fragment key={at}>
        {drawInline(token.tokens)}
        {here}
      </Fragment>
    );
  });
}

function Table({ table, caret }: { table: Tokens.Table; caret: ReactNode }): ReactNode {
  const width = table.header.length;
  const end = table.rows.length - 1;
  const className = ({ align }: Tokens.TableCell): string => `align-${align ?? "left"}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself when it is wide, by keys, too
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls, and this has none
    <div className="md-table" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, at) => {
              const Cell = cell.text === "" ? "td" : "th";
              return (
                <Cell key={at} dir="auto" className={className(cell)} {...(cell.text === "" ? {} : { scope: "col" })}>
                  {drawInline(cell.tokens)}
                  {end < 0 && at === width - 1 ? caret : null}
                </Cell>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, y) => (
            <tr key={y}>
              {row.map((cell, at) => (
                <td key={at} dir="auto" className={className(cell)}>
                  {drawInline(cell.tokens)}
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

const Source = memo(function Source({ source, growing }: { source: string; growing: boolean }): ReactNode {
  const blocks = lexer()
    .lex(growing ? closeOpen(source) : source)
    .filter(isBlock);
  const caret = growing ? <span className="streaming-cursor" aria-hidden="true" /> : null;
  return blocks.map((token, at) => <Block key={at} token={token} caret={at === blocks.length - 1 ? caret : null} />);
});

interface SpokenProps {
  text: string;
  /** The text is still being spoken; a caret stands at its end. */
  growing?: boolean;
  citations?: readonly Citation[];
}

export const Spoken = memo(function Spoken({
  text,
  growing = false,
  citations = NO_CITATIONS,
}: SpokenProps): ReactNode {
  const [sources] = useState(() => new Sources());
  const all = sources.of(sign(text, citations));
  return (
    <CitationsContext value={citations}>
      <div className="spoken">
        {all.map((source, at) => (
          <Source key={at} source={source} growing={growing && at === all.length - 1} />
        ))}
      </div>
    </CitationsContext>
  );
});

/** A line of a brief. */
export function Line({ text, cited }: { text: string; cited: readonly CitedText[] }): ReactNode {
  const citations = cited.find((one) => one.text === text)?.citations ?? NO_CITATIONS;
  return <CitationsContext value={citations}>{inline(sign(text, citations))}</CitationsContext>;
}
