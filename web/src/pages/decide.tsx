import { type ReactNode, useId } from "react";
import { Foretold } from "../components/costs";
import { Look, useMayLook } from "../components/look";
import { ModelNote } from "../components/model-note";
import { Offers } from "../components/offers";
import { Room, tooLong } from "../components/room";
import { changeDraft, getDraft, useDraft } from "../draft";
import { given, isWeighing, NEW, useOffers } from "../offers";
import { Link, navigate, paths, usePageHeading } from "../router";
import { LIMITS } from "../wire";

export function Decide(): ReactNode {
  const draft = useDraft();
  const heading = usePageHeading("Present a decision");
  const id = useId();
  const offers = useOffers(NEW);
  const weighing = isWeighing(offers);
  const mayLook = useMayLook();
  const ready = draft.decision.trim() !== "" && !tooLong(draft.decision, LIMITS.decision) && !weighing;
  const submit = (): void => {
    if (!ready) return;
    // What else is known may answer what was asked: then something else is asked.
    if (getDraft().askedWith !== JSON.stringify(given(offers))) changeDraft({ askedFor: "" });
    navigate(paths.questions);
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
        id={`${id}-form`}
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
      </form>
      {/* Beside the form, not in it: it has forms of its own. */}
      <section className="offered" aria-labelledby={`${id}-evidence`}>
        <h2 id={`${id}-evidence`}>Evidence</h2>
        <p className="hint">
          What the board should have read. Each item goes along whole, or is left out with the reason.
        </p>
        <Offers place={NEW} />
      </section>
      <Look />
      <Foretold decision={draft.decision.trim()} questions looks={mayLook && draft.looks} />
      <div className="row row-spread">
        <button type="submit" form={`${id}-form`} className="button button-accent" disabled={!ready}>
          {weighing ? "Weighing the evidence…" : "Continue"}
        </button>
        <Room id={`${id}-left`} text={draft.decision} most={LIMITS.decision} near={1000}>
          A few questions come next; you may leave them all.
        </Room>
      </div>
      <ModelNote />
    </main>
  );
}
