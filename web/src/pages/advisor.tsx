import { memo, type ReactNode, useCallback, useEffect, useRef } from "react";
import { announce } from "../announce";
import { api } from "../api";
import { ChallengeBox } from "../components/challenge-box";
import { Chevron } from "../components/decision-fold";
import { KindBadge, Mark } from "../components/glyphs";
import { Ledger } from "../components/ledger";
import { Problem } from "../components/notes";
import { Rests } from "../components/rests";
import { Thread } from "../components/thread";
import { useFetched } from "../fetched";
import { useFollowing } from "../following";
import { humanise, listed, modelName, shortName, whole } from "../format";
import { Spoken } from "../markdown";
import { Link, navigate, paths, useLeaving, usePageHeading } from "../router";
import { type Advisor, allSettled, type SessionState, STOPPED, settled, sharedFailure } from "../session/state";
import { type SessionStore, type Snapshot, useAdvisor, useSession, useSlice } from "../session/store";
import { LIMITS, type Persona } from "../wire";

const resting = (snapshot: Snapshot): boolean => snapshot.connection === "idle" && !snapshot.session?.live;

export function AdvisorPage({ store, personaId }: { store: SessionStore; personaId: string }): ReactNode {
  const advisor = useAdvisor(store, personaId);
  const idle = useSlice(store, resting);
  const streaming = useSession(
    store,
    useCallback((s: SessionState) => s.challenging === personaId, [personaId]),
  );
  const failure = useSession(
    store,
    useCallback(
      (s: SessionState) => (s.challengeError?.personaId === personaId ? s.challengeError : null),
      [personaId],
    ),
  );
  const shared = useSession(store, sharedFailure);
  const next = useNext(store, personaId);
  const asked = useRef(false);
  useLeaving(useCallback(() => store.abortChallenge(), [store]));

  const phase = advisor?.phase ?? "waiting";
  const name = advisor?.name ?? "";
  const before = useRef(phase);
  useEffect(() => {
    if (before.current !== phase) {
      if (phase === "done") announce(`${name} has finished speaking`);
      if (phase === "failed") announce(`${name} could not answer`);
    }
    before.current = phase;
  }, [phase, name]);
  const replied = useRef(streaming);
  useEffect(() => {
    if (replied.current && !streaming)
      announce(failure ? `${name} could not reply` : `${name} has replied. The brief is out of date.`);
    replied.current = streaming;
  }, [streaming, failure, name]);

  const end = useFollowing(phase === "speaking" || streaming, streaming);
  const retrying = useRef(false);
  useEffect(() => {
    // The box or button that was used is gone: the focus stays at the place, and is not lost.
    if (streaming || (retrying.current && phase === "waiting")) end.current?.focus({ preventScroll: true });
    retrying.current = phase === "failed";
  }, [streaming, phase, end]);
  const challenge = useCallback(
    (text: string) => {
      asked.current = true;
      void store.challenge(personaId, text);
    },
    [store, personaId],
  );
  const { go } = next;
  if (!advisor) return null;
  const full = advisor.challenges.length >= LIMITS.challenges;
  return (
    <>
      <article className="advisor">
        <AdvisorHead store={store} personaId={personaId} />
        <div className="advisor-words" aria-busy={phase === "speaking"}>
          {phase === "failed" ? (
            <Problem
              title={advisor.errorKind === STOPPED ? `${name} was stopped` : `${name} could not answer`}
              message={
                shared !== null && advisor.error === shared
                  ? "The reason is above: it is the same for several advisors."
                  : (advisor.error ?? "The model gave no reason.")
              }
              action="Ask them again"
              onAction={() => void store.retry(personaId)}
            />
          ) : idle && !settled(phase) ? (
            <p className="thinking">{name} has not spoken yet.</p>
          ) : advisor.content === "" ? (
            <p className="thinking">{phase === "waiting" ? "Waiting to speak…" : "Thinking…"}</p>
          ) : (
            <Spoken text={advisor.content} growing={phase === "speaking"} citations={advisor.citations} />
          )}
          {phase === "speaking" || phase === "done" ? (
            <Rests
              usage={advisor.usage}
              looks={advisor.looks}
              looking={phase === "speaking" && advisor.content === ""}
            />
          ) : null}
          {!settled(phase) && !idle ? (
            <div className="row">
              <button type="button" className="quiet" onClick={() => void store.stop(personaId)}>
                Stop {shortName(name)}
              </button>
              <button type="button" className="quiet" onClick={() => void store.stop()}>
                Stop all
              </button>
            </div>
          ) : null}
          {phase === "done" && advisor.usage ? (
            <p className="spoken-facts">
              {modelName(advisor.usage.model)}
              {advisor.usage.durationMs > 0 ? `, ${(advisor.usage.durationMs / 1000).toFixed(1)} s` : ""}
              {`, ${whole(advisor.usage.outputTokens)} tokens`}
              {advisor.usage.cachedTokens > 0
                ? `, read ${whole(advisor.usage.inputTokens)}, of which ${whole(advisor.usage.cachedTokens)} from the cache`
                : ""}
            </p>
          ) : null}
          <Thread challenges={advisor.challenges} name={name} />
          {streaming ? (
            <div className="row">
              <button type="button" className="quiet" onClick={() => store.abortChallenge()}>
                Stop the reply
              </button>
            </div>
          ) : null}
          {failure ? (
            <Problem
              title="The reply did not arrive"
              message={failure.message}
              onAction={() => challenge(failure.text)}
            />
          ) : null}
          {phase === "done" && !streaming ? (
            full ? (
              <p className="hint">
                You have challenged {name} {LIMITS.challenges} times, as often as one session keeps.
              </p>
            ) : (
              <ChallengeBox
                sessionId={store.id}
                personaId={personaId}
                onChallenge={challenge}
                onSkip={go}
                canSkip={next.enabled}
                focus={asked.current}
              />
            )
          ) : null}
          <div ref={end} className="end-of-words" tabIndex={-1} />
        </div>
      </article>
      <StepBar store={store} personaId={personaId} next={next} />
    </>
  );
}

