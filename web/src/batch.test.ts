import { describe, expect, it } from "vitest";
import { type FrameScheduler, TokenBatcher } from "./batch";

function byHand(): FrameScheduler & { frame: () => void; asked: number } {
  let waiting: (() => void) | null = null;
  return {
    asked: 0,
    request(callback) {
      this.asked++;
      waiting = callback;
      return this.asked;
    },
    cancel() {
      waiting = null;
    },
    frame() {
      const callback = waiting;
      waiting = null;
      callback?.();
    },
  };
}

describe("TokenBatcher", () => {
  it("joins all tokens of a frame into one delivery", () => {
    const scheduler = byHand();
    const seen: [string, string][][] = [];
    const batcher = new TokenBatcher((tokens) => seen.push([...tokens]), scheduler);
    for (let at = 0; at < 100; at++) for (const key of ["a", "b"]) batcher.add(key, `${at} `);
    expect(scheduler.asked).toBe(1);
    expect(seen).toEqual([]);
    scheduler.frame();
    expect(seen).toHaveLength(1);
    const text = Array.from({ length: 100 }, (_, at) => `${at} `).join("");
    expect(seen[0]).toEqual([
      ["a", text],
      ["b", text],
    ]);
    batcher.add("a", "more");
    scheduler.frame();
    expect(seen[1]).toEqual([["a", "more"]]);
  });

  it("hands on at once when flushed, and nothing twice", () => {
    const scheduler = byHand();
    const seen: [string, string][][] = [];
    const batcher = new TokenBatcher((tokens) => seen.push([...tokens]), scheduler);
    batcher.add("a", "x");
    batcher.flush();
    scheduler.frame();
    batcher.flush();
    expect(seen).toEqual([[["a", "x"]]]);
  });

  it("forgets what was waiting for a key that begins again", () => {
    const scheduler = byHand();
    const seen: [string, string][][] = [];
    const batcher = new TokenBatcher((tokens) => seen.push([...tokens]), scheduler);
    batcher.add("a", "old");
    batcher.add("b", "kept");
    batcher.drop("a");
    scheduler.frame();
    expect(seen).toEqual([[["b", "kept"]]]);
  });
});
