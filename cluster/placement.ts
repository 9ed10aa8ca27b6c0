// Where an actor lives now. Everything follows from its name, the homes of parties, the standings of regions and the
// views of their nodes; only homes have to be looked up, once.
//   Q1. «Here» is answered only by a node that holds its lease, is active, has the home in its region, and wins the
//       rendezvous among that region's members.
//   Q2. Members that join or leave take part in the rendezvous: an actor that one of them wins is «moving» until the member
//       is active or gone, so that nobody takes an actor whose former node may still be at work. A leaving member that takes
//       too long is given up (Membership.isGivenUp).
//   Q3. A home that is being moved is «moving» everywhere, unless one of the two regions is dead.
//   Q4. The parties of a dead region follow its successor (and, if that is dead as well, that one's successor). A node there
//       makes its own region the party's home by compare-and-set before it answers «here»: if the dead region comes back,
//       what was done meanwhile stays where it was done.
//   Q5. An actor whose name contains a region (nonces, the region's own actor) lives there or nowhere.

import { type ActorRef, placementOf } from "../actors/messages/refs.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import {
  type ClusterStore,
  type Member,
  type PartyHome,
  type RegionStatus,
  StoreError,
} from "../storage/cluster-store.ts";
import type { Membership } from "./membership.ts";
import type { Monotonic } from "./poller.ts";

export type NowhereReason =
  /** The region was declared dead, and none takes over. */
  | "region_lost"
  /** It is between two nodes or regions, or this node lost its lease: it will be somewhere else in a moment. */
  | "moving"
  /** The home was not looked up yet, or the party has none. */
  | "home_unknown"
  /** Its region has no node that could have it. */
  | "no_nodes";

export type Located =
  | { readonly at: "here" }
  | { readonly at: "node"; readonly member: Member; readonly region: string }
  | { readonly at: "nowhere"; readonly reason: NowhereReason; readonly retryAfterSeconds: number };

export interface PlacementOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  readonly membership: Membership;
}

export interface Placement {
  /** Answers from what is known now, without waiting. Throws for a name that `placementOf` does not know. */
  locate(ref: ActorRef): Located;
  /**
   * Does what can be done for an actor that is nowhere: looks up its home, takes it over, polls again. Throws the store's
   * error.
   */
  settle(ref: ActorRef): Promise<void>;
  /** Assigns this region to a new party as its home; returns the home in force, which another node may have assigned. */
  assignHome(party: string): Promise<PartyHome>;
  /** The party's home, as far as it is known without a look-up. */
  homeOf(party: string): PartyHome | null;
  /**
   * The region that has the party (its home or the region that took it over), as far as known without a look-up; null if
   * unknown.
   */
  regionOf(party: string): string | null;
  /**
   * Whether the region was declared dead: actors with their home there may be claimed by the node that has them here (for
   * the actor store).
   */
  isDead(region: string): boolean;
}

const here: Located = { at: "here" };
const moving = nowhere("moving", 1);
const homeUnknown = nowhere("home_unknown", 1);
const noNodes = nowhere("no_nodes", 2);
const regionLost = nowhere("region_lost", 30);

/** Maximum number of homes that are cached; above it, the one learnt first is evicted. */
const homesMax = 100_000;
const cachedMax = 50_000;
const assignAttemptsMax = 5;

