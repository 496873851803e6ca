/**
 * A stand-in for moot's server, for working on the page without a model. No dependencies.
 *
 *   node mock/server.mjs            MOCK_PORT (8642), MOCK_RATE tokens per second and advisor (40),
 *                                   MOCK_DELAY ms before a first word (600), MOCK_STEP tokens per event,
 *                                   MOCK_REPEAT times each text, MOCK_TINY=1, MOCK_SEED=1
 *
 * Words in the decision switch things: [fail] the analyst fails once, [fail-all] everybody does,
 * [drop] cuts event streams every two seconds, [slow] answers slowly, [no-brief] fails the first brief,
 * [no-questions] fails the questions. `[refuse]` in a challenge fails its reply. Evidence that says "secret" is left out;
 * a path, a page or a PDF says one line, and nothing is cited.
 * The built page is served too, under the policy the real server sends.
 */

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { BRIEF, BRIEF_AFTER, DECISION, PERSONAS, QUESTIONS, REPLIES, SPEECH } from "./words.mjs";

const PORT = Number(process.env.MOCK_PORT ?? 8642);
const RATE = Number(process.env.MOCK_RATE ?? 40);
const DELAY = Number(process.env.MOCK_DELAY ?? 600);
const REPEAT = Number(process.env.MOCK_REPEAT ?? 1);
const STEP = Number(process.env.MOCK_STEP ?? Math.max(1, Math.round(RATE / 50)));
const TINY = process.env.MOCK_TINY === "1";
const MODEL = TINY ? "local" : "anthropic:claude-sonnet-5-5";
const STATIC = fileURLToPath(new URL("../../src/moot/web/static", import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ESTIMATE = {
  requests: 9,
  inputTokens: 24000,
  cachedTokens: 0,
  outputTokens: 7000,
  costUsd: 0.09,
  atLeast: false,
  summary: "about 31,000 tokens, $0.09",
};

function bill({ usage: { inputTokens, outputTokens, costUsd } }) {
  const summary = `9 requests, ${inputTokens + outputTokens} tokens${costUsd === null ? "" : `, $${costUsd.toFixed(2)}`}`;
  return { requests: 9, inputTokens, outputTokens, cachedTokens: 0, costUsd, summary };
}

const sessions = new Map();
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tokensOf = (text) => text.match(/\s*\S+|\s+$/g) ?? [];

function usage(text, ms) {
  const outputTokens = tokensOf(text).length;
  return {
    model: MODEL,
    inputTokens: 912,
    outputTokens,
    costUsd: TINY ? null : 0.0027 + outputTokens * 0.000015,
    durationMs: ms,
    cachedTokens: 0,
    lookedAt: [],
    leftOut: [],
  };
}

/** What comes of giving: items with what they say, and what is left out. */
function weigh(offered, first = 0) {
  const given = offered.map(({ path, url, name, text }) => ({
    name: name || path || url,
    text: text ?? `What ${name || path || url} says.`,
  }));
  const isLeftOut = (one) => one.text.includes("secret");
  const items = given
    .filter((one) => !isLeftOut(one))
    .map((one, at) => ({
      id: `E${first + at + 1}`,
      name: one.name,
      origin: one.name,
      sha256: [...one.text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7).toString(16),
      mediaType: "text/plain",
      lines: one.text.split("\n").length,
      tokens: Math.ceil(one.text.length / 4),
      isImage: false,
      text: one.text,
      image: null,
    }));
  const leftOut = given.filter(isLeftOut).map(({ name }) => ({ name, why: "line 1 looks like a secret" }));
  const tokens = items.reduce((sum, one) => sum + one.tokens, 0);
  const summary = `${items.length} items, ${tokens} tokens`;
  return { items, told: { taken: items.map(withoutText), leftOut, tokens, costUsd: null, summary } };
}

function withoutText({ text: _, image: _i, ...item }) {
  return item;
}

const numbered = (entries) => entries.map((entry, at) => ({ ...entry, number: `D${at + 1}` }));
const byNumber = (entries) => entries.sort((one, other) => Number(one.number.slice(1)) - Number(other.number.slice(1)));

function correct(session, { key, text, undo }) {
  const { ledger, struck } = session;
  const isIt = (entry) => entry.key === key;
  const isNot = (entry) => entry.key !== key;
  if (undo) {
    session.ledger = byNumber([...ledger, ...struck.filter(isIt)]);
    session.struck = struck.filter(isNot);
  } else if (!key) {
    const number = `D${ledger.length + struck.length + 1}`;
    const at = session.updatedAt;
    session.ledger = [...ledger, { number, key: `own:${at}${number}`, kind: "decided", text, by: "person", at: "" }];
  } else if (text) {
    session.ledger = ledger.map((entry) => (isIt(entry) ? { ...entry, text } : entry));
  } else {
    session.struck = byNumber([...struck, ...ledger.filter(isIt)]);
    session.ledger = ledger.filter(isNot);
  }
  return { ledger: session.ledger, struck: session.struck };
}

function create(decision, answers, made = new Date()) {
  const id = Math.random().toString(36).slice(2, 12);
  const session = {
    id,
    title: decision,
    pinned: false,
    decision,
    answers,
    mode: "independent",
    model: MODEL,
    tiny: TINY,
    step: "advisors",
    personas: PERSONAS.map(({ rubric: _, ...persona }) => persona),
    responses: PERSONAS.map((persona) => ({
      personaId: persona.id,
      personaName: persona.name,
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
    usage: { inputTokens: 0, outputTokens: 0, costUsd: TINY ? null : 0, cachedTokens: 0 },
    items: [],
    struck: [],
    ledger: numbered([{ key: "decision", kind: "open", text: decision, by: "person", at: "the decision" }]),
    createdAt: made.toISOString(),
    updatedAt: made.toISOString(),
    events: [],
    listeners: new Set(),
    running: 0,
    failed: new Set(),
    briefFailed: false,
  };
  sessions.set(id, session);
  return session;
}

function emit(session, event) {
  session.events.push(event);
  const frame = `id: ${session.events.length}\ndata: ${JSON.stringify(event)}\n\n`;
  for (const listener of session.listeners) listener.write(frame);
}

function spend(session, used) {
  session.usage.inputTokens += used.inputTokens;
  session.usage.outputTokens += used.outputTokens;
  if (used.costUsd !== null) session.usage.costUsd += used.costUsd;
  session.updatedAt = new Date().toISOString();
}

async function speak(session, response, position) {
  const persona = PERSONAS.find((one) => one.id === response.personaId);
  const began = Date.now();
  emit(session, { type: "persona_start", personaId: persona.id, personaName: persona.name, role: persona.role });
  await wait(DELAY * (0.6 + 0.25 * position));
  const fails =
    session.decision.includes("[fail-all]") || (session.decision.includes("[fail]") && persona.id === "the-analyst");
  const text = Array(REPEAT).fill(SPEECH[persona.id]).join("\n\n");
  const tokens = tokensOf(text);
  const speed = session.decision.includes("[slow]") ? 0.25 : 1;
  for (let at = 0; at < tokens.length; at += STEP) {
    if (fails && !session.failed.has(persona.id) && at > 30) {
      session.failed.add(persona.id);
      response.error = "The model stopped answering half-way (the connection was closed after 31 tokens).";
      emit(session, { type: "persona_error", personaId: persona.id, message: response.error });
      return;
    }
    emit(session, { type: "persona_token", personaId: persona.id, token: tokens.slice(at, at + STEP).join("") });
    await wait((1000 * STEP) / RATE / speed);
  }
  Object.assign(response, { content: text, isComplete: true, error: null, usage: usage(text, Date.now() - began) });
  spend(session, response.usage);
  emit(session, { type: "persona_complete", personaId: persona.id, usage: response.usage });
}

async function run(session, responses) {
  session.running++;
  session.step = "advisors";
  await Promise.all(responses.map((response, position) => speak(session, response, position)));
  session.step = "brief";
  emit(session, { type: "brief_start" });
  await wait(session.decision.includes("[slow]") ? 6000 : 1800);
  if (session.decision.includes("[no-brief]") && !session.briefFailed) {
    session.briefFailed = true;
    session.briefError = "The model's brief did not have the required shape, twice.";
    emit(session, { type: "brief_error", message: session.briefError });
  } else {
    session.brief = BRIEF;
    session.briefStale = false;
    session.briefError = null;
    spend(session, usage(JSON.stringify(BRIEF), 1800));
    emit(session, { type: "brief_complete", brief: BRIEF });
  }
  session.step = "review";
  emit(session, { type: "session_complete" });
  if (--session.running === 0) for (const listener of session.listeners) finish(session, listener);
}

function finish(session, listener) {
  session.listeners.delete(listener);
  listener.end(`id: ${session.events.length}\ndata: {"type":"idle"}\n\n`);
}

function stream(response) {
  response.writeHead(200, {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
  });
}

function listen(session, response, after) {
  stream(response);
  for (const [at, event] of session.events.slice(after).entries())
    response.write(`id: ${after + at + 1}\ndata: ${JSON.stringify(event)}\n\n`);
  if (session.running === 0) {
    response.end(`id: ${session.events.length}\ndata: {"type":"idle"}\n\n`);
    return;
  }
  session.listeners.add(response);
  response.on("close", () => session.listeners.delete(response));
  if (session.decision.includes("[drop]")) setTimeout(() => response.destroy(), 2000);
}

function whole(session) {
  const { events, listeners: _l, running, failed: _f, briefFailed: _b, items, ...rest } = session;
  return { ...rest, evidence: items.map(withoutText), live: running > 0, lastEventId: events.length };
}

function summary(session) {
  return {
    id: session.id,
    title: session.title,
    pinned: session.pinned,
    decision: session.decision,
    step: session.step,
    personaCount: session.responses.length,
    completeCount: session.responses.filter((one) => one.isComplete).length,
    challengeCount: session.responses.reduce((sum, one) => sum + one.challenges.length, 0),
    hasBrief: session.brief !== null,
    briefStale: session.briefStale,
    live: session.running > 0,
    model: session.model,
    workspace: "",
    owner: "",
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
  };
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function bodyOf(request) {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text ? JSON.parse(text) : {};
}

async function challenge(body, response) {
  const session = sessions.get(body.sessionId);
  const entry = session?.responses.find((one) => one.personaId === body.personaId);
  if (!body.challengeText?.trim()) return json(response, 400, { error: "challengeText must not be empty." });
  stream(response);
  let left = false;
  response.on("close", () => (left = true));
  await wait(DELAY);
  const text = REPLIES[body.priorChallenges.length % REPLIES.length];
  const send = (event) => left || response.write(`data: ${JSON.stringify(event)}\n\n`);
  let count = 0;
  for (const token of tokensOf(text)) {
    if (left) return;
    if (body.challengeText.includes("[refuse]") && ++count > 12) {
      send({ type: "error", message: "The model is overloaded and broke off its reply." });
      return response.end();
    }
    send({ type: "challenge_reply_token", token });
    await wait(body.challengeText.includes("[slow]") ? 250 : 1000 / RATE);
  }
  if (left) return;
  const used = usage(text, 2000);
  if (entry) {
    entry.challenges.push({
      challengeText: body.challengeText,
      replyContent: text,
      isReplyComplete: true,
      citations: [],
      usage: used,
    });
    session.briefStale = true;
    spend(session, used);
  }
  send({ type: "challenge_reply_complete", usage: used });
  response.end();
}

async function handle(request, response) {
  const url = new URL(request.url, "http://mock");
  const path = url.pathname;
  const is = (method, pattern) => (request.method === method ? path.match(pattern) : null);
  if (!path.startsWith("/api/")) return page(path, response);
  if (is("GET", /^\/api\/board\/personas$/)) return json(response, 200, { personas: PERSONAS });
  if (is("GET", /^\/api\/model$/))
    return json(
      response,
      200,
      TINY
        ? {
            model: "local",
            tiny: true,
            reason: "no key and no Ollama were found",
            advice:
              "For better words: set ANTHROPIC_API_KEY or OPENAI_API_KEY and start moot again, or run Ollama on this machine.",
          }
        : { model: MODEL, tiny: false, reason: "ANTHROPIC_API_KEY", advice: "" },
    );
  if (is("POST", /^\/api\/board\/questions$/)) {
    const { decision } = await bodyOf(request);
    await wait(decision.includes("[slow]") ? 5000 : DELAY * 2);
    if (decision.includes("[no-questions]"))
      return json(
        response,
        503,
        { error: "The model is overloaded. Wait a little and try again." },
        { "Retry-After": "8" },
      );
    return json(response, 200, { questions: QUESTIONS, lookedAt: [] });
  }
  if (is("POST", /^\/api\/board\/session$/)) {
    const { decision, answers = [], evidence = [] } = await bodyOf(request);
    if (!decision?.trim()) return json(response, 400, { error: "decision must not be empty." });
    const session = create(decision, answers);
    session.items = weigh(evidence).items;
    emit(session, {
      type: "session_start",
      sessionId: session.id,
      personaCount: PERSONAS.length,
      model: MODEL,
      tiny: TINY,
    });
    session.running++; // until run() counts itself
    listen(session, response, 0);
    session.running--;
    return void run(session, session.responses);
  }
  if (is("POST", /^\/api\/board\/challenge$/)) return challenge(await bodyOf(request), response);
  if (is("POST", /^\/api\/board\/brief$/)) {
    const body = await bodyOf(request);
    const session = sessions.get(body.sessionId);
    await wait(2200);
    const brief = body.responses.some((one) => one.challenges.length > 0) ? BRIEF_AFTER : BRIEF;
    if (session) {
      Object.assign(session, { brief, briefStale: false, briefError: null });
      spend(session, usage(JSON.stringify(brief), 2200));
    }
    return json(response, 200, { brief });
  }
  if (is("GET", /^\/api\/board\/sessions$/)) {
    const words = (url.searchParams.get("search") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...sessions.values()].filter((one) =>
      words.every((word) => `${one.title} ${one.decision}`.toLowerCase().includes(word)),
    );
    return json(response, 200, {
      sessions: found.map(summary).sort((a, b) => b.pinned - a.pinned || (a.updatedAt < b.updatedAt ? 1 : -1)),
      next: null,
    });
  }
  if (is("GET", /^\/api\/me$/)) return json(response, 200, { name: "", admin: true, signsIn: false });
  if (is("POST", /^\/api\/evidence$/)) return json(response, 200, weigh((await bodyOf(request)).items).told);
  if (is("POST", /^\/api\/estimate$/)) return json(response, 200, ESTIMATE);
  const any = path.match(/^\/api\/sessions\/([^/]+)\/(evidence|decided|cost)(?:\/(E\d+))?$/);
  if (any) {
    const session = sessions.get(any[1]);
    if (!session) return json(response, 404, { error: "There is no session with this id." });
    if (any[2] === "cost") return json(response, 200, { estimate: null, bill: bill(session) });
    if (any[2] === "decided") return json(response, 200, correct(session, await bodyOf(request)));
    if (any[3]) {
      const item = session.items.find((one) => one.id === any[3]);
      return item ? json(response, 200, item) : json(response, 404, { error: `There is no ${any[3]}.` });
    }
    const { items, dryRun } = await bodyOf(request);
    const weighed = weigh(items, session.items.length);
    if (!dryRun) session.items.push(...weighed.items);
    return json(response, 200, weighed.told);
  }
  const match = path.match(/^\/api\/board\/sessions\/([^/]+)(\/\w+)?$/);
  if (match) {
    const session = sessions.get(match[1]);
    if (!session) return json(response, 404, { error: "There is no session with this id." });
    if (request.method === "DELETE" && !match[2]) {
      sessions.delete(session.id);
      response.writeHead(204);
      return response.end();
    }
    if (request.method === "PATCH" && !match[2]) {
      const { title, pinned } = await bodyOf(request);
      if (title !== undefined) session.title = title.trim() || session.decision;
      if (pinned !== undefined) session.pinned = pinned;
      response.writeHead(204);
      return response.end();
    }
    if (match[2] === "/conditions") {
      const { condition, ticked } = await bodyOf(request);
      const others = session.tickedConditions.filter((one) => one !== condition);
      session.tickedConditions = ticked ? [...others, condition] : others;
      response.writeHead(204);
      return response.end();
    }
    if (match[2] === "/retry") {
      const { personaId } = await bodyOf(request);
      const entry = session.responses.find((one) => one.personaId === personaId);
      entry.error = null;
      void run(session, [entry]);
      return json(response, 202, {});
    }
    if (match[2] === "/events")
      return listen(session, response, Number(request.headers["last-event-id"] ?? url.searchParams.get("after") ?? 0));
    if (match[2] === "/export") {
      response.writeHead(200, {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Disposition": `attachment; filename="board.${url.searchParams.get("format")}"`,
      });
      return response.end(JSON.stringify(whole(session), null, 2));
    }
    return json(response, 200, { session: whole(session) });
  }
  json(response, 404, { error: "There is nothing at this address." });
}

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

function page(path, response) {
  let file = join(STATIC, normalize(path));
  if (!file.startsWith(STATIC) || !existsSync(file) || !statSync(file).isFile()) file = join(STATIC, "index.html");
  if (!existsSync(file)) return json(response, 404, { error: "The page is not built: npm run build." });
  response.writeHead(200, {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
  });
  createReadStream(file).pipe(response);
}

function seed() {
  const past = [
    ["Rewrite the billing service in Rust before the holiday season, or harden the one we have?", 26 * 60, 3],
    ["Do we open the Lisbon office this year, or hire remotely for another twelve months?", 4 * 24 * 60, 0],
    [DECISION, 95, 2],
  ];
  for (const [decision, minutes, challenges] of past) {
    const session = create(decision, [], new Date(Date.now() - minutes * 60_000));
    for (const entry of session.responses) {
      Object.assign(entry, {
        content: SPEECH[entry.personaId],
        isComplete: true,
        usage: usage(SPEECH[entry.personaId], 4000),
      });
      session.usage.inputTokens += entry.usage.inputTokens;
      session.usage.outputTokens += entry.usage.outputTokens;
      if (entry.usage.costUsd !== null) session.usage.costUsd += entry.usage.costUsd;
    }
    for (let at = 0; at < challenges; at++)
      session.responses[at % 2].challenges.push({
        challengeText: "We re-priced last year month by month: two losses in twelve. Does that change your mind?",
        replyContent: REPLIES[at % REPLIES.length],
        isReplyComplete: true,
        citations: [],
        usage: null,
      });
    Object.assign(session, { brief: challenges ? BRIEF_AFTER : BRIEF, step: "review" });
  }
}

if (process.env.MOCK_SEED === "1") seed();
createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) json(response, 500, { error: "The mock stumbled." });
    else response.end();
  });
}).listen(PORT, "127.0.0.1", () => console.log(`mock on http://127.0.0.1:${PORT}`));
