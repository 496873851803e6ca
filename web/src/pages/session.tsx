import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { type Cited, inWords, type Reading, ReadingContext } from "../citing";
import { ToGoOn } from "../components/costs";
import { DecisionFold } from "../components/decision-fold";
import { Desk, DeskToggle, useDesk } from "../components/desk";
import { EvidenceDialog, EvidenceItemView } from "../components/evidence-item";
import { MarksRow } from "../components/marks-row";
import { Problem, Waiting } from "../components/notes";
import { useKeys } from "../keys";
import { Link, navigate, paths, type Route, usePageHeading } from "../router";
import { allSettled, type SessionState, sharedFailure } from "../session/state";
import { type SessionStore, type Snapshot, sessionStore, useSession, useSlice } from "../session/store";
import { SMALL_MODEL } from "../wire";
import { AdvisorPage } from "./advisor";
import { BriefPage } from "./brief";

type SessionRoute = Extract<Route, { id: string }>;

const loaded = (snapshot: Snapshot): boolean => snapshot.session !== null;
const connectionOf = (snapshot: Snapshot): Snapshot["connection"] => snapshot.connection;
const problemOf = (snapshot: Snapshot): string | null => snapshot.problem;

/** Milliseconds. What another tab adds to a session that rests is not streamed: it is looked up while this one is in view. */
const LOOK_AGAIN = 4000;

export function SessionPage({ route }: { route: SessionRoute }): ReactNode {
  const store = useMemo(() => sessionStore(route.id), [route.id]);
  const ready = useSlice(store, loaded);
  const connection = useSlice(store, connectionOf);
  const problem = useSlice(store, problemOf);
  useEffect(() => {
    void store.open();
    const seen = (): void => {
      if (!document.hidden) store.lookedAt();
    };
    document.addEventListener("visibilitychange", seen);
    addEventListener("focus", seen);
    const timer = setInterval(seen, LOOK_AGAIN);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("focus", seen);
      clearInterval(timer);
      store.abortChallenge();
    };
  }, [store]);

  if (connection === "missing") return <Missing />;
  if (!ready) {
    return (
      <main className="page narrow">
        {connection === "unreachable" ? (
          <>
            <Link to={paths.home} className="back">
              ← Sessions
            </Link>
            <Heading>This session could not be opened</Heading>
            <Problem title="No answer from moot" message={problem ?? ""} onAction={() => void store.open()} />
          </>
        ) : (
          <Waiting>Opening the session…</Waiting>
        )}
      </main>
    );
  }
  return <Loaded store={store} route={route} />;
}

function Loaded({ store, route }: { store: SessionStore; route: SessionRoute }): ReactNode {
  const decision = useSession(
    store,
    useCallback((s: SessionState) => s.decision, []),
  );
  const answers = useSession(
    store,
    useCallback((s: SessionState) => s.answers, []),
  );
  const order = useSession(
    store,
    useCallback((s: SessionState) => s.order, []),
  );
  const tiny = useSession(
    store,
    useCallback((s: SessionState) => s.tiny, []),
  );
  const start = useSession(
    store,
    useCallback(
      (s: SessionState) =>
        s.brief && !store.isNew ? paths.brief(s.id) : s.order[0] ? paths.advisor(s.id, s.order[0]) : null,
      [store],
    ),
  );
  useEffect(() => {
    if (route.page === "session" && start) navigate(start, { replace: true });
  }, [route.page, start]);

  useKeys(
    useCallback(
      (key: string) => {
        const to = goal(key, store, route);
        if (to !== null) navigate(to);
        return to !== null;
      },
      [store, route],
    ),
  );
  const title = useSession(
    store,
    useCallback((s: SessionState) => s.title, []),
  );

  const evidence = useSession(
    store,
    useCallback((s: SessionState) => s.evidence, []),
  );
  const [cited, open] = useState<Cited | null>(null);
  const close = useCallback(() => open(null), []);
  const reading = useMemo((): Reading => ({ session: store.id, evidence, open }), [store, evidence]);
  const [desk, toggle] = useDesk();

  const known = route.page !== "advisor" || order.includes(route.personaId);
  return (
    <ReadingContext value={reading}>
      <main className={desk ? "page has-desk" : "page"}>
        <div className="about">
          <DecisionFold decision={decision} title={title} answers={answers} />
          <DeskToggle store={store} open={desk} onToggle={toggle} />
        </div>
        <MarksRow store={store} current={route.page === "advisor" ? route.personaId : route.page} />
        <ConnectionNote store={store} />
        {tiny ? <p className="small-model">{SMALL_MODEL}</p> : null}
        <div className="room">
          <div className="said">
            {route.page === "advisor" && known ? (
              <AdvisorPage key={route.personaId} store={store} personaId={route.personaId} />
            ) : null}
            {route.page === "brief" ? <BriefPage store={store} /> : null}
            {route.page === "evidence" ? (
              <article className="item-page">
                <Heading>
                  {inWords(route.cited, evidence.find((one) => one.id === route.cited.item)?.name ?? "")}
                </Heading>
                <EvidenceItemView session={store.id} cited={route.cited} />
              </article>
            ) : null}
            {!known ? (
              <div className="narrow">
                <Heading>This advisor is not on this board</Heading>
                <p>Choose one from the row above.</p>
              </div>
            ) : null}
          </div>
          {desk ? <Desk store={store} /> : null}
        </div>
        {cited !== null ? <EvidenceDialog cited={cited} onClose={close} /> : null}
      </main>
    </ReadingContext>
  );
}