export function createPlacement({ store, monotonic, membership }: PlacementOptions): Placement {
  const book = new HomeCache({ store, monotonic });
  membership.onChange(({ moves, missed }) => {
    if (missed) book.forgetAll();
    for (const home of moves) book.learn(home);
  });
  const winnerOf = createWinners(membership);
  const isDead = (region: string): boolean => membership.standing(region)?.status === "dead";
  const effectiveOf = (home: PartyHome): string | null =>
    effectiveRegion(home.region, (each) => membership.standing(each));
  const isMoving = ({ moving_to, region }: PartyHome): boolean =>
    moving_to !== null && moving_to !== region && !isDead(moving_to);
  const among = (region: string, key: string): Located => {
    const winner = winnerOf(region, key);
    if (winner === null) return noNodes;
    if (winner.member.state !== "active") return moving;
    if (winner.member.address !== membership.address) return { at: "node", ...winner };
    const self = membership.self();
    // An earlier life of this node, or this one without its lease, no longer has it (Q1).
    const isHere =
      self?.incarnation === winner.member.incarnation && self.state === "active" && membership.holdsLease();
    return isHere ? here : moving;
  };
  /** True only if it was certainly applied; otherwise the home must be read (A5). */
  const cas = async (next: PartyHome): Promise<boolean> => {
    try {
      return await store.casHome(next);
    } catch (error) {
      if (error instanceof StoreError && error.effect === "unknown") return false;
      throw error;
    }
  };
  /** Takes a party over (Q4). False if there is nothing to take over, or another node is to do it. */
  const takeOver = async (party: string): Promise<boolean> => {
    const home = book.get(party);
    const { region } = membership;
    if (home === undefined || home.region === region || effectiveOf(home) !== region) return false;
    if (among(region, party).at !== "here") return false;
    const next = { party, region, moving_to: null, version: home.version + 1 };
    const settled = (await cas(next)) ? next : await store.readHome(party);
    if (settled !== null) book.learn(settled);
    return true;
  };
  return {
    isDead,
    locate: (ref) => {
      const placement = placementOf(ref);
      if ("region" in placement) {
        if (isDead(placement.region)) return regionLost;
        return among(placement.region, `${ref.kind}/${ref.id}`);
      }
      const home = book.get(placement.party);
      if (home === undefined) return homeUnknown;
      const region = effectiveOf(home);
      if (region === null) return regionLost;
      if (region === home.region && isMoving(home)) return moving;
      const located = among(region, placement.party);
      // Q4: the home changes first, then the actors.
      return located.at === "here" && region !== home.region ? moving : located;
    },
    settle: async (ref) => {
      const placement = placementOf(ref);
      if ("party" in placement) {
        const { party } = placement;
        if (book.get(party) === undefined) return book.lookUp(party);
        if (await takeOver(party)) return;
      }
      await membership.refresh();
    },
    assignHome: async (party) => {
      const first: PartyHome = { party, region: membership.region, moving_to: null, version: 1 };
      for (let attempt = 0; attempt < assignAttemptsMax; attempt += 1) {
        const home = (await cas(first)) ? first : await store.readHome(party);
        if (home === null) continue;
        book.learn(home);
        return home;
      }
      throw new StoreError("unknown", `no home could be given to ${party}`);
    },
    homeOf: (party) => book.get(party) ?? null,
    regionOf: (party) => {
      const home = book.get(party);
      return home === undefined ? null : effectiveOf(home);
    },
  };
}

/** Whether the actor lives on this node; looks up its party's home if it is not known. Throws the store's error. */
export async function livesHere(
  placement: Pick<Placement, "locate" | "settle">,
  ref: ActorRef,
): Promise<boolean> {
  const located = placement.locate(ref);
  if (located.at === "nowhere" && located.reason === "home_unknown") await placement.settle(ref);
  return placement.locate(ref).at === "here";
}

/** The winners of the rendezvous. Active ones are kept, by region and key, for one generation of the cluster view. */
function createWinners(membership: Membership) {
  const winners = new BoundedMap<string, { readonly member: Member; readonly region: string }>(cachedMax);
  let winnersOf = -1;
  return (region: string, key: string) => {
    const generation = membership.generation();
    if (generation !== winnersOf) winners.clear();
    winnersOf = generation;
    const name = `${region}/${key}`;
    const known = winners.get(name);
    if (known !== undefined) return known;
    const { members } = membership.view(region);
    const member = placeOn(
      key,
      members.filter((each) => !membership.isGivenUp(each)),
    );
    if (member === null) return null;
    const winner = { member, region };
    if (member.state === "active") winners.set(name, winner);
    return winner;
  };
}

function nowhere(reason: NowhereReason, retryAfterSeconds: number): Located {
  return { at: "nowhere", reason, retryAfterSeconds };
}

// The homes of the parties that this node has looked up. It is a cache: moves report a home that changes, and an
// evicted one is looked up again.
//   B1. A home is never replaced by one of an earlier version.
//   B2. Look-ups are shared, bounded, and for a party without a home not repeated until a moment has passed.

export interface HomeCacheOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
}

const lookUpsMax = 256;
const missMs = 1_000;
/** Maximum number of misses that are remembered; above it, all are forgotten. */
const missesMax = 10_000;

class HomeCache {
  readonly #options: HomeCacheOptions;
  readonly #homes: BoundedMap<string, PartyHome>;
  readonly #lookUps = new Map<string, Promise<void>>();
  readonly #missedMs = new BoundedMap<string, number>(missesMax);

