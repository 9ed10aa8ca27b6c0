// A place with the model of membership: one incarnation per process.

import { placementOf, regionRef } from "../../actors/messages/refs.ts";
import { placeOn } from "../../cluster/placement.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { type RemoteTarget, remoteFailure } from "../../transport/actor-transport.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";
import type { Place, PlaceOptions } from "./cluster-place.ts";

interface Seen {
  readonly address: string;
  readonly incarnation: string;
}

export function openModelPlace({ parts, slot, name, life, actors }: PlaceOptions): Place {
  const { membership, network } = parts;
  const views = createViews(parts.membership, parts.regions);
  let isStopped = false;
  /** Whether it has taken over what the view that it knows assigns to it. */
  let wasActive = false;
  const holdsLease = (): boolean => !life.isOver && !isStopped && membership.holdsLease(slot.region, name);
  const route = (ref: ActorRef): "local" | RemoteTarget => {
    const place = placementOf(ref);
    const region = "region" in place ? place.region : (parts.homes.get(place.party) ?? slot.region);
    const key = "region" in place ? `${ref.kind}/${ref.id}` : place.party;
    const member = placeOn(key, views.of(region));
    if (member?.incarnation === name) return membership.isActive(slot.region, name) ? "local" : nowhere(life);
    const peer = member === null ? undefined : parts.nodes.get(member.incarnation);
    const self = { name: slot.name, life };
    return peer === undefined ? nowhere(life) : network.repeating(self, network.target(self, peer));
  };
  // A node without the actor refuses the call, as the real router does.
  const mayHave = (ref: ActorRef): boolean => membership.isHasty || route(ref) === "local";
  const beat = (): void => {
    if (isStopped) return;
    membership.beat(slot.region, name);
    const lookedAtMs = parts.kernel.now();
    if (views.look()) {
      const followed = (): void => membership.followed(slot.region, name, lookedAtMs);
      void actors().handOver().then(followed);
      wasActive = false;
    } else membership.followed(slot.region, name, lookedAtMs);
    if (!wasActive && membership.isActive(slot.region, name)) {
      wasActive = true;
      void actors().adopt();
      const open = { type: "region.open", region: slot.region } as const;
      actors()
        .ask(regionRef(slot.region), open)
        .catch(() => {});
    }
    life.after(beatMs, `${slot.name} beats`, beat);
  };
  const stop = (): void => {
    isStopped = true;
    membership.leave(slot.region, name);
  };
  return {
    route,
    isHere: (ref) => holdsLease() && route(ref) === "local",
    lease: () => (holdsLease() ? name : null),
    incarnation: () => (isStopped ? null : name),
    handlers: {
      ask: (to, command, timeoutMs) =>
        mayHave(to) ? actors().askHere(to, command, timeoutMs) : refuse(life),
      deliver: (to, from, messages) => (mayHave(to) ? actors().deliver(to, from, messages) : refuse(life)),
    },
    join: () => {
      actors().begin(`${slot.region}/${name}`);
      beat();
      void actors().start();
    },
    wakeUp: () => {
      if (holdsLease()) return false;
      stop();
      actors().halt();
      return true;
    },
    leave: async (drainMs) => {
      stop();
      await actors().drain(drainMs);
    },
    settleHome: async () => {},
  };
}

/** What one node has seen of the membership. */
function createViews(membership: MembershipModel, regions: readonly string[]) {
  const views = new Map<string, readonly Seen[]>();
  return {
    of: (region: string): readonly Seen[] => views.get(region) ?? [],
    /** Reads the view again; returns true when something changed. */
    look: (): boolean => {
      let changed = false;
      for (const region of regions) {
        const known = views.get(region) ?? [];
        // An incarnation that follows another at the same address has the same actors.
        const members = membership.view(region).map((incarnation) => ({
          incarnation,
          address: incarnation.slice(0, incarnation.lastIndexOf("-")),
        }));
        changed ||=
          members.length !== known.length ||
          members.some((each, index) => each.incarnation !== known[index]?.incarnation);
        views.set(region, members);
      }
      return changed;
    },
  };
}

function nowhere(life: Life): RemoteTarget {
  const fail = (): Promise<never> => refuse(life);
  return { ask: fail, deliver: fail };
}

function refuse(life: Life): Promise<never> {
  return life.isOver
    ? life.never()
    : Promise.reject(remoteFailure("unreachable", { retryAfterSeconds: 1, effect: "not_applied" }));
}

// Who is in a region, for worlds without the real membership: heartbeats, a view that each node reads with its own
// heartbeat, and a lease that a node loses when it cannot send one for long. A joining node acts for no actor until all
// others of its region have followed its view, that is, have released what belongs to the new node from then on.

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
