/**
 * Keeps the end of growing text in view, but only for a reader who has gone there. Somebody who reads from
 * the top is never moved.
 */

import { type RefObject, useEffect, useRef } from "react";

const NEAR = 48;

/** `asked`: what grows is an answer to the reader, who is taken to it once. */
export function useFollowing(active: boolean, asked: boolean): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement | null>(null);
  useEffect(() => {
    const root = document.documentElement;
    const page = end.current?.parentElement;
    if (!active || !page) return;
    const below = (): number => root.scrollHeight - root.clientHeight - window.scrollY;
    const toEnd = (): void => window.scrollTo({ top: root.scrollHeight, behavior: "instant" });
    let following = asked || (window.scrollY > 0 && below() < NEAR);
    if (asked) toEnd();
    const moved = (): void => {
      following = window.scrollY > 0 && below() < NEAR;
    };
    const grown = new ResizeObserver(() => {
      if (following) toEnd();
    });
    window.addEventListener("scroll", moved, { passive: true });
    grown.observe(page);
    return () => {
      window.removeEventListener("scroll", moved);
      grown.disconnect();
      // The box to answer in comes after the last word: it comes into view for who was there.
      if (following) requestAnimationFrame(toEnd);
    };
  }, [active, asked]);
  return end;
}
