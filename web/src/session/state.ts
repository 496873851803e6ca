/** A session as the page knows it, and the pure functions that move it on. */

import type {
  Answer,
  Brief,
  ChallengeExchange,
  Citation,
  CitedText,
  Decided,
  EvidenceItem,
  Member,
  PersonaResponse,
  Session,
  SessionEvent,
  Step,
  Usage,
  UsageTotal,
} from "../wire";

export type Phase = "waiting" | "speaking" | "done" | "failed";

export interface Advisor {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly contributionType: string;
  readonly phase: Phase;
  readonly content: string;
  readonly error: string | null;
  /** The name of what went wrong; `Stopped` is what the person wanted. */
  readonly errorKind: string;
  readonly challenges: readonly Exchange[];
  readonly usage: Usage | null;
  readonly citations: readonly Citation[];
  /** What they have read by themselves, while they speak; afterwards their bill says it. */
  readonly looks: readonly string[];
}

export type Exchange = ChallengeExchange & { readonly looks?: readonly string[] };

export interface SessionState {
  readonly id: string;
  /** What the person calls it, or else the decision. */
  readonly title: string;
  readonly decision: string;
  readonly answers: readonly Answer[];
  readonly model: string;
  readonly tiny: boolean;
  readonly step: Step;
  /** Speaking order. */
  readonly order: readonly string[];
  readonly advisors: Readonly<Record<string, Advisor>>;
  readonly brief: Brief | null;
  /** Those of its texts that cite something. */
  readonly briefCited: readonly CitedText[];
  readonly briefUsage: Usage | null;
  readonly briefStale: boolean;
  readonly briefError: string | null;
  /** Conditions of the brief that the person says are met. */
  readonly ticked: readonly string[];
  /** The server is writing the brief as part of the session. */
  readonly briefWriting: boolean;
  /** We asked for a brief and wait for it. */
  readonly briefLoading: boolean;
  readonly usage: UsageTotal;
  readonly evidence: readonly EvidenceItem[];
  /** What was decided so far. */
  readonly ledger: readonly Decided[];
  readonly struck: readonly Decided[];
  readonly live: boolean;
  /** Something is still to be said, and nobody is at work on it until the person goes on. */
  readonly paused: boolean;
  readonly streamError: string | null;
  /** The advisor whose reply to a challenge is being streamed. */
  readonly challenging: string | null;
  readonly challengeError: { readonly personaId: string; readonly message: string; readonly text: string } | null;
}

export type Action =
  | SessionEvent
  | { type: "tokens"; tokens: ReadonlyMap<string, string> }
  | { type: "challenge_start"; personaId: string; text: string }
  | { type: "challenge_token"; personaId: string; token: string }
  | { type: "challenge_complete"; personaId: string; usage: Usage; citations?: readonly Citation[] }
  | { type: "challenge_looked"; personaId: string; what: string }
  | { type: "challenge_abort" }
  | { type: "challenge_failed"; personaId: string; message: string }
  | { type: "retry"; personaId: string }
  | { type: "brief_requested" }
  | { type: "brief_received"; brief: Brief; cited?: readonly CitedText[] }
  | { type: "brief_failed"; message: string }
  | { type: "given"; items: readonly EvidenceItem[] }
  | { type: "corrected"; ledger: readonly Decided[]; struck: readonly Decided[] }
  | { type: "ticked"; condition: string; ticked: boolean }
  | { type: "resumed" };

export function settled(phase: Phase): boolean {
  return phase === "done" || phase === "failed";
}

/** Why several advisors did not answer, where it is the same for all of them: said once, not by each. */
export function sharedFailure(state: SessionState): string | null {
  const failed = state.order.flatMap((id) => {
    const advisor = state.advisors[id];
    return advisor?.phase === "failed" && advisor.errorKind !== STOPPED ? [advisor] : [];
  });
  const [first] = failed;
  return first && failed.length > 1 && failed.every((one) => one.error === first.error) ? first.error : null;
}

export const STOPPED = "Stopped";

export function allSettled(state: SessionState): boolean {
  return state.order.every((id) => settled(state.advisors[id]?.phase ?? "waiting"));
}

function phaseOf(response: PersonaResponse): Phase {
  if (response.isComplete) return "done";
  return response.error === null ? "waiting" : "failed";
}

