import type { SessionState } from "./session/state";

const bullets = (items: readonly string[]): string => items.map((item) => `- ${item}`).join("\n");

/** The brief as somebody would paste it into a document or a ticket. */
export function briefMarkdown(session: SessionState): string {
  const brief = session.brief;
  if (!brief) return "";
  const silent = session.order.flatMap((id) => {
    const advisor = session.advisors[id];
    return advisor?.phase === "failed" ? [advisor.name] : [];
  });
  const parts = [
    "# Board Brief",
    `> ${session.decision.trim().replace(/\n/g, "\n> ")}`,
    `## Recommendation (${brief.recommendation.confidence} confidence)`,
    brief.recommendation.summary,
    brief.consensus.areas.length > 0
      ? `## Where the board agrees (${brief.consensus.strength})\n\n${bullets(brief.consensus.areas)}`
      : "",
    brief.tensions.length > 0
      ? `## Tensions\n\n${brief.tensions
          .map((tension) => `- **${tension.between.join(" / ")}**: ${tension.issue} ${tension.implication}`)
          .join("\n")}`
      : "",
    brief.blindSpots.length > 0 ? `## Blind spots\n\n${bullets(brief.blindSpots)}` : "",
    brief.recommendation.conditions.length > 0 ? `## Conditions\n\n${bullets(brief.recommendation.conditions)}` : "",
    silent.length > 0 ? `_Not heard: ${silent.join(", ")}._` : "",
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}
