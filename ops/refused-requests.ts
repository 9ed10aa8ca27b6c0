// Refused requests as operators are shown them: which surface refused which code to which key and address, how often and when.
//   RQ1. Memory is bounded, whatever is sent: those that name a known key and the others have `keptMax` places each. Ids of keys are
//        public, and one customer has billions of IPv6 addresses, so the key or network with the most places loses the
//        oldest of them. How many were forgotten is counted.
//   RQ2. Keys and addresses that were not refused for a day are not shown any more; nothing outlives the process.
//   RQ3. Of a request there is nothing but its surface, the code of its refusal, the key that it names and its address. Nothing
//        proves that the sender has the key.

import { formatTimestamp } from "../protocol/identifiers.ts";
import type { AnsweredRequest, RequestObserver } from "../service/request-observer.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { addressBlock } from "../std/ip-address.ts";
import type { RefusedCode, RefusedRequest } from "./inspection-shapes.ts";

/** What a node knows of its refused requests. */
export interface OwnRefused {
  readonly codes: readonly RefusedCode[];
  readonly requests: readonly RefusedRequest[];
  readonly forgotten: number;
}

/** Which refused requests are listed; null stands for any. */
export interface RefusedQuery {
  readonly surface: string | null;
  readonly code: string | null;
  readonly key_id: string | null;
}

export interface RefusedRequests extends RequestObserver {
  list(query: RefusedQuery): OwnRefused;
}

const keptMax = 500;
export const refusedListMax = 100;
const shownMs = 86_400_000;

type Kept<T> = T & Times;
type Refused = Kept<Pick<RefusedRequest, "surface" | "code" | "key_id" | "from">>;

export function createRefusedRequests(nowMs: () => number): RefusedRequests {
  // There are as many as there are surfaces and codes.
  const codes = new Map<string, Kept<Pick<RefusedCode, "surface" | "code">>>();
  const [named, others] = [new RefusedPlaces<Refused>(keptMax), new RefusedPlaces<Refused>(keptMax)];
  let forgotten = 0;
  const forgetOld = (now: number): void => {
    for (const kept of [named, others]) kept.forgetUntil(now - shownMs);
  };
  return {
    observe: ({ surface, code, key_id, from }: AnsweredRequest) => {
      if (code === null) return;
      const now = nowMs();
      const ofCode = codes.get(`${surface} ${code}`);
      if (ofCode === undefined) codes.set(`${surface} ${code}`, { surface, code, ...once(now) });
      else again(ofCode, now);
      const kept = key_id === null ? others : named;
      const name = `${surface} ${code} ${key_id} ${from}`;
      const known = kept.get(name);
      if (known !== undefined) again(known, now);
      else {
        forgetOld(now);
        if (kept.add(name, { surface, code, key_id, from, ...once(now) })) forgotten += 1;
      }
    },
    list: (query) => {
      forgetOld(nowMs());
      const all = [...named.all(), ...others.all()];
      return {
        codes: [...codes.values()].map(shown).sort(byTime),
        requests: listed(all.filter((each) => isWanted(each, query)).map(shown)),
        forgotten,
      };
    },
  };
}

/** What several nodes refused, as one list. */
export function mergeRefused(all: readonly OwnRefused[]): OwnRefused {
  const codes = mergedBy(
    all.flatMap((each) => each.codes),
    ({ surface, code }) => `${surface} ${code}`,
  );
  const requests = mergedBy(
    all.flatMap((each) => each.requests),
    ({ surface, code, key_id, from }) => `${surface} ${code} ${key_id} ${from}`,
  );
  return {
    codes,
    requests: listed(requests),
    forgotten: all.reduce((sum, each) => sum + each.forgotten, 0),
  };
}

function mergedBy<T extends RefusedCode>(all: readonly T[], nameOf: (each: T) => string): readonly T[] {
  const merged = new Map<string, T>();
  for (const each of all) {
    const known = merged.get(nameOf(each));
    merged.set(nameOf(each), known === undefined ? each : { ...each, ...together(known, each) });
  }
  return [...merged.values()].sort(byTime);
}

/** Timestamps have a fixed width, so comparing them as text orders them in time. */
function together(a: RefusedCode, b: RefusedCode): Omit<RefusedCode, "surface" | "code"> {
  return {
    count: a.count + b.count,
    first_at: a.first_at < b.first_at ? a.first_at : b.first_at,
    last_at: a.last_at > b.last_at ? a.last_at : b.last_at,
  };
}

