/** Keys of the page itself. None is taken from somebody who types, from what scrolls sideways, or from the browser. */

import { useLayoutEffect } from "react";

const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";
/** Code and tables take the focus so that arrows can move them. */
const SCROLLING = "pre, .md-table";

function isForThePage(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return false;
  const at = event.target instanceof Element ? event.target : null;
  if (at?.closest(TYPING)) return false;
  return !(event.key.startsWith("Arrow") && (event.shiftKey || at?.closest(SCROLLING)));
}

/** `press` says whether it took the key. Listened for from the moment that the page is there to be seen. */
export function useKeys(press: (key: string) => boolean): void {
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (isForThePage(event) && press(event.key)) event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [press]);
}
