/** What the session knows beside what is said in it: what was decided so far, and the evidence. */

import { type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { announce } from "../announce";
import { sentence } from "../api";
import { EvidenceLink, ReadingContext } from "../citing";
import { count, whole } from "../format";
import { given, isWeighing, takeAllBack, useOffers } from "../offers";
import type { SessionState } from "../session/state";
import { type SessionStore, useSession } from "../session/store";
import type { Given } from "../wire";
import { Decided } from "./decided";
import { Chevron } from "./decision-fold";
import { Offers } from "./offers";

const KEY = "moot.desk";

/** Beside what is said where there is room for both; what the person has chosen last holds. */
function wanted(): boolean {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen !== null) return chosen === "open";
  } catch {
    // it is as wide as the page says
  }
  return matchMedia("(min-width: 76rem)").matches;
}

export function useDesk(): [boolean, () => void] {
  const [open, setOpen] = useState(wanted);
  const toggle = useCallback(() => {
    setOpen((before) => {
      try {
        localStorage.setItem(KEY, before ? "closed" : "open");
      } catch {
        // for this page alone
      }
      return !before;
    });
  }, []);
  return [open, toggle];
}

interface ToggleProps {
  store: SessionStore;
  open: boolean;
  onToggle: () => void;
}

export function DeskToggle({ store, open, onToggle }: ToggleProps): ReactNode {
  const decided = useSession(
    store,
    useCallback((s: SessionState) => s.ledger.length, []),
  );
  const items = useSession(
    store,
    useCallback((s: SessionState) => s.evidence.length, []),
  );
  return (
    <button type="button" className="desk-toggle" aria-expanded={open} aria-controls="desk" onClick={onToggle}>
      <svg className="desk-glyph" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        <path d="m4 7 1.5 1.5L8.5 5.5M12 7h8M4 13l1.5 1.5 3-3M12 13h8M12 19h8M5 19h2" />
      </svg>
      <span>{decided} decided so far</span>
      <span>{items === 0 ? "no evidence" : `${count(items, "item")} of evidence`}</span>
      <Chevron />
    </button>
  );
}

export function Desk({ store }: { store: SessionStore }): ReactNode {
  return (
    <aside id="desk" className="desk" aria-label="What the board knows">
      <Decided store={store} />
      <Evidence store={store} />
    </aside>
  );
}

function Evidence({ store }: { store: SessionStore }): ReactNode {
  const items = useSession(
    store,
    useCallback((s: SessionState) => s.evidence, []),
  );
  const offers = useOffers(store.id);
  const reading = useContext(ReadingContext);
  const [giving, setGiving] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [left, setLeft] = useState<Given["leftOut"]>([]);
  const heading = useRef<HTMLHeadingElement>(null);
  const some = given(offers);
  useEffect(() => {
    if (offers.length > 0) setLeft([]);
  }, [offers.length]);
  const give = async (): Promise<void> => {
    setGiving(true);
    setProblem(null);
    try {
      const came = await store.give(some);
      takeAllBack(store.id);
      setLeft(came.leftOut);
      heading.current?.focus({ preventScroll: true });
      announce(came.taken.length > 0 ? `Given: ${came.summary}` : "Nothing of it was taken");
    } catch (error) {
      setProblem(sentence(error));
    }
    setGiving(false);
  };
  return (
    <section className="evidence" aria-labelledby="evidence">
      <h2 id="evidence" ref={heading} tabIndex={-1}>
        Evidence
      </h2>
      {items.length > 0 ? (
        <ul className="items">
          {items.map((item) => (
            <li key={item.id}>
              <EvidenceLink cited={{ item: item.id, first: null, last: null }} className="item">
                <span className="item-id">{item.id}</span>
                <span className="item-name" dir="auto">
                  {item.name}
                </span>
              </EvidenceLink>
              <span className="item-size">
                {whole(item.tokens)} tokens, {item.isImage ? "image" : count(item.lines, "line")}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="hint">
          {reading === null ? "None." : "None was given. What you add here is known to whoever speaks next."}
        </p>
      )}
      <Offers place={store.id}>
        {offers.length > 0 ? (
          <div className="row">
            <button
              type="button"
              className="button button-accent"
              disabled={giving || isWeighing(offers) || some.length === 0}
              onClick={() => void give()}
            >
              {giving ? "Giving…" : "Give it to the board"}
            </button>
            <button type="button" className="quiet" onClick={() => takeAllBack(store.id)}>
              Take all back
            </button>
          </div>
        ) : null}
      </Offers>
      {left.length > 0 ? (
        <ul className="left-out" aria-label="Left out">
          {left.map((one, at) => (
            <li key={at} className="offer-why">
              <strong>Left out</strong> <span dir="auto">{one.name}</span>: {one.why}
            </li>
          ))}
        </ul>
      ) : null}
      {problem !== null ? (
        <p className="field-problem" role="alert">
          It was not given: {problem}
        </p>
      ) : null}
    </section>
  );
}
