import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EvidenceIn, Given } from "./wire";

type Offers = typeof import("./offers");

const item = (name: string, sha256 = name): Given["taken"][number] => ({
  id: "E1",
  name,
  origin: name,
  sha256,
  mediaType: "text/plain",
  lines: 3,
  tokens: 1200,
  isImage: false,
});
const whole = (name: string, sha256?: string): Given => ({
  taken: [item(name, sha256)],
  leftOut: [],
  tokens: 1200,
  costUsd: null,
  summary: "",
});
const leftOut = (name: string, why: string): Given => ({
  taken: [],
  leftOut: [{ name, why }],
  tokens: 0,
  costUsd: null,
  summary: "",
});

let kept: Map<string, string>;
let asked: { path: string; body: { items: EvidenceIn[]; dryRun?: boolean } }[];
let most: number;

/** The page, loaded anew: what it knows is what the tab has kept. */
async function load(answer: (items: EvidenceIn[]) => Given | Error): Promise<Offers> {
  vi.resetModules();
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    const body = JSON.parse(String(init.body));
    asked.push({ path, body });
    const said = answer(body.items);
    return said instanceof Error ? Response.json({ error: said.message }, { status: 503 }) : Response.json(said);
  });
  return import("./offers");
}

const named = (items: EvidenceIn[]): Given => whole(items[0]?.name ?? "", items[0]?.text ?? "");
const settled = async (offers: Offers, place = ""): Promise<void> =>
  vi.waitFor(() => expect(offers.isWeighing(offers.offersAt(place))).toBe(false));
const told = (offers: Offers, place = ""): string[] =>
  offers
    .offersAt(place)
    .map(
      (one) => one.problem ?? one.weighed?.leftOut[0]?.why ?? one.weighed?.taken.map((each) => each.name).join() ?? "…",
    );

beforeEach(() => {
  kept = new Map();
  asked = [];
  most = 5_000_000;
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > most) throw new DOMException("full", "QuotaExceededError");
      kept.set(key, value);
    },
    removeItem: (key: string) => kept.delete(key),
  });
});
afterEach(() => vi.unstubAllGlobals());