export function fromSession(session: Session): SessionState {
  const personas = new Map<string, Member>(session.personas.map((persona) => [persona.id, persona]));
  const advisors: Record<string, Advisor> = {};
  const order: string[] = [];
  for (const response of session.responses) {
    const persona = personas.get(response.personaId);
    order.push(response.personaId);
    advisors[response.personaId] = {
      id: response.personaId,
      name: persona?.name ?? response.personaName,
      role: persona?.role ?? "",
      contributionType: persona?.contributionType ?? "",
      phase: phaseOf(response),
      content: response.content,
      error: response.error,
      errorKind: response.errorKind ?? "",
      challenges: response.challenges.filter((exchange) => exchange.isReplyComplete),
      usage: response.usage,
      citations: response.citations,
      looks: [],
    };
  }
  return {
    id: session.id,
    title: session.title,
    decision: session.decision,
    answers: session.answers,
    model: session.model,
    tiny: session.tiny,
    step: session.step,
    order,
    advisors,
    brief: session.brief,
    briefCited: session.briefCited,
    briefUsage: session.briefUsage,
    briefStale: session.briefStale,
    briefError: session.briefError,
    ticked: session.tickedConditions,
    briefWriting: session.step === "brief" && session.live && !session.paused,
    briefLoading: false,
    usage: session.usage,
    evidence: session.evidence,
    ledger: session.ledger,
    struck: session.struck,
    live: session.live && !session.paused,
    paused: session.paused,
    streamError: null,
    challenging: null,
    challengeError: null,
  };
}

/**
 * Which advisors a stored session left unfinished. Their words so far are only in the event stream;
 * everything else up to `lastEventId` is in the snapshot already and must not be applied twice.
 */
export function isNews(session: Session, id: number | null, event: SessionEvent): boolean {
  if (id === null || id > session.lastEventId) return true;
  if (!("personaId" in event)) return false;
  const response = session.responses.find((one) => one.personaId === event.personaId);
  return response === undefined || phaseOf(response) === "waiting";
}

function change(state: SessionState, id: string, part: Partial<Advisor>): SessionState {
  const advisor = state.advisors[id];
  if (!advisor) return state;
  return { ...state, advisors: { ...state.advisors, [id]: { ...advisor, ...part } } };
}

function spend(total: UsageTotal, usage: Usage): UsageTotal {
  return {
    inputTokens: total.inputTokens + usage.inputTokens,
    outputTokens: total.outputTokens + usage.outputTokens,
    costUsd: usage.costUsd === null ? total.costUsd : (total.costUsd ?? 0) + usage.costUsd,
    cachedTokens: total.cachedTokens + (usage.cachedTokens ?? 0),
  };
}

function withoutIncomplete(state: SessionState): SessionState {
  const id = state.challenging;
  if (id === null) return state;
  const advisor = state.advisors[id];
  const next = { ...state, challenging: null };
  if (!advisor) return next;
  return change(next, id, { challenges: advisor.challenges.filter((exchange) => exchange.isReplyComplete) });
}

function lastExchange(state: SessionState, id: string, part: Partial<Exchange>): SessionState {
  const challenges = state.advisors[id]?.challenges ?? [];
  const last = challenges.at(-1);
  if (!last || last.isReplyComplete) return state;
  const { looks = [], ...said } = last;
  // Its bill says what was looked at, once it is complete.
  const whole = part.isReplyComplete ? said : { ...said, looks };
  return change(state, id, { challenges: [...challenges.slice(0, -1), { ...whole, ...part }] });
}

