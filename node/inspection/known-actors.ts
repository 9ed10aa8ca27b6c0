// The actors that the store knows, in pages: most of them are not in memory. Nothing is claimed and nothing is woken.
//   KA1. A page reads a bounded number of actors, whatever it looks for; what it left unread, it says.
//   KA2. Counting stops at a bound, and a count is kept for a while: ten seconds, and a hundred times as long as counting took, up to
//        five minutes. No clock that is set decides how long: one that is set back would keep a count for as long.
//   KA3. A kind that is not listed, or that the store refuses to count, is counted in memory: the counts of the others are shown.

import { isSoonForgotten } from "../../actors/messages/refs.ts";
import type { ActorReport } from "../../actors/system/definition.ts";
import type { ActorRow } from "../../ops/inspection-shapes.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { rowOf, type Where } from "./look.ts";

export interface KnownActors {
  /** Number of actors of a kind of which `active` are in memory, and whether all were counted (KA2, KA3). */
  count(kind: string, active: number): Promise<{ readonly count: number; readonly isExact: boolean }>;
  page(query: KnownQuery): Promise<{ readonly rows: readonly ActorRow[]; readonly nextAfter: string | null }>;
  /** Ids of the kind that begin with or contain `part`; reads at most `idsMax` ids. */
  find(kind: string, part: string, limit: number): Promise<FoundIds>;
  row(ref: ActorRef): Promise<ActorRow | null>;
}

interface FoundIds {
  readonly ids: readonly string[];
  readonly isComplete: boolean;
}

export interface KnownQuery {
  readonly kind: string;
  readonly state: string | null;
  readonly region: string | null;
  readonly after: string;
  readonly limit: number;
}

export interface KnownDeps {
  readonly store: Pick<ActorStore, "listActors" | "countActors">;
  readonly inspect: (ref: ActorRef) => Promise<ActorReport | null>;
  /** Where it would live. */
  readonly whereOf: (ref: ActorRef) => Where;
  readonly elapsedMs: () => number;
}

const countMax = 200_000;
/** See KA2. */
const countKeptMs = 10_000;
const keptTimes = 100;
const countKeptMaxMs = 300_000;
/** Maximum number of actors that one page reads when it looks for some (KA1). */
const scannedMax = 400;
const idsPerRead = 2_000;
/** Maximum number of ids that a search for a part reads of each kind. */
const idsMax = 20_000;
/** Number of actors that are read at the same time. */
const atOnce = 16;

export function createKnownActors(deps: KnownDeps): KnownActors {
  const counts = new Map<string, { untilMs: number; readonly count: Promise<number> }>();
  const begin = (kind: string): Promise<number> => {
    const beganMs = deps.elapsedMs();
    const known = { untilMs: Number.POSITIVE_INFINITY, count: deps.store.countActors(kind, countMax) };
    counts.set(kind, known);
    known.count.then(
      () => {
        const endedMs = deps.elapsedMs();
        const longMs = Math.min(countKeptMaxMs, (endedMs - beganMs) * keptTimes);
        known.untilMs = endedMs + Math.max(countKeptMs, longMs);
      },
      () => counts.delete(kind),
    );
    return known.count;
  };
  const row = async (ref: ActorRef): Promise<ActorRow | null> => {
    const report = await deps.inspect(ref);
    if (report === null) return null;
    const where = deps.whereOf(ref);
    return rowOf(report, report.status === "active" ? where : { ...where, node: null });
  };
  return {
    count: async (kind, active) => {
      const atLeast = { count: active, isExact: false };
      if (isSoonForgotten(kind)) return atLeast;
      const known = counts.get(kind);
      const isKept = known !== undefined && deps.elapsedMs() < known.untilMs;
      return (isKept ? known.count : begin(kind)).then(
        (count) => ({ count, isExact: count < countMax }),
        () => atLeast,
      );
    },
    page: (query) => pageOf(deps, row, query),
    find: (kind, part, limit) => findIds(deps, { kind, part, limit }),
    row,
  };
}

async function pageOf(
  deps: KnownDeps,
  row: KnownActors["row"],
  { kind, state, region, after, limit }: KnownQuery,
): Promise<{ readonly rows: readonly ActorRow[]; readonly nextAfter: string | null }> {
  const rows: ActorRow[] = [];
  let last = after;
  for (let scanned = 0; scanned < scannedMax && rows.length < limit; ) {
    const ids = await deps.store.listActors(kind, last, atOnce);
    const found = await Promise.all(ids.map((id) => row({ kind, id })));
    for (const [index, each] of found.entries()) {
      last = ids[index] ?? last;
      if (each !== null && fits(each, state, region)) rows.push(each);
      if (rows.length === limit) break;
    }
    scanned += ids.length;
    if (ids.length < atOnce && rows.length < limit) return { rows, nextAfter: null };
  }
  return { rows, nextAfter: last };
}

function fits({ states, region: at }: ActorRow, state: string | null, region: string | null): boolean {
  if (region !== null && at !== region) return false;
  return state === null || states.some((path) => path === state || path.startsWith(`${state}.`));
}

async function findIds(
  { store }: KnownDeps,
  { kind, part, limit }: { readonly kind: string; readonly part: string; readonly limit: number },
): Promise<FoundIds> {
  // Ids begin with the party that they belong to, so those of a party are neighbours.
  const isBeginning = (id: string): boolean => id.startsWith(part);
  const first = (await store.listActors(kind, before(part), limit)).filter(isBeginning);
  if (first.length > 0) return { ids: first, isComplete: first.length < limit };
  const ids: string[] = [];
  for (let after = "", read = 0; ; ) {
    const page = await store.listActors(kind, after, idsPerRead);
    ids.push(...page.filter((id) => id.includes(part)));
    read += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < idsPerRead)
      return { ids: ids.slice(0, limit), isComplete: ids.length <= limit };
    if (ids.length >= limit || read >= idsMax) return { ids: ids.slice(0, limit), isComplete: false };
    after = last;
  }
}

/** The greatest text that comes before every text that begins with `part`, as far as ids go. */
function before(part: string): string {
  const last = part.charCodeAt(part.length - 1);
  return part === "" ? "" : `${part.slice(0, -1)}${String.fromCharCode(last - 1)}\u007e`;
}