const AdvisorHead = memo(function AdvisorHead({
  store,
  personaId,
}: {
  store: SessionStore;
  personaId: string;
}): ReactNode {
  const name = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[personaId]?.name ?? "", [personaId]),
  );
  const role = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[personaId]?.role ?? "", [personaId]),
  );
  const kind = useSession(
    store,
    useCallback((s: SessionState) => s.advisors[personaId]?.contributionType ?? "", [personaId]),
  );
  const heading = usePageHeading(name, personaId);
  return (
    <header className="advisor-head">
      <Mark id={personaId} name={name} contributionType={kind} className="mark-large" />
      <div>
        <h1 ref={heading} tabIndex={-1} dir="auto">
          {name}
        </h1>
        <p className="advisor-role" dir="auto">
          {role}
        </p>
        <KindBadge contributionType={kind} />
      </div>
      <Temperament session={store.id} personaId={personaId} />
    </header>
  );
});

let people: { readonly session: string; readonly all: Promise<readonly Persona[]> } | null = null;
/** Asked for once in each session: one that was begun later may have personas that are new. */
function knownPeople(session: string): Promise<readonly Persona[]> {
  if (people?.session !== session) {
    const all = api.everyone().catch((error: unknown) => {
      people = null;
      throw error;
    });
    people = { session, all };
  }
  return people.all;
}

