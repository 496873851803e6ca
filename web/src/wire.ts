/** The shapes that travel between the page and the server, written by hand in one place. */

export type ContributionType = "integrator" | "challenger" | "sense-checker";

export interface RubricEntry {
  score: number;
  note?: string;
}

export interface Persona {
  id: string;
  name: string;
  role: string;
  contributionType: ContributionType | string;
  rubric?: Record<string, RubricEntry>;
}

export interface ModelInfo {
  model: string;
  tiny: boolean;
  reason?: string | null;
  advice?: string | null;
}

export interface Question {
  id: string;
  question: string;
  hint?: string | null;
}

export interface Answer {
  question: string;
  answer: string;
}

export interface ChallengeExchange {
  challengeText: string;
  replyContent: string;
  isReplyComplete: boolean;
}

export interface Usage {
  model?: string;
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
  durationMs?: number;
}

export interface UsageTotal {
  inputTokens: number;
  outputTokens: number;
  costUsd: number | null;
}

export interface PersonaResponse {
  personaId: string;
  personaName: string;
  content: string;
  isComplete: boolean;
  error: string | null;
  challenges: ChallengeExchange[];
  usage: Usage | null;
}

export type Strength = "strong" | "moderate" | "weak";
export type Confidence = "high" | "moderate" | "low";

export interface Tension {
  between: string[];
  issue: string;
  implication: string;
}

export interface Brief {
  consensus: { areas: string[]; strength: Strength };
  tensions: Tension[];
  blindSpots: string[];
  recommendation: { summary: string; confidence: Confidence; conditions: string[] };
}

export type Step = "advisors" | "brief" | "review";

export interface SessionSummary {
  id: string;
  decision: string;
  step: Step;
  personaCount: number;
  completeCount: number;
  challengeCount: number;
  hasBrief: boolean;
  model: string;
  createdAt: string;
  updatedAt: string;
}

export interface Session {
  id: string;
  decision: string;
  answers: Answer[];
  mode: "independent" | "sequential";
  model: string;
  tiny: boolean;
  step: Step;
  personas: Persona[];
  responses: PersonaResponse[];
  brief: Brief | null;
  briefStale: boolean;
  briefError: string | null;
  usage: UsageTotal;
  live: boolean;
  lastEventId: number;
  createdAt: string;
  updatedAt: string;
}

export type SessionEvent =
  | { type: "session_start"; sessionId: string; personaCount: number; model?: string; tiny?: boolean }
  | { type: "persona_start"; personaId: string; personaName: string; role: string }
  | { type: "persona_token"; personaId: string; token: string }
  | { type: "persona_complete"; personaId: string; usage?: Usage | null }
  | { type: "persona_error"; personaId: string; message: string }
  | { type: "brief_start" }
  | { type: "brief_complete"; brief: Brief }
  | { type: "brief_error"; message: string }
  | { type: "session_complete" }
  | { type: "idle" }
  | { type: "error"; message: string };

export type ChallengeEvent =
  | { type: "challenge_reply_token"; token: string }
  | { type: "challenge_reply_complete"; usage?: Usage | null }
  | { type: "error"; message: string };

export const LIMITS = { decision: 5000, challenge: 2000, answer: 1000, answers: 10, challenges: 10 } as const;
