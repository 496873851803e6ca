import { useId, type ReactNode } from "react";
import { ModelNote } from "../components/model-note";
import { changeDraft, useDraft } from "../draft";
import { whole } from "../format";
import { Link, navigate, paths, usePageHeading } from "../router";
import { LIMITS } from "../wire";

export function Decide(): ReactNode {
  const draft = useDraft();
  const heading = usePageHeading("Present a decision");
  const id = useId();
  const ready = draft.decision.trim() !== "";
  const left = LIMITS.decision - draft.decision.length;
  const submit = (): void => {
    if (ready) navigate(paths.questions);
  };
  return (
    <main className="page narrow">
      <Link to={paths.home} className="back">
        ← Sessions
      </Link>
      <h1 ref={heading} tabIndex={-1}>
        What are you deciding?
      </h1>
      <form
        className="decide"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label htmlFor={id}>
          Write it as you would to a friend who will disagree: what you lean towards, what it would cost, when you have to
          choose.
        </label>
        <textarea
          id={id}
          className="decision-input"
          rows={8}
          maxLength={LIMITS.decision}
          value={draft.decision}
          aria-describedby={`${id}-left`}
          placeholder="Should we…"
          onChange={(event) => changeDraft({ decision: event.target.value })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
              event.preventDefault();
              submit();
            }
          }}
        />
        <div className="row row-spread">
          <button type="submit" className="button button-accent" disabled={!ready}>
            Continue
          </button>
          <span id={`${id}-left`} className="hint">
            {left < 1000 ? `${whole(left)} characters left` : "A few questions come next; you may leave them all."}
          </span>
        </div>
      </form>
      <ModelNote />
    </main>
  );
}
