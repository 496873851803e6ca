/**
 * What is cited in a text, as links to the cited lines. The server says where each citation stands and whether it
 * holds; a sign behind its brackets takes that through Markdown, piece by piece.
 */

import { createContext, type ReactNode, useContext } from "react";
import { paths } from "./router";
import type { Citation, EvidenceItem } from "./wire";

/** Characters that mean nothing to anybody else: the place of a citation in its list, added to the first of them. */
const FIRST = 0xe000;
const MOST = 0xf8ff - FIRST;
const SIGN = /[\ue000-\uf8ff]/g;
const SIGNED = /\[([^[\]]*)\]([\ue000-\uf8ff])/g;

export const NO_CITATIONS: readonly Citation[] = [];

/** Where a citation stands is counted in characters, not in the halves of which some are made. */
export function sign(text: string, citations: readonly Citation[]): string {
  if (citations.length === 0) return text;
  const signs = new Map<number, string>();
  citations.slice(0, MOST).forEach((one, at) => {
    if (!signs.has(one.end)) signs.set(one.end, String.fromCharCode(FIRST + at));
  });
  let signed = "";
  let at = 0;
  for (const character of text) {
    signed += signs.get(at++) ?? "";
    signed += unsigned(character);
  }
  return signed + (signs.get(at) ?? "");
}

export function unsigned(text: string): string {
  return text.replace(SIGN, "");
}

/** Words, and between them the places in the list of what is cited there. */
export function pieces(text: string): (string | number)[] {
  const found: (string | number)[] = [];
  let from = 0;
  for (const match of text.matchAll(SIGNED)) {
    found.push(unsigned(text.slice(from, match.index)), (match[2] ?? "").charCodeAt(0) - FIRST);
    from = match.index + match[0].length;
  }
  found.push(unsigned(text.slice(from)));
  return found.filter((piece) => piece !== "");
}

/** As it stands in brackets: `E2:14-20`. */
export function shown({ item, first, last }: Cited): string {
  if (first === null) return item;
  return first === last ? `${item}:${first}` : `${item}:${first}-${last}`;
}

export function inWords({ item, first, last }: Cited, name: string): string {
  const what = name ? `${item}, ${name}` : item;
  if (first === null) return what;
  return first === last ? `${what}, line ${first}` : `${what}, lines ${first} to ${last}`;
}

/** Lines of an item; without them, all of it. */
export type Cited = Pick<Citation, "item" | "first" | "last">;

export interface Reading {
  readonly session: string;
  readonly evidence: readonly EvidenceItem[];
  /** Opens what is cited, over the page. */
  readonly open: (cited: Cited) => void;
}

/** Which session's evidence is cited; null where none of it can be opened. */
export const ReadingContext = createContext<Reading | null>(null);

/** What is cited in the text that is being drawn. */
export const CitationsContext = createContext<readonly Citation[]>(NO_CITATIONS);

/** All that stands in the brackets of the citation at this place. */
export function Brackets({ at }: { at: number }): ReactNode {
  const citations = useContext(CitationsContext);
  const end = citations[at]?.end;
  const within = citations.filter((one) => one.end === end);
  return (
    <span className="cites" dir="ltr">
      [
      {within.map((one, place) => (
        <span key={place}>
          {place > 0 ? ", " : null}
          <CitationLink citation={one} />
        </span>
      ))}
      ]
    </span>
  );
}

function CitationLink({ citation }: { citation: Citation }): ReactNode {
  const reading = useContext(ReadingContext);
  const item = reading?.evidence.find((one) => one.id === citation.item);
  const found = citation.check === "verified";
  return (
    <>
      {reading && item ? (
        <EvidenceLink cited={citation} className={found ? "cite" : "cite is-unfound"}>
          {shown(citation)}
        </EvidenceLink>
      ) : (
        <span className={found ? "cite" : "cite is-unfound"}>{shown(citation)}</span>
      )}
      {found ? null : <span className="cite-mark"> {problem(citation, item)}</span>}
    </>
  );
}

/** A line that is not there is nothing that somebody has misquoted. */
function problem({ check, item }: Citation, there: EvidenceItem | undefined): string {
  return check === "no such lines" && there ? `${check}, ${item} has ${there.lines || "none"}` : check;
}

interface LinkProps {
  cited: Cited;
  className?: string;
  children: ReactNode;
}

/** Opens the lines over the page; they have an address of their own, too. */
export function EvidenceLink({ cited, className, children }: LinkProps): ReactNode {
  const reading = useContext(ReadingContext);
  if (!reading) return children;
  const name = reading.evidence.find((one) => one.id === cited.item)?.name ?? "";
  return (
    <a
      href={paths.evidence(reading.session, cited)}
      className={className}
      title={inWords(cited, name)}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        reading.open(cited);
      }}
    >
      {children}
    </a>
  );
}
