/** Server-sent events over fetch: a parser that may be fed in pieces cut anywhere. */

export interface SseMessage {
  id: number | null;
  data: string;
}

export class SseParser {
  #line = "";
  #data: string[] = [];
  #id: number | null = null;
  #afterCr = false;

  /** Takes the next piece of text and gives back the messages that it completed. */
  push(text: string): SseMessage[] {
    const out: SseMessage[] = [];
    let from = 0;
    if (this.#afterCr && text.length > 0) {
      if (text[0] === "\n") from = 1;
      this.#afterCr = false;
    }
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code !== 10 && code !== 13) continue;
      this.#take(this.#line + text.slice(from, at), out);
      this.#line = "";
      if (code === 13) {
        if (at + 1 === text.length) this.#afterCr = true;
        else if (text.charCodeAt(at + 1) === 10) at++;
      }
      from = at + 1;
    }
    this.#line += text.slice(from);
    return out;
  }

  #take(line: string, out: SseMessage[]): void {
    if (line === "") {
      if (this.#data.length > 0) out.push({ id: this.#id, data: this.#data.join("\n") });
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment, sent to keep the line open
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "id" && /^\d+$/.test(value)) this.#id = Number(value);
  }
}

export interface Received<E> {
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
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const batch: Received<E>[] = [];
      for (const message of parser.push(decoder.decode(value, { stream: true }))) {
        const event = readEvent<E>(message.data);
        if (event) batch.push({ id: message.id, event });
      }
      if (batch.length > 0) yield batch;
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
