// Places for refused requests, so that what one stranger sends displaces what that stranger sent, and not what concerns others.
//   RP1. There are never more than `placesMax`. When one more comes, the key that is named in the most places, or the network that they
//        come from most, loses the one of its places that was refused longest ago: of places that nobody crowds, the oldest goes.
//   RP2. A list that is too short for all has the newest of each key, and of each network where no key was named, before a second one.

import { BoundedMap } from "../std/bounded-map.ts";
import { addressBlock } from "../std/ip-address.ts";

export interface Times {
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

export class RefusedPlaces<T extends Origin & Times> {
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
export function sharedOut<T extends Origin>(all: readonly T[], max: number): readonly T[] {
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
