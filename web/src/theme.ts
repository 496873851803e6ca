import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
const KEY = "moot.theme";
const listeners = new Set<() => void>();
const system = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return system().matches ? "dark" : "light";
}

export function chooseTheme(theme: Theme): void {
  // Back at what the system says: follow it again.
  const asSystem = (theme === "dark") === system().matches;
  if (asSystem) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (asSystem) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // not kept, but it holds for this visit
  }
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    const media = system();
    listeners.add(listener);
    media.addEventListener("change", listener);
    return () => {
      listeners.delete(listener);
      media.removeEventListener("change", listener);
    };
  }, current);
}
