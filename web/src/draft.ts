/** The decision being written: kept for this tab, so that a reload or a step back loses nothing. */

import { useSyncExternalStore } from "react";
import type { Answer, Question } from "./wire";

export interface Draft {
  readonly decision: string;
  /** The decision the questions were asked about. */
  readonly askedFor: string;
  /** The evidence that was known then. */
  readonly askedWith: string;
  /** Advisors may look into the workspace. */
  readonly looks: boolean;
  readonly questions: readonly Question[];
  /** What was read in the workspace before they were asked. */
  readonly lookedAt: readonly string[];
  readonly answers: Readonly<Record<string, string>>;
}

const KEY = "moot.draft";
const EMPTY: Draft = {
  decision: "",
  askedFor: "",
  askedWith: "",
  looks: false,
  questions: [],
  lookedAt: [],
  answers: {},
};
const listeners = new Set<() => void>();
let draft: Draft | null = null;

function read(): Draft {
  if (draft) return draft;
  try {
    draft = { ...EMPTY, ...(JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Draft>) };
  } catch {
    draft = EMPTY;
  }
  return draft;
}

export function getDraft(): Draft {
  return read();
}

export function changeDraft(part: Partial<Draft>): void {
  draft = { ...read(), ...part };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // kept in memory only
  }
  for (const listener of listeners) listener();
}

export function clearDraft(): void {
  changeDraft(EMPTY);
}

export function useDraft(): Draft {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}

export function givenAnswers(from: Draft): Answer[] {
  return from.questions.flatMap((question) => {
    const answer = from.answers[question.id]?.trim();
    return answer ? [{ question: question.question, answer }] : [];
  });
}
