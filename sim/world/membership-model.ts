// Who is in a region, for worlds without the real membership: beats, a view that each node reads with its own beat,
// and a lease that a node which could not beat for long has lost.

import type { Kernel } from "../kernel/kernel.ts";

export const beatMs = 500;
/** A node whose last beat began longer ago has lost its lease. */
const leaseMs = 2_000;
/** A member that did not beat for longer is removed by whoever beats. */
const evictionMs = 2_500;

interface Entry {
  readonly incarnation: string;
  beatAtMs: number;
}

export class MembershipModel {
  readonly #kernel: Kernel;
  readonly #regions = new Map<string, Map<string, Entry>>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Beats, removes the silent, and answers who is there: incarnations in order. */
  beat(region: string, incarnation: string): readonly string[] {
    const members = this.#regions.get(region) ?? new Map<string, Entry>();
    this.#regions.set(region, members);
    const nowMs = this.#kernel.now();
    const own = members.get(incarnation);
    if (own === undefined) members.set(incarnation, { incarnation, beatAtMs: nowMs });
    else own.beatAtMs = nowMs;
    for (const member of members.values()) {
      if (nowMs - member.beatAtMs > evictionMs) members.delete(member.incarnation);
    }
    return this.view(region);
  }

  view(region: string): readonly string[] {
    return [...(this.#regions.get(region)?.keys() ?? [])].sort();
  }

  leave(region: string, incarnation: string): void {
    this.#regions.get(region)?.delete(incarnation);
  }

  /** By the monotonic clock, which no skew touches. */
  holdsLease(region: string, incarnation: string): boolean {
    const own = this.#regions.get(region)?.get(incarnation);
    return own !== undefined && this.#kernel.now() - own.beatAtMs <= leaseMs;
  }
}
