import { memo, type ReactNode } from "react";
import { Spoken } from "../markdown";
import type { ChallengeExchange } from "../wire";

const Exchange = memo(function Exchange({ exchange, name }: { exchange: ChallengeExchange; name: string }): ReactNode {
  return (
    <>
      <div className="turn turn-you">
        <p className="turn-who">You</p>
        <p className="turn-text" dir="auto">
          {exchange.challengeText}
        </p>
      </div>
      <div className="turn turn-advisor" aria-busy={!exchange.isReplyComplete}>
        <p className="turn-who" dir="auto">
          {name}
        </p>
        {exchange.replyContent === "" && !exchange.isReplyComplete ? (
          <p className="thinking">Thinking…</p>
        ) : (
          <Spoken text={exchange.replyContent} growing={!exchange.isReplyComplete} />
        )}
      </div>
    </>
  );
});

/** You on the right, the advisor on the left, in the order it was said. */
export const Thread = memo(function Thread({
  challenges,
  name,
}: {
  challenges: readonly ChallengeExchange[];
  name: string;
}): ReactNode {
  if (challenges.length === 0) return null;
  return (
    <div className="thread">
      {challenges.map((exchange, at) => (
        <Exchange key={at} exchange={exchange} name={name} />
      ))}
    </div>
  );
});
