/** Every call to the server. Failures are ApiError with a sentence that can be shown as it is. */

import { type Received, sseEvents } from "./sse";
import type {
  Answer,
  BriefOut,
  BriefRequest,
  ChallengeEvent,
  ChallengeRequest,
  ConditionRequest,
  CorrectionRequest,
  Cost,
  Estimate,
  EvidenceIn,
  Given,
  GiveRequest,
  LedgerOut,
  Me,
  ModelInfo,
  OpenRequest,
  PersonasOut,
  QuestionsOut,
  QuestionsRequest,
  RetryRequest,
  SessionChange,
  SessionEvent,
  SessionOut,
  SessionRequest,
  SessionSummary,
  SessionsOut,
  SignInRequest,
  StopRequest,
  WeighRequest,
  WholeItem,
} from "./wire";

export class ApiError extends Error {
  readonly status: number;
  /** Seconds after which the server wants to be asked again. */
  readonly retryAfter: number | null;

  constructor(message: string, status: number, retryAfter: number | null = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Status 0: no answer came at all. */
const UNREACHABLE = "moot is not answering. It may have been stopped, or this machine is offline.";

export function sentence(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error && error.message ? error.message : "Something went wrong.";
}

let onSignedOut = (): void => undefined;

/** `listener` is called when the server does not know who is asking (any more). */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(UNREACHABLE, 0);
  }
  if (response.ok) return response;
  let message = "";
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") {
      message = body.error;
    }
  } catch {
    // no JSON: a proxy, or a crash
  }
  if (!message) {
    message =
      response.status === 404
        ? "There is nothing at this address."
        : `moot could not do that (status ${response.status}).`;
  }
  if (response.status === 401 && path !== SIGN_IN) onSignedOut();
  const after = Number(response.headers.get("Retry-After"));
  throw new ApiError(message, response.status, Number.isFinite(after) && after > 0 ? after : null);
}

async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await call(path, { headers: { Accept: "application/json" }, ...(signal ? { signal } : {}) });
  return (await response.json()) as T;
}

