/**
 * What is going to be given as evidence: weighed by the server one by one, as soon as it is offered, and kept for this
 * tab until it is given or taken back. Nothing of it is sent to a model from here.
 */

import { useCallback, useSyncExternalStore } from "react";
import { api, sentence } from "./api";
import { count, whole } from "./format";
import { type EvidenceIn, type EvidenceItem, type Given, LIMITS } from "./wire";

export interface Offer {
  readonly key: string;
  readonly name: string;
  readonly give: EvidenceIn;
  /** What would come of it; null while it is being weighed, and where that failed. */
  readonly weighed: Given | null;
  /** Why it could not be weighed. */
  readonly problem: string | null;
}

/** Where offers are made: for a session that is yet to begin, or for the one with this id. */
export type Place = string;
export const NEW: Place = "";

/** As much as one request may hold, less what base64 adds to it. */
export const MOST_SENT = 12_000_000;

const PREFIX = "moot.offers/";
const NONE: readonly Offer[] = [];
const known = new Map<Place, readonly Offer[]>();
/** Those whose offers this browser could not keep. */
const unkept = new Set<Place>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function offersAt(place: Place): readonly Offer[] {
  const there = known.get(place);
  if (there) return there;
  let read = NONE;
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(PREFIX + place) ?? "[]");
    if (Array.isArray(kept) && kept.length > 0) {
      read = (kept as Offer[]).map((one) => (one.weighed === null ? { ...one, problem: null } : one));
    }
  } catch {
    // nothing was kept
  }
  known.set(place, read);
  // What was not weighed when the page was left is weighed now.
  for (const offer of read) if (offer.weighed === null) void weigh(place, offer);
  return read;
}

function change(place: Place, offers: readonly Offer[]): void {
  known.set(place, offers);
  try {
    if (offers.length > 0) sessionStorage.setItem(PREFIX + place, JSON.stringify(offers));
    else sessionStorage.removeItem(PREFIX + place);
    unkept.delete(place);
  } catch {
    // Too much for this browser: what it has of an earlier moment would be wrong.
    try {
      sessionStorage.removeItem(PREFIX + place);
    } catch {
      // it keeps nothing at all
    }
    unkept.add(place);
  }
  for (const listener of listeners) listener();
}

function amend(place: Place, key: string, part: Partial<Offer>): void {
  change(
    place,
    offersAt(place).map((one) => (one.key === key ? { ...one, ...part } : one)),
  );
}

const left = (name: string, why: string): Given => ({
  taken: [],
  leftOut: [{ name, why }],
  tokens: 0,
  costUsd: null,
  summary: `${name} left out: ${why}`,
});

let made = 0;

export function offer(place: Place, name: string, give: EvidenceIn): void {
  const key = `${Date.now().toString(36)}-${made++}`;
  const one: Offer = { key, name, give, weighed: null, problem: null };
  const refused = beforehand(place, one);
  change(place, [...offersAt(place), refused ? { ...one, give: {}, weighed: refused } : one]);
  if (!refused) void weigh(place, one);
}

/** What need not be asked for: it is there, or is more than one request holds. */
function beforehand(place: Place, one: Offer): Given | null {
  const others = offersAt(place);
  const same = JSON.stringify(one.give);
  if (others.some((other) => JSON.stringify(other.give) === same)) return left(one.name, "is given already");
  const sent = sizeOf(one.give) + others.reduce((sum, other) => sum + sizeOf(other.give), 0);
  if (sent > MOST_SENT) {
    return left(
      one.name,
      others.length === 0
        ? "is larger than what can be sent"
        : "is more than can be sent together with the others; give it later, by itself",
    );
  }
  return null;
}

/** Bytes, about. */
function sizeOf(give: EvidenceIn): number {
  return give.base64 ? (give.base64.length * 3) / 4 : (give.text?.length ?? 0);
}

async function weigh(place: Place, one: Offer): Promise<void> {
  try {
    const weighed = await (place === NEW ? api.weigh([one.give]) : api.give(place, [one.give], true));
    const left = withoutThose(place, one.key, weighed);
    // What is left out may be a secret: it is not kept here either.
    amend(place, one.key, { weighed: left, problem: null, ...(left.taken.length > 0 ? {} : { give: {} }) });
  } catch (error) {
    amend(place, one.key, { problem: sentence(error) });
  }
}

