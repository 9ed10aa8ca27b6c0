// Who is in a region, for worlds without the real membership: beats, a view that each node reads with its own beat,
// and a lease that a node which could not beat for long has lost. Who joins acts for no actor until all others of its
// region have followed, which is to have let go of what is its own from then on.

import type { Kernel } from "../kernel/kernel.ts";

export const beatMs = 500;
/** A node whose last beat began longer ago has lost its lease. */
const leaseMs = 2_000;
/** A member that did not beat for longer is removed by whoever beats. */
const evictionMs = 2_500;

interface Entry {
  readonly incarnation: string;
  readonly joinedAtMs: number;
  beatAtMs: number;
  /** When it last looked at a view that it has followed since. */
  followedAtMs: number;
  isActive: boolean;
}

export class MembershipModel {
  readonly #kernel: Kernel;
  readonly #regions = new Map<string, Map<string, Entry>>();

  /**
   * Whether nobody waits for the others, so that two nodes often act for one actor at once: then the fence alone keeps what
   * is written in order, and what is read may be of before.
   */
  readonly isHasty: boolean;

  constructor(kernel: Kernel, isHasty: boolean) {
    this.#kernel = kernel;
    this.isHasty = isHasty;
  }

  /** Beats, removes the silent, and answers who is there: incarnations in order. */
  beat(region: string, incarnation: string): readonly string[] {
    const members = this.#regions.get(region) ?? new Map<string, Entry>();
    this.#regions.set(region, members);
    const nowMs = this.#kernel.now();
    const own = members.get(incarnation);
    if (own === undefined) members.set(incarnation, newEntry(incarnation, nowMs));
    else own.beatAtMs = nowMs;
    for (const member of members.values()) {
      if (nowMs - member.beatAtMs > evictionMs) members.delete(member.incarnation);
    }
    return this.view(region);
  }

  /** The member has done what the view that it looked at then asked of it. */
  followed(region: string, incarnation: string, lookedAtMs: number): void {
    const own = this.#regions.get(region)?.get(incarnation);
    if (own !== undefined) own.followedAtMs = Math.max(own.followedAtMs, lookedAtMs);
  }

  /** Whether it may act for its actors: once it was, for good. */
  isActive(region: string, incarnation: string): boolean {
    const members = this.#regions.get(region);
    const own = members?.get(incarnation);
    if (own === undefined) return false;
    own.isActive ||= this.isHasty;
    own.isActive ||= [...(members?.values() ?? [])].every(
      (each) => each === own || each.followedAtMs >= own.joinedAtMs || each.joinedAtMs > own.joinedAtMs,
    );
    return own.isActive;
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

function newEntry(incarnation: string, nowMs: number): Entry {
  return { incarnation, joinedAtMs: nowMs, beatAtMs: nowMs, followedAtMs: -1, isActive: false };
}
