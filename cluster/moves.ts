// Planned moves of a party's home from this node's region to another. Both regions must be reachable.
//   1. The home names the region to which it is moving: from then on no node of either region considers the party its own.
//   2. Every node of this region has followed that and released the party's actors. (The nodes of the other
//      region need not: none of them can consider the party its own, because its home is here.)
//   3. The home's version is raised once more: from here on the move is not given up. Then each actor is handed over: its
//      partition says which region may claim it next, written to both regions last of all.
//   4. The home is the other region.
// T1. Each step is idempotent, and two nodes may carry out the same move at once: a step found done is taken as done. So a
//     move whose node was lost is resumed by another one at any step (`resume`).
// T2. A move can be given up until step 3, and is if a node does not follow in time: by the node that began it, if nobody has
//     raised the version since. A node that resumes a move continues it.
// T3. Between 1 and 4 the party's actors answer nobody: callers wait or are asked to retry. Therefore the nodes are notified
//     and do not have to find out on their own, and actors are handed over in parallel, because a party has one for each
//     push that it has ever made.
// T4. An actor that was created between two looks is found by the second: step 3 ends with a look that finds nothing new.

import type { ActorRef } from "../actors/messages/refs.ts";
import type { TimerPort } from "../actors/system/ports.ts";
import { type ClusterStore, type PartyHome, StoreError } from "../storage/cluster-store.ts";
import type { ClusterLog } from "./cluster-view.ts";
import { raiseVersion } from "./member-lifecycle.ts";
import type { Monotonic } from "./poller.ts";

/** The operations of the actor store that a move needs. */
export interface Mover {
  /** All actors that the party has. Hints are enough, because no actor that was ever claimed is missed. */
  actorsOf(party: string): Promise<readonly ActorRef[]>;
  /** Lets only `to` claim the actor. Repeatable. Throws its store's error. */
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
  /** Whether this node should resume the move of `party` that another node began; this is true on one node. */
  readonly isMine: (party: string) => boolean;
  /** Tells the nodes of this region to look (F3). */
  readonly announce: () => Promise<void>;
  readonly log?: ClusterLog;
  /** How long nodes may take to follow. */
  readonly patienceMs?: number;
}

export type MoveOutcome =
  | "moved"
  /** It was there already. */
  | "there"
  | "home_unknown"
  /** Its home is neither this region nor the requested one; move it from its home. */
  | "not_here"
  /** It is being moved to a third region. */
  | "moving_elsewhere"
  | "region_unknown"
  | "region_dead"
  /** A node did not follow in time; the party is still where it was. */
  | "given_up";

export interface Moves {
  /** Throws the store's error; the move can then be continued with `resume`. */
  move(party: string, to: string): Promise<MoveOutcome>;
  /** Resumes moves of the last day that are stalled in this region; returns how many came to an end. */
  resume(): Promise<number>;
}

const patienceMsDefault = 10_000;
const handOverAttemptsMax = 5;
/** Maximum number of actors handed over at the same time (T3). */
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

/** Performs steps 1 to 4 from the state found; null if another node changed the home meanwhile: then look again (T1). */
async function moveOn(options: MovesOptions, home: PartyHome, to: string): Promise<MoveOutcome | null> {
  const { store, log } = options;
  const isOurs = home.moving_to === null;
  const begun = isOurs ? await change(store, home, { moving_to: to }) : home;
  if (begun === null) return null;
  // This covers the case that the node that began the move was lost before it wrote the note.
  if (!isOurs) await store.noteMove(begun);
  const patienceMs = options.patienceMs ?? patienceMsDefault;
  if (!(await awaitVersion({ ...options, patienceMs }))) {
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

/** Hands over all actors of a party (T4). */
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

/** After a failure nothing more is started, and what is under way is awaited: then the first failure is thrown. */
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
      // Actors handed over to a region that died are claimed from there; the rest never left.
      if (isDead(home.moving_to)) await change(store, home, { moving_to: null });
      else await move(home.party, home.moving_to);
      ended += 1;
    } catch (error) {
      log?.("warn", "cluster.move_failed", error instanceof Error ? error.message : String(error));
    }
  }
  return ended;
}

/** Returns the home as changed, also if it was found so; null if another change came first. */
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

// Waits until every node of a region acts by a move or a standing that was written before the call.
//   F1. A new version of the view is written after that move or standing; a member whose heartbeat carries that version has
//       read moves and standings since, and finished what followed from them (cluster-view.ts O2).
//   F2. A member that does not report this is waited for as long as it is in the view: it either follows, or is removed.
//   F3. Nobody waits for the others' next poll: they are told to look at once. A member that is not reached finds out on its
//       own. This node reads their heartbeats once those that were reached have looked, and then at growing intervals: on a
//       machine that is short of CPU time every read would take some from the nodes that are awaited.

export interface ViewBarrierOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  /** The node's own region: no node writes the view of another one. */
  readonly region: string;
  readonly patienceMs: number;
  /** Tells the nodes of the region, including this one, to look; resolves when those that were reached have. Never rejects. */
  readonly announce: () => Promise<void>;
}

/** Initial and maximum interval between two reads of the members' heartbeats. */
const lookMs = 50;
const lookMaxMs = 400;

/** Returns false if some member neither followed nor left in time. Throws the store's error. */
export async function awaitVersion(options: ViewBarrierOptions): Promise<boolean> {
  const { store, monotonic, timers, region, patienceMs, announce } = options;
  const lateMs = monotonic.nowMs() + patienceMs;
  const version = await raiseVersion(store, region);
  let pauseMs = lookMs;
  let isTold = false;
  const told = announce().then(() => {
    isTold = true;
    pauseMs = lookMs;
  });
  for (;;) {
    const pause = new Promise<void>((resolve) => void timers.schedule(pauseMs, resolve));
    pauseMs = Math.min(2 * pauseMs, lookMaxMs);
    await (isTold ? pause : Promise.race([pause, told]));
    const [view, beats] = await Promise.all([store.readView(region), store.readBeats(region)]);
    const seen = new Map(beats.map((beat) => [beat.incarnation, beat.homes_seen]));
    if (view.members.every((member) => (seen.get(member.incarnation) ?? 0) >= version)) return true;
    if (monotonic.nowMs() >= lateMs) return false;
  }
}
