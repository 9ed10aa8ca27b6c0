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

export function createPlacement(options: PlacementOptions): Placement {
  return new NodePlacement(options);
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

class NodePlacement implements Placement {
  readonly #store: ClusterStore;
  readonly #membership: Membership;
  readonly #book: HomeCache;
  /** Active winners of the rendezvous, by region and key; valid for one generation of the cluster view. */
  readonly #winners = new BoundedMap<string, { readonly member: Member; readonly region: string }>(cachedMax);
  #winnersOf = -1;

  constructor({ store, monotonic, membership }: PlacementOptions) {
    this.#store = store;
    this.#membership = membership;
    this.#book = new HomeCache({ store, monotonic });
    membership.onChange(({ moves, missed }) => {
      if (missed) this.#book.forgetAll();
      for (const home of moves) this.#book.learn(home);
    });
  }

  locate(ref: ActorRef): Located {
    const placement = placementOf(ref);
    if ("region" in placement) {
      if (this.isDead(placement.region)) return regionLost;
      return this.#among(placement.region, `${ref.kind}/${ref.id}`);
    }
    const home = this.#book.get(placement.party);
    if (home === undefined) return homeUnknown;
    const region = this.#effectiveRegion(home);
    if (region === null) return regionLost;
    if (region === home.region && this.#isMoving(home)) return moving;
    const located = this.#among(region, placement.party);
    // Q4: the home changes first, then the actors.
    return located.at === "here" && region !== home.region ? moving : located;
  }

  async settle(ref: ActorRef): Promise<void> {
    const placement = placementOf(ref);
    if ("party" in placement) {
      const { party } = placement;
      if (this.#book.get(party) === undefined) return this.#book.lookUp(party);
      if (await this.#takeOver(party)) return;
    }
    await this.#membership.refresh();
  }

  async assignHome(party: string): Promise<PartyHome> {
    const region = this.#membership.region;
    const first: PartyHome = { party, region, moving_to: null, version: 1 };
    for (let attempt = 0; attempt < assignAttemptsMax; attempt += 1) {
      const isMine = await this.#cas(first);
      const home = isMine ? first : await this.#store.readHome(party);
      if (home === null) continue;
      this.#book.learn(home);
      return home;
    }
    throw new StoreError("unknown", `no home could be given to ${party}`);
  }

  homeOf(party: string): PartyHome | null {
    return this.#book.get(party) ?? null;
  }

  regionOf(party: string): string | null {
    const home = this.#book.get(party);
    return home === undefined ? null : this.#effectiveRegion(home);
  }

  isDead(region: string): boolean {
    return this.#membership.standing(region)?.status === "dead";
  }

  #effectiveRegion(home: PartyHome): string | null {
    return effectiveRegion(home.region, (each) => this.#membership.standing(each));
  }

  #isMoving(home: PartyHome): boolean {
    return home.moving_to !== null && home.moving_to !== home.region && !this.isDead(home.moving_to);
  }

  #among(region: string, key: string): Located {
    const winner = this.#winner(region, key);
    if (winner === null) return noNodes;
    if (winner.member.state !== "active") return moving;
    if (winner.member.address !== this.#membership.address) return { at: "node", ...winner };
    const self = this.#membership.self();
    // An earlier life of this node, or this one without its lease, no longer has it (Q1).
    const isHere =
      self?.incarnation === winner.member.incarnation &&
      self.state === "active" &&
      this.#membership.holdsLease();
    return isHere ? here : moving;
  }

  #winner(region: string, key: string): { readonly member: Member; readonly region: string } | null {
    const generation = this.#membership.generation();
    if (generation !== this.#winnersOf) this.#winners.clear();
    this.#winnersOf = generation;
    const name = `${region}/${key}`;
    const known = this.#winners.get(name);
    if (known !== undefined) return known;
    const members = this.#membership.view(region).members;
    const member = placeOn(
      key,
      members.filter((each) => !this.#membership.isGivenUp(each)),
    );
    if (member === null) return null;
    const winner = { member, region };
    if (member.state === "active") this.#winners.set(name, winner);
    return winner;
  }

  /** Takes a party over (Q4). False if there is nothing to take over, or another node is to do it. */
  async #takeOver(party: string): Promise<boolean> {
    const home = this.#book.get(party);
    const region = this.#membership.region;
    if (home === undefined || home.region === region || this.#effectiveRegion(home) !== region) return false;
    if (this.#among(region, party).at !== "here") return false;
    const next = { party, region, moving_to: null, version: home.version + 1 };
    const settled = (await this.#cas(next)) ? next : await this.#store.readHome(party);
    if (settled !== null) this.#book.learn(settled);
    return true;
  }

  /** True only if it was certainly applied; otherwise the home must be read (A5). */
  async #cas(next: PartyHome): Promise<boolean> {
    try {
      return await this.#store.casHome(next);
    } catch (error) {
      if (error instanceof StoreError && error.effect === "unknown") return false;
      throw error;
    }
  }
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
