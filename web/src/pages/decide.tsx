import { type ReactNode, useId } from "react";
import { ModelNote } from "../components/model-note";
import { Room, tooLong } from "../components/room";
import { changeDraft, useDraft } from "../draft";
import { Link, navigate, paths, usePageHeading } from "../router";
import { LIMITS } from "../wire";

export function Decide(): ReactNode {
  const draft = useDraft();
  const heading = usePageHeading("Present a decision");
  const id = useId();
  const ready = draft.decision.trim() !== "" && !tooLong(draft.decision, LIMITS.decision);
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
          Write it as you would to a friend who will disagree: what you lean towards, what it would cost, when you have
          to choose.
        </label>
        <textarea
          id={id}
          className="decision-input"
          rows={8}
          dir="auto"
          value={draft.decision}
          aria-describedby={`${id}-left`}
          aria-invalid={tooLong(draft.decision, LIMITS.decision)}
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
          <Room id={`${id}-left`} text={draft.decision} most={LIMITS.decision} near={1000}>
            A few questions come next; you may leave them all.
          </Room>
        </div>
      </form>
      <ModelNote />
    </main>
  );
}
