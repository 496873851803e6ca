import { describe, expect, it } from "vitest";
import { type SseMessage, SseParser, sseEvents } from "./sse";

const WIRE =
  'id: 1\ndata: {"type":"a","token":"né"}\n\n: keep-alive\n\nid: 2\nevent: x\ndata: {"type":\ndata: "b"}\n\ndata:{"type":"c"}\n\n';
const WANTED: SseMessage[] = [
  { id: 1, data: '{"type":"a","token":"né"}' },
  { id: 2, data: '{"type":\n"b"}' },
  { id: 2, data: '{"type":"c"}' },
];

function feed(pieces: string[]): SseMessage[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

describe("SseParser", () => {
  for (const [name, text] of [
    ["LF", WIRE],
    ["CRLF", WIRE.replace(/\n/g, "\r\n")],
    ["CR", WIRE.replace(/\n/g, "\r")],
  ] as const) {
    it(`reads ${name} whole, and cut at every place into two`, () => {
      expect(feed([text])).toEqual(WANTED);
      for (let at = 0; at <= text.length; at++) {
        expect(feed([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toEqual(WANTED);
      }
    });

    it(`reads ${name} character by character`, () => {
      expect(feed([...text])).toEqual(WANTED);
    });
  }

  it("gives nothing for half an event", () => {
    expect(feed(['id: 7\ndata: {"type":"a"}\n'])).toEqual([]);
  });

  it("ignores ids that are no numbers and fields it does not know", () => {
    expect(feed(["id: abc\nretry: 10\nnonsense\ndata: x\n\n"])).toEqual([{ id: null, data: "x" }]);
  });
});

describe("sseEvents", () => {
  it("survives a split inside a character and an event that is not JSON", async () => {
    const bytes = new TextEncoder().encode(
      'data: {"type":"a","token":"— né"}\n\ndata: oops\n\ndata: {"type":"b"}\n\ndata: {"type":"half"}',
    );
    for (let at = 1; at < bytes.length; at++) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytes.slice(0, at));
          controller.enqueue(bytes.slice(at));
          controller.close();
        },
      });
      const seen: unknown[] = [];
      for await (const batch of sseEvents<{ type: string }>(body)) seen.push(...batch.map((one) => one.event));
      expect(seen).toEqual([{ type: "a", token: "— né" }, { type: "b" }]);
    }
  });
});
