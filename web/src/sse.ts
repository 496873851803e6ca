/** Server-sent events over fetch, in pieces cut anywhere. */

import { createParser } from "eventsource-parser";

export interface Received<E> {
  /** The last number that was given as an id, for Last-Event-ID. */
  id: number | null;
  event: E;
}

/**
 * The events of a response body, in the batches in which the network brought them. What stands after
 * the last blank line when the stream ends is half an event and is dropped.
 */
export async function* sseEvents<E extends { type: string }>(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Received<E>[], void, undefined> {
  let id: number | null = null;
  let batch: Received<E>[] = [];
  const parser = createParser({
    onId(text) {
      if (/^\d+$/.test(text)) id = Number(text);
    },
    onEvent({ data }) {
      const event = readEvent<E>(data);
      if (event) batch.push({ id, event });
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (batch.length > 0) yield batch;
      batch = [];
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function readEvent<E extends { type: string }>(data: string): E | null {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string") {
      return value as E;
    }
  } catch {
    // not ours; an event that cannot be read must not end the stream
  }
  return null;
}
