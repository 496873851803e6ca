/** Written by docs/generate.py from the server's OpenAPI document: change it, run `make docs`. */

export interface Answer {
  readonly question: string;
  readonly answer: string;
}

/** Answers what was asked with this `step` and `key`: one of its choices, with words where it takes them, or words alone where it takes free text. */
export interface AnswerRequest {
  readonly step: string;
  readonly key: string;
  readonly choice?: string | null;
  readonly text?: string;
}

export interface Answered {
  readonly question: string;
  readonly answer: string;
}

/** What the person may answer now. An `interrupting` one is put while others speak. */
export interface AskOut {
  readonly step: string;
  readonly key: string;
  readonly expects: string;
  readonly hint: string;
  readonly optional: boolean;
  readonly interrupting: boolean;
  readonly freeText: boolean;
  readonly choices: readonly ChoiceOut[];
}

/** All that the person may answer now. */
export interface Asked {
  readonly type: "asked";
  readonly asks: readonly AskOut[];
}

/** `given` says what came of the evidence that it was begun with, where there was any. */
export interface BegunOut {
  readonly session: StandingBody;
  readonly given: GivenOut | null;
}

/** What was really asked on a session's account, retries and what broke off included. */
export interface BillOut {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly keptTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  readonly cachedUsd: number | null;
  readonly savedUsd: number | null;
  readonly unpriced: number;
  readonly estimated: boolean;
  readonly summary: string;
}

export interface Brief {
  readonly consensus: Consensus;
  readonly tensions: readonly Tension[];
  readonly blindSpots: readonly string[];
  readonly recommendation: Recommendation;
}

/** `cited` are those of its texts that cite something. */
export interface BriefComplete {
  readonly type: "brief_complete";
  readonly brief: Brief;
  readonly cited?: readonly CitedText[];
}

export interface BriefError {
  readonly type: "brief_error";
  readonly message: string;
}

export interface BriefOut {
  readonly brief: Brief;
  readonly cited?: readonly CitedText[];
}

export interface BriefRequest {
  readonly decision: string;
  readonly answers?: readonly Answered[];
  readonly responses: readonly Responded[];
  readonly sessionId?: string | null;
}

export interface BriefStart {
  readonly type: "brief_start";
}

export type ChallengeEvent = ChallengeReplyToken | ChallengeReplyComplete | Looked | StreamError;

/** `challenge` is its number in the session. It takes the place of one that still waits for its reply. */
export interface ChallengeMade {
  readonly type: "challenge_made";
  readonly personaId: string;
  readonly challenge: number;
  readonly text: string;
}

export interface ChallengeReplyComplete {
  readonly type: "challenge_reply_complete";
  readonly personaId: string;
  readonly challenge: number;
  readonly usage: UsageOut;
  readonly citations?: readonly CitationOut[];
}

/** The challenge is as if it had not been made. `kind` is the name of what went wrong; it is empty where whoever made the challenge has left. */
export interface ChallengeReplyError {
  readonly type: "challenge_reply_error";
  readonly personaId: string;
  readonly challenge: number;
  readonly kind: string;
  readonly message: string;
  readonly retryAfter: number | null;
}

/** A second one for the same challenge means that the reply begins again: what was said before is void. */
export interface ChallengeReplyStart {
  readonly type: "challenge_reply_start";
  readonly personaId: string;
  readonly challenge: number;
}

export interface ChallengeReplyToken {
  readonly type: "challenge_reply_token";
  readonly personaId: string;
  readonly challenge: number;
  readonly token: string;
}

export interface ChallengeRequest {
  readonly personaId: string;
  readonly decision: string;
  readonly answers?: readonly Answered[];
  readonly initialResponse: string;
  readonly priorChallenges: readonly Exchanged[];
  readonly challengeText: string;
  readonly sessionId?: string | null;
}

export type Check = "verified" | "not in the lines" | "no such lines" | "no such item";

/** `suggestions` are texts that may be taken over as they are. What is `inPerson` no agent may choose. */
export interface ChoiceOut {
  readonly id: string;
  readonly label: string;
  readonly takes: Takes;
  readonly suggestions: readonly string[];
  readonly inPerson: boolean;
}

/** `start` and `end` say where its brackets are in the text, counted in characters. Without lines, all of the item is cited. */
export interface CitationOut {
  readonly item: string;
  readonly first: number | null;
  readonly last: number | null;
  readonly start: number;
  readonly end: number;
  readonly check: Check;
}

