import { describe, expect, it } from "vitest";
import type { Brief, Session, SessionEvent, Usage } from "../wire";
import { type Action, allSettled, fromSession, isNews, reduce, type SessionState, sharedFailure } from "./state";

const BRIEF: Brief = {
  consensus: { areas: ["a"], strength: "strong" },
  tensions: [],
  blindSpots: [],
  recommendation: { summary: "Do it.", confidence: "high", conditions: [] },
};

function stored(part: Partial<Session> = {}): Session {
  const ids = ["one", "two", "three"];
  return {
    id: "s1",
    title: "Should we?",
    pinned: false,
    decision: "Should we?",
    answers: [],
    mode: "independent",
    model: "anthropic:m",
    tiny: false,
    step: "advisors",
    personas: ids.map((id) => ({ id, name: `The ${id}`, role: "r", contributionType: "integrator" })),
    responses: ids.map((id) => ({
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
    usage: { inputTokens: 0, outputTokens: 0, costUsd: 0, cachedTokens: 0 },
    live: true,
    paused: false,
    lastEventId: 0,
    createdAt: "2026-01-01T00:00:00Z",
    updatedAt: "2026-01-01T00:00:00Z",
    ...part,
  };
}

const USAGE = {
  model: "m",
  inputTokens: 10,
  outputTokens: 5,
  costUsd: 0.5,
  durationMs: 1,
  cachedTokens: 4,
  lookedAt: [],
  leftOut: [],
};
const run = (actions: Action[], from: SessionState = fromSession(stored())): SessionState =>
  actions.reduce(reduce, from);
const start = (personaId: string): SessionEvent => ({
  type: "persona_start",
  personaId,
  personaName: `The ${personaId}`,
  role: "r",
});
const token = (personaId: string, text: string): SessionEvent => ({ type: "persona_token", personaId, token: text });
const complete = (personaId: string): SessionEvent => ({ type: "persona_complete", personaId, usage: USAGE });
const everybody = ["one", "two", "three"].flatMap((id) => [start(id), token(id, `${id} says`), complete(id)]);

describe("a brief", () => {
  it("that nobody writes any more is not asked for again by itself", () => {
    const left = run([{ type: "brief_start" }, { type: "idle" }]);
    expect([left.live, left.briefWriting, left.paused]).toEqual([false, false, true]);
    const written = run([{ type: "brief_start" }, { type: "brief_error", message: "no" }, { type: "idle" }]);
    expect(written.paused).toBe(false);
  });
});

describe("a condition of the brief", () => {
  it("is ticked once, and its tick taken back", () => {
    const tick = (condition: string, ticked: boolean): Action => ({ type: "ticked", condition, ticked });
    expect(run([tick("a", true), tick("b", true), tick("a", true)]).ticked).toEqual(["b", "a"]);
    expect(run([tick("a", true), tick("b", true), tick("a", false)]).ticked).toEqual(["b"]);
  });
});

describe("a session's events", () => {
  it("follow interleaved advisors", () => {
    const state = run([
      start("one"),
      start("two"),
      token("one", "A"),
      token("two", "B"),
      token("one", "C"),
      complete("one"),
    ]);
    expect(state.advisors.one).toMatchObject({ phase: "done", content: "AC" });
    expect(state.advisors.two).toMatchObject({ phase: "speaking", content: "B" });
    expect(state.advisors.three?.phase).toBe("waiting");
    expect(state.usage).toEqual({ inputTokens: 10, outputTokens: 5, costUsd: 0.5, cachedTokens: 4 });
  });

  it("leave untouched advisors the same objects", () => {
    const before = run([start("one"), start("two")]);
    const after = reduce(before, { type: "tokens", tokens: new Map([["one", "x"]]) });
    expect(after.advisors.two).toBe(before.advisors.two);
    expect(after.order).toBe(before.order);
  });

  it("begin again when an advisor starts a second time", () => {
    const state = run([start("one"), token("one", "half a sent"), start("one"), token("one", "Whole.")]);
    expect(state.advisors.one?.content).toBe("Whole.");
  });

  it("keep one advisor's failure to that advisor, and take a retry", () => {
    const failed = run([
      ...everybody.slice(0, 6),
      start("three"),
      token("three", "I"),
      { type: "persona_error", personaId: "three", message: "gone", kind: "" },
    ]);
    expect(failed.advisors.three).toMatchObject({ phase: "failed", error: "gone", content: "" });
    expect(allSettled(failed)).toBe(true);
    const retried = reduce(failed, { type: "retry", personaId: "three" });
    expect(retried.advisors.three).toMatchObject({ phase: "waiting", error: null });
    expect(allSettled(retried)).toBe(false);
    expect(run([start("three"), token("three", "Now."), complete("three")], retried).advisors.three).toMatchObject({
      phase: "done",
      content: "Now.",
    });
  });

  it("add an advisor nobody announced", () => {
    const state = run([start("guest"), token("guest", "Hello")]);
    expect(state.order).toEqual(["one", "two", "three", "guest"]);
    expect(state.advisors.guest).toMatchObject({ name: "The guest", content: "Hello" });
  });

  it("write the brief, or say why not", () => {
    const written = run([
      ...everybody,
      { type: "brief_start" },
      { type: "brief_complete", brief: BRIEF },
      { type: "session_complete" },
    ]);
    expect(written).toMatchObject({
      brief: BRIEF,
      briefStale: false,
      briefWriting: false,
      live: false,
      step: "review",
    });
    const not = run([...everybody, { type: "brief_start" }, { type: "brief_error", message: "no" }, { type: "idle" }]);
    expect(not).toMatchObject({ brief: null, briefError: "no", briefWriting: false, live: false });
    expect(run([{ type: "error", message: "broken" }])).toMatchObject({ streamError: "broken", live: false });
  });
});

describe("a failure that several advisors share", () => {
  const failing = (personaId: string, message: string, kind = "KeyRefused"): SessionEvent => ({
    type: "persona_error",
    personaId,
    message,
    kind,
  });

  it("is said once for all of them", () => {
    expect(sharedFailure(run([failing("one", "bad key")]))).toBeNull();
    expect(sharedFailure(run([failing("one", "bad key"), failing("two", "bad key")]))).toBe("bad key");
    expect(sharedFailure(run([failing("one", "bad key"), failing("two", "too slow")]))).toBeNull();
  });

  it("is none where the person stopped them", () => {
    expect(sharedFailure(run([failing("one", "stopped", "Stopped"), failing("two", "stopped", "Stopped")]))).toBeNull();
  });
});

describe("a challenge", () => {
  const spoken = run([...everybody, { type: "brief_complete", brief: BRIEF }, { type: "session_complete" }]);
  const asked = reduce(spoken, { type: "challenge_start", personaId: "one", text: "Why?" });

  it("appends a blank exchange, grows it, and makes the brief stale when complete", () => {
    expect(asked.challenging).toBe("one");
    expect(asked.advisors.one?.challenges).toEqual([
      { challengeText: "Why?", replyContent: "", isReplyComplete: false, citations: [], usage: null },
    ]);
    const growing = run(
      [
        { type: "challenge_token", personaId: "one", token: "Be" },
        { type: "challenge_token", personaId: "one", token: "cause" },
      ],
      asked,
    );
    expect(growing.briefStale).toBe(false);
    const over = reduce(growing, { type: "challenge_complete", personaId: "one", usage: USAGE });
    expect(over.advisors.one?.challenges).toEqual([
      { challengeText: "Why?", replyContent: "Because", isReplyComplete: true, citations: [], usage: USAGE },
    ]);
    expect(over).toMatchObject({ challenging: null, briefStale: true, brief: BRIEF });
  });

  it("leaves no half exchange when aborted, and the brief as it was", () => {
    const aborted = run(
      [{ type: "challenge_token", personaId: "one", token: "Be" }, { type: "challenge_abort" }],
      asked,
    );
    expect(aborted.advisors.one?.challenges).toEqual([]);
    expect(aborted).toMatchObject({ challenging: null, briefStale: false });
    expect(reduce(aborted, { type: "challenge_token", personaId: "one", token: "late" })).toBe(aborted);
  });

  it("gives its text back when the reply failed", () => {
    const failed = reduce(asked, { type: "challenge_failed", personaId: "one", message: "overloaded" });
    expect(failed.challengeError).toEqual({ personaId: "one", message: "overloaded", text: "Why?" });
    expect(failed.advisors.one?.challenges).toEqual([]);
    expect(failed.briefStale).toBe(false);
  });

  it("replaces one that is still being answered", () => {
    const again = reduce(asked, { type: "challenge_start", personaId: "two", text: "And you?" });
    expect(again.advisors.one?.challenges).toEqual([]);
    expect(again.challenging).toBe("two");
  });

  it("is forgotten by a stale brief once that is written anew, and kept when that fails", () => {
    const stale = reduce(asked, { type: "challenge_complete", personaId: "one", usage: USAGE });
    const newer = { ...BRIEF, blindSpots: ["x"] };
    const loading = reduce(stale, { type: "brief_requested" });
    expect(loading.briefLoading).toBe(true);
    expect(reduce(loading, { type: "brief_received", brief: newer })).toMatchObject({
      brief: newer,
      briefStale: false,
      briefLoading: false,
    });
    expect(reduce(loading, { type: "brief_failed", message: "no" })).toMatchObject({
      brief: BRIEF,
      briefStale: true,
      briefError: "no",
    });
  });
});

describe("a brief written before somebody was retried", () => {
  it("is stale when they have spoken", () => {
    const state = run([...everybody, { type: "brief_complete", brief: BRIEF }, start("two"), complete("two")]);
    expect(state.briefStale).toBe(true);
    expect(reduce(state, { type: "brief_complete", brief: BRIEF }).briefStale).toBe(false);
  });
});

describe("a session picked up again", () => {
  const half = stored({
    lastEventId: 20,
    responses: stored().responses.map((one) =>
      one.personaId === "one"
        ? { ...one, content: "Said.", isComplete: true }
        : one.personaId === "two"
          ? { ...one, error: "gone" }
          : one,
    ),
  });

  it("takes earlier events only for those who have not finished", () => {
    expect(isNews(half, 3, start("one"))).toBe(false);
    expect(isNews(half, 4, token("two", "x"))).toBe(false);
    expect(isNews(half, 5, token("three", "x"))).toBe(true);
    expect(isNews(half, 20, { type: "brief_start" })).toBe(false);
    expect(isNews(half, 21, start("two"))).toBe(true);
  });

  it("reads phases from what is stored, and drops exchanges that were never finished", () => {
    const withHalf = stored({
      responses: half.responses.map((one) => ({
        ...one,
        challenges: [
          { challengeText: "q", replyContent: "a", isReplyComplete: true, citations: [], usage: null },
          { challengeText: "q", replyContent: "", isReplyComplete: false, citations: [], usage: null },
        ],
      })),
    });
    const state = fromSession(withHalf);
    expect(state.order.map((id) => state.advisors[id]?.phase)).toEqual(["done", "failed", "waiting"]);
    expect(state.advisors.one?.challenges).toHaveLength(1);
  });
});

describe("what the board knows besides", () => {
  const item = (id: string): SessionState["evidence"][number] => ({
    id,
    name: `${id}.md`,
    origin: `${id}.md`,
    sha256: id,
    mediaType: "text/plain",
    lines: 1,
    tokens: 1,
    isImage: false,
  });
  const cited = { item: "E1", first: 1, last: 1, start: 0, end: 6, check: "verified" as const };
  const looked = (personaId: string, what: string): Action => ({
    type: "looked",
    personaId,
    prompt: "p",
    key: "",
    what,
  });

  it("grows by what is given, each item once", () => {
    const state = run([
      { type: "given", items: [item("E1")] },
      { type: "given", items: [item("E1"), item("E2")] },
    ]);
    expect(state.evidence.map((one) => one.id)).toEqual(["E1", "E2"]);
  });

  it("is corrected as a whole", () => {
    const entry = { number: "D1", key: "decision", kind: "open" as const, text: "Go?", by: "person", at: "" };
    expect(run([{ type: "corrected", ledger: [entry], struck: [] }]).ledger).toEqual([entry]);
    expect(run([{ type: "corrected", ledger: [], struck: [entry] }]).struck).toEqual([entry]);
  });

  it("has what somebody looks at while they speak, and forgets it when they begin again or are done", () => {
    const looking = run([start("one"), looked("one", "a.md"), looked("one", "b.md")]);
    expect(looking.advisors.one?.looks).toEqual(["a.md", "b.md"]);
    expect(run([start("one")], looking).advisors.one?.looks).toEqual([]);
    const done = run([complete("one")], looking);
    expect(done.advisors.one?.looks).toEqual([]);
    expect(run([looked("one", "c.md")], done)).toBe(done);
    expect(run([looked("nobody", "c.md")], done)).toBe(done);
  });

  it("has what a reply looks at until it is complete, and only of the one that is asked for", () => {
    const asked = run([...everybody, { type: "challenge_start", personaId: "one", text: "Why?" }]);
    const looking = run([{ type: "challenge_looked", personaId: "one", what: "a.md" }], asked);
    expect(looking.advisors.one?.challenges.at(-1)?.looks).toEqual(["a.md"]);
    expect(run([{ type: "challenge_looked", personaId: "two", what: "b.md" }], looking)).toBe(looking);
    const replied = run([{ type: "challenge_complete", personaId: "one", usage: USAGE, citations: [cited] }], looking);
    expect(replied.advisors.one?.challenges.at(-1)).not.toHaveProperty("looks");
    expect(replied.advisors.one?.challenges.at(-1)?.citations).toEqual([cited]);
  });

  it("has the citations of a view and of the brief, also where an earlier version has told none", () => {
    const spoken = run([
      start("one"),
      { type: "persona_complete", personaId: "one", usage: USAGE, citations: [cited] },
    ]);
    expect(spoken.advisors.one?.citations).toEqual([cited]);
    expect(run([start("one"), complete("one")]).advisors.one?.citations).toEqual([]);
    const texts = [{ text: "Go [E1:1]", citations: [cited] }];
    expect(run([{ type: "brief_complete", brief: BRIEF, cited: texts }]).briefCited).toEqual(texts);
    expect(run([{ type: "brief_complete", brief: BRIEF }]).briefCited).toEqual([]);
    expect(run([{ type: "brief_received", brief: BRIEF, cited: texts }]).briefCited).toEqual(texts);
  });

  it("adds up what came from the cache, also of bills of an earlier version", () => {
    const old = JSON.parse(JSON.stringify({ ...USAGE, cachedTokens: undefined })) as Usage;
    const state = run([...everybody, start("one"), { type: "persona_complete", personaId: "one", usage: old }]);
    expect(state.usage.cachedTokens).toBe(12);
  });
});
