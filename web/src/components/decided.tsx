/** What was decided so far, as the person may correct it. Whatever is said next knows of it. */

import { memo, type ReactNode, useCallback, useId, useRef, useState } from "react";
import { announce } from "../announce";
import type { SessionState } from "../session/state";
import { type SessionStore, useSession } from "../session/store";
import { type Decided as Entry, LIMITS } from "../wire";
import { Room, tooLong } from "./room";

const KINDS: Record<Entry["kind"], string> = { decided: "Decided", rejected: "Rejected", open: "Open", said: "Said" };
/** As the server names whoever sits here. */
const PERSON = "person";

export function Decided({ store }: { store: SessionStore }): ReactNode {
  const ledger = useSession(
    store,
    useCallback((s: SessionState) => s.ledger, []),
  );
  const struck = useSession(
    store,
    useCallback((s: SessionState) => s.struck, []),
  );
  const [adding, setAdding] = useState(false);
  const add = useRef<HTMLButtonElement>(null);
  return (
    <section className="decided" aria-labelledby="decided">
      <h2 id="decided" tabIndex={-1}>
        Decided so far
      </h2>
      <p className="hint">Everybody who speaks from now on is told this.</p>
      {ledger.length > 0 ? (
        <ol>
          {ledger.map((entry) => (
            <EntryItem key={entry.key} store={store} entry={entry} />
          ))}
        </ol>
      ) : (
        <p className="empty">Nothing yet.</p>
      )}
      {struck.length > 0 ? (
        <ul aria-label="Struck">
          {struck.map((entry) => (
            <StruckItem key={entry.key} store={store} entry={entry} />
          ))}
        </ul>
      ) : null}
      {adding ? (
        <Words
          label="What is to hold from now on"
          save="Add"
          onSave={(text) => store.correct({ text })}
          onDone={(saved) => {
            setAdding(false);
            if (saved) announce("Added to what was decided so far");
            requestAnimationFrame(() => add.current?.focus());
          }}
        />
      ) : (
        <button ref={add} type="button" className="quiet" onClick={() => setAdding(true)}>
          Add what else holds
        </button>
      )}
    </section>
  );
}

type Doing = "correcting" | "striking" | null;

const EntryItem = memo(function EntryItem({ store, entry }: { store: SessionStore; entry: Entry }): ReactNode {
  const [doing, setDoing] = useState<Doing>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const item = useRef<HTMLLIElement>(null);
  /** The button that was used last takes the focus back when what it opened is closed. */
  const back = (at: number): void => {
    setDoing(null);
    requestAnimationFrame(() => item.current?.querySelectorAll<HTMLElement>(".entry-actions button")[at]?.focus());
  };
  const strike = async (): Promise<void> => {
    document.getElementById("decided")?.focus({ preventScroll: true });
    const failed = await store.correct({ key: entry.key });
    if (failed === null) announce(`${entry.number} struck`);
    else {
      setProblem(failed);
      setDoing(null);
    }
  };
  return (
    <li className={`entry entry-${entry.kind}`} ref={item}>
      <p className="entry-head">
        <span className="entry-number">{entry.number}</span>
        <span className="entry-kind">{KINDS[entry.kind]}</span>
        <span className="entry-by" dir="auto">
          {entry.by === PERSON ? "you" : entry.by}
          {entry.at ? `, ${entry.at}` : ""}
        </span>
      </p>
      {doing === "correcting" ? (
        <Words
          label={`What holds instead of ${entry.number}`}
          save="Save"
          text={entry.text}
          onSave={(text) => store.correct({ key: entry.key, text })}
          onDone={(saved) => {
            if (saved) announce(`${entry.number} corrected`);
            back(0);
          }}
        />
      ) : (
        <p className="entry-text" dir="auto">
          {entry.text}
        </p>
      )}
      {problem !== null ? (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      ) : null}
      {doing === "striking" ? (
        <fieldset className="confirm" aria-label={`Strike ${entry.number}?`}>
          <span>It will not hold any more.</span>
          <button type="button" className="quiet danger" onClick={() => void strike()}>
            Strike
          </button>
          {/* biome-ignore lint/a11y/noAutofocus: the button that opened this is gone, and the focus with it */}
          <button type="button" className="quiet" autoFocus onClick={() => back(1)}>
            Keep
          </button>
        </fieldset>
      ) : doing === null ? (
        <p className="entry-actions">
          <button
            type="button"
            className="quiet"
            aria-label={`Correct ${entry.number}`}
            onClick={() => {
              setProblem(null);
              setDoing("correcting");
            }}
          >
            Correct
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={`Strike ${entry.number}`}
            onClick={() => {
              setProblem(null);
              setDoing("striking");
            }}
          >
            Strike
          </button>
        </p>
      ) : null}
    </li>
  );
});

function StruckItem({ store, entry }: { store: SessionStore; entry: Entry }): ReactNode {
  const [problem, setProblem] = useState<string | null>(null);
  const name = entry.number || "it";
  const bringBack = async (): Promise<void> => {
    document.getElementById("decided")?.focus({ preventScroll: true });
    const failed = await store.correct({ key: entry.key, undo: true });
    if (failed === null) announce(`${entry.number} holds again`.trim());
    setProblem(failed);
  };
  return (
    <li className="struck">
      <p className="entry-head">
        <span className="entry-number">{entry.number}</span>
        <span className="entry-kind">Struck</span>
      </p>
      <p className="entry-text" dir="auto">
        <del>{entry.text}</del>
      </p>
      {problem !== null ? (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      ) : null}
      <p className="entry-actions">
        <button type="button" className="quiet" aria-label={`Bring ${name} back`} onClick={() => void bringBack()}>
          Bring back
        </button>
      </p>
    </li>
  );
}

interface WordsProps {
  label: string;
  save: string;
  text?: string;
  onSave: (text: string) => Promise<string | null>;
  onDone: (saved: boolean) => void;
}

function Words({ label, save, text = "", onSave, onDone }: WordsProps): ReactNode {
  const id = useId();
  const [words, setWords] = useState(text);
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const ready = words.trim() !== "" && !tooLong(words, LIMITS.decided) && !saving;
  const submit = async (): Promise<void> => {
    if (!ready) return;
    setSaving(true);
    const failed = await onSave(words.trim());
    setSaving(false);
    if (failed === null) onDone(true);
    else setProblem(failed);
  };
  return (
    <form
      className="entry-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onDone(false);
      }}
    >
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={2}
        dir="auto"
        // biome-ignore lint/a11y/noAutofocus: it was asked for with a button
        autoFocus
        value={words}
        aria-describedby={`${id}-room`}
        aria-invalid={tooLong(words, LIMITS.decided)}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
            event.preventDefault();
            void submit();
          }
        }}
      />
      <div className="row">
        <button type="submit" className="button" disabled={!ready}>
          {save}
        </button>
        <button type="button" className="quiet" onClick={() => onDone(false)}>
          Cancel
        </button>
        <Room id={`${id}-room`} text={words} most={LIMITS.decided} near={200} />
      </div>
      {problem !== null ? (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </form>
  );
}
