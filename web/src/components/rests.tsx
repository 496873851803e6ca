/** What a reply rests on, where that is not just what it was given: what was looked up, and what there was no room for. */

import { memo, type ReactNode } from "react";
import { count } from "../format";
import type { Usage } from "../wire";

interface Props {
  usage: Usage | null;
  /** What has been looked up while they speak. */
  looks?: readonly string[];
  /** No word has come yet: they are at it. */
  looking?: boolean;
}

export const Rests = memo(function Rests({ usage, looks = [], looking = false }: Props): ReactNode {
  // Frames that an earlier version has stored have neither.
  const lookedAt = usage?.lookedAt ?? looks;
  const leftOut = usage?.leftOut ?? [];
  const last = looking ? lookedAt.at(-1) : undefined;
  if (lookedAt.length === 0 && leftOut.length === 0) return null;
  return (
    <div className="rests">
      {lookedAt.length > 0 ? (
        <details>
          <summary>
            {last === undefined ? (
              `Looked at ${count(lookedAt.length, "place")} in the workspace`
            ) : (
              <>
                <span className="pulse" aria-hidden="true" />
                Looking at <span dir="auto">{last}</span>
              </>
            )}
          </summary>
          <ul>
            {lookedAt.map((what, at) => (
              <li key={at} dir="auto">
                {what}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
      {leftOut.length > 0 ? (
        <details className="rests-left" open>
          <summary>Was not told, for want of room unless it says why</summary>
          <ul>
            {leftOut.map((what, at) => (
              <li key={at} dir="auto">
                {what}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </div>
  );
});
