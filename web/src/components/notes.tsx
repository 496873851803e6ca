import { type ReactNode, useEffect, useState } from "react";
import { asSentence } from "../format";

/** Something is under way: a slow pulse, and always a word. */
export function Waiting({ children }: { children: ReactNode }): ReactNode {
  return (
    <p className="waiting">
      <span className="pulse" aria-hidden="true" />
      <span>{children}</span>
    </p>
  );
}

interface ProblemProps {
  title: string;
  message: string;
  action?: string;
  onAction?: () => void;
  retryAfter?: number | null;
  children?: ReactNode;
}

/** What happened, and one thing to do about it. */
export function Problem({
  title,
  message,
  action = "Try again",
  onAction,
  retryAfter = null,
  children,
}: ProblemProps): ReactNode {
  const left = useCountdown(retryAfter, message);
  return (
    <div className="problem" role="alert">
      <p className="problem-title">{title}</p>
      <p dir="auto">{asSentence(message)}</p>
      {onAction || children ? (
        <div className="row">
          {onAction ? (
            <button type="button" className="button" onClick={onAction} disabled={left > 0}>
              {left > 0 ? `${action} in ${left} s` : action}
            </button>
          ) : null}
          {children}
        </div>
      ) : null}
    </div>
  );
}

function useCountdown(seconds: number | null, key: string): number {
  const [left, setLeft] = useState(seconds ?? 0);
  useEffect(() => {
    setLeft(seconds ?? 0);
    if (!seconds) return;
    const until = Date.now() + seconds * 1000;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((until - Date.now()) / 1000));
      setLeft(rest);
      if (rest === 0) clearInterval(timer);
    }, 500);
    return () => clearInterval(timer);
  }, [seconds, key]);
  return left;
}
