import { memo, type ReactNode } from "react";
import type { Answer } from "../wire";

interface Props {
  decision: string;
  /** What stands there while it is folded. */
  title?: string;
  answers?: readonly Answer[];
}

/** The decision, folded to one line, on every step. */
export const DecisionFold = memo(function DecisionFold({ decision, title = decision, answers = [] }: Props): ReactNode {
  return (
    <details className="decision-fold">
      <summary>
        <span className="decision-label">The decision</span>
        <span className="decision-line" dir="auto">
          {title}
        </span>
        <Chevron />
      </summary>
      <div className="decision-whole">
        <p className="decision-text" dir="auto">
          {decision}
        </p>
        {answers.length > 0 ? (
          <dl className="decision-answers">
            {answers.map((one, at) => (
              <div key={at}>
                <dt dir="auto">{one.question}</dt>
                <dd dir="auto">{one.answer}</dd>
              </div>
            ))}
          </dl>
        ) : null}
      </div>
    </details>
  );
});

export function Chevron(): ReactNode {
  return (
    <svg className="chevron" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d="m4 6 4 4 4-4" />
    </svg>
  );
}
