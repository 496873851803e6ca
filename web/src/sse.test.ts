import { describe, expect, it } from "vitest";
import { type Received, sseEvents } from "./sse";

type Event = { type: string; token?: string };

const WIRE =
  'id: 1\ndata: {"type":"a","token":"né"}\n\n: keep-alive\n\nid: 2\nevent: x\ndata: {"type":\ndata: "b"}\n\ndata:{"type":"c"}\n\n';
const WANTED: Received<Event>[] = [
  { id: 1, event: { type: "a", token: "né" } },
  { id: 2, event: { type: "b" } },
  { id: 2, event: { type: "c" } },
];

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function batches(pieces: Uint8Array[]): Promise<Received<Event>[][]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const seen: Received<Event>[][] = [];
  for await (const batch of sseEvents<Event>(body)) seen.push(batch);
  return seen;
}

const read = async (pieces: Uint8Array[]): Promise<Received<Event>[]> => (await batches(pieces)).flat();

describe("sseEvents", () => {
  for (const [name, text] of [
    ["LF", WIRE],
    ["CRLF", WIRE.replace(/\n/g, "\r\n")],
    ["CR", WIRE.replace(/\n/g, "\r")],
  ] as const) {
    it(`reads ${name} whole, and cut at every byte into two`, async () => {
      const all = bytes(text);
      expect(await read([all])).toEqual(WANTED);
      for (let at = 0; at <= all.length; at++) {
        expect(await read([all.slice(0, at), all.slice(at)]), `cut at ${at}`).toEqual(WANTED);
      }
    });

    it(`reads ${name} byte by byte`, async () => {
      const all = bytes(text);
      expect(await read(Array.from(all, (_, at) => all.slice(at, at + 1)))).toEqual(WANTED);
    });
  }

  it("gives the events of one piece as one batch", async () => {
    const half = WIRE.length - 10;
    expect(await batches([bytes(WIRE)])).toEqual([WANTED]);
    expect(await batches([bytes(WIRE.slice(0, half)), bytes(WIRE.slice(half))])).toEqual([
      WANTED.slice(0, 2),
      WANTED.slice(2),
    ]);
  });

  it("gives nothing for half an event", async () => {
    expect(await read([bytes('id: 7\ndata: {"type":"a"}\n')])).toEqual([]);
  });

  it("ignores ids that are no numbers and fields it does not know", async () => {
    expect(await read([bytes('id: abc\nretry: 10\nnonsense\ndata: {"type":"x"}\n\n')])).toEqual([
      { id: null, event: { type: "x" } },
    ]);
    expect(await read([bytes('id: 3\ndata: {"type":"x"}\n\nid: abc\ndata: {"type":"y"}\n\n')])).toEqual([
      { id: 3, event: { type: "x" } },
      { id: 3, event: { type: "y" } },
    ]);
  });

  it("survives a split inside a character and an event that is not JSON", async () => {
    const all = bytes('data: {"type":"a","token":"— né"}\n\ndata: oops\n\ndata: {"type":"b"}\n\ndata: {"type":"half"}');
    for (let at = 1; at < all.length; at++) {
      const seen = await read([all.slice(0, at), all.slice(at)]);
      expect(seen.map((one) => one.event)).toEqual([{ type: "a", token: "— né" }, { type: "b" }]);
    }
  });
});
