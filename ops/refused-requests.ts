// Refused requests as operators are shown them: which surface refused which code to which key and address, how often and when.
//   RQ1. Memory is bounded, whatever is sent: those that name a known key and the others have `keptMax` places each. Ids of keys are
//        public, and one customer has billions of IPv6 addresses, so the key or network with the most places loses the oldest of them
//        (refused-places.ts). How many were forgotten is counted.
//   RQ2. Keys and addresses that were not refused for a day are not shown any more; nothing outlives the process.
//   RQ3. Of a request there is nothing but its surface, the code of its refusal, the key that it names and its address. Nothing
//        proves that the sender has the key.

import { formatTimestamp } from "../protocol/identifiers.ts";
import type { AnsweredRequest, RequestObserver } from "../service/request-observer.ts";
import { RefusedPlaces, sharedOut, type Times } from "./refused-places.ts";
import type { RefusedCode, RefusedRequest } from "./refused-shapes.ts";

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
