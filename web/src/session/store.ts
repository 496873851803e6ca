/** One session, followed live. Components read slices of it with useSyncExternalStore. */

import { useCallback, useSyncExternalStore } from "react";
import { ApiError, api, isAbort, type SessionStream, sentence } from "../api";
import { type FrameScheduler, TokenBatcher } from "../batch";
import { keepChallengeDraft } from "../challenge-drafts";
import type { Received } from "../sse";
import type { CorrectionRequest, EvidenceIn, Given, Session, SessionEvent } from "../wire";
import { type Action, type Advisor, allSettled, fromSession, isNews, reduce, type SessionState } from "./state";

type Connection = "loading" | "live" | "reconnecting" | "idle" | "missing" | "unreachable";

export interface Snapshot {
  readonly connection: Connection;
  readonly problem: string | null;
  readonly session: SessionState | null;
}

const PAUSES = [400, 1000, 2000, 4000, 8000];

export class SessionStore {
  readonly id: string;
  #snapshot: Snapshot = { connection: "loading", problem: null, session: null };
  #listeners = new Set<() => void>();
  #tokens: TokenBatcher;
  #replyTokens: TokenBatcher;
  #stored: Session | null = null;
  #last = 0;
  #following = false;
  /** Somebody asked to follow while the last round was ending. */
  #again = false;
  #challenge: AbortController | null = null;
  #refreshedAt = 0;
  /** It was convened here: whoever did begins with the first advisor, however soon there is a brief. */
  #isNew = false;
  /** How often the session was followed again without anything new. */
  #fruitless = 0;

