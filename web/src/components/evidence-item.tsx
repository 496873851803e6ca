/** An item of evidence with its lines as they are cited. */

import { type ReactNode, useCallback, useContext, useEffect, useId, useRef } from "react";
import { api } from "../api";
import { type Cited, inWords, ReadingContext } from "../citing";
import { useFetched } from "../fetched";
import { count, whole } from "../format";
import { paths } from "../router";
import type { WholeItem } from "../wire";
import { Problem, Waiting } from "./notes";

/** What an item says never changes. */
const read = new Map<string, WholeItem>();

async function itemOf(session: string, item: string, signal: AbortSignal): Promise<WholeItem> {
  const key = `${session}/${item}`;
  const found = read.get(key) ?? (await api.item(session, item, signal));
  read.set(key, found);
  return found;
}

interface ViewProps {
  session: string;
  cited: Cited;
  /** What stands beside the facts about it. */
  children?: ReactNode;
}

export function EvidenceItemView({ session, cited, children }: ViewProps): ReactNode {
  const [item, again] = useFetched(
    useCallback((signal: AbortSignal) => itemOf(session, cited.item, signal), [session, cited.item]),
  );
  if (item.state === "loading") return <Waiting>Opening {cited.item}…</Waiting>;
  if (item.state === "failed") {
    return <Problem title={`${cited.item} could not be opened`} message={item.problem.message} onAction={again} />;
  }
  return (
    <Whole item={item.value} cited={cited}>
      {children}
    </Whole>
  );
}

function Whole({ item, cited, children }: { item: WholeItem; cited: Cited; children: ReactNode }): ReactNode {
  const { first, last } = cited;
  const mark = useRef<HTMLElement>(null);
  const lines = item.text.split("\n");
  const there = first !== null && first <= lines.length;
  useEffect(() => {
    if (there && first !== null) mark.current?.scrollIntoView({ block: "center", behavior: "instant" });
  }, [there, first]);
  const rows = (from: number, to: number): ReactNode =>
    lines.slice(from - 1, to).map((line, at) => (
      <span key={from + at} className="line" data-number={from + at}>
        {line}
        {"\n"}
      </span>
    ));
  return (
    <>
      <p className="item-facts">
        {item.origin !== item.name ? <span dir="auto">{item.origin}</span> : null}
        <span>{item.isImage ? "image" : count(item.lines, "line")}</span>
        <span>{whole(item.tokens)} tokens</span>
        <span title={item.sha256}>sha256 {item.sha256.slice(0, 12)}…</span>
        {children}
      </p>
      {first !== null && !there ? (
        <p className="field-problem" role="status">
          There is no line {first}: it has {count(lines.length, "line")}.
        </p>
      ) : null}
      {item.image !== null ? (
        <img className="item-image" src={`data:${item.mediaType};base64,${item.image}`} alt={item.name} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by itself, by keys, too
        <pre className="item-lines" tabIndex={0}>
          {there && first !== null ? (
            <>
              {rows(1, first - 1)}
              <mark ref={mark}>{rows(first, last ?? first)}</mark>
              {rows((last ?? first) + 1, lines.length)}
            </>
          ) : (
            rows(1, lines.length)
          )}
        </pre>
      )}
    </>
  );
}

/** Over the page, so that nobody loses their place; Esc leads back to where it was opened. */
export function EvidenceDialog({ cited, onClose }: { cited: Cited; onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const reading = useContext(ReadingContext);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  if (!reading) return null;
  const name = reading.evidence.find((one) => one.id === cited.item)?.name ?? "";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes a dialog by itself; the click is the one beside it
    <dialog
      ref={dialog}
      className="item-dialog"
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      <div className="item-within">
        <header className="item-head">
          <h2 id={id} dir="auto">
            {inWords(cited, name)}
          </h2>
          <button
            type="button"
            className="icon-button"
            aria-label="Close"
            title="Close (Esc)"
            onClick={() => dialog.current?.close()}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
              <path d="m7 7 10 10M17 7 7 17" />
            </svg>
          </button>
        </header>
        <EvidenceItemView session={reading.session} cited={cited}>
          <a href={paths.evidence(reading.session, cited)} target="_blank" rel="noopener">
            Open in a tab
          </a>
        </EvidenceItemView>
      </div>
    </dialog>
  );
}
