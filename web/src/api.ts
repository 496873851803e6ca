/** Every call to the server. Failures are ApiError with a sentence that can be shown as it is. */

import { sseEvents, type Received } from "./sse";
import type {
  Answer,
  Brief,
  BriefOut,
  BriefRequest,
  ChallengeEvent,
  ChallengeRequest,
  ModelInfo,
  PersonasOut,
  Question,
  QuestionsOut,
  QuestionsRequest,
  RetryRequest,
  SessionEvent,
  SessionOut,
  SessionRequest,
  SessionsOut,
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
export const UNREACHABLE = "moot is not answering. It may have been stopped, or this machine is offline.";

export function sentence(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error && error.message ? error.message : "Something went wrong.";
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
  const after = Number(response.headers.get("Retry-After"));
  throw new ApiError(message, response.status, Number.isFinite(after) && after > 0 ? after : null);
}

async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await call(path, { headers: { Accept: "application/json" }, ...(signal ? { signal } : {}) });
  return (await response.json()) as T;
}

function post<Body>(path: string, body: Body, signal?: AbortSignal): Promise<Response> {
  return call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

function streamOf<E extends { type: string }>(response: Response): AsyncGenerator<Received<E>[], void, undefined> {
  if (!response.body) throw new ApiError("The server sent no stream.", response.status);
  return sseEvents<E>(response.body);
}

const at = (id: string): string => `/api/board/sessions/${encodeURIComponent(id)}`;

export type SessionStream = AsyncGenerator<Received<SessionEvent>[], void, undefined>;

export const api = {
  personas: (signal?: AbortSignal) =>
    getJson<PersonasOut>("/api/board/personas", signal).then((body) => body.personas),

  model: (signal?: AbortSignal) => getJson<ModelInfo>("/api/model", signal),

  questions: async (decision: string, signal?: AbortSignal): Promise<readonly Question[]> => {
    const response = await post<QuestionsRequest>("/api/board/questions", { decision }, signal);
    return ((await response.json()) as QuestionsOut).questions;
  },

  convene: async (decision: string, answers: readonly Answer[], signal?: AbortSignal): Promise<SessionStream> =>
    streamOf<SessionEvent>(
      await post<SessionRequest>(
        "/api/board/session",
        { decision, ...(answers.length > 0 ? { answers } : {}) },
        signal,
      ),
    ),

  sessions: (signal?: AbortSignal) =>
    getJson<SessionsOut>("/api/board/sessions", signal).then((body) => body.sessions),

  session: (id: string, signal?: AbortSignal) => getJson<SessionOut>(at(id), signal).then((body) => body.session),

  remove: async (id: string): Promise<void> => {
    await call(at(id), { method: "DELETE" });
  },

  retry: async (id: string, personaId: string): Promise<void> => {
    await post<RetryRequest>(`${at(id)}/retry`, { personaId });
  },

  events: async (id: string, after: number, signal?: AbortSignal): Promise<SessionStream> =>
    streamOf<SessionEvent>(
      await call(`${at(id)}/events?after=${after}`, {
        headers: { Accept: "text/event-stream" },
        cache: "no-store",
        ...(signal ? { signal } : {}),
      }),
    ),

  challenge: async (body: ChallengeRequest, signal: AbortSignal) =>
    streamOf<ChallengeEvent>(await post<ChallengeRequest>("/api/board/challenge", body, signal)),

  brief: async (body: BriefRequest, signal?: AbortSignal): Promise<Brief> => {
    const response = await post<BriefRequest>("/api/board/brief", body, signal);
    return ((await response.json()) as BriefOut).brief;
  },

  exportUrl: (id: string, format: "md" | "json" | "html"): string => `${at(id)}/export?format=${format}`,
};