  constructor(id: string, scheduler?: FrameScheduler) {
    this.id = id;
    this.#tokens = new TokenBatcher((tokens) => this.#dispatch({ type: "tokens", tokens }), scheduler);
    this.#replyTokens = new TokenBatcher((tokens) => {
      for (const [personaId, token] of tokens) this.#dispatch({ type: "challenge_token", personaId, token });
    }, scheduler);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  #set(part: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...part };
    for (const listener of this.#listeners) listener();
  }

  #dispatch(action: Action): void {
    const before = this.#snapshot.session;
    if (!before) return;
    const after = reduce(before, action);
    if (after !== before) this.#set({ session: after });
  }

  /** Loads the session and follows what is under way. `stream` is the one its creation returned. */
  async open(stream?: SessionStream): Promise<void> {
    if (stream) this.#isNew = true;
    if (this.#following) {
      this.#again = true;
      return;
    }
    this.#following = true;
    this.#again = false;
    try {
      if (!this.#snapshot.session) {
        this.#set({ connection: "loading", problem: null });
        const stored = await api.session(this.id);
        this.#stored = stored;
        this.#set({ session: fromSession(stored) });
        // What an unfinished advisor has said so far is only in the events: those are read from
        // the beginning, and `isNews` leaves out what the snapshot already has.
        const unfinished = stored.responses.some((one) => !one.isComplete && one.error === null);
        this.#last = unfinished ? 0 : stored.lastEventId;
        if (!stream && (stored.paused || (!unfinished && !stored.live))) {
          this.#set({ connection: "idle" });
          return;
        }
        await this.#follow(stream, true);
      } else await this.#follow(stream, false);
    } catch (error) {
      const missing = error instanceof ApiError && error.status === 404;
      this.#set({ connection: missing ? "missing" : "unreachable", problem: sentence(error) });
    } finally {
      this.#following = false;
    }
    if (this.#again) await this.open();
  }

  /** `looks`: what rests by the time that we ask is left resting. A connection that breaks is taken up again, and goes on. */
  async #follow(initial: SessionStream | undefined, looks: boolean): Promise<void> {
    let stream = initial;
    for (let attempt = 0; ; attempt++) {
      let finished = false;
      try {
        stream ??= await api.events(this.id, this.#last, looks && attempt === 0);
        for await (const batch of stream) {
          const last = this.#last;
          if (this.#snapshot.connection !== "live") this.#set({ connection: "live", problem: null });
          if (this.#receive(batch)) finished = true;
          // Only something new makes the next try an early one again.
          if (this.#last > last) attempt = this.#fruitless = 0;
        }
      } catch (error) {
        if (error instanceof ApiError && error.status !== 0 && error.status < 500 && error.status !== 429) throw error;
      }
      stream = undefined;
      this.#tokens.flush();
      if (finished) {
        this.#set({ connection: "idle" });
        await this.refresh();
        return;
      }
      this.#set({ connection: "reconnecting" });
      await pause(waitFor(attempt));
    }
  }

  /** Applies a batch; true when it said that nothing more is to come. */
  #receive(batch: readonly Received<SessionEvent>[]): boolean {
    let over = false;
    for (const { id, event } of batch) {
      if (event.type !== "idle" && id !== null) {
        if (id <= this.#last) continue;
        this.#last = id;
      }
      if (event.type === "session_complete" || event.type === "idle" || event.type === "error") over = true;
      else if (event.type !== "brief_complete") over = false;
      if (this.#stored && !isNews(this.#stored, id, event)) continue;
      if (event.type === "persona_token") {
        this.#tokens.add(event.personaId, event.token);
        continue;
      }
      if (event.type === "persona_start") this.#tokens.drop(event.personaId);
      else this.#tokens.flush();
      this.#dispatch(event);
    }
    return over;
  }

  /** Brings totals, brief and exchanges made elsewhere up to date, when nothing is under way here. */
  async refresh(): Promise<void> {
    this.#refreshedAt = Date.now();
    const now = this.#snapshot.session;
    try {
      const stored = await api.session(this.id);
      // What has happened here since the question is newer than the answer.
      if (!now || now !== this.#snapshot.session || !this.#resting) return;
      const fresh = { ...fromSession(stored), challengeError: now.challengeError, streamError: now.streamError };
      const session = { ...unchanged(now, fresh), advisors: unchanged(now.advisors, fresh.advisors) };
      if (JSON.stringify(session) !== JSON.stringify(now)) this.#set({ session });
      if (stored.live && !stored.paused && now.streamError === null) {
        // Where a server says that nothing more is to come and that it goes on, ask ever less often.
        if (this.#fruitless > 0) await pause(waitFor(this.#fruitless - 1));
        this.#fruitless++;
        void this.open();
      }
    } catch {
      // only a refresh: what is on the page stays
    }
  }

  /** The tab is looked at again: another one may have gone on with this session. */
  lookedAt(): void {
    if (this.#resting && Date.now() - this.#refreshedAt > 2000) void this.refresh();
  }

  get #resting(): boolean {
    const { connection, session } = this.#snapshot;
    return connection === "idle" && session !== null && session.challenging === null && !session.briefLoading;
  }

  /** Goes on with what was stopped, left or broken off. */
  async goOn(): Promise<void> {
    try {
      await api.goOn(this.id);
    } catch (error) {
      this.#dispatch({ type: "error", message: sentence(error) });
      return;
    }
    this.#dispatch({ type: "resumed" });
    void this.open();
  }

  /** Ends one advisor's words, or without one, everything that is under way. */
  async stop(personaId?: string): Promise<void> {
    if (personaId === undefined) this.abortChallenge();
    try {
      await api.stop(this.id, personaId);
    } catch (error) {
      // Whoever had finished by then needs no stopping: the stream tells.
      if (!(error instanceof ApiError && error.status === 409))
        this.#dispatch({ type: "error", message: sentence(error) });
    }
  }

  async retryAll(): Promise<void> {
    const session = this.#snapshot.session;
    const failed = session?.order.filter((id) => session.advisors[id]?.phase === "failed") ?? [];
    const before = new Map(failed.map((id) => [id, session?.advisors[id]]));
    for (const personaId of failed) this.#dispatch({ type: "retry", personaId });
    try {
      await api.retry(this.id);
    } catch (error) {
      for (const personaId of failed) {
        this.#dispatch({
          type: "persona_error",
          personaId,
          message: sentence(error),
          kind: before.get(personaId)?.errorKind ?? "",
        });
      }
      return;
    }
    void this.open();
  }

  async retry(personaId: string): Promise<void> {
    const error = this.#snapshot.session?.advisors[personaId]?.error;
    this.#dispatch({ type: "retry", personaId });
    try {
      await api.retry(this.id, personaId);
    } catch (failure) {
      this.#dispatch({ type: "persona_error", personaId, message: sentence(failure) || error || "", kind: "" });
      return;
    }
    void this.open();
  }

  async challenge(personaId: string, text: string): Promise<void> {
    this.abortChallenge();
    const session = this.#snapshot.session;
    const advisor = session?.advisors[personaId];
    if (!session || !advisor || advisor.phase !== "done") return;
    const controller = new AbortController();
    this.#challenge = controller;
    // Until its reply is whole, it can be lost: to a reload, a broken connection, a look at somebody else.
    keepChallengeDraft(this.id, personaId, text);
    this.#dispatch({ type: "challenge_start", personaId, text });
    const mine = (): boolean => this.#challenge === controller;
    try {
      const stream = await api.challenge(
        {
          sessionId: this.id,
          personaId,
          decision: session.decision,
          answers: session.answers,
          initialResponse: advisor.content,
          priorChallenges: advisor.challenges.filter((exchange) => exchange.isReplyComplete),
          challengeText: text,
        },
        controller.signal,
      );
      for await (const batch of stream) {
        for (const { event } of batch) {
          if (!mine()) return;
          if (event.type === "challenge_reply_token") this.#replyTokens.add(personaId, event.token);
          else if (event.type === "looked") this.#dispatch({ type: "challenge_looked", personaId, what: event.what });
          else if (event.type === "challenge_reply_complete") {
            this.#replyTokens.flush();
            this.#challenge = null;
            keepChallengeDraft(this.id, personaId, "");
            this.#dispatch({
              type: "challenge_complete",
              personaId,
              usage: event.usage,
              citations: event.citations ?? [],
            });
            // What was said in it is among what was decided so far.
            void this.refresh();
            return;
          } else if (event.type === "error") throw new ApiError(event.message, 200);
        }
      }
      throw new ApiError("The reply was cut off before its end.", 0);
    } catch (error) {
      if (!mine() || isAbort(error)) return;
      this.#challenge = null;
      this.#replyTokens.drop(personaId);
      this.#dispatch({ type: "challenge_failed", personaId, message: sentence(error) });
    }
  }

  /** Leaving an advisor ends their unfinished reply and takes the half exchange away. */
  abortChallenge(): void {
    const running = this.#challenge;
    if (!running) return;
    this.#challenge = null;
    const personaId = this.#snapshot.session?.challenging;
    if (personaId) this.#replyTokens.drop(personaId);
    running.abort();
    this.#dispatch({ type: "challenge_abort" });
  }

  /** Shown at once; taken back, with the reason, where the server did not keep it. */
  async tick(condition: string, ticked: boolean): Promise<string | null> {
    this.#dispatch({ type: "ticked", condition, ticked });
    try {
      await api.tick(this.id, condition, ticked);
      return null;
    } catch (error) {
      this.#dispatch({ type: "ticked", condition, ticked: !ticked });
      return sentence(error);
    }
  }

  /** Gives the session evidence: what came of it, or why nothing did. */
  async give(items: readonly EvidenceIn[]): Promise<Given> {
    const came = await api.give(this.id, items);
    this.#dispatch({ type: "given", items: came.taken });
    return came;
  }

  /** Corrects what was decided so far: an entry, or without a key, adds one. Says why that was not kept. */
  async correct(correction: CorrectionRequest): Promise<string | null> {
    try {
      this.#dispatch({ type: "corrected", ...(await api.correct(this.id, correction)) });
      return null;
    } catch (error) {
      return sentence(error);
    }
  }

  /** Called on arrival at the brief: asks for one only when there is none or it is out of date. */
  async ensureBrief(again = false): Promise<void> {
    const session = this.#snapshot.session;
    if (!session || session.live || session.paused || session.briefWriting || session.briefLoading) return;
    if (!allSettled(session)) return;
    if (session.brief && !session.briefStale) return;
    if (session.briefError && !again) return;
    this.#dispatch({ type: "brief_requested" });
    try {
      const { brief, cited = [] } = await api.brief({
        sessionId: this.id,
        decision: session.decision,
        answers: session.answers,
        responses: session.order.flatMap((id) => {
          const advisor = session.advisors[id];
          if (!advisor) return [];
          return [
            {
              personaId: id,
              personaName: advisor.name,
              content: advisor.content,
              isComplete: advisor.phase === "done",
              challenges: advisor.challenges.filter((exchange) => exchange.isReplyComplete),
            },
          ];
        }),
      });
      this.#dispatch({ type: "brief_received", brief, cited });
      void this.refresh();
    } catch (error) {
      this.#dispatch({ type: "brief_failed", message: sentence(error) });
    }
  }
}

/** `next`, in which every part that says the same as before is the same object: nothing is drawn again for it. */
function unchanged<T extends object>(before: Partial<T>, next: T): T {
  const kept = { ...next };
  for (const key of Object.keys(next) as (keyof T)[]) {
    const held = before[key];
    if (held !== undefined && JSON.stringify(held) === JSON.stringify(next[key])) kept[key] = held;
  }
  return kept;
}

function waitFor(attempt: number): number {
  return PAUSES[Math.min(attempt, PAUSES.length - 1)] ?? 8000;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
  });
}

const stores = new Map<string, SessionStore>();

export function sessionStore(id: string): SessionStore {
  let store = stores.get(id);
  if (!store) {
    store = new SessionStore(id);
    stores.set(id, store);
  }
  return store;
}

export function forgetSession(id: string): void {
  stores.delete(id);
}

/** Reads one slice; the component is drawn again only when that slice is another value. */
export function useSlice<T>(store: SessionStore, select: (snapshot: Snapshot) => T): T {
  const read = useCallback(() => select(store.snapshot), [store, select]);
  return useSyncExternalStore(store.subscribe, read);
}

export function useSession<T>(store: SessionStore, select: (session: SessionState) => T): T {
  return useSlice(
    store,
    useCallback(
      (snapshot: Snapshot) => {
        if (!snapshot.session) throw new Error("the session is not loaded");
        return select(snapshot.session);
      },
      [select],
    ),
  );
}

export function useAdvisor(store: SessionStore, id: string): Advisor | undefined {
  return useSession(
    store,
    useCallback((session: SessionState) => session.advisors[id], [id]),
  );
}
