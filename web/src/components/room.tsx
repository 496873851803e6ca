/** How much room a text has left. What is too long is said, and stays in its box: nothing is cut. */

import type { ReactNode } from "react";
import { whole } from "../format";

/** As the server counts: characters, not the halves of which some are made. */
function lengthOf(text: string): number {
  return [...text.trim()].length;
}

export function tooLong(text: string, most: number): boolean {
  return lengthOf(text) > most;
}

interface Props {
  id: string;
  text: string;
  most: number;
  /** The room that is left is told from here on. */
  near: number;
  /** What stands there while there is room enough. */
  children?: ReactNode;
}

export function Room({ id, text, most, near, children }: Props): ReactNode {
  const left = most - lengthOf(text);
  return (
    <span id={id} className={left < 0 ? "hint room-over" : "hint"} role="status">
      {left < 0
        ? `${whole(-left)} ${left === -1 ? "character" : "characters"} too many: at most ${whole(most)} are taken. Nothing was cut; shorten it to go on.`
        : left < near
          ? `${whole(left)} ${left === 1 ? "character" : "characters"} left`
          : children}
    </span>
  );
}
