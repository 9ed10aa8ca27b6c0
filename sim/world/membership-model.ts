// Who is in a region, for worlds without the real membership: heartbeats, a view that each node reads with its own
// heartbeat, and a lease that a node loses when it cannot send one for long. A joining node acts for no actor until all
// others of its region have followed its view, that is, have released what belongs to the new node from then on.

import type { Kernel } from "../kernel/kernel.ts";

export const beatMs = 500;
/** A node whose last heartbeat began longer ago has lost its lease. */
const leaseMs = 2_000;
/** A member without a heartbeat for longer is removed by any node that sends one. */
const evictionMs = 2_500;

interface Entry {
  readonly incarnation: string;
  readonly joinedAtMs: number;
  beatAtMs: number;
  /** Time at which it last read a view that it has since followed. */
  followedAtMs: number;
  isActive: boolean;
}

export class MembershipModel {
  readonly #kernel: Kernel;
  readonly #regions = new Map<string, Map<string, Entry>>();

  /**
   * Whether nodes do not wait for each other, so that two nodes often act for one actor at once: then only the fence keeps
   * writes in order, and reads may be stale.
   */
  readonly isHasty: boolean;

  constructor(kernel: Kernel, isHasty: boolean) {
    this.#kernel = kernel;
    this.isHasty = isHasty;
  }

  /** Sends a heartbeat, removes silent members, and returns the current members: incarnations in order. */
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

  /** The member has done what the view that it read at that time required of it. */
  followed(region: string, incarnation: string, lookedAtMs: number): void {
    const own = this.#regions.get(region)?.get(incarnation);
    if (own !== undefined) own.followedAtMs = Math.max(own.followedAtMs, lookedAtMs);
  }

  /** Whether it may act for its actors; once true, it stays true. */
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

  /** Judged by the monotonic clock, which skew does not affect. */
  holdsLease(region: string, incarnation: string): boolean {
    const own = this.#regions.get(region)?.get(incarnation);
    return own !== undefined && this.#kernel.now() - own.beatAtMs <= leaseMs;
  }
}

function newEntry(incarnation: string, nowMs: number): Entry {
  return { incarnation, joinedAtMs: nowMs, beatAtMs: nowMs, followedAtMs: -1, isActive: false };
}
