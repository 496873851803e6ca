/** Who is signed in. `null`: not known yet. On a server that only its own machine reaches, nobody signs in. */

import { useSyncExternalStore } from "react";
import { api, whenSignedOut } from "./api";
import type { Me } from "./wire";

export type WhoIsThere = Me | "nobody" | null;

let who: WhoIsThere = null;
const listeners = new Set<() => void>();

function set(next: WhoIsThere): void {
  who = next;
  for (const listener of listeners) listener();
}

whenSignedOut(() => set("nobody"));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useMe(): WhoIsThere {
  return useSyncExternalStore(subscribe, () => who);
}

export async function findOut(): Promise<void> {
  try {
    set(await api.me());
  } catch {
    // Whoever is not known has been told so; and what cannot be reached is said where it matters.
  }
}

export async function signIn(token: string): Promise<void> {
  set(await api.signIn(token));
}

export async function signOut(): Promise<void> {
  await api.signOut();
  // What is on the page, and kept in its memory, was for whoever is gone.
  try {
    sessionStorage.clear();
  } catch {
    // it keeps nothing
  }
  location.assign("/");
}