function Temperament({ session, personaId }: { session: string; personaId: string }): ReactNode {
  const [personas] = useFetched(useCallback(() => knownPeople(session), [session]));
  const rubric = personas.value?.find((one) => one.id === personaId)?.rubric;
  // Its place is kept, so that nothing moves below somebody who reads or writes when it comes.
  if (personas.state === "loading") return <div className="temperament temperament-waiting" />;
  if (!rubric) return null;
  return (
    <details className="temperament" open={matchMedia("(min-width: 62rem)").matches}>
      <summary>Temperament</summary>
      <ul>
        {Object.entries(rubric).map(([key, entry]) => (
          <li key={key}>
            <details className="trait" name="trait">
              <summary>
                <span className="trait-name">{humanise(key)}</span>
                <span className="sr-only">, {entry.score} of 10</span>
                <Chevron />
                <svg
                  className="scale"
                  viewBox="0 0 100 6"
                  preserveAspectRatio="none"
                  aria-hidden="true"
                  focusable="false"
                >
                  <rect className="scale-all" width="100" height="6" />
                  <rect className="scale-part" width={Math.max(0, Math.min(10, entry.score)) * 10} height="6" />
                </svg>
              </summary>
              <p className="trait-note" dir="auto">
                {entry.note}
              </p>
            </details>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface Next {
  label: string;
  enabled: boolean;
  why: string;
  go: () => void;
}

function useNext(store: SessionStore, personaId: string): Next {
  const following = useSession(
    store,
    useCallback((s: SessionState) => s.order[s.order.indexOf(personaId) + 1] ?? null, [personaId]),
  );
  const speaking = useSession(
    store,
    useCallback((s: SessionState) => !settled(s.advisors[personaId]?.phase ?? "waiting"), [personaId]),
  );
  const replying = useSession(
    store,
    useCallback((s: SessionState) => s.challenging !== null, []),
  );
  const all = useSession(store, allSettled);
  const open = useSession(store, unsettledNames);
  const paused = useSession(
    store,
    useCallback((s: SessionState) => s.paused, []),
  );
  const last = following === null;
  const go = useCallback(() => {
    navigate(following === null ? paths.brief(store.id) : paths.advisor(store.id, following));
  }, [store.id, following]);
  const why = speaking
    ? paused
      ? "Paused before they spoke"
      : `${last ? "The brief" : "Next"} opens when they have finished`
    : replying
      ? `${last ? "The brief" : "Next"} opens when the reply is finished`
      : last && !all
        ? `The brief waits for ${open}`
        : "";
  return { label: last ? "View Board Brief" : "Next", enabled: why === "", why, go };
}

function unsettledNames(s: SessionState): string {
  const names = s.order.flatMap((id) => {
    const advisor: Advisor | undefined = s.advisors[id];
    return advisor && !settled(advisor.phase) ? [shortName(advisor.name)] : [];
  });
  return names.length > 3 ? `${names.length} advisors` : listed(names);
}

const StepBar = memo(function StepBar({
  store,
  personaId,
  next,
}: {
  store: SessionStore;
  personaId: string;
  next: Next;
}): ReactNode {
  const previous = useSession(
    store,
    useCallback((s: SessionState) => s.order[s.order.indexOf(personaId) - 1] ?? null, [personaId]),
  );
  const previousName = useSession(
    store,
    useCallback((s: SessionState) => (previous ? (s.advisors[previous]?.name ?? "") : ""), [previous]),
  );
  const stale = useSession(
    store,
    useCallback((s: SessionState) => s.briefStale && s.brief !== null, []),
  );
  const ready = useSession(
    store,
    useCallback((s: SessionState) => s.brief !== null && allSettled(s), []),
  );
  return (
    <nav className="bar" aria-label="Steps">
      <button
        type="button"
        className="button"
        disabled={previous === null}
        title={previousName}
        onClick={() => previous && navigate(paths.advisor(store.id, previous))}
      >
        Previous
      </button>
      <div className="bar-middle">
        {stale ? (
          <p className="stale">
            <Link to={paths.brief(store.id)}>Brief out of date</Link>
          </p>
        ) : next.why ? (
          <p className="why">{next.why}</p>
        ) : ready ? (
          <p className="why">
            <Link to={paths.brief(store.id)}>Brief ready</Link>
          </p>
        ) : null}
        <Ledger store={store} />
      </div>
      <button
        type="button"
        className="button button-ink"
        disabled={!next.enabled}
        title={next.why || undefined}
        onClick={next.go}
      >
        {next.label}
      </button>
    </nav>
  );
});
