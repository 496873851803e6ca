/** One polite live region for the few things worth saying: never for tokens. */

import { type ReactNode, useSyncExternalStore } from "react";

let said = "";
const listeners = new Set<() => void>();

export function announce(text: string): void {
  // A repeated sentence has to differ to be read again.
  said = said === text ? `${text}\u00a0` : text;
  for (const listener of listeners) listener();
}

export function Announcer(): ReactNode {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => said,
  );
  return (
    <div className="sr-only" role="status" aria-live="polite">
      {text}
    </div>
  );
}
