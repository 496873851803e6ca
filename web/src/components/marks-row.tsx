/** The map of the session: who waits, who speaks, who is done, challenged or failed. One step per advisor. */

import { memo, type ReactNode, useCallback, useEffect, useRef } from "react";
import { count, shortName } from "../format";
import { Link, paths } from "../router";
import { allSettled, type Phase, type SessionState, STOPPED } from "../session/state";
import { type SessionStore, useSession } from "../session/store";
import { Mark } from "./glyphs";

const WORDS: Record<Phase, string> = { waiting: "waiting", speaking: "speaking", done: "done", failed: "failed" };

const MarkStep = memo(function MarkStep({
  store,
  id,
  number,
  current,
}: {
  store: SessionStore;
  id: string;
  number: number;
  current: boolean;
}): ReactNode {
  // Strings and numbers only: a token changes none of them, so nothing here is drawn again while text streams.
  const phase = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[id]?.phase ?? "waiting", [id]),
  );
  const name = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[id]?.name ?? id, [id]),
  );
  const kind = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[id]?.contributionType ?? "", [id]),
  );
  const challenges = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[id]?.challenges.filter((one) => one.isReplyComplete).length ?? 0, [id]),
  );
  const replying = useSession(
    store,
    useCallback((s: SessionState) => s.challenging === id, [id]),
  );
  const stopped = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[id]?.errorKind === STOPPED, [id]),
  );
  const speaking = phase === "speaking" || replying;
  return (
    <li>
      <Link
        to={paths.advisor(store.id, id)}
        className={`step is-${speaking ? "speaking" : stopped ? "waiting" : phase}`}
        {...(number <= 9 ? { title: `${name} (key ${number})`, "aria-keyshortcuts": String(number) } : {})}
        aria-current={current ? "step" : undefined}
      >
        <span className="step-mark">
          <Mark id={id} name={name} contributionType={kind} />
          {phase === "failed" && !stopped ? (
            <span className="badge badge-failed" aria-hidden="true">
              !
            </span>
          ) : challenges > 0 ? (
            <span className="badge badge-challenged" aria-hidden="true">
              {challenges}
            </span>
          ) : null}
        </span>
        <span className="step-name" dir="auto">
          {shortName(name)}
        </span>
        <span className="step-state">
          {speaking
            ? "speaking"
            : stopped
              ? "stopped"
              : phase === "done" && challenges > 0
                ? "challenged"
                : WORDS[phase]}
          {challenges > 0 ? <span className="sr-only">, {count(challenges, "challenge")}</span> : null}
        </span>
      </Link>
    </li>
  );
});

const BriefStep = memo(function BriefStep({ store, current }: { store: SessionStore; current: boolean }): ReactNode {
  const ready = useSession(store, allSettled);
  const state = useSession(store, briefState);
  const body = (
    <>
      <span className="step-mark">
        <svg className="mark mark-brief" viewBox="0 0 48 48" aria-hidden="true" focusable="false">
          <g className="mark-frame">
            <path d="M11 4h19l9 9v31H11Z" />
          </g>
          <g className="mark-glyph">
            <path d="M30 4v9h9M17 21h16M17 28h16M17 35h10" />
          </g>
        </svg>
        {state === "out of date" ? (
          <span className="badge badge-stale" aria-hidden="true">
            ↻
          </span>
        ) : null}
      </span>
      <span className="step-name">Brief</span>
      <span className="step-state">{state}</span>
    </>
  );
  const className = `step step-brief is-${state === "writing" ? "speaking" : ready ? "done" : "waiting"}`;
  return (
    <li className="brief-item">
      {ready ? (
        <Link to={paths.brief(store.id)} className={className} aria-current={current ? "step" : undefined}>
          {body}
        </Link>
      ) : (
        <span className={className}>{body}</span>
      )}
    </li>
  );
});

function briefState(s: SessionState): string {
  if (s.briefWriting || s.briefLoading) return "writing";
  if (s.briefStale && s.brief) return "out of date";
  if (s.brief) return "ready";
  if (s.briefError) return "failed";
  return "waiting";
}

export const MarksRow = memo(function MarksRow({
  store,
  current,
}: {
  store: SessionStore;
  current: string;
}): ReactNode {
  const order = useSession(
    store,
    useCallback((s: SessionState) => s.order, []),
  );
  const track = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const list = track.current;
    const step = list?.querySelector<HTMLElement>("[aria-current=step]");
    if (!list || !step) return;
    const row = list.getBoundingClientRect();
    const here = step.getBoundingClientRect();
    list.scrollBy({ left: here.left + here.width / 2 - (row.left + row.width / 2), behavior: "instant" });
  }, [current]);
  return (
    <nav className="marks" aria-label="The board">
      <ol ref={track}>
        {order.map((id, at) => (
          <MarkStep key={id} store={store} id={id} number={at + 1} current={current === id} />
        ))}
        <BriefStep store={store} current={current === "brief"} />
      </ol>
    </nav>
  );
});
