import { memo, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { announce } from "../announce";
import { api, sentence } from "../api";
import { AdvisorAccordion } from "../components/accordion";
import { Bill } from "../components/costs";
import { ExportMenu } from "../components/export-menu";
import { Mark } from "../components/glyphs";
import { Problem, Waiting } from "../components/notes";
import { Rests } from "../components/rests";
import { asSentence, listed } from "../format";
import { Line } from "../markdown";
import { Link, paths, usePageHeading } from "../router";
import { type Advisor, allSettled, type SessionState } from "../session/state";
import { type SessionStore, useSession } from "../session/store";
import type { Brief, CitedText } from "../wire";

export function BriefPage({ store }: { store: SessionStore }): ReactNode {
  const heading = usePageHeading("Board Brief");
  const brief = useSession(
    store,
    useCallback((s: SessionState) => s.brief, []),
  );
  const stale = useSession(
    store,
    useCallback((s: SessionState) => s.briefStale, []),
  );
  const loading = useSession(
    store,
    useCallback((s: SessionState) => s.briefLoading, []),
  );
  const error = useSession(
    store,
    useCallback((s: SessionState) => s.briefError, []),
  );
  const live = useSession(
    store,
    useCallback((s: SessionState) => s.live || s.briefWriting, []),
  );
  const paused = useSession(
    store,
    useCallback((s: SessionState) => s.paused, []),
  );
  const all = useSession(store, allSettled);
  const anyone = useSession(
    store,
    useCallback((s: SessionState) => s.order.some((id) => s.advisors[id]?.phase === "done"), []),
  );
  const challenged = useSession(
    store,
    useCallback((s: SessionState) => s.order.some((id) => (s.advisors[id]?.challenges.length ?? 0) > 0), []),
  );
  const order = useSession(
    store,
    useCallback((s: SessionState) => s.order, []),
  );
  const decision = useSession(
    store,
    useCallback((s: SessionState) => s.decision, []),
  );
  const last = order.at(-1);
  const unfinished = brief === null || stale;

  useEffect(() => {
    if (all && anyone && !live && unfinished) void store.ensureBrief();
  }, [store, all, anyone, live, unfinished]);
  const was = useRef(brief);
  useEffect(() => {
    if (was.current !== brief && brief) announce("The Board Brief is ready");
    was.current = brief;
  }, [brief]);

  const regenerating = loading && challenged;
  const busy = loading || (brief === null && error === null && (live || (all && anyone && !paused)));
  return (
    <div className="brief-page">
      <div className="brief-top">
        {last ? (
          <Link to={paths.advisor(store.id, last)} className="back">
            ← Back to advisors
          </Link>
        ) : null}
        {brief && !loading ? <Actions store={store} /> : null}
      </div>
      <article className="brief" aria-busy={loading}>
        <header className="brief-head">
          <h1 ref={heading} tabIndex={-1}>
            Board Brief
          </h1>
          <p className="brief-decision" dir="auto">
            {decision}
          </p>
        </header>
        {!all && live && brief === null ? (
          <p className="lede">The advisors are still speaking. The brief follows the last of them.</p>
        ) : null}
        {!all && !live && brief === null ? (
          <p className="lede">
            {paused
              ? "The brief is written when every advisor has spoken. Some have not: they speak when you go on."
              : "The brief is written when every advisor has spoken. Some have not: choose them in the row above."}
          </p>
        ) : null}
        {all && anyone && paused && brief === null ? (
          <p className="lede">The brief is written when you go on.</p>
        ) : null}
        {all && !anyone ? (
          <Problem
            title="There is nothing to sum up"
            message="No advisor could answer. Choose one in the row above and ask them again."
          />
        ) : null}
        {busy ? (
          <div className="brief-waiting">
            <Waiting>
              {regenerating ? "Regenerating brief with challenge context..." : "Generating Board Brief..."}
            </Waiting>
            <div className="ghost" aria-hidden="true">
              <span />
              <span />
              <span />
            </div>
          </div>
        ) : null}
        {error !== null && !loading && anyone ? (
          <Problem
            title={brief ? "The brief could not be brought up to date" : "The brief could not be written"}
            message={brief ? `${asSentence(error)} What follows is the brief from before your challenges.` : error}
            onAction={() => void store.ensureBrief(true)}
          />
        ) : null}
        {brief && !loading ? <BriefBody store={store} brief={brief} /> : null}
        <Responses store={store} />
      </article>
      <div className="brief-ledger">
        <Bill store={store} />
      </div>
    </div>
  );
}

function Actions({ store }: { store: SessionStore }): ReactNode {
  const [copied, setCopied] = useState<"" | "Copied" | "Not copied" | "Copying was not allowed">("");
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(""), 2500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    const text = api.briefMarkdown(store.id);
    try {
      // The promise itself is handed over: some browsers take only what is given to them in the click.
      const blob = text.then((words) => new Blob([words], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      setCopied("Copied");
      announce("Brief copied as Markdown");
    } catch {
      const problem = await text.then(() => null, sentence);
      if (problem !== null) {
        setCopied("Not copied");
        announce(problem);
        return;
      }
      setCopied("Copying was not allowed");
      announce("Copying was not allowed. Export Markdown gives the same text.");
    }
  };
  return (
    <div className="brief-actions">
      <button type="button" className="button" onClick={() => void copy()}>
        {copied || "Copy brief as Markdown"}
      </button>
      <ExportMenu id={store.id} />
      <button type="button" className="button" onClick={() => window.print()}>
        Print
      </button>
    </div>
  );
}

const LEVEL: Record<string, number> = { high: 3, strong: 3, moderate: 2, low: 1, weak: 1 };

function Level({ of, word }: { of: string; word: string }): ReactNode {
  const level = LEVEL[of] ?? 0;
  return (
    <span className="level">
      <svg viewBox="0 0 34 10" aria-hidden="true" focusable="false">
        {[0, 1, 2].map((at) => (
          <circle key={at} className={at < level ? "is-on" : ""} cx={5 + at * 12} cy="5" r="4" />
        ))}
      </svg>
      {word}
    </span>
  );
}

const CONFIDENCE: Record<Brief["recommendation"]["confidence"], string> = {
  high: "High confidence",
  moderate: "Moderate confidence",
  low: "Low confidence",
};

const BriefBody = memo(function BriefBody({ store, brief }: { store: SessionStore; brief: Brief }): ReactNode {
  const silent = useSession(
    store,
    useCallback(
      (s: SessionState) =>
        listed(s.order.flatMap((id) => (s.advisors[id]?.phase === "failed" ? [s.advisors[id]?.name ?? id] : []))),
      [],
    ),
  );
  const cited = useSession(
    store,
    useCallback((s: SessionState) => s.briefCited, []),
  );
  const usage = useSession(
    store,
    useCallback((s: SessionState) => s.briefUsage, []),
  );
  const { recommendation, consensus, tensions, blindSpots } = brief;
  return (
    <>
      <section className="recommendation" aria-labelledby="brief-recommendation">
        <h2 id="brief-recommendation">Recommendation</h2>
        <p className="recommendation-words" dir="auto">
          <Line text={recommendation.summary} cited={cited} />
        </p>
        <Level
          of={recommendation.confidence}
          word={CONFIDENCE[recommendation.confidence] ?? recommendation.confidence}
        />
      </section>
      {silent ? (
        <p className="silent" dir="auto">
          Not heard: {silent}. You can ask again from the row above.
        </p>
      ) : null}
      {consensus.areas.length > 0 ? (
        <section aria-labelledby="brief-agreement">
          <div className="section-head">
            <h2 id="brief-agreement">Where they agree</h2>
            <Level of={consensus.strength} word={`${consensus.strength} agreement`} />
          </div>
          <Points items={consensus.areas} cited={cited} />
        </section>
      ) : null}
      <section aria-labelledby="brief-tensions">
        <h2 id="brief-tensions">Tensions</h2>
        {tensions.length > 0 ? (
          <ul className="tensions">
            {tensions.map((tension, at) => (
              <li key={at}>
                <Pair store={store} names={tension.between} />
                <p className="tension-issue" dir="auto">
                  <Line text={tension.issue} cited={cited} />
                </p>
                <p className="tension-implication" dir="auto">
                  <Line text={tension.implication} cited={cited} />
                </p>
              </li>
            ))}
          </ul>
        ) : (
          <p>No tension was found. That is rare enough to ask why.</p>
        )}
      </section>
      {blindSpots.length > 0 ? (
        <section aria-labelledby="brief-blind">
          <h2 id="brief-blind">Blind spots</h2>
          <Points items={blindSpots} cited={cited} />
        </section>
      ) : null}
      {recommendation.conditions.length > 0 ? (
        <section aria-labelledby="brief-conditions">
          <h2 id="brief-conditions">Conditions</h2>
          <Conditions store={store} items={recommendation.conditions} cited={cited} />
        </section>
      ) : null}
      <Rests usage={usage} />
    </>
  );
});

/** The person ticks what is met; the server keeps it with the session. */
function Conditions({
  store,
  items,
  cited,
}: {
  store: SessionStore;
  items: readonly string[];
  cited: readonly CitedText[];
}): ReactNode {
  const ticked = useSession(
    store,
    useCallback((s: SessionState) => s.ticked, []),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const met = items.filter((item) => ticked.includes(item)).length;
  return (
    <>
      <ul className="points conditions" aria-label={`${met} of ${items.length} met`}>
        {items.map((item, at) => (
          <li key={at}>
            <label dir="auto">
              <input
                type="checkbox"
                checked={ticked.includes(item)}
                onChange={(event) => void store.tick(item, event.target.checked).then(setProblem)}
              />
              <span>
                <Line text={item} cited={cited} />
              </span>
            </label>
          </li>
        ))}
      </ul>
      {problem !== null ? (
        <p className="field-problem" role="alert">
          The tick was not kept: {problem}
        </p>
      ) : null}
    </>
  );
}

function Points({ items, cited }: { items: readonly string[]; cited: readonly CitedText[] }): ReactNode {
  return (
    <ul className="points">
      {items.map((item, at) => (
        <li key={at} dir="auto">
          <Line text={item} cited={cited} />
        </li>
      ))}
    </ul>
  );
}

function Pair({ store, names }: { store: SessionStore; names: readonly string[] }): ReactNode {
  const advisors = useSession(
    store,
    useCallback((s: SessionState) => s.advisors, []),
  );
  return (
    <p className="pair">
      {names.map((name, at) => {
        const advisor = Object.values(advisors).find((one) => one.name === name || one.id === name);
        return (
          <span key={at} className="pair-one" dir="auto">
            {at > 0 ? <span className="pair-against">{names.length === 2 ? "against" : "·"}</span> : null}
            {advisor ? (
              <Link to={paths.advisor(store.id, advisor.id)}>
                <Mark id={advisor.id} name={advisor.name} contributionType={advisor.contributionType} />
                {advisor.name}
              </Link>
            ) : (
              name
            )}
          </span>
        );
      })}
    </p>
  );
}

const Responses = memo(function Responses({ store }: { store: SessionStore }): ReactNode {
  const order = useSession(
    store,
    useCallback((s: SessionState) => s.order, []),
  );
  const advisors = useSession(
    store,
    useCallback((s: SessionState) => s.advisors, []),
  );
  const all = useSession(store, allSettled);
  if (!all) return null;
  return (
    <section className="responses" aria-labelledby="brief-responses">
      <h2 id="brief-responses">Advisor Responses</h2>
      <AdvisorAccordion advisors={order.flatMap((id): Advisor[] => (advisors[id] ? [advisors[id]] : []))} />
    </section>
  );
});
