import { memo, type ReactNode } from "react";
import { Spoken } from "../markdown";
import type { Exchange as Said } from "../session/state";
import { Rests } from "./rests";

const Exchange = memo(function Exchange({ exchange, name }: { exchange: Said; name: string }): ReactNode {
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
          <Spoken text={exchange.replyContent} growing={!exchange.isReplyComplete} citations={exchange.citations} />
        )}
        <Rests
          usage={exchange.usage}
          {...(exchange.looks ? { looks: exchange.looks } : {})}
          looking={!exchange.isReplyComplete && exchange.replyContent === ""}
        />
      </div>
    </>
  );
});

/** You on the right, the advisor on the left, in the order it was said. */
export const Thread = memo(function Thread({
  challenges,
  name,
}: {
  challenges: readonly Said[];
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
