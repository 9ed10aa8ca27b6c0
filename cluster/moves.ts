// Planned moves of a party's home from this node's region to another. Both regions must be in reach.
//   1. The home says where it is on its way to: no node of either region takes the party for its own any more.
//   2. Every node of this region has followed that (followed.ts) and let go of the party's actors. (Those of the other
//      region need not: none of them can hold the party for its own, for that its home is here.)
//   3. The home's version is raised once more: from here on the move is not given up. Then each actor is handed over: its
//      partition says who may claim it next, written to both regions last of all.
//   4. The home is the other region.
// T1. Each step can be repeated, and two nodes may do the same move at once: what one finds done it takes as done. So a
//     move whose node was lost is taken up by another one at any step (`resume`).
// T2. A move can be given up until step 3, and is, when a node does not follow in time: by who began it, if nobody has
//     raised the version since. Whoever takes a move up goes on with it.
// T3. Between 1 and 4 the party's actors answer nobody: callers wait or are told to try again. So the nodes are told to
//     follow, and do not find out by themselves; and actors are handed over side by side, for a party has one for each
//     push that it ever made.
// T4. An actor that came to be between two looks is found by the second: step 3 ends with a look that finds nothing new.

import type { ActorRef } from "../actors/messages/refs.ts";
import type { TimerPort } from "../actors/system/ports.ts";
import { type ClusterStore, type PartyHome, StoreError } from "../storage/cluster-store.ts";
import type { Monotonic } from "./cycle.ts";
import { followedByAll } from "./followed.ts";
import type { ClusterLog } from "./outlook.ts";

/** What the actor store does for a move. */
export interface Mover {
  /** All actors that the party has; hints do, for none is missed that was ever claimed. */
  actorsOf(party: string): Promise<readonly ActorRef[]>;
  /** Lets `to` claim the actor and nobody else. Repeatable. Throws its store's error. */
  handOver(ref: ActorRef, to: string): Promise<void>;
}

export interface MovesOptions {
  readonly store: ClusterStore;
  readonly mover: Mover;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  readonly region: string;
  readonly regions: readonly string[];
  /** Whether a region was declared dead. */
  readonly isDead: (region: string) => boolean;
  /** Whether this node is to take up the move of `party` that somebody else began: one node does. */
  readonly isMine: (party: string) => boolean;
  /** Tells the nodes of this region to look (followed.ts F3). */
  readonly announce: () => Promise<void>;
  readonly log?: ClusterLog;
  /** How long nodes have to follow. */
  readonly patienceMs?: number;
}

export type MoveOutcome =
  | "moved"
  /** It was there already. */
  | "there"
  | "home_unknown"
  /** Its home is neither this region nor the one asked for; move it from there. */
  | "not_here"
  /** Somebody moves it to a third region. */
  | "moving_elsewhere"
  | "region_unknown"
  | "region_dead"
  /** A node did not follow in time; the party is where it was. */
  | "given_up";

export interface Moves {
  /** Throws the store's error; then the move goes on with `resume`. */
  move(party: string, to: string): Promise<MoveOutcome>;
  /** Takes up moves of the last day that stand still in this region; answers how many came to an end. */
  resume(): Promise<number>;
}

const patienceMsDefault = 10_000;
const handOverAttemptsMax = 5;
/** Actors that are handed over at the same time (T3). */
const handOversMax = 16;
const looksMax = 10;
const attemptsMax = 5;

export function createMoves(options: MovesOptions): Moves {
  const underWay = new Map<string, Promise<MoveOutcome>>();
  const move = (party: string, to: string): Promise<MoveOutcome> => {
    const name = `${party}>${to}`;
    const known = underWay.get(name);
    if (known !== undefined) return known;
    const moving = moveHome(options, party, to).finally(() => underWay.delete(name));
    underWay.set(name, moving);
    return moving;
  };
  return { move, resume: () => resumeMoves(options, move) };
}