/** A text that cites something, and what. */
export interface CitedText {
  readonly text: string;
  readonly citations: readonly CitationOut[];
}

/** A condition is known by its words, as the brief has them. */
export interface ConditionRequest {
  readonly condition: string;
  readonly ticked?: boolean;
}

export interface Consensus {
  readonly areas: readonly string[];
  readonly strength: "strong" | "moderate" | "weak";
}

export type Contribution = "integrator" | "challenger" | "sense-checker";

/** With the `key` of an entry, what holds instead of it, or, without words, that it does not hold; without a key, something that is to hold from now on. With `undo`, what was said last of the entry is taken back. */
export interface CorrectionRequest {
  readonly text?: string;
  readonly key?: string | null;
  readonly undo?: boolean;
}

/** `estimate` is of what comes next, from where the session stands; null where no model is to be had. */
export interface CostOut {
  readonly estimate: EstimateOut | null;
  readonly bill: BillOut;
}

/** An entry of what was decided so far. */
export interface DecidedOut {
  readonly number: string;
  readonly key: string;
  readonly kind: Kind;
  readonly text: string;
  readonly by: string;
  readonly at: string;
}

/** `note` says how the score shows in behaviour. */
export interface Dimension {
  readonly score: number;
  readonly note: string;
}

/** What a session is going to ask, until only the person is asked, by the usual length of replies. */
export interface EstimateOut {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  readonly atLeast: boolean;
  readonly summary: string;
}

/** One item: a path in the workspace, the address of a page, text, or a file's bytes as base64; text and bytes have a name. */
export interface EvidenceIn {
  readonly path?: string | null;
  readonly url?: string | null;
  readonly name?: string;
  readonly text?: string | null;
  readonly base64?: string | null;
}

/** An item, without what it says. `lines` counts them; `sha256` is of the bytes that were read. */
export interface EvidenceOut {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
  readonly sha256: string;
  readonly mediaType: string;
  readonly lines: number;
  readonly tokens: number;
  readonly isImage: boolean;
}

export interface ExchangeOut {
  readonly challengeText: string;
  readonly replyContent: string;
  readonly isReplyComplete: boolean;
  readonly citations: readonly CitationOut[];
  readonly usage: UsageOut | null;
}

export interface Exchanged {
  readonly challengeText: string;
  readonly replyContent: string;
  readonly isReplyComplete?: boolean;
}

export type FormatEvent = SessionOpened | SpeechStart | SpeechToken | TaskStart | Progress | Looked | Happened | WholeState | Asked | StreamError | Idle;

export interface FormatOut {
  readonly name: string;
  readonly opening: Readonly<Record<string, unknown>>;
  readonly writesFiles: boolean;
}

export interface FormatsOut {
  readonly formats: readonly FormatOut[];
}

/** With `dryRun`, nothing is kept: it is said what would be. */
export interface GiveRequest {
  readonly items: readonly EvidenceIn[];
  readonly dryRun?: boolean;
}

/** What came of giving: items are taken whole, or left out with the reason. */
export interface GivenOut {
  readonly taken: readonly EvidenceOut[];
  readonly leftOut: readonly LeftOutOut[];
  readonly tokens: number;
  readonly costUsd: number | null;
  readonly summary: string;
}

/** The event of this number in the log, as the log has it, but for what evidence says. `unverified` is what is cited in it from the evidence and is not there, in words. */
export interface Happened {
  readonly type: "event";
  readonly number: number;
  readonly event: Readonly<Record<string, unknown>>;
  readonly unverified?: readonly string[];
}

/** Nothing is under way: the stream ends here. Without an id, because it is not part of the session. */
export interface Idle {
  readonly type: "idle";
}

/** An item with what it says: its lines as they are cited, or, of an image, its bytes as base64. */
export interface ItemOut {
  readonly id: string;
  readonly name: string;
  readonly origin: string;
  readonly sha256: string;
  readonly mediaType: string;
  readonly lines: number;
  readonly tokens: number;
  readonly isImage: boolean;
  readonly text: string;
  readonly image: string | null;
}

export type Kind = "decided" | "rejected" | "open" | "said";

/** All that was decided so far. */
export interface LedgerOut {
  readonly ledger: readonly DecidedOut[];
  readonly struck: readonly DecidedOut[];
}

export interface LeftOutOut {
  readonly name: string;
  readonly why: string;
}

/** Who speaks or drafts has looked something up in the repository: "src/app.py, lines 1 to 80". What nobody speaks, such as a draft, has no persona. */
export interface Looked {
  readonly type: "looked";
  readonly personaId: string;
  readonly prompt: string;
  readonly key: string;
  readonly what: string;
}

