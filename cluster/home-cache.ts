// The homes of the parties that this node has looked up. It is a cache: moves report a home that changes, and an
// evicted one is looked up again.
//   B1. A home is never replaced by one of an earlier version.
//   B2. Look-ups are shared, bounded, and for a party without a home not repeated until a moment has passed.

import { BoundedMap } from "../std/bounded-map.ts";
import { type ClusterStore, type PartyHome, StoreError } from "../storage/cluster-store.ts";
import type { Monotonic } from "./poller.ts";

export interface HomeCacheOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  /** Maximum number of homes that are cached; above it, the one learnt first is evicted. */
  readonly homesMax: number;
}

const lookUpsMax = 256;
const missMs = 1_000;
/** Maximum number of misses that are remembered; above it, all are forgotten. */
const missesMax = 10_000;

export class HomeCache {
  readonly #options: HomeCacheOptions;
  readonly #homes: BoundedMap<string, PartyHome>;
  readonly #lookUps = new Map<string, Promise<void>>();
  readonly #missedMs = new BoundedMap<string, number>(missesMax);

  constructor(options: HomeCacheOptions) {
    this.#options = options;
    this.#homes = new BoundedMap(options.homesMax);
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
