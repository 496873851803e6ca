import { memo, type ReactNode, useState } from "react";
import { count } from "../format";
import { Spoken } from "../markdown";
import { type Advisor, STOPPED } from "../session/state";
import { Chevron } from "./decision-fold";
import { KindBadge, Mark } from "./glyphs";
import { Rests } from "./rests";
import { Thread } from "./thread";

interface RowProps {
  advisor: Advisor;
  open: boolean;
  onToggle: (id: string) => void;
}

const Row = memo(function Row({ advisor, open, onToggle }: RowProps): ReactNode {
  const panel = `responses-${advisor.id}`;
  const challenges = advisor.challenges.length;
  return (
    <div className="acc-row">
      <h3>
        <button type="button" aria-expanded={open} aria-controls={panel} onClick={() => onToggle(advisor.id)}>
          <Mark id={advisor.id} name={advisor.name} contributionType={advisor.contributionType} />
          <span className="acc-words">
            <span className="acc-name" dir="auto">
              {advisor.name}
            </span>
            <KindBadge contributionType={advisor.contributionType} />
            {challenges > 0 ? <span className="count">{count(challenges, "challenge")}</span> : null}
            {advisor.phase === "failed" ? (
              <span className="count count-failed">{advisor.errorKind === STOPPED ? "stopped" : "did not answer"}</span>
            ) : null}
          </span>
          <Chevron />
        </button>
      </h3>
      {/* biome-ignore lint/a11y/useSemanticElements: said outright, as the ARIA pattern of an accordion asks for it */}
      <div
        id={panel}
        className="acc-panel"
        role="region"
        aria-label={`${advisor.name}: response and follow-up discussion`}
        hidden={!open}
      >
        <h4>Initial Response</h4>
        {advisor.content ? (
          <>
            <Spoken text={advisor.content} citations={advisor.citations} />
            <Rests usage={advisor.usage} />
          </>
        ) : (
          <p className="thinking" dir="auto">
            {advisor.error ?? "Nothing was said."}
          </p>
        )}
        {challenges > 0 ? (
          <>
            <h4>Follow-up Discussion</h4>
            <Thread challenges={advisor.challenges} name={advisor.name} />
          </>
        ) : null}
      </div>
    </div>
  );
});

/** One open at a time. All panels are in the page, so that print can show every one. */
export const AdvisorAccordion = memo(function AdvisorAccordion({
  advisors,
}: {
  advisors: readonly Advisor[];
}): ReactNode {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <div className="accordion">
      {advisors.map((advisor) => (
        <Row
          key={advisor.id}
          advisor={advisor}
          open={open === advisor.id}
          onToggle={(id) => setOpen((before) => (before === id ? null : id))}
        />
      ))}
    </div>
  );
});
