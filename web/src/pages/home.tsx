import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { announce } from "../announce";
import { api, PAGE_OF_SESSIONS, sentence } from "../api";
import { Mark } from "../components/glyphs";
import { ModelNote } from "../components/model-note";
import { Problem, Waiting } from "../components/notes";
import { Room, tooLong } from "../components/room";
import { useFetched } from "../fetched";
import { ago, count, modelName } from "../format";
import { useKeys } from "../keys";
import { Link, paths, usePageHeading } from "../router";
import { forgetSession } from "../session/store";
import { LIMITS, type SessionChange, type SessionSummary } from "../wire";

export function standing(session: SessionSummary): string {
  if (session.step === "review") {
    if (session.hasBrief) return session.briefStale ? "Brief out of date" : "Brief ready";
    return session.completeCount === 0 ? "Nobody answered" : "No brief yet";
  }
  if (session.step === "brief") return session.live ? "Brief being written" : "Paused before the brief";
  if (session.step !== "advisors") return "Not convened yet";
  return `${session.live ? "" : "Paused, "}${session.completeCount} of ${session.personaCount} have spoken`;
}

/** Milliseconds that somebody who types pauses before the list is searched. */
const PAUSE = 200;

export function Home(): ReactNode {
  const [everywhere, setEverywhere] = useState(false);
  const [wanted, setWanted] = useState(PAGE_OF_SESSIONS);
  const [typed, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const load = useCallback(
    (signal: AbortSignal) => api.sessions(everywhere, wanted, search, signal),
    [everywhere, wanted, search],
  );
  const [list, again] = useFetched(load);
  const choose = (all: boolean): void => {
    setEverywhere(all);
    setWanted(PAGE_OF_SESSIONS);
  };
  useEffect(() => {
    if (tooLong(typed, MOST_SEARCHED)) return;
    const timer = setTimeout(() => {
      setSearch(typed.trim());
      setWanted(PAGE_OF_SESSIONS);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
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
  const searching = typed !== "" || search !== "";
  const searched = searching && !tooLong(typed, MOST_SEARCHED);
  const none = list.state === "ready" && sessions.length === 0 && !searching && list.value.search === "";
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
          Bring a decision. A board of advisors who disagree with each other takes it apart, you push back, and the
          brief keeps the dissent.
        </p>
        <div className="row">
          <Link to={paths.new} className="button button-accent button-large">
            Present a decision
          </Link>
        </div>
      </section>
      {none ? <Faces /> : null}
      <ModelNote />
      <section aria-labelledby="past">
        {!none ? (
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
        {none ? (
          <p className="empty">
            No sessions yet. The first decision you present will be kept here, with everything that was said.
          </p>
        ) : null}
        {list.value !== null ? (
          <div className="row row-spread list-head">
            <WorkspaceChoice everywhere={everywhere} onChoose={choose} />
            {none ? null : <Search typed={typed} onType={setTyped} />}
          </div>
        ) : null}
        {searched && list.state === "ready" && sessions.length === 0 && list.value.search !== "" ? (
          <p className="empty" role="status">
            No session has “<bdi>{list.value.search}</bdi>” in its title or decision.
          </p>
        ) : null}
        {sessions.length > 0 ? (
          <ul className="sessions">
            {sessions.map((session) => (
              <SessionItem key={session.id} session={session} showsPlace={everywhere} onChanged={again} />
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
      {sessions.length > 0 && !searching ? <Faces /> : null}
    </main>
  );
}

/** Characters that the server takes. */
const MOST_SEARCHED = 200;

function Search({ typed, onType }: { typed: string; onType: (text: string) => void }): ReactNode {
  const id = useId();
  const long = tooLong(typed, MOST_SEARCHED);
  const field = useRef<HTMLInputElement>(null);
  useKeys(
    useCallback((key: string) => {
      if (key === "/") field.current?.focus();
      return key === "/";
    }, []),
  );
  return (
    <search className="search">
      <input
        ref={field}
        type="search"
        dir="auto"
        value={typed}
        placeholder="Search"
        aria-invalid={long}
        aria-describedby={long ? id : undefined}
        aria-label="Search the sessions"
        aria-keyshortcuts="/"
        onChange={(event) => onType(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          onType("");
          field.current?.blur();
        }}
      />
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd takes no focus, and aria-keyshortcuts says the same */}
      <kbd aria-hidden="true">/</kbd>
      {long ? <Room id={id} text={typed} most={MOST_SEARCHED} near={0} /> : null}
    </search>
  );
}

const PLACES = [
  [false, "This workspace"],
  [true, "All workspaces"],
] as const;

function WorkspaceChoice({
  everywhere,
  onChoose,
}: {
  everywhere: boolean;
  onChoose: (all: boolean) => void;
}): ReactNode {
  return (
    <fieldset className="places" aria-label="Sessions of">
      {PLACES.map(([all, label]) => (
        <button
          key={label}
          type="button"
          className="quiet"
          aria-pressed={everywhere === all}
          onClick={() => onChoose(all)}
        >
          {label}
        </button>
      ))}
    </fieldset>
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
            <span className="faces-role" dir="auto">
              {persona.role}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

interface SessionItemProps {
  session: SessionSummary;
  showsPlace: boolean;
  onChanged: () => void;
}

type Doing = "renaming" | "deleting" | null;

function SessionItem({ session, showsPlace, onChanged }: SessionItemProps): ReactNode {
  const [doing, setDoing] = useState<Doing>(null);
  const [problem, setProblem] = useState<string | null>(null);
  /** The button that was used last: it takes the focus back when what it opened is closed. */
  const used = useRef<Doing>(null);
  const short = session.title.slice(0, 60);
  const open = (what: Doing): void => {
    used.current = what;
    setProblem(null);
    setDoing(what);
  };
  const attempt = async (act: () => Promise<void>, said: string): Promise<void> => {
    try {
      await act();
      announce(said);
      setDoing(null);
      onChanged();
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  const change = (what: SessionChange, said: string): Promise<void> =>
    attempt(() => api.change(session.id, what), said);
  const remove = (): Promise<void> =>
    attempt(async () => {
      await api.remove(session.id);
      document.getElementById("past")?.focus({ preventScroll: true });
      forgetSession(session.id);
    }, "Session deleted");
  return (
    <li className={session.pinned ? "session is-pinned" : "session"}>
      {doing === "renaming" ? (
        <Rename
          session={session}
          problem={problem}
          onSave={(title) => {
            forgetSession(session.id);
            void change({ title }, title ? "Session renamed" : "Title taken back");
          }}
          onCancel={() => setDoing(null)}
        />
      ) : (
        <Link to={session.hasBrief ? paths.brief(session.id) : paths.session(session.id)} className="session-link">
          <span className="session-decision" dir="auto">
            {session.title}
          </span>
          {session.title !== session.decision ? (
            <span className="session-about" dir="auto">
              {session.decision}
            </span>
          ) : null}
          <span className="session-facts">
            {session.pinned ? <span className="pinned">Pinned</span> : null}
            {session.live ? (
              <span className="live">
                <span className="pulse" aria-hidden="true" />
                Live
              </span>
            ) : null}
            <span
              className={`standing standing-${session.step}${session.hasBrief ? (session.briefStale ? " has-stale-brief" : " has-brief") : ""}`}
            >
              {standing(session)}
            </span>
            <span>{count(session.personaCount, "advisor")}</span>
            {session.challengeCount > 0 ? <span>{count(session.challengeCount, "challenge")}</span> : null}
            <span>{modelName(session.model)}</span>
            {showsPlace && session.workspace ? <span dir="auto">{session.workspace}</span> : null}
            {session.owner ? <span dir="auto">{session.owner}</span> : null}
            <time dateTime={session.updatedAt}>{ago(session.updatedAt)}</time>
          </span>
        </Link>
      )}
      <div className="session-actions">
        {doing === "deleting" ? (
          <fieldset className="confirm" aria-label="Delete this session for good?">
            <span>{problem ?? "Delete for good?"}</span>
            <button type="button" className="quiet danger" onClick={() => void remove()}>
              Delete
            </button>
            {/* biome-ignore lint/a11y/noAutofocus: the button that opened this is gone, and the focus with it */}
            <button type="button" className="quiet" autoFocus onClick={() => setDoing(null)}>
              Keep
            </button>
          </fieldset>
        ) : doing === null ? (
          <>
            {problem !== null ? (
              <span className="field-problem" role="alert">
                {problem}
              </span>
            ) : null}
            <IconButton
              label={session.pinned ? `Unpin the session “${short}”` : `Pin the session “${short}”`}
              title={session.pinned ? "Unpin" : "Pin to the top"}
              onClick={() =>
                void change({ pinned: !session.pinned }, session.pinned ? "Session unpinned" : "Session pinned")
              }
            >
              <path
                className={session.pinned ? "is-filled" : ""}
                d="M9 4h6l-.8 6 3.3 3.2V15h-11v-1.8L9.8 10ZM12 15v5.5"
              />
            </IconButton>
            <IconButton
              label={`Rename the session “${short}”`}
              title="Rename"
              focus={used.current === "renaming"}
              onClick={() => open("renaming")}
            >
              <path d="M5 19h3.2L18.6 8.6a1.8 1.8 0 0 0 0-2.5l-.7-.7a1.8 1.8 0 0 0-2.5 0L5 15.8ZM13.8 7l3.2 3.2" />
            </IconButton>
            <IconButton
              label={`Delete the session “${short}”`}
              title="Delete"
              focus={used.current === "deleting"}
              onClick={() => open("deleting")}
            >
              <path d="M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5" />
            </IconButton>
          </>
        ) : null}
      </div>
    </li>
  );
}

interface IconButtonProps {
  label: string;
  title: string;
  focus?: boolean;
  onClick: () => void;
  children: ReactNode;
}

function IconButton({ label, title, focus = false, onClick, children }: IconButtonProps): ReactNode {
  return (
    // biome-ignore lint/a11y/noAutofocus: it takes back the focus that it lost to what it opened
    <button type="button" className="icon-button" aria-label={label} title={title} autoFocus={focus} onClick={onClick}>
      <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        {children}
      </svg>
    </button>
  );
}

interface RenameProps {
  session: SessionSummary;
  problem: string | null;
  onSave: (title: string) => void;
  onCancel: () => void;
}

/** An empty title takes the given one back: then the session is called by its decision. */
function Rename({ session, problem, onSave, onCancel }: RenameProps): ReactNode {
  const id = useId();
  const [title, setTitle] = useState(session.title === session.decision ? "" : session.title);
  const long = tooLong(title, LIMITS.title);
  return (
    <form
      className="rename"
      onSubmit={(event) => {
        event.preventDefault();
        if (!long) onSave(title.trim());
      }}
    >
      <label htmlFor={id}>Title</label>
      <input
        id={id}
        type="text"
        dir="auto"
        // biome-ignore lint/a11y/noAutofocus: the button that opened this is gone, and the focus with it
        autoFocus
        value={title}
        placeholder={session.decision.slice(0, 120)}
        aria-invalid={long}
        aria-describedby={`${id}-room`}
        onChange={(event) => setTitle(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
        }}
      />
      <div className="row">
        <button type="submit" className="button" disabled={long}>
          Save
        </button>
        <button type="button" className="quiet" onClick={onCancel}>
          Cancel
        </button>
        <Room id={`${id}-room`} text={title} most={LIMITS.title} near={40}>
          Left empty, it is called by its decision.
        </Room>
      </div>
      {problem !== null ? (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </form>
  );
}
