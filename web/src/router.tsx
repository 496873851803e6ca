/** Addresses by the history API. Small on purpose: a handful of routes, no nesting. */

import {
  type AnchorHTMLAttributes,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useSyncExternalStore,
} from "react";

export type Route =
  | { page: "home" }
  | { page: "new" }
  | { page: "questions" }
  | { page: "session"; id: string }
  | { page: "advisor"; id: string; personaId: string }
  | { page: "brief"; id: string }
  | { page: "evidence"; id: string; cited: { item: string; first: number | null; last: number | null } }
  | { page: "nowhere" };

export const paths = {
  home: "/",
  new: "/new",
  questions: "/new/questions",
  session: (id: string) => `/s/${encodeURIComponent(id)}`,
  advisor: (id: string, personaId: string) => `/s/${encodeURIComponent(id)}/advisor/${encodeURIComponent(personaId)}`,
  brief: (id: string) => `/s/${encodeURIComponent(id)}/brief`,
  evidence: (id: string, { item, first, last }: { item: string; first: number | null; last: number | null }) =>
    `/s/${encodeURIComponent(id)}/evidence/${encodeURIComponent(item)}${first === null ? "" : `/${first}-${last}`}`,
};

export function readRoute(pathname: string): Route {
  let parts: string[];
  try {
    parts = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { page: "nowhere" };
  }
  const [first, second, third, fourth, fifth] = parts;
  if (parts.length === 0) return { page: "home" };
  if (first === "new" && parts.length === 1) return { page: "new" };
  if (first === "new" && second === "questions" && parts.length === 2) return { page: "questions" };
  if (first === "s" && second !== undefined) {
    if (parts.length === 2) return { page: "session", id: second };
    if (third === "brief" && parts.length === 3) return { page: "brief", id: second };
    if (third === "advisor" && fourth !== undefined && parts.length === 4) {
      return { page: "advisor", id: second, personaId: fourth };
    }
    if (third === "evidence" && fourth !== undefined && parts.length <= 5) {
      const lines = /^(\d{1,7})-(\d{1,7})$/.exec(fifth ?? "");
      if (fifth !== undefined && !lines) return { page: "nowhere" };
      const [from, to] = lines ? [Number(lines[1]), Number(lines[2])] : [null, null];
      return { page: "evidence", id: second, cited: { item: fourth, first: from, last: to } };
    }
  }
  return { page: "nowhere" };
}

const listeners = new Set<() => void>();
/** Counts the moves within the page; the first page that was loaded is 0. */
let moves = 0;

if (typeof window !== "undefined") {
  window.addEventListener("popstate", () => {
    moves++;
    for (const listener of listeners) listener();
  });
}

export function navigate(path: string, options: { replace?: boolean } = {}): void {
  if (path === location.pathname) return;
  if (options.replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  moves++;
  for (const listener of listeners) listener();
  if (!options.replace) window.scrollTo(0, 0);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePathname(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

/** `leave` is called as soon as the address is another one: the next page, which takes its time, is drawn after that. */
export function useLeaving(leave: () => void): void {
  useEffect(() => {
    const here = location.pathname;
    const stop = subscribe(() => {
      if (location.pathname !== here) leave();
    });
    return () => {
      stop();
      leave();
    };
  }, [leave]);
}

/** For a page's heading: names the tab, and takes the focus when the page was come to by a move. */
export function usePageHeading(title: string, key: string = title): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement | null>(null);
  useEffect(() => {
    document.title = title === "moot" ? "moot" : `${title} · moot`;
  }, [title]);
  useEffect(() => {
    if (moves > 0) heading.current?.focus({ preventScroll: true });
  }, [key]);
  return heading;
}

type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { to: string; children: ReactNode };

export function Link({ to, onClick, children, ...rest }: LinkProps): ReactNode {
  return (
    <a
      {...rest}
      href={to}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.button !== 0) return;
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(to);
      }}
    >
      {children}
    </a>
  );
}