describe("offers", () => {
  it("are weighed one by one, and summed up", async () => {
    const offers = await load(named);
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    offers.offer("", "b.md", { name: "b.md", text: "two" });
    expect(offers.isWeighing(offers.offersAt(""))).toBe(true);
    await settled(offers);
    expect(asked.map((one) => [one.path, one.body.items.length])).toEqual([
      ["/api/evidence", 1],
      ["/api/evidence", 1],
    ]);
    expect(offers.summaryOf(offers.offersAt(""))).toBe("2 items, 2,400 tokens");
    expect(offers.given(offers.offersAt(""))).toEqual([
      { name: "a.md", text: "one" },
      { name: "b.md", text: "two" },
    ]);
  });

  it("for a session are weighed by that session, and none is given by that", async () => {
    const offers = await load(named);
    offers.offer("s1", "a.md", { name: "a.md", text: "one" });
    await settled(offers, "s1");
    expect(asked).toEqual([
      { path: "/api/sessions/s1/evidence", body: { items: [{ name: "a.md", text: "one" }], dryRun: true } },
    ]);
    expect(offers.offersAt("")).toEqual([]);
  });

  it("that are left out are not given, and what they say is not kept", async () => {
    const offers = await load(() => leftOut("a.md", "line 3 looks like a key"));
    offers.offer("", "a.md", { name: "a.md", text: "sk-secret" });
    await settled(offers);
    expect(told(offers)).toEqual(["line 3 looks like a key"]);
    expect(offers.given(offers.offersAt(""))).toEqual([]);
    expect(offers.summaryOf(offers.offersAt(""))).toBe("");
    expect([...kept.values()].join()).not.toContain("sk-secret");
  });

  it("that say the same as another are one item", async () => {
    const offers = await load(named);
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    await settled(offers);
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    offers.offer("", "b.md", { name: "b.md", text: "one" });
    await settled(offers);
    expect(told(offers)).toEqual(["a.md", "is given already", "is the same as a.md"]);
    expect(asked).toHaveLength(2);
    expect(offers.given(offers.offersAt(""))).toHaveLength(1);
  });

  it("at and one above as many items as a session takes", async () => {
    const offers = await load(named);
    for (let at = 0; at <= 40; at++) offers.offer("", `${at}.md`, { name: `${at}.md`, text: `${at}` });
    await settled(offers);
    expect(offers.given(offers.offersAt(""))).toHaveLength(40);
    expect(told(offers).filter((one) => one.startsWith("a session takes 40 items"))).toHaveLength(1);
  });

  it("at, one below and one above what one request holds", async () => {
    for (const [size, taken] of [
      [-1, true],
      [0, true],
      [1, false],
    ] as const) {
      const offers = await load(named);
      offers.takeAllBack("");
      offers.offer("", "a.md", { name: "a.md", text: "x".repeat(offers.MOST_SENT + size) });
      await settled(offers);
      expect(told(offers)).toEqual([taken ? "a.md" : "is larger than what can be sent"]);
    }
  });

  it("are there again after a reload; what was being weighed is weighed again", async () => {
    const before = await load(() => new Error("busy"));
    before.offer("", "a.md", { name: "a.md", text: "one" });
    await settled(before);
    expect(told(before)).toEqual(["busy"]);
    const after = await load(named);
    expect(after.offersAt("")).toHaveLength(1);
    await settled(after);
    expect(told(after)).toEqual(["a.md"]);
  });

  it("that could not be weighed are weighed again when asked, and can be taken back", async () => {
    let busy = true;
    const offers = await load((items) => (busy ? new Error("busy") : named(items)));
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    await settled(offers);
    expect(offers.given(offers.offersAt(""))).toEqual([]);
    busy = false;
    const [first] = offers.offersAt("");
    offers.weighAgain("", first?.key ?? "");
    await settled(offers);
    expect(told(offers)).toEqual(["a.md"]);
    offers.takeBack("", first?.key ?? "");
    expect(offers.offersAt("")).toEqual([]);
    expect(kept.size).toBe(0);
  });

  it("that are taken back while they are weighed stay away", async () => {
    const offers = await load(named);
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    offers.takeAllBack("");
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    await settled(offers);
    expect(offers.offersAt("")).toEqual([]);
  });

  it("that are too large for the tab to keep are not half kept", async () => {
    most = 500;
    const offers = await load(named);
    offers.offer("", "a.md", { name: "a.md", text: "x".repeat(600) });
    await settled(offers);
    expect(told(offers)).toEqual(["a.md"]);
    expect(kept.size).toBe(0);
  });

  it("that fall out of all of them together say why", async () => {
    const offers = await load(named);
    offers.offer("", "a.md", { name: "a.md", text: "one" });
    offers.offer("", "b.md", { name: "b.md", text: "two" });
    await settled(offers);
    expect(offers.fallenOut("", { ...whole("a.md", "one"), taken: [item("a.md", "one"), item("b.md", "two")] })).toBe(
      false,
    );
    expect(offers.fallenOut("", { ...whole("a.md", "one"), leftOut: [{ name: "b.md", why: "too much" }] })).toBe(true);
    expect(told(offers)).toEqual(["a.md", "too much"]);
    expect(offers.given(offers.offersAt(""))).toHaveLength(1);
  });

  it("of files are text where they are, and bytes where they are not", async () => {
    const offers = await load((items) => whole(items[0]?.name ?? "", JSON.stringify(items)));
    await offers.offerFile("", new File(["é"], "a.md"));
    await offers.offerFile("", new File([new Uint8Array([0x89, 0x50, 0])], "b.png"));
    await offers.offerFile("", new File([new Uint8Array([0xff, 0xfe, 0x61])], "c.txt"));
    await settled(offers);
    expect(asked.map((one) => one.body.items[0])).toEqual([
      { name: "a.md", text: "é" },
      { name: "b.png", base64: "iVAA" },
      { name: "c.txt", base64: "//5h" },
    ]);
    const folder = new File([], "docs");
    folder.arrayBuffer = () => Promise.reject(new DOMException("a folder", "NotReadableError"));
    await offers.offerFile("", folder);
    expect(told(offers).at(-1)).toContain("could not be read");
  });
});
