import { afterEach, describe, expect, it, vi } from "vitest";
import type { FrameScheduler } from "../batch";
import type { Session } from "../wire";
import { SessionStore } from "./store";

const now: FrameScheduler = {
  request(callback) {
    callback();
    return 0;
  },
  cancel() {},
};

function session(part: Partial<Session> = {}): Session {
  return {
    id: "s1",
    title: "Should we?",
    pinned: false,
    decision: "Should we?",
    answers: [],
    mode: "independent",
    model: "m",
    tiny: false,
    step: "advisors",
    personas: ["one", "two"].map((id) => ({ id, name: `The ${id}`, role: "", contributionType: "challenger" })),
    responses: ["one", "two"].map((id) => ({
      personaId: id,
      personaName: `The ${id}`,
      content: "",
      isComplete: false,
      citations: [],
      error: null,
      errorKind: null,
      challenges: [],
      usage: null,
    })),
    brief: null,
    briefStale: false,
    briefError: null,
    tickedConditions: [],
    briefCited: [],
    briefUsage: null,
    evidence: [],
    ledger: [],
    struck: [],
    usage: { inputTokens: 0, outputTokens: 0, costUsd: null, cachedTokens: 0 },
    live: true,
    paused: false,
    lastEventId: 0,
    createdAt: "",
    updatedAt: "",
    ...part,
  };
}

const done = (one: Session["responses"][number]): Session["responses"][number] => ({
  ...one,
  isComplete: true,
  content: `${one.personaId} in full`,
});