/** The server weighed it alone: what another offer has is no second item. */
function withoutThose(place: Place, key: string, weighed: Given): Given {
  const others = offersAt(place).filter((other) => other.key !== key);
  const there = new Map(others.flatMap(itemsOf).map((item) => [item.sha256, item.name]));
  let room = LIMITS.evidence - there.size;
  const taken: EvidenceItem[] = [];
  const leftOut = [...weighed.leftOut];
  for (const item of weighed.taken) {
    const same = there.get(item.sha256);
    if (same !== undefined) leftOut.push({ name: item.name, why: `is the same as ${same}` });
    else if (room-- > 0) taken.push(item);
    else leftOut.push({ name: item.name, why: `a session takes ${LIMITS.evidence} items, and has them` });
  }
  return { ...weighed, taken, leftOut };
}

export function weighAgain(place: Place, key: string): void {
  const one = offersAt(place).find((each) => each.key === key);
  if (!one) return;
  amend(place, key, { weighed: null, problem: null });
  void weigh(place, one);
}

export function takeBack(place: Place, key: string): void {
  change(
    place,
    offersAt(place).filter((one) => one.key !== key),
  );
}

export function takeAllBack(place: Place): void {
  change(place, NONE);
}

function itemsOf(one: Offer): readonly EvidenceItem[] {
  return one.weighed?.taken ?? [];
}

/** What is sent: all of which something is taken. */
export function given(offers: readonly Offer[]): EvidenceIn[] {
  return offers.filter((one) => itemsOf(one).length > 0).map((one) => one.give);
}

export function isWeighing(offers: readonly Offer[]): boolean {
  return offers.some((one) => one.weighed === null && one.problem === null);
}

/** "3 items, 2,480 tokens"; empty where nothing is taken. */
export function summaryOf(offers: readonly Offer[]): string {
  const items = offers.flatMap(itemsOf);
  if (items.length === 0) return "";
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  return `${count(items.length, "item")}, ${whole(tokens)} tokens`;
}

/** Items that were taken when they were weighed alone, and are left out of all of them together. */
export function fallenOut(place: Place, together: Given): boolean {
  const still = new Set(together.taken.map((item) => item.sha256));
  let any = false;
  for (const one of offersAt(place)) {
    const lost = itemsOf(one).filter((item) => !still.has(item.sha256));
    if (one.weighed === null || lost.length === 0) continue;
    any = true;
    const why = (item: EvidenceItem): string =>
      together.leftOut.find((each) => each.name === item.name)?.why ??
      "has changed since: take it back and give it anew";
    amend(place, one.key, {
      weighed: {
        ...one.weighed,
        taken: itemsOf(one).filter((item) => still.has(item.sha256)),
        leftOut: [...one.weighed.leftOut, ...lost.map((item) => ({ name: item.name, why: why(item) }))],
      },
    });
  }
  return any;
}

export function useOffers(place: Place): readonly Offer[] {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => offersAt(place), [place]),
  );
}

export function useIsUnkept(place: Place): boolean {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => unkept.has(place), [place]),
  );
}

// -- files ---------------------------------------------------------------------------------------

/** Text goes as it is, all else as its bytes. */
export async function offerFile(place: Place, file: File): Promise<void> {
  if (file.size > MOST_SENT) {
    refuse(place, file.name, `${(file.size / 1_000_000).toFixed(1)} MB is more than can be sent`);
    return;
  }
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = new Uint8Array(await file.arrayBuffer());
  } catch {
    refuse(place, file.name, "could not be read. Of a folder, give the path in the workspace");
    return;
  }
  const text = asText(bytes);
  offer(place, file.name, text === null ? { name: file.name, base64: asBase64(bytes) } : { name: file.name, text });
}

function refuse(place: Place, name: string, why: string): void {
  const key = `${Date.now().toString(36)}-${made++}`;
  change(place, [...offersAt(place), { key, name, give: {}, weighed: left(name, why), problem: null }]);
}

function asText(bytes: Uint8Array<ArrayBuffer>): string | null {
  if (bytes.includes(0)) return null;
  try {
    // A byte order mark is for the server to read.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function asBase64(bytes: Uint8Array): string {
  let binary = "";
  const most = 0x8000;
  for (let at = 0; at < bytes.length; at += most) binary += String.fromCharCode(...bytes.subarray(at, at + most));
  return btoa(binary);
}
