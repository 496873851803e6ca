import { memo, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { challengeDraft, keepChallengeDraft } from "../challenge-drafts";
import { LIMITS } from "../wire";
import { Room, tooLong } from "./room";

interface Props {
  sessionId: string;
  personaId: string;
  onChallenge: (text: string) => void;
  onSkip: () => void;
  canSkip: boolean;
  /** Take the focus, if it is nowhere else. */
  focus: boolean;
}

const mac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

export const ChallengeBox = memo(function ChallengeBox({
  sessionId,
  personaId,
  onChallenge,
  onSkip,
  canSkip,
  focus,
}: Props): ReactNode {
  const [text, setText] = useState(() => challengeDraft(sessionId, personaId));
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const ready = text.trim() !== "" && !tooLong(text, LIMITS.challenge);
  const submit = (): void => {
    if (ready) onChallenge(text.trim());
  };
  useEffect(() => {
    const at = document.activeElement;
    const nowhere = at === null || at === document.body || at.classList.contains("end-of-words");
    if (focus && nowhere) area.current?.focus({ preventScroll: true });
  }, [focus]);
  return (
    <form
      className="challenge"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label htmlFor={id}>Challenge this advisor</label>
      <textarea
        ref={area}
        id={id}
        rows={3}
        dir="auto"
        value={text}
        placeholder="Ask a follow-up question or push back on their perspective..."
        aria-describedby={`${id}-hint`}
        aria-invalid={tooLong(text, LIMITS.challenge)}
        onChange={(event) => {
          setText(event.target.value);
          keepChallengeDraft(sessionId, personaId, event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && !event.nativeEvent.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <div className="challenge-actions">
        <button type="submit" className="button button-accent" disabled={!ready}>
          Challenge
        </button>
        <button type="button" className="quiet" onClick={onSkip} disabled={!canSkip}>
          Skip — nothing to challenge
        </button>
        <Room id={`${id}-hint`} text={text} most={LIMITS.challenge} near={300}>
          <kbd>{mac ? "⌘" : "Ctrl"}</kbd> <kbd>Enter</kbd> sends
        </Room>
      </div>
    </form>
  );
});
