import { useCallback, useEffect, useState, type ReactNode } from "react";
import { announce } from "../announce";
import { api, PAGE_OF_SESSIONS, sentence } from "../api";
import { Mark } from "../components/glyphs";
import { ModelNote } from "../components/model-note";
import { Problem, Waiting } from "../components/notes";
import { useFetched } from "../fetched";
import { ago, count, modelName } from "../format";
import { Link, paths, usePageHeading } from "../router";
import { forgetSession } from "../session/store";
import type { SessionSummary } from "../wire";

export function standing(session: SessionSummary): string {
  if (session.step === "review") {
    if (session.hasBrief) return session.briefStale ? "Brief out of date" : "Brief ready";
    return session.completeCount === 0 ? "Nobody answered" : "No brief yet";
  }
  if (session.step === "brief") return session.live ? "Brief being written" : "Paused before the brief";
  if (session.step !== "advisors") return "Not convened yet";
  return `${session.live ? "" : "Paused, "}${session.completeCount} of ${session.personaCount} have spoken`;
}

export function Home(): ReactNode {
  const [everywhere, setEverywhere] = useState(false);
  const [wanted, setWanted] = useState(PAGE_OF_SESSIONS);
  const load = useCallback((signal: AbortSignal) => api.sessions(everywhere, wanted, signal), [everywhere, wanted]);
  const [list, again] = useFetched(load);
  const choose = (all: boolean): void => {
    setEverywhere(all);
    setWanted(PAGE_OF_SESSIONS);
  };
  const heading = usePageHeading("moot");
  useEffect(() => {
    const seen = (): void => {
      if (!document.hidden) again();
    };
    document.addEventListener("visibilitychange", seen);
    addEventListener("focus", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("focus", seen);
    };
  }, [again]);
  const sessions = list.value?.sessions ?? [];
  const underWay = sessions.some((session) => session.live);
  useEffect(() => {
    if (!underWay) return;
    const timer = setInterval(() => {
      if (!document.hidden) again();
    }, 4000);
    return () => clearInterval(timer);
  }, [underWay, again]);
  return (
    <main className="page home">
      <section className="hero">
        <h1 ref={heading} tabIndex={-1}>
          Argue it before you build it.
        </h1>
        <p className="lede">
          Bring a decision. A board of advisors who disagree with each other takes it apart, you push back, and the brief
          keeps the dissent.
        </p>
        <div className="row">
          <Link to={paths.new} className="button button-accent button-large">
            Present a decision
          </Link>
        </div>
      </section>
      {list.state === "ready" && sessions.length === 0 ? <Faces /> : null}
      <ModelNote />
      <section aria-labelledby="past">
        {sessions.length > 0 || list.state !== "ready" ? (
          <h2 id="past" className="section-title" tabIndex={-1}>
            Sessions
          </h2>
        ) : (
          <h2 id="past" className="sr-only" tabIndex={-1}>
            Sessions
          </h2>
        )}
        {list.state === "loading" ? <Waiting>Looking up past sessions…</Waiting> : null}
        {list.state === "failed" ? (
          <Problem
            title={list.problem.status === 0 ? "No connection to moot" : "The sessions could not be read"}
            message={
              list.problem.status === 0
                ? "The program behind this page is not answering. If you stopped it, start it again with “moot serve”; your sessions are kept."
                : list.problem.message
            }
            retryAfter={list.problem.retryAfter}
            onAction={again}
          />
        ) : null}
        {list.state === "ready" && sessions.length === 0 ? (
          <p className="empty">No sessions yet. The first decision you present will be kept here, with everything that was said.</p>
        ) : null}
        {list.value !== null ? <WorkspaceChoice everywhere={everywhere} onChoose={choose} /> : null}
        {sessions.length > 0 ? (
          <ul className="sessions">
            {sessions.map((session) => (
              <SessionItem key={session.id} session={session} showsPlace={everywhere} onDeleted={again} />
            ))}
          </ul>
        ) : null}
        {list.value?.more ? (
          <div className="row more-sessions">
            <button type="button" className="button" onClick={() => setWanted(sessions.length + PAGE_OF_SESSIONS)}>
              Show more
            </button>
          </div>
        ) : null}
      </section>
      {sessions.length > 0 ? <Faces /> : null}
    </main>
  );
}

const PLACES = [
  [false, "This workspace"],
  [true, "All workspaces"],
] as const;

function WorkspaceChoice({ everywhere, onChoose }: { everywhere: boolean; onChoose: (all: boolean) => void }): ReactNode {
  return (
    <div className="places" role="group" aria-label="Sessions of">
      {PLACES.map(([all, label]) => (
        <button key={label} type="button" className="quiet" aria-pressed={everywhere === all} onClick={() => onChoose(all)}>
          {label}
        </button>
      ))}
    </div>
  );
}

function Faces(): ReactNode {
  const [personas] = useFetched(api.personas);
  if (personas.state !== "ready") return <div className="faces faces-empty" />;
  return (
    <ul className="faces" aria-label="The board">
      {personas.value.map((persona) => (
        <li key={persona.id}>
          <Mark id={persona.id} name={persona.name} contributionType={persona.contributionType} />
          <span>
            <strong dir="auto">{persona.name}</strong>
            <span className="faces-role" dir="auto">{persona.role}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

interface SessionItemProps {
  session: SessionSummary;
  showsPlace: boolean;
  onDeleted: () => void;
}

function SessionItem({ session, showsPlace, onDeleted }: SessionItemProps): ReactNode {
  const [asking, setAsking] = useState(false);
  const [kept, setKept] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const remove = useCallback(async () => {
    try {
      await api.remove(session.id);
      forgetSession(session.id);
      announce("Session deleted");
      document.getElementById("past")?.focus({ preventScroll: true });
      onDeleted();
    } catch (error) {
      setProblem(sentence(error));
    }
  }, [session.id, onDeleted]);
  return (
    <li className="session">
      <Link to={session.hasBrief ? paths.brief(session.id) : paths.session(session.id)} className="session-link">
        <span className="session-decision" dir="auto">{session.decision}</span>
        <span className="session-facts">
          {session.live ? (
            <span className="live">
              <span className="pulse" aria-hidden="true" />
              Live
            </span>
          ) : null}
          <span className={`standing standing-${session.step}${session.hasBrief ? (session.briefStale ? " has-stale-brief" : " has-brief") : ""}`}>{standing(session)}</span>
          <span>{count(session.personaCount, "advisor")}</span>
          {session.challengeCount > 0 ? <span>{count(session.challengeCount, "challenge")}</span> : null}
          <span>{modelName(session.model)}</span>
          {showsPlace && session.workspace ? <span dir="auto">{session.workspace}</span> : null}
          {session.owner ? <span dir="auto">{session.owner}</span> : null}
          <time dateTime={session.updatedAt}>{ago(session.updatedAt)}</time>
        </span>
      </Link>
      <div className="session-delete">
        {asking ? (
          <span className="confirm" role="group" aria-label="Delete this session for good?">
            <span>{problem ?? "Delete for good?"}</span>
            <button type="button" className="quiet danger" onClick={() => void remove()}>
              Delete
            </button>
            <button type="button" className="quiet" autoFocus onClick={() => (setAsking(false), setKept(true))}>
              Keep
            </button>
          </span>
        ) : (
          <button type="button" className="icon-button" aria-label={`Delete the session “${session.decision.slice(0, 60)}”`} title="Delete" autoFocus={kept} onClick={() => setAsking(true)}>
            <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
              <path d="M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5" />
            </svg>
          </button>
        )}
      </div>
    </li>
  );
}
