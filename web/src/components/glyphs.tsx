/** The advisors' marks, drawn for moot: a frame that tells the kind of contribution, a glyph that tells who. */

import { memo, type ReactNode } from "react";
import { shortName } from "../format";

const GLYPHS: Record<string, ReactNode> = {
  // a rook
  "the-strategist": (
    <path d="M6.5 4v4.5l2 2V16l-2.2 3v1.5h11.4V19l-2.2-3v-5.5l2-2V4h-3v2h-1.8V4h-1.4v2H9.5V4ZM8.5 16h7" />
  ),
  // a lantern
  "the-mentor": (
    <>
      <path d="M9.2 6.2a2.8 2.8 0 0 1 5.6 0M7.5 6.5h9M8.5 6.5 7.3 17.8h9.4L15.5 6.5M6.3 20.5h11.4" />
      <path d="M12 9.8c1.5 1.8 1.9 2.6 1.9 3.5a1.9 1.9 0 0 1-3.8 0c0-.9.4-1.7 1.9-3.5Z" />
    </>
  ),
  // horns
  "the-devil-s-advocate": (
    <>
      <circle cx="12" cy="14.5" r="5.6" />
      <path d="M7.3 11.4C4.8 9.9 4.2 6.6 4.9 3.6c1.4 2.5 3.2 3.9 5.3 5.6M16.7 11.4c2.5-1.5 3.1-4.8 2.4-7.8-1.4 2.5-3.2 3.9-5.3 5.6" />
      <path d="m9.3 13 1.7.8M14.7 13l-1.7.8M10.2 17.2c1.2.5 2.4.5 3.6 0" />
    </>
  ),
  // a sun at the horizon
  "the-visionary": (
    <path d="M3 16.5h18M6.8 16.5a5.2 5.2 0 0 1 10.4 0M12 4.5v3.2M4.8 7.8l2.1 2.1M19.2 7.8l-2.1 2.1M7 20h10" />
  ),
  // a hammer
  "the-pragmatist": (
    <path d="M5 4.5h9.3c3 0 4.7 1.5 5.2 4.3-1.2-1-2.7-1.3-4.7-1.3V10H5ZM9.2 10v9.4a1.2 1.2 0 0 0 2.4 0V10" />
  ),
  // a glass over a small chart
  "the-analyst": (
    <>
      <circle cx="10.5" cy="10.5" r="6.7" />
      <path d="m15.5 15.5 5 5M7.7 13v-2.2M10.5 13V7.5M13.3 13V9.3" />
    </>
  ),
  // a whistle
  "the-coach": (
    <>
      <path d="M9 9.2h11.5v3.6h-6.3A5.3 5.3 0 1 1 9 9.2Z" />
      <circle cx="9" cy="14.5" r="1.7" />
      <path d="m4.5 4 1.4 2M9 2.8v2.4M13.5 4l-1.4 2" />
    </>
  ),
  // scales
  "the-ethicist": (
    <path d="M12 3.5v16.3M8 20.3h8M5 7h14M5 7l-2.7 6.3c.5 1.5 1.5 2.2 2.7 2.2s2.2-.7 2.7-2.2ZM19 7l-2.7 6.3c.5 1.5 1.5 2.2 2.7 2.2s2.2-.7 2.7-2.2Z" />
  ),
};

const FRAMES: Record<string, ReactNode> = {
  integrator: <circle cx="24" cy="24" r="22" />,
  challenger: <rect x="7.5" y="7.5" width="33" height="33" rx="6" transform="rotate(45 24 24)" />,
  "sense-checker": <rect x="4" y="4" width="40" height="40" rx="9" />,
};

function kindClass(contributionType: string): string {
  return contributionType in FRAMES ? `kind-${contributionType}` : "kind-other";
}

function initials(name: string): string {
  return shortName(name)
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => word.charAt(0).toUpperCase())
    .join("");
}

interface MarkProps {
  id: string;
  name: string;
  contributionType: string;
  className?: string;
}

/** Always beside the name in words, so it stays out of the accessibility tree. */
export const Mark = memo(function Mark({ id, name, contributionType, className = "" }: MarkProps): ReactNode {
  const glyph = GLYPHS[id];
  return (
    <svg
      className={`mark ${kindClass(contributionType)} ${className}`}
      viewBox="0 0 48 48"
      aria-hidden="true"
      focusable="false"
    >
      <g className="mark-frame">{FRAMES[contributionType] ?? <circle cx="24" cy="24" r="22" />}</g>
      {glyph ? (
        <g
          className="mark-glyph"
          transform={contributionType === "challenger" ? "translate(12 12)" : "translate(9.8 9.8) scale(1.18)"}
        >
          {glyph}
        </g>
      ) : (
        <text className="mark-initials" x="24" y="25" textAnchor="middle" dominantBaseline="central">
          {initials(name)}
        </text>
      )}
    </svg>
  );
});

const KIND_WORDS: Record<string, string> = {
  integrator: "Integrator",
  challenger: "Challenger",
  "sense-checker": "Sense-checker",
};

export function KindBadge({ contributionType }: { contributionType: string }): ReactNode {
  if (!contributionType) return null;
  return (
    <span className={`kind ${kindClass(contributionType)}`}>
      <svg viewBox="0 0 48 48" aria-hidden="true" focusable="false">
        {FRAMES[contributionType] ?? <circle cx="24" cy="24" r="22" />}
      </svg>
      {KIND_WORDS[contributionType] ?? contributionType}
    </span>
  );
}
