import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { ApiError, api, isAbort, newKey, sentence } from "../api";
import { Foretold } from "../components/costs";
import { DecisionFold } from "../components/decision-fold";
import { Look, useMayLook } from "../components/look";
import { ModelNote } from "../components/model-note";
import { Problem, Waiting } from "../components/notes";
import { Offers } from "../components/offers";
import { Rests } from "../components/rests";
import { Room, tooLong } from "../components/room";
import { changeDraft, clearDraft, getDraft, givenAnswers, useDraft } from "../draft";
import { asSentence, count } from "../format";
import { fallenOut, given, isWeighing, NEW, offersAt, summaryOf, takeAllBack, useOffers } from "../offers";
import { Link, navigate, paths, usePageHeading } from "../router";
import { sessionStore } from "../session/store";
import { LIMITS } from "../wire";

interface Trouble {
  message: string;
  retryAfter: number | null;
}

function trouble(error: unknown): Trouble {
  return { message: sentence(error), retryAfter: error instanceof ApiError ? error.retryAfter : null };
}

export function Questions(): ReactNode {
  const draft = useDraft();
  const decision = draft.decision.trim();
  const heading = usePageHeading("Before they speak");
  const [asking, setAsking] = useState<Trouble | null>(null);
  const [convening, setConvening] = useState(false);
  const [refused, setRefused] = useState<Trouble | null>(null);
  const [round, setRound] = useState(0);
  const leaving = useRef(false);
  /** What was asked for last, and its key: tried again after a broken connection, it is not begun twice. */
  const sent = useRef({ asked: "", key: "" });
  const asked = draft.askedFor === decision;

  useEffect(() => {
    if (leaving.current) return;
    if (decision === "") {
      navigate(paths.new, { replace: true });
      return;
    }
    if (getDraft().askedFor === decision) return;
    const controller = new AbortController();
    const evidence = given(offersAt(NEW));
    api.questions(decision, evidence, getDraft().looks, controller.signal).then(
      ({ questions, lookedAt }) =>
        changeDraft({ questions, lookedAt, askedFor: decision, askedWith: JSON.stringify(evidence), answers: {} }),
      (error: unknown) => {
        if (!isAbort(error)) setAsking(trouble(error));
      },
    );
    return () => controller.abort();
  }, [decision, round]);

  const convene = useCallback(async () => {
    setConvening(true);
    setRefused(null);
    try {
      const now = getDraft();
      const answers = now.askedFor === now.decision.trim() ? givenAnswers(now) : [];
      // Each was weighed alone, and a while ago: what does not go along after all is said before anything is sent.
      const evidence = given(offersAt(NEW));
      if (evidence.length > 1 && fallenOut(NEW, await api.weigh(evidence)))
        throw new ApiError(
          "Some of the evidence is left out, as said beside it. Convene without it, or give it anew.",
          409,
        );
      const asked = JSON.stringify([now.decision.trim(), answers, evidence, now.looks]);
      if (sent.current.asked !== asked) sent.current = { asked, key: newKey() };
      const stream = await api.convene(now.decision.trim(), answers, evidence, now.looks, sent.current.key);
      const first = await stream.next();
      const start = first.done ? undefined : first.value[0]?.event;
      if (start?.type === "error") throw new ApiError(start.message, 200);
      if (start?.type !== "session_start") throw new ApiError("The session did not begin.", 200);
      leaving.current = true;
      void sessionStore(start.sessionId).open(goingOn(first.value ?? [], stream));
      navigate(paths.session(start.sessionId));
      clearDraft();
      takeAllBack(NEW);
    } catch (error) {
      setConvening(false);
      setRefused(trouble(error));
    }
  }, []);

  const answered = givenAnswers(draft).length;
  const offers = useOffers(NEW);
  const weighing = isWeighing(offers);
  // What a model reads, it may say to whoever sees the session.
  const mayLook = useMayLook();
  const evidence = summaryOf(offers);
  const long = asked && givenAnswers(draft).some((one) => tooLong(one.answer, LIMITS.answer));
  return (
    <main className="page narrow">
      <Link to={paths.new} className="back">
        ← Edit decision
      </Link>
      <h1 ref={heading} tabIndex={-1}>
        Before they speak
      </h1>
      <p className="lede">
        {asked
          ? "Answer any that help, or none. What you say here goes to every advisor."
          : "The board may want to know a few things first. You need not wait for them."}
      </p>
      <DecisionFold decision={decision} />
      {!asked && !asking ? <Waiting>Reading your decision and looking for what is missing…</Waiting> : null}
      {!asked && asking ? (
        <Problem
          title="No questions this time"
          message={`${asSentence(asking.message)} You can convene the board without them.`}
          retryAfter={asking.retryAfter}
          onAction={() => {
            setAsking(null);
            setRound(round + 1);
          }}
        />
      ) : null}
      <form
        id="answers"
        onSubmit={(event) => {
          event.preventDefault();
          if (!long && !weighing) void convene();
        }}
      >
        {asked ? (
          <ol className="questions">
            {draft.questions.map((question) => (
              <li key={question.id}>
                <label htmlFor={`answer-${question.id}`} dir="auto">
                  {question.question}
                </label>
                {question.hint ? (
                  <p className="hint" dir="auto" id={`hint-${question.id}`}>
                    {question.hint}
                  </p>
                ) : null}
                <textarea
                  id={`answer-${question.id}`}
                  rows={2}
                  dir="auto"
                  placeholder="Optional"
                  aria-describedby={`${question.hint ? `hint-${question.id} ` : ""}room-${question.id}`}
                  aria-invalid={tooLong(draft.answers[question.id] ?? "", LIMITS.answer)}
                  value={draft.answers[question.id] ?? ""}
                  onChange={(event) =>
                    changeDraft({ answers: { ...getDraft().answers, [question.id]: event.target.value } })
                  }
                  onKeyDown={(event) => {
                    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
                      event.preventDefault();
                      if (!convening && !long && !weighing) void convene();
                    }
                  }}
                />
                <Room
                  id={`room-${question.id}`}
                  text={draft.answers[question.id] ?? ""}
                  most={LIMITS.answer}
                  near={200}
                />
              </li>
            ))}
          </ol>
        ) : null}
        {asked ? <Rests usage={null} looks={draft.lookedAt} /> : null}
      </form>
      <section className="offered" aria-labelledby="offered">
        <h2 id="offered">Evidence</h2>
        <Offers place={NEW} told />
      </section>
      {refused ? (
        <Problem
          title="The board could not be convened"
          message={refused.message}
          retryAfter={refused.retryAfter}
          onAction={() => void convene()}
        />
      ) : null}
      <Look />
      <Foretold decision={decision} questions={false} looks={mayLook && draft.looks} />
      <div className="row row-spread convene">
        <button
          type="submit"
          form="answers"
          className="button button-accent button-large"
          disabled={convening || long || weighing}
        >
          {convening ? "Convening the board…" : "Convene the Board"}
        </button>
        <span className="hint">
          {long
            ? "an answer is too long"
            : [
                asked
                  ? answered > 0
                    ? `${count(answered, "answer")} will go along`
                    : "without answers"
                  : "without questions",
                ...(evidence ? [`with evidence: ${evidence}`] : []),
              ].join(", ")}
        </span>
      </div>
      <ModelNote />
    </main>
  );
}

async function* goingOn<T>(
  first: T[],
  rest: AsyncGenerator<T[], void, undefined>,
): AsyncGenerator<T[], void, undefined> {
  yield first;
  yield* rest;
}