function post<Body>(
  path: string,
  body: Body,
  signal?: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Response> {
  return call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

function streamOf<E extends { type: string }>(response: Response): AsyncGenerator<Received<E>[], void, undefined> {
  if (!response.body) throw new ApiError("The server sent no stream.", response.status);
  return sseEvents<E>(response.body);
}

const SIGN_IN = "/api/sign-in";

/** How many sessions the list shows at first, and how many more each time. */
export const PAGE_OF_SESSIONS = 50;

export interface Listed {
  readonly sessions: readonly SessionSummary[];
  readonly more: boolean;
  /** What was searched for. */
  readonly search: string;
}

/** A key that no other request has; `crypto.randomUUID` is there only by TLS and on this machine. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const at = (id: string): string => `/api/board/sessions/${encodeURIComponent(id)}`;
/** What holds for sessions of any format. */
const ofAny = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`;

/** Without the lists in which nothing is. */
function some<T extends Readonly<Record<string, readonly unknown[]>>>(lists: T): Partial<T> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<T>;
}

export type SessionStream = AsyncGenerator<Received<SessionEvent>[], void, undefined>;

export const api = {
  me: (signal?: AbortSignal) => getJson<Me>("/api/me", signal),

  signIn: async (token: string): Promise<Me> => {
    const response = await post<SignInRequest>(SIGN_IN, { token });
    return (await response.json()) as Me;
  },

  signOut: async (): Promise<void> => {
    await post("/api/sign-out", {});
  },

  personas: (signal?: AbortSignal) => getJson<PersonasOut>("/api/board/personas", signal).then((body) => body.personas),
  everyone: () => getJson<PersonasOut>("/api/board/personas?everyone=true").then((body) => body.personas),

  model: (signal?: AbortSignal) => getJson<ModelInfo>("/api/model", signal),

  questions: async (
    decision: string,
    evidence: readonly EvidenceIn[],
    looks: boolean,
    signal?: AbortSignal,
  ): Promise<QuestionsOut> => {
    const asked = { decision, ...some({ evidence }), ...(looks ? { looks } : {}) };
    const response = await post<QuestionsRequest>("/api/board/questions", asked, signal);
    return (await response.json()) as QuestionsOut;
  },

  /** Sent again with the same key, it is the same session. */
  convene: async (
    decision: string,
    answers: readonly Answer[],
    evidence: readonly EvidenceIn[],
    looks: boolean,
    key: string,
  ): Promise<SessionStream> =>
    streamOf<SessionEvent>(
      await post<SessionRequest>(
        "/api/board/session",
        { decision, ...some({ answers, evidence }), ...(looks ? { looks } : {}) },
        undefined,
        {
          "Idempotency-Key": key,
        },
      ),
    ),

  /** What a board would take that is begun with this. */
  estimate: async (
    opening: { decision: string; questions: boolean; looks: boolean },
    evidence: readonly EvidenceIn[],
    signal?: AbortSignal,
  ): Promise<Estimate> => {
    const asked = { format: "board", opening, ...some({ evidence }) };
    return (await (await post<OpenRequest>("/api/estimate", asked, signal)).json()) as Estimate;
  },

  /** What a session has cost so far, and what comes next. */
  cost: (id: string, signal?: AbortSignal) => getJson<Cost>(`${ofAny(id)}/cost`, signal),

  /** What a new session would take of it. Nothing is kept, and no model is asked. */
  weigh: async (items: readonly EvidenceIn[]): Promise<Given> =>
    (await (await post<WeighRequest>("/api/evidence", { items })).json()) as Given,

  /** `dryRun`: what this session would take of it. */
  give: async (id: string, items: readonly EvidenceIn[], dryRun = false): Promise<Given> =>
    (await (await post<GiveRequest>(`${ofAny(id)}/evidence`, { items, dryRun })).json()) as Given,

  /** An item of a session with what it says. */
  item: (id: string, item: string, signal?: AbortSignal) =>
    getJson<WholeItem>(`${ofAny(id)}/evidence/${encodeURIComponent(item)}`, signal),

  correct: async (id: string, correction: CorrectionRequest): Promise<LedgerOut> => {
    const response = await post<CorrectionRequest>(`${ofAny(id)}/decided`, correction);
    return (await response.json()) as LedgerOut;
  },

  /** Pinned ones first, then the newest, at least as many as `wanted` if there are that many. */
  sessions: async (everywhere: boolean, wanted: number, search: string, signal?: AbortSignal): Promise<Listed> => {
    const sessions: SessionSummary[] = [];
    let before: string | null = null;
    do {
      const query = new URLSearchParams({ limit: String(PAGE_OF_SESSIONS) });
      if (everywhere) query.set("workspace", "all");
      if (before !== null) query.set("before", before);
      if (search) query.set("search", search);
      const page: SessionsOut = await getJson<SessionsOut>(`/api/board/sessions?${query.toString()}`, signal);
      sessions.push(...page.sessions);
      before = page.next;
    } while (before !== null && sessions.length < wanted);
    return { sessions, more: before !== null, search };
  },

  session: (id: string, signal?: AbortSignal) => getJson<SessionOut>(at(id), signal).then((body) => body.session),

  change: async (id: string, change: SessionChange): Promise<void> => {
    await call(at(id), {
      method: "PATCH",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(change),
    });
  },

  tick: async (id: string, condition: string, ticked: boolean): Promise<void> => {
    await post<ConditionRequest>(`${at(id)}/conditions`, { condition, ticked });
  },

  remove: async (id: string): Promise<void> => {
    await call(at(id), { method: "DELETE" });
  },

  /** Without an advisor: everybody who did not answer. */
  retry: async (id: string, personaId?: string): Promise<void> => {
    await post<RetryRequest>(`${at(id)}/retry`, personaId ? { personaId } : {});
  },

  /** Without an advisor: everybody, and the brief. */
  stop: async (id: string, personaId?: string): Promise<void> => {
    await post<StopRequest>(`${at(id)}/stop`, personaId ? { personaId } : {});
  },

  goOn: async (id: string): Promise<void> => {
    await post(`${at(id)}/go-on`, {});
  },

  /** Who only looks has nothing begun; who takes up what was cut off has it go on. */
  events: async (id: string, after: number, looks: boolean, signal?: AbortSignal): Promise<SessionStream> =>
    streamOf<SessionEvent>(
      await call(`${at(id)}/events${looks ? `?after=${after}` : ""}`, {
        headers: { Accept: "text/event-stream", ...(looks ? {} : { "Last-Event-ID": String(after) }) },
        cache: "no-store",
        ...(signal ? { signal } : {}),
      }),
    ),

  challenge: async (body: ChallengeRequest, signal: AbortSignal) =>
    streamOf<ChallengeEvent>(await post<ChallengeRequest>("/api/board/challenge", body, signal)),

  brief: async (body: BriefRequest, signal?: AbortSignal): Promise<BriefOut> => {
    const response = await post<BriefRequest>("/api/board/brief", body, signal);
    return (await response.json()) as BriefOut;
  },

  /** The brief alone, as the server writes it for every surface. */
  briefMarkdown: async (id: string): Promise<string> => (await call(`${at(id)}/export?format=md&part=brief`)).text(),

  exportUrl: (id: string, format: "md" | "json" | "html"): string => `${at(id)}/export?format=${format}`,
};