/** A change that was made from a session, and its phase; an archived one is called as its folder there. */
export interface MadeOut {
  readonly id: string;
  readonly phase: string;
}

/** Who is asking. Nobody signs in on a server that only its own machine reaches. */
export interface MeOut {
  readonly name: string;
  readonly admin: boolean;
  readonly signsIn: boolean;
}

/** An advisor as the session's log has it. */
export interface MemberOut {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly contributionType: string;
}

export interface ModelOut {
  readonly model: string;
  readonly tiny: boolean;
  readonly reason: string;
  readonly advice: string;
}

/** `opening` is what `/api/formats` describes for the format. */
export interface OpenRequest {
  readonly format: string;
  readonly opening: Readonly<Record<string, unknown>>;
  readonly evidence?: readonly EvidenceIn[];
}

export interface PersonaComplete {
  readonly type: "persona_complete";
  readonly personaId: string;
  readonly usage: UsageOut;
  readonly citations?: readonly CitationOut[];
}

/** `kind` is the name of what went wrong, such as KeyRefused; `Stopped` is what the person wanted. */
export interface PersonaError {
  readonly type: "persona_error";
  readonly personaId: string;
  readonly message: string;
  readonly kind: string;
}

export interface PersonaOut {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly contributionType: Contribution;
  readonly rubric: Readonly<Record<string, Dimension>>;
}

/** A second one for the same persona means that it begins again: what it had said before is void. */
export interface PersonaStart {
  readonly type: "persona_start";
  readonly personaId: string;
  readonly personaName: string;
  readonly role: string;
}

export interface PersonaToken {
  readonly type: "persona_token";
  readonly personaId: string;
  readonly token: string;
}

export interface PersonasOut {
  readonly personas: readonly PersonaOut[];
}

/** Every answer that is no success. */
export interface Problem {
  readonly error: string;
}

/** How what is being done comes along. */
export interface Progress {
  readonly type: "progress";
  readonly text: string;
}

export interface QuestionOut {
  readonly id: string;
  readonly question: string;
  readonly hint: string | null;
}

export interface QuestionsOut {
  readonly questions: readonly QuestionOut[];
  readonly lookedAt: readonly string[];
}

export interface QuestionsRequest {
  readonly decision: string;
  readonly looks?: boolean;
  readonly evidence?: readonly EvidenceIn[];
}

export interface Recommendation {
  readonly summary: string;
  readonly confidence: "high" | "moderate" | "low";
  readonly conditions: readonly string[];
}

export interface Responded {
  readonly personaId: string;
  readonly personaName?: string;
  readonly content: string;
  readonly isComplete?: boolean;
  readonly challenges?: readonly Exchanged[];
}

export interface ResponseOut {
  readonly personaId: string;
  readonly personaName: string;
  readonly content: string;
  readonly isComplete: boolean;
  readonly citations: readonly CitationOut[];
  readonly error: string | null;
  readonly errorKind: string | null;
  readonly challenges: readonly ExchangeOut[];
  readonly usage: UsageOut | null;
}

/** Without a persona: everybody who did not answer. */
export interface RetryRequest {
  readonly personaId?: string | null;
}