async function moveHome(options: MovesOptions, party: string, to: string): Promise<MoveOutcome> {
  const { store, region, regions, isDead } = options;
  if (!regions.includes(to)) return "region_unknown";
  if (isDead(to)) return "region_dead";
  let isBegun = false;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const home = await store.readHome(party);
    if (home === null) return "home_unknown";
    if (home.region === to && home.moving_to === null) return isBegun ? "moved" : "there";
    if (home.region !== region) return "not_here";
    if (home.moving_to !== null && home.moving_to !== to) return "moving_elsewhere";
    isBegun = true;
    const outcome = await moveOn(options, home, to);
    if (outcome !== null) return outcome;
  }
  throw new StoreError("unknown", `the home of ${party} changed under every attempt`);
}

/** Steps 1 to 4 from what was found; null when another node changed the home meanwhile: then look again (T1). */
async function moveOn(options: MovesOptions, home: PartyHome, to: string): Promise<MoveOutcome | null> {
  const { store, log } = options;
  const isOurs = home.moving_to === null;
  const begun = isOurs ? await change(store, home, { moving_to: to }) : home;
  if (begun === null) return null;
  // Should the node that began it have been lost before the note was written.
  if (!isOurs) await store.noteMove(begun);
  const patienceMs = options.patienceMs ?? patienceMsDefault;
  if (!(await followedByAll({ ...options, patienceMs }))) {
    if (!isOurs) throw new StoreError("not_applied", "a node does not follow the move");
    if ((await change(store, begun, { moving_to: null })) === null) return null;
    log?.("warn", "cluster.move_given_up", home.party);
    return "given_up";
  }
  const decided = await change(store, begun, {});
  if (decided === null) return null;
  await handAllOver(options, home.party, to);
  if ((await change(store, decided, { region: to, moving_to: null })) === null) return null;
  log?.("info", "cluster.moved", `${home.party} to ${to}`);
  return "moved";
}

/** T4. */
async function handAllOver({ mover }: MovesOptions, party: string, to: string): Promise<void> {
  const done = new Set<string>();
  for (let look = 0; look < looksMax; look += 1) {
    const found = (await mover.actorsOf(party)).filter((ref) => !done.has(`${ref.kind}/${ref.id}`));
    if (found.length === 0) return;
    await sideBySide(found, (ref) => handOver(mover, ref, to));
    for (const ref of found) done.add(`${ref.kind}/${ref.id}`);
  }
  throw new StoreError("unknown", `the number of actors of ${party} grew with every attempt`);
}

/** After a failure nothing more is begun, and what is under way is waited for: then the first failure is thrown. */
async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: handOversMax }, lane));
  for (const each of lanes) if (each.status === "rejected") throw each.reason;
}

async function handOver(mover: Mover, ref: ActorRef, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await mover.handOver(ref, to);
    } catch (error) {
      if (!(error instanceof StoreError) || attempt >= handOverAttemptsMax) throw error;
    }
  }
}

async function resumeMoves(
  options: MovesOptions,
  move: (party: string, to: string) => Promise<MoveOutcome>,
): Promise<number> {
  const { store, region, isDead, isMine, log } = options;
  let ended = 0;
  for (const home of await store.readMoves()) {
    if (home.region !== region || home.moving_to === null || !isMine(home.party)) continue;
    try {
      // What was handed over to a region that died is claimed from there; the rest never left.
      if (isDead(home.moving_to)) await change(store, home, { moving_to: null });
      else await move(home.party, home.moving_to);
      ended += 1;
    } catch (error) {
      log?.("warn", "cluster.move_failed", error instanceof Error ? error.message : String(error));
    }
  }
  return ended;
}

/** The home as changed, also when it was found so; null when another change came first. */
async function change(
  store: ClusterStore,
  home: PartyHome,
  changes: Partial<Pick<PartyHome, "region" | "moving_to">>,
): Promise<PartyHome | null> {
  const next = { ...home, ...changes, version: home.version + 1 };
  try {
    if (await store.casHome(next)) return next;
  } catch (error) {
    if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
  }
  const found = await store.readHome(home.party);
  const isSame =
    found?.version === next.version && found.region === next.region && found.moving_to === next.moving_to;
  return isSame ? next : null;
}
