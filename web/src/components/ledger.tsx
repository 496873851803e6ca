/** What the session runs on and what it has cost: small, and always there. */

import { memo, type ReactNode, useCallback } from "react";
import { modelName, money, whole } from "../format";
import type { SessionState } from "../session/state";
import { type SessionStore, useSession } from "../session/store";

export const Ledger = memo(function Ledger({ store }: { store: SessionStore }): ReactNode {
  const model = useSession(
    store,
    useCallback((s: SessionState) => s.model, []),
  );
  const tiny = useSession(
    store,
    useCallback((s: SessionState) => s.tiny, []),
  );
  const usage = useSession(
    store,
    useCallback((s: SessionState) => s.usage, []),
  );
  const tokens = usage.inputTokens + usage.outputTokens;
  return (
    <p className="ledger" title={`${whole(usage.inputTokens)} tokens read, ${whole(usage.outputTokens)} written`}>
      <span>{modelName(model, tiny)}</span>
      <span>{tokens > 0 ? `${whole(tokens)} tokens` : "no tokens yet"}</span>
      {usage.cachedTokens > 0 ? <span>{whole(usage.cachedTokens)} of them from the cache</span> : null}
      {tokens === 0 ? null : usage.costUsd !== null ? (
        <span>{money(usage.costUsd)} so far</span>
      ) : tiny ? (
        <span>free</span>
      ) : (
        <span>price not known</span>
      )}
    </p>
  );
});