function once(now: number): Times {
  return { count: 1, firstMs: now, lastMs: now };
}

function again(times: Times, now: number): void {
  times.count += 1;
  times.lastMs = now;
}

function shown<T extends object>({ firstMs, lastMs, ...rest }: Kept<T>) {
  return { ...rest, first_at: formatTimestamp(firstMs), last_at: formatTimestamp(lastMs) };
}

function isWanted(each: Refused, { surface, code, key_id }: RefusedQuery): boolean {
  return (
    (surface === null || each.surface === surface) &&
    (code === null || each.code === code) &&
    (key_id === null || each.key_id === key_id)
  );
}

function listed(all: readonly RefusedRequest[]): readonly RefusedRequest[] {
  return [...sharedOut(all.toSorted(byTime), refusedListMax)].sort(byTime);
}

/** The newest first. */
function byTime(a: RefusedCode, b: RefusedCode): number {
  return a.last_at < b.last_at ? 1 : a.last_at > b.last_at ? -1 : 0;
}

// Places for refused requests, so that what one stranger sends displaces what that stranger sent, and not what concerns others.
//   RP1. There are never more than `placesMax`. When one more comes, the key that is named in the most places, or the network that they
//        come from most, loses the one of its places that was refused longest ago: of places that nobody crowds, the oldest goes.
//   RP2. A list that is too short for all has the newest of each key, and of each network where no key was named, before a second one.

interface Times {
  count: number;
  readonly firstMs: number;
  lastMs: number;
}

interface Origin {
  readonly key_id: string | null;
  readonly from: string | null;
}

interface Place<T> {
  readonly each: T;
  /** Its key, if it names one, and its network. */
  readonly owners: readonly string[];
}

class RefusedPlaces<T extends Origin & Times> {
  readonly #placesMax: number;
  readonly #kept: BoundedMap<string, Place<T>>;
  /** Number of places of each key and of each network; none has none. */
  readonly #taken = new Map<string, number>();

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
    this.#kept = new BoundedMap(placesMax);
  }

  /** Who is looked up was refused again. */
  get(name: string): T | undefined {
    return this.#kept.get(name)?.each;
  }

  all(): readonly T[] {
    return [...this.#kept.entries()].map(([, { each }]) => each);
  }

  /** Forgets what was refused last at this instant or before. */
  forgetUntil(ms: number): void {
    for (const [name, place] of this.#kept.entries()) {
      if (place.each.lastMs > ms) return;
      this.#delete(name, place);
    }
  }

  /** Takes a place for what has none yet; true if another one lost its own (RP1). */
  add(name: string, each: T): boolean {
    const isFull = this.#kept.size === this.#placesMax;
    if (isFull) this.#makeRoom();
    const owners = ownersOf(each);
    this.#kept.set(name, { each, owners });
    for (const owner of owners) this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
    return isFull;
  }

  #makeRoom(): void {
    let most = 0;
    for (const places of this.#taken.values()) most = Math.max(most, places);
    for (const [name, place] of this.#kept.entries())
      if (place.owners.some((owner) => this.#taken.get(owner) === most)) {
        this.#delete(name, place);
        return;
      }
  }

  #delete(name: string, { owners }: Place<T>): void {
    this.#kept.delete(name);
    for (const owner of owners) {
      const left = (this.#taken.get(owner) ?? 0) - 1;
      if (left > 0) this.#taken.set(owner, left);
      else this.#taken.delete(owner);
    }
  }
}

/** RP2, of what is in the order in which it matters. */
function sharedOut<T extends Origin>(all: readonly T[], max: number): readonly T[] {
  if (all.length <= max) return all;
  const seen = new Map<string, number>();
  const ranked = all.map((each) => {
    const owner = each.key_id === null ? networkOf(each) : `key ${each.key_id}`;
    const rank = seen.get(owner) ?? 0;
    seen.set(owner, rank + 1);
    return { each, rank, isNamed: each.key_id !== null };
  });
  ranked.sort((a, b) => a.rank - b.rank || Number(b.isNamed) - Number(a.isNamed));
  return ranked.slice(0, max).map(({ each }) => each);
}

function ownersOf({ key_id, from }: Origin): readonly string[] {
  const network = networkOf({ from });
  return key_id === null ? [network] : [`key ${key_id}`, network];
}

function networkOf({ from }: Pick<Origin, "from">): string {
  return from === null ? "unknown" : `network ${addressBlock(from)}`;
}
