/** What a session is going to take, before anything is asked, and what it has really cost. The words are the server's. */

import { type ReactNode, useCallback } from "react";
import { api } from "../api";
import { useFetched } from "../fetched";
import { modelName } from "../format";
import { given, isWeighing, NEW, offersAt, useOffers } from "../offers";
import type { SessionState } from "../session/state";
import { type SessionStore, useSession } from "../session/store";
import { Ledger } from "./ledger";

/** So many characters more or less make no difference that an estimate shows. */
const ROUGHLY = 500;

interface ForetoldProps {
  decision: string;
  /** Whether questions are still to be asked. */
  questions: boolean;
  looks?: boolean;
}

/** "about 31,000 tokens, $0.09". Nothing is asked for it, and nothing is kept. */
export function Foretold({ decision, questions, looks = false }: ForetoldProps): ReactNode {
  const offers = useOffers(NEW);
  if (decision === "" || isWeighing(offers)) return null;
  const size = Math.ceil(decision.length / ROUGHLY);
  const evidence = JSON.stringify(offers.map((one) => [one.key, one.weighed?.taken.length ?? 0]));
  return <Estimate key={`${size} ${evidence}`} decision={decision} questions={questions} looks={looks} />;
}

function Estimate({ decision, questions, looks }: Required<ForetoldProps>): ReactNode {
  // It is drawn anew where another answer is to be expected, and not with each letter.
  const [told] = useFetched(
    // biome-ignore lint/correctness/useExhaustiveDependencies: as said above
    useCallback(
      (signal: AbortSignal) => api.estimate({ decision, questions, looks }, given(offersAt(NEW)), signal),
      [questions, looks],
    ),
  );
  if (told.state !== "ready") return null;
  return (
    <p className="foretold" role="status">
      The board will take {told.value.summary}.
    </p>
  );
}

const totalOf = (s: SessionState): string => `${s.usage.inputTokens} ${s.usage.outputTokens}`;

/** What all requests of the session have cost, also those that broke off; asked again when somebody has spoken. */
export function Bill({ store }: { store: SessionStore }): ReactNode {
  const total = useSession(store, totalOf);
  const live = useSession(
    store,
    useCallback((s: SessionState) => s.live, []),
  );
  const model = useSession(
    store,
    useCallback((s: SessionState) => modelName(s.model, s.tiny), []),
  );
  const [cost] = useFetched(useCallback((signal: AbortSignal) => api.cost(store.id, signal), [store.id, total]));
  // While somebody speaks, what has come so far is what the stream says.
  if (live || cost.value === null) return <Ledger store={store} />;
  return (
    <p className="ledger bill">
      {model}: {cost.value.bill.summary}
    </p>
  );
}

/** What it takes to go on with a session that rests. */
export function ToGoOn({ store }: { store: SessionStore }): ReactNode {
  const [cost] = useFetched(useCallback((signal: AbortSignal) => api.cost(store.id, signal), [store.id]));
  const next = cost.value?.estimate;
  if (!next || next.requests === 0) return null;
  return <> To go on takes {next.summary}.</>;
}