export interface SessionBody {
  readonly id: string;
  readonly title: string;
  readonly pinned: boolean;
  readonly decision: string;
  readonly answers: readonly Answer[];
  readonly mode: "independent" | "sequential";
  readonly model: string;
  readonly tiny: boolean;
  readonly step: Step;
  readonly personas: readonly MemberOut[];
  readonly responses: readonly ResponseOut[];
  readonly brief: Brief | null;
  readonly briefCited: readonly CitedText[];
  readonly briefUsage: UsageOut | null;
  readonly briefStale: boolean;
  readonly briefError: string | null;
  readonly tickedConditions: readonly string[];
  readonly usage: TotalOut;
  readonly evidence: readonly EvidenceOut[];
  readonly ledger: readonly DecidedOut[];
  readonly struck: readonly DecidedOut[];
  readonly live: boolean;
  readonly paused: boolean;
  readonly lastEventId: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What is given is changed. An empty title takes the given one back. */
export interface SessionChange {
  readonly title?: string | null;
  readonly pinned?: boolean | null;
}

/** Every advisor has spoken or failed, and so has the brief. */
export interface SessionComplete {
  readonly type: "session_complete";
}

export type SessionEvent = SessionStart | PersonaStart | PersonaToken | PersonaComplete | PersonaError | BriefStart | BriefComplete | BriefError | SessionComplete | ChallengeMade | ChallengeReplyStart | ChallengeReplyToken | ChallengeReplyComplete | ChallengeReplyError | Looked | StreamError | Idle;

export interface SessionHead {
  readonly id: string;
  readonly format: string;
  readonly title: string;
  readonly pinned: boolean;
  readonly live: boolean;
  readonly workspace: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SessionOpened {
  readonly type: "session_start";
  readonly sessionId: string;
  readonly format: string;
  readonly model: string;
  readonly tiny: boolean;
}

export interface SessionOut {
  readonly session: SessionBody;
}

export interface SessionRequest {
  readonly decision: string;
  readonly answers?: readonly Answered[];
  readonly panel?: string;
  readonly mode?: "independent" | "sequential";
  readonly looks?: boolean;
  readonly evidence?: readonly EvidenceIn[];
}

export interface SessionStart {
  readonly type: "session_start";
  readonly sessionId: string;
  readonly personaCount: number;
  readonly model: string;
  readonly tiny: boolean;
}

export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  readonly pinned: boolean;
  readonly decision: string;
  readonly step: Step;
  readonly personaCount: number;
  readonly completeCount: number;
  readonly challengeCount: number;
  readonly hasBrief: boolean;
  readonly briefStale: boolean;
  readonly live: boolean;
  readonly model: string;
  readonly workspace: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SessionsOut {
  readonly sessions: readonly SessionSummary[];
  readonly next: string | null;
}

export interface SessionsPage {
  readonly sessions: readonly SessionHead[];
  readonly next: string | null;
}

export interface SignInRequest {
  readonly token: string;
}

/** A second one for the same persona, prompt and key means that it begins again: what was said before is void. What nobody speaks, such as a draft, has no persona. */
export interface SpeechStart {
  readonly type: "speech_start";
  readonly personaId: string;
  readonly prompt: string;
  readonly key: string;
}

export interface SpeechToken {
  readonly type: "speech_token";
  readonly personaId: string;
  readonly prompt: string;
  readonly key: string;
  readonly token: string;
}

export interface StandingBody {
  readonly id: string;
  readonly format: string;
  readonly title: string;
  readonly pinned: boolean;
  readonly live: boolean;
  readonly workspace: string;
  readonly owner: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly paused: boolean;
  readonly asks: readonly AskOut[];
  readonly evidence: readonly EvidenceOut[];
  readonly ledger: readonly DecidedOut[];
  readonly struck: readonly DecidedOut[];
  readonly changes: readonly MadeOut[];
  readonly state: Readonly<Record<string, unknown>>;
  readonly lastEventId: number;
}

export interface StandingOut {
  readonly session: StandingBody;
}

export type Step = "unopened" | "questions" | "answers" | "advisors" | "brief" | "review";

/** Without a persona: everybody, and the brief. */
export interface StopRequest {
  readonly personaId?: string | null;
}

export interface StreamError {
  readonly type: "error";
  readonly message: string;
}

/** Whether words belong to a choice. */
export type Takes = "nothing" | "optional text" | "text";

/** The program does something outside; `task` is the name of its kind. */
export interface TaskStart {
  readonly type: "task_start";
  readonly task: string;
  readonly key: string;
}

export interface Tension {
  readonly between: readonly string[];
  readonly issue: string;
  readonly implication: string;
}

/** Of several replies together. The cost leaves out those whose price is not known. */
export interface TotalOut {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  readonly cachedTokens: number;
}

/** What a reply has cost, and what it rests on. Of the input, `cached_tokens` were read from the provider's cache. `looked_at` names what the model has read by itself, and `left_out` what it was not told, because there was no room for it. */
export interface UsageOut {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  readonly durationMs: number;
  readonly cachedTokens: number;
  readonly lookedAt: readonly string[];
  readonly leftOut: readonly string[];
}

/** What would be taken of it, and what it would cost, is said; nothing is kept. */
export interface WeighRequest {
  readonly items: readonly EvidenceIn[];
}

/** The state after the event of this number: whatever was told before is in it. */
export interface WholeState {
  readonly type: "state";
  readonly number: number;
  readonly state: Readonly<Record<string, unknown>>;
}

export const LIMITS = { decision: 5000, answers: 10, answer: 1000, challenge: 2000, challenges: 10, title: 200, evidence: 40, decided: 2000 } as const;

export const SMALL_MODEL = "The built-in model is very small: its advice is not worth acting on.";