function sse(events: [number, object][], broken = false): Response {
  const text = events.map(([id, event]) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (!broken) controller.close();
    },
    pull(controller) {
      if (broken) controller.error(new TypeError("network"));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

function serve(answer: (path: string, init: RequestInit) => Response | Promise<Response>): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit = {}) => {
    const last = new Headers(init.headers).get("Last-Event-ID");
    asked.push(`${init.method ?? "GET"} ${path}${last === null ? "" : ` after ${last}`}`);
    return Promise.resolve(answer(path, init));
  });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
  return asked;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe("SessionStore", () => {
  it("goes on after a dropped connection from the last event, with nothing lost or said twice", async () => {
    let streams = 0;
    const asked = serve((path) => {
      if (!path.includes("/events"))
        return Response.json({
          session: streams < 2 ? session() : session({ live: false, responses: session().responses.map(done) }),
        });
      streams++;
      if (streams === 1) {
        return sse(
          [
            [1, { type: "session_start", sessionId: "s1", personaCount: 2, model: "m", tiny: false }],
            [2, { type: "persona_start", personaId: "one", personaName: "The one", role: "" }],
            [3, { type: "persona_token", personaId: "one", token: "one in " }],
          ],
          true,
        );
      }
      return sse([
        [3, { type: "persona_token", personaId: "one", token: "one in " }],
        [4, { type: "persona_token", personaId: "one", token: "full" }],
        [
          5,
          {
            type: "persona_complete",
            personaId: "one",
            usage: { model: "m", inputTokens: 1, outputTokens: 2, costUsd: null, durationMs: 3 },
          },
        ],
        [5, { type: "idle" }],
      ]);
    });
    const store = new SessionStore("s1", now);
    const seen: string[] = [];
    const texts = new Set<string>();
    store.subscribe(() => {
      if (seen.at(-1) !== store.snapshot.connection) seen.push(store.snapshot.connection);
      texts.add(store.snapshot.session?.advisors.one?.content ?? "");
    });
    await store.open();
    expect(seen).toEqual(["loading", "live", "reconnecting", "live", "idle"]);
    expect([...texts]).toEqual(["", "one in ", "one in full"]);
    expect(asked.filter((one) => one.includes("events"))).toEqual([
      "GET /api/board/sessions/s1/events?after=0",
      "GET /api/board/sessions/s1/events after 3",
    ]);
  });

  it("asks ever less often where a server says both that it goes on and that nothing more is to come", async () => {
    vi.useFakeTimers();
    const asked = serve((path) =>
      path.includes("/events") ? sse([[1, { type: "idle" }]]) : Response.json({ session: session() }),
    );
    const store = new SessionStore("s1", now);
    void store.open();
    await vi.advanceTimersByTimeAsync(30_000);
    vi.useRealTimers();
    const streams = asked.filter((one) => one.includes("/events")).length;
    expect(streams).toBeGreaterThan(3);
    expect(streams).toBeLessThan(10);
  });

  it("has no brief written for a paused session until somebody goes on", async () => {
    const paused = session({ live: true, paused: true, step: "brief", responses: session().responses.map(done) });
    const asked = serve(() => Response.json({ session: paused }));
    const store = new SessionStore("s1", now);
    await store.open();
    await store.ensureBrief();
    expect(asked).toEqual(["GET /api/board/sessions/s1"]);
  });

  it("asks for no events when a stored session is finished", async () => {
    const asked = serve(() =>
      Response.json({ session: session({ live: false, step: "review", responses: session().responses.map(done) }) }),
    );
    const store = new SessionStore("s1", now);
    await store.open();
    expect(store.snapshot.connection).toBe("idle");
    expect(asked).toEqual(["GET /api/board/sessions/s1"]);
  });

  it("knows a session that is not there from a server that does not answer", async () => {
    serve(() => Response.json({ error: "There is no session s1." }, { status: 404 }));
    const gone = new SessionStore("s1", now);
    await gone.open();
    expect(gone.snapshot).toMatchObject({ connection: "missing", problem: "There is no session s1." });
    serve(() => Promise.reject(new TypeError("refused")));
    const dead = new SessionStore("s1", now);
    await dead.open();
    expect(dead.snapshot.connection).toBe("unreachable");
  });

  it("aborts a challenge: the fetch is cancelled, the half exchange gone, the brief not stale", async () => {
    const finished = session({ live: false, step: "review", responses: session().responses.map(done) });
    let signal: AbortSignal | null = null;
    serve((path, init) => {
      if (path !== "/api/board/challenge") return Response.json({ session: finished });
      signal = init.signal ?? null;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('data: {"type":"challenge_reply_token","token":"Well"}\n\n'));
          init.signal?.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
        },
      });
      return new Response(body);
    });
    const store = new SessionStore("s1", now);
    await store.open();
    const running = store.challenge("one", "Why?");
    await vi.waitFor(() => expect(store.snapshot.session?.advisors.one?.challenges[0]?.replyContent).toBe("Well"));
    store.abortChallenge();
    await running;
    expect((signal as AbortSignal | null)?.aborted).toBe(true);
    expect(store.snapshot.session).toMatchObject({ challenging: null, briefStale: false, challengeError: null });
    expect(store.snapshot.session?.advisors.one?.challenges).toEqual([]);
  });

  it("shows a challenge made in another tab when it is looked at, and draws only that again", async () => {
    const finished = session({ live: false, step: "review", responses: session().responses.map(done) });
    let stored = finished;
    serve(() => Response.json({ session: stored }));
    const store = new SessionStore("s1", now);
    await store.open();
    const before = store.snapshot;
    await store.refresh();
    expect(store.snapshot).toBe(before);
    const exchange = {
      challengeText: "Why?",
      replyContent: "Because.",
      isReplyComplete: true,
      citations: [],
      usage: null,
    };
    stored = {
      ...finished,
      briefStale: true,
      responses: finished.responses.map((one) => (one.personaId === "two" ? { ...one, challenges: [exchange] } : one)),
    };
    store.lookedAt();
    expect(store.snapshot).toBe(before);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5000);
    store.lookedAt();
    await vi.waitFor(() => expect(store.snapshot.session?.advisors.two?.challenges).toEqual([exchange]));
    expect(store.snapshot.session?.briefStale).toBe(true);
    expect(store.snapshot.session?.advisors.one).toBe(before.session?.advisors.one);
    expect(store.snapshot.session?.order).toBe(before.session?.order);
  });

  it("keeps what happened here while it was looked up", async () => {
    const finished = session({ live: false, step: "review", responses: session().responses.map(done) });
    const held: (() => void)[] = [];
    let holding = false;
    serve((path) => {
      if (path === "/api/board/challenge")
        return sse([
          [1, { type: "challenge_reply_token", token: "Because." }],
          [
            2,
            {
              type: "challenge_reply_complete",
              usage: { model: "m", inputTokens: 1, outputTokens: 2, costUsd: null, durationMs: 3 },
            },
          ],
        ]);
      const answer = (): Response => Response.json({ session: finished });
      return holding ? new Promise((resolve) => held.push(() => resolve(answer()))) : answer();
    });
    const store = new SessionStore("s1", now);
    await store.open();
    holding = true;
    const looking = store.refresh();
    await store.challenge("one", "Why?");
    const [release] = held;
    release?.();
    await looking;
    expect(store.snapshot.session?.advisors.one?.challenges).toEqual([
      {
        challengeText: "Why?",
        replyContent: "Because.",
        isReplyComplete: true,
        citations: [],
        usage: { model: "m", inputTokens: 1, outputTokens: 2, costUsd: null, durationMs: 3 },
      },
    ]);
  });

  it("asks for a brief only when there is none or it is out of date", async () => {
    const brief = {
      consensus: { areas: [], strength: "weak" as const },
      tensions: [],
      blindSpots: [],
      recommendation: { summary: "x", confidence: "low" as const, conditions: [] },
    };
    const finished = session({ live: false, step: "review", brief, responses: session().responses.map(done) });
    let stale = false;
    const asked = serve((path) => {
      if (path !== "/api/board/brief") return Response.json({ session: { ...finished, briefStale: stale } });
      stale = false;
      return Response.json({ brief });
    });
    const store = new SessionStore("s1", now);
    await store.open();
    await store.ensureBrief();
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
    stale = true;
    await store.refresh();
    await store.ensureBrief();
    await store.ensureBrief();
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual(["POST /api/board/brief"]);
    expect(store.snapshot.session?.briefStale).toBe(false);
  });
});