/** Where a key leads: a number to that advisor, an arrow to the next or the one before. */
function goal(key: string, store: SessionStore, route: SessionRoute): string | null {
  const session = store.snapshot.session;
  if (!session) return null;
  if (/^[1-9]$/.test(key)) {
    const persona = session.order[Number(key) - 1];
    return persona === undefined ? null : paths.advisor(session.id, persona);
  }
  // A reply ends when its page is left: an arrow is too easily pressed for that.
  const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
  if (step === 0 || session.challenging !== null) return null;
  const places = session.order.map((persona) => paths.advisor(session.id, persona));
  if (allSettled(session)) places.push(paths.brief(session.id));
  const here =
    route.page === "brief"
      ? session.order.length
      : route.page === "advisor"
        ? session.order.indexOf(route.personaId)
        : -1;
  return here < 0 ? null : (places[here + step] ?? null);
}

function ConnectionNote({ store }: { store: SessionStore }): ReactNode {
  const connection = useSlice(store, connectionOf);
  const failed = useSession(
    store,
    useCallback((s: SessionState) => s.streamError, []),
  );
  const paused = useSession(
    store,
    useCallback((s: SessionState) => s.paused, []),
  );
  const shared = useSession(store, sharedFailure);
  if (connection === "reconnecting") {
    return (
      <div className="connection" role="status">
        <Waiting>Connection lost. Reconnecting… Nothing that was said is lost.</Waiting>
      </div>
    );
  }
  if (failed !== null) {
    return (
      <Problem title="The session stopped" message={failed} action="Go on with it" onAction={() => void store.goOn()} />
    );
  }
  if (connection === "unreachable") {
    return (
      <Problem
        title="No answer from moot"
        message="What is on the page stays as it is."
        onAction={() => void store.goOn()}
      />
    );
  }
  if (paused) {
    return (
      <div className="paused" role="status">
        <p>
          <strong>Paused.</strong> Nothing is asked and nothing is spent until you go on. What was said to its end is
          kept.
          <ToGoOn store={store} />
        </p>
        <button type="button" className="button button-accent" onClick={() => void store.goOn()}>
          Go on
        </button>
      </div>
    );
  }
  if (shared !== null) {
    return (
      <Problem
        title="Several advisors could not answer, for the same reason"
        message={shared}
        action="Ask all again"
        onAction={() => void store.retryAll()}
      />
    );
  }
  return null;
}

function Missing(): ReactNode {
  return (
    <main className="page narrow">
      <Heading>There is no such session</Heading>
      <p className="lede">It may have been deleted, or the address is not complete.</p>
      <div className="row">
        <Link to={paths.home} className="button">
          See all sessions
        </Link>
        <Link to={paths.new} className="button button-accent">
          Present a decision
        </Link>
      </div>
    </main>
  );
}

export function Heading({ children }: { children: string }): ReactNode {
  const heading = usePageHeading(children);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
