import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, isAbort, sentence } from "./api";

export type Fetched<T> =
  | { state: "loading"; value: null; problem: null }
  | { state: "ready"; value: T; problem: null }
  | { state: "failed"; value: T | null; problem: { message: string; retryAfter: number | null; status: number } };

/** Loads once, and again when asked. An earlier value stays in view while a newer one is on its way. */
export function useFetched<T>(load: (signal: AbortSignal) => Promise<T>): [Fetched<T>, () => void] {
  const [result, setResult] = useState<Fetched<T>>({ state: "loading", value: null, problem: null });
  const running = useRef<AbortController | null>(null);
  const start = useCallback(() => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    load(controller.signal).then(
      (value) => {
        if (!controller.signal.aborted) setResult({ state: "ready", value, problem: null });
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAbort(error)) return;
        const status = error instanceof ApiError ? error.status : 0;
        const retryAfter = error instanceof ApiError ? error.retryAfter : null;
        setResult((before) => ({
          state: "failed",
          value: before.value,
          problem: { message: sentence(error), retryAfter, status },
        }));
      },
    );
  }, [load]);
  useEffect(() => {
    start();
    return () => running.current?.abort();
  }, [start]);
  const again = useCallback(() => {
    setResult((before) =>
      before.state === "failed" && before.value === null ? { state: "loading", value: null, problem: null } : before,
    );
    start();
  }, [start]);
  return [result, again];
}