export function reduce(state: SessionState, action: Action): SessionState {
  switch (action.type) {
    case "session_start":
      return { ...state, live: true, streamError: null, model: action.model, tiny: action.tiny };

    case "persona_start": {
      const known = state.advisors[action.personaId];
      const begun = { phase: "speaking" as const, content: "", error: null, errorKind: "", usage: null };
      const nothing = { citations: [], looks: [] };
      if (known)
        return change({ ...state, live: true, paused: false, step: "advisors" }, action.personaId, {
          ...begun,
          ...nothing,
        });
      const fresh: Advisor = {
        id: action.personaId,
        name: action.personaName,
        role: action.role,
        contributionType: "",
        challenges: [],
        ...begun,
        ...nothing,
      };
      return {
        ...state,
        live: true,
        order: [...state.order, fresh.id],
        advisors: { ...state.advisors, [fresh.id]: fresh },
      };
    }

    case "persona_token":
      return reduce(state, { type: "tokens", tokens: new Map([[action.personaId, action.token]]) });

    case "tokens": {
      let advisors: Record<string, Advisor> | null = null;
      for (const [id, text] of action.tokens) {
        const advisor = state.advisors[id];
        if (!advisor || settled(advisor.phase)) continue;
        advisors ??= { ...state.advisors };
        advisors[id] = { ...advisor, phase: "speaking", content: advisor.content + text };
      }
      return advisors ? { ...state, advisors } : state;
    }

    case "persona_complete": {
      const { usage, citations = [] } = action;
      const next = change(state, action.personaId, { phase: "done", error: null, usage, citations, looks: [] });
      // Somebody who speaks after the brief was written is not in it.
      return { ...next, briefStale: state.briefStale || state.brief !== null, usage: spend(state.usage, usage) };
    }

    case "looked": {
      const advisor = state.advisors[action.personaId];
      if (advisor?.phase !== "speaking") return state;
      return change(state, action.personaId, { looks: [...advisor.looks, action.what] });
    }

    case "persona_error":
      return change(state, action.personaId, {
        phase: "failed",
        error: action.message,
        errorKind: action.kind ?? "",
        content: "",
      });

    case "brief_start":
      return { ...state, step: "brief", briefWriting: true, paused: false, briefError: null };

    case "brief_complete":
      return {
        ...state,
        brief: action.brief,
        briefCited: action.cited ?? [],
        briefStale: false,
        briefWriting: false,
        briefError: null,
      };

    case "brief_error":
      return { ...state, briefWriting: false, briefError: action.message };

    case "idle":
      // The brief was left in the middle: it is for the person to go on with it, not for whoever looks.
      if (state.briefWriting) return { ...state, live: false, briefWriting: false, paused: true };
      return reduce(state, { type: "session_complete" });

    case "session_complete":
      return {
        ...state,
        live: false,
        briefWriting: false,
        step: allSettled(state) && !state.paused ? "review" : state.step,
      };

    case "error":
      return { ...state, live: false, briefWriting: false, streamError: action.message };

    case "resumed":
      return { ...state, streamError: null, paused: false, live: true };

    case "retry":
      return change({ ...state, live: true, paused: false }, action.personaId, {
        phase: "waiting",
        content: "",
        error: null,
        errorKind: "",
      });

    case "challenge_start": {
      const clean = withoutIncomplete(state);
      const advisor = clean.advisors[action.personaId];
      if (!advisor) return clean;
      const blank = {
        challengeText: action.text,
        replyContent: "",
        isReplyComplete: false,
        citations: [],
        usage: null,
      };
      return change({ ...clean, challenging: action.personaId, challengeError: null }, action.personaId, {
        challenges: [...advisor.challenges, blank],
      });
    }

    case "challenge_token": {
      if (state.challenging !== action.personaId) return state;
      const sofar = state.advisors[action.personaId]?.challenges.at(-1)?.replyContent ?? "";
      return lastExchange(state, action.personaId, { replyContent: sofar + action.token });
    }

    case "challenge_looked": {
      if (state.challenging !== action.personaId) return state;
      const looks = state.advisors[action.personaId]?.challenges.at(-1)?.looks ?? [];
      return lastExchange(state, action.personaId, { looks: [...looks, action.what] });
    }

    case "challenge_complete": {
      if (state.challenging !== action.personaId) return state;
      const { usage, citations = [] } = action;
      const next = lastExchange(state, action.personaId, { isReplyComplete: true, usage, citations });
      return {
        ...next,
        challenging: null,
        briefStale: true,
        briefError: null,
        usage: spend(state.usage, action.usage),
      };
    }

    case "challenge_abort":
      return withoutIncomplete(state);

    case "challenge_failed": {
      if (state.challenging !== action.personaId) return state;
      const text = state.advisors[action.personaId]?.challenges.at(-1)?.challengeText ?? "";
      return {
        ...withoutIncomplete(state),
        challengeError: { personaId: action.personaId, message: action.message, text },
      };
    }

    case "brief_requested":
      return { ...state, briefLoading: true, briefError: null };

    case "brief_received":
      return {
        ...state,
        brief: action.brief,
        briefCited: action.cited ?? [],
        briefLoading: false,
        briefStale: false,
        briefError: null,
      };

    case "given": {
      const there = new Set(state.evidence.map((item) => item.id));
      return { ...state, evidence: [...state.evidence, ...action.items.filter((item) => !there.has(item.id))] };
    }

    case "corrected":
      return { ...state, ledger: action.ledger, struck: action.struck };

    case "ticked": {
      const others = state.ticked.filter((one) => one !== action.condition);
      return { ...state, ticked: action.ticked ? [...others, action.condition] : others };
    }

    case "brief_failed":
      return { ...state, briefLoading: false, briefError: action.message };

    default:
      return state;
  }
}