  constructor(options: HomeCacheOptions) {
    this.#options = options;
    this.#homes = new BoundedMap(homesMax);
  }

  get(party: string): PartyHome | undefined {
    return this.#homes.get(party);
  }

  /** Adds a home, subject to B1. */
  learn(home: PartyHome): void {
    const known = this.#homes.get(home.party);
    if (known !== undefined && known.version >= home.version) return;
    this.#homes.set(home.party, home);
    this.#missedMs.delete(home.party);
  }

  forgetAll(): void {
    this.#homes.clear();
    this.#missedMs.clear();
  }

  /** Asks the store for a home that is not cached. Throws the store's error. */
  lookUp(party: string): Promise<void> {
    const underWay = this.#lookUps.get(party);
    if (underWay !== undefined) return underWay;
    const { monotonic } = this.#options;
    const missedMs = this.#missedMs.get(party);
    if (missedMs !== undefined && monotonic.nowMs() - missedMs < missMs) return Promise.resolve();
    if (this.#lookUps.size >= lookUpsMax)
      return Promise.reject(new StoreError("not_applied", "too many homes are being looked up"));
    const lookUp = this.#ask(party).finally(() => this.#lookUps.delete(party));
    this.#lookUps.set(party, lookUp);
    return lookUp;
  }

  /** The region's own answer is enough: moves report what is newer, and the fence refuses a node that was misled (C6). */
  async #ask(party: string): Promise<void> {
    const { store, monotonic } = this.#options;
    const home = (await store.readHomeNearby(party)) ?? (await store.readHome(party));
    if (home !== null) {
      this.learn(home);
      return;
    }
    this.#missedMs.set(party, monotonic.nowMs());
  }
}

// Rendezvous hashing: every member has a weight for every key, and the heaviest gets it (Thaler and Ravishankar, 1998). Nodes
// agree without communicating; a new member takes only the keys that it wins, and those of a removed member are spread evenly.
//   Z1. The answer depends only on the key and the set of addresses, and not on their order or on incarnations, so a
//       node that restarts has the same actors again.
//   Z2. The hash is not secret: a client that chooses keys chooses nodes. Only the distribution of load depends on it.

/** The part of a member that determines its weight. */
export interface Weighed {
  readonly address: string;
}

/** The member that has `key`; null if there are no members. */
export function placeOn<M extends Weighed>(key: string, members: readonly M[]): M | null {
  let best: M | null = null;
  let bestWeight: Weight = { high: -1, low: 0 };
  for (const member of members) {
    const weight = weightOf(key, member.address);
    if (
      best === null ||
      isHeavier(weight, bestWeight) ||
      (isSame(weight, bestWeight) && member.address < best.address)
    ) {
      best = member;
      bestWeight = weight;
    }
  }
  return best;
}

/** 64 bits in two unsigned halves. */
interface Weight {
  readonly high: number;
  readonly low: number;
}

function isHeavier(a: Weight, b: Weight): boolean {
  return a.high !== b.high ? a.high > b.high : a.low > b.low;
}

function isSame(a: Weight, b: Weight): boolean {
  return a.high === b.high && a.low === b.low;
}

/** Two lanes of multiply-and-rotate over the UTF-16 units, crossed and finished with MurmurHash3's avalanche. */
function weightOf(key: string, address: string): Weight {
  let a = 0x9e3779b9 ^ key.length;
  let b = 0x85ebca6b ^ address.length;
  for (const text of [key, address]) {
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      a = Math.imul(a ^ unit, 0xcc9e2d51);
      a = (a << 15) | (a >>> 17);
      b = Math.imul(b ^ unit, 0x1b873593) + a;
      b = (b << 13) | (b >>> 19);
    }
  }
  return { high: avalanche(a ^ Math.imul(b, 0x27d4eb2f)), low: avalanche(b + Math.imul(a, 0x165667b1)) };
}

function avalanche(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** The region itself while it is alive, or else the first live one in its chain of successors; null if there is none. */
export function effectiveRegion(
  region: string,
  standingOf: (region: string) => RegionStatus | undefined,
): string | null {
  const passed = new Set<string>();
  let heir: string | null = region;
  for (;;) {
    const standing: RegionStatus | undefined = heir === null ? undefined : standingOf(heir);
    if (heir === null || standing?.status !== "dead") return heir;
    if (passed.has(heir)) return null;
    passed.add(heir);
    heir = standing.successor;
  }
}
