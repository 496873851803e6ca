/** Challenges that were typed and have no whole reply yet: kept for this tab, by session and advisor. */

const PREFIX = "moot.challenge/";
/** Where the browser keeps nothing. */
const kept = new Map<string, string>();

const keyOf = (sessionId: string, personaId: string): string => `${PREFIX}${sessionId}/${personaId}`;

export function challengeDraft(sessionId: string, personaId: string): string {
  const key = keyOf(sessionId, personaId);
  try {
    return sessionStorage.getItem(key) ?? kept.get(key) ?? "";
  } catch {
    return kept.get(key) ?? "";
  }
}

/** An empty text forgets it. */
export function keepChallengeDraft(sessionId: string, personaId: string, text: string): void {
  const key = keyOf(sessionId, personaId);
  if (text) kept.set(key, text);
  else kept.delete(key);
  try {
    if (text) sessionStorage.setItem(key, text);
    else sessionStorage.removeItem(key);
  } catch {
    // kept in memory only
  }
}
