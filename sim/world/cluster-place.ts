// A place with the real membership: views, heartbeats, leases and homes of cluster/, over the simulated store.

import { mayCross } from "../../actors/messages/crossing.ts";
import { regionRef } from "../../actors/messages/refs.ts";
import type { CurrentActors } from "../../actors/system/current-actors.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { createActorRouter } from "../../cluster/actor-router.ts";
import { createMembership } from "../../cluster/membership.ts";
import { createPlacement, livesHere } from "../../cluster/placement.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { ClusterStore, Member } from "../../storage/cluster-store.ts";
import type { ClusterCall, ClusterOperation } from "../../storage/memory/cluster-store.ts";
import type { RemoteTarget, TransportHandlers } from "../../transport/actor-transport.ts";
import type { Life } from "../kernel/life.ts";
import type { Reach, StatementKind } from "../store/statements.ts";
import type { NodeSlot } from "./sim-node.ts";
import type { WorldParts } from "./world-parts.ts";

const openRegionMs = 10_000;
const rejoinMs = 700;

const kinds: Readonly<Record<ClusterOperation, StatementKind>> = {
  readView: "read",
  casView: "cas",
  beat: "write",
  readBeats: "read",
  readHome: "serial",
  readHomeNearby: "read",
  casHome: "cas",
  noteMove: "write",
  readMoves: "read",
  readStandings: "read",
  casStanding: "cas",
  storeTimeMs: "read",
};

export function openClusterPlace(options: PlaceOptions): Place {
  const { parts, slot, life, actors } = options;
  const store = openStore(options);
  const monotonic = { nowMs: () => parts.kernel.elapsed() };
  const timers = {
    schedule: (delayMs: number, run: () => void) => life.after(delayMs, `${slot.name} membership`, run),
  };
  const membership = createMembership({ store, monotonic, timers, ...identity(options) });
  const placement = createPlacement({ store, monotonic, membership });
  const self = { name: slot.name, life };
  const router = createActorRouter({
    placement,
    membership,
    monotonic,
    timers,
    local: actors,
    mayCross,
    targetOf: (member) => parts.network.repeating(self, parts.network.targetAt(self, member)),
  });
  const openRegion = (): void => {
    const ref = regionRef(slot.region);
    const open = { type: "region.open", region: slot.region } as const;
    if (placement.locate(ref).at === "here") actors().tell(ref, open);
  };
  membership.onViewWritten(() => router.announce());
  membership.onChange(async () => {
    const letGo = actors().handOver();
    openRegion();
    await actors()
      .adopt()
      .catch(() => {});
    await letGo;
  });
  const keepOpen = (): void => {
    openRegion();
    life.after(openRegionMs, `${slot.name} opens its region`, keepOpen);
  };
  const join = (): void => {
    membership.join().then(keepOpen, () => {
      life.after(rejoinMs, `${slot.name} joins again`, join);
    });
  };
  return {
    join,
    handlers: router.handlers,
    route: (ref) => router.route(ref),
    isHere: (ref) => livesHere(placement, ref),
    lease: () => (membership.holdsLease() ? (membership.self()?.incarnation ?? null) : null),
    incarnation: () => membership.self()?.incarnation ?? null,
    // The first code that runs after a pause checks the lease itself, and rejoins when it is lost.
    wakeUp: () => false,
    leave: async (drainMs) => {
      await membership.leave(() => actors().drain(drainMs));
      membership.stop();
    },
    settleHome: async (party) => {
      if (placement.homeOf(party) === null) await placement.assignHome(party);
    },
  };
}

function openStore({ parts, slot, life }: PlaceOptions): ClusterStore {
  const { stores } = parts;
  const store = parts.cluster.handle(slot.region);
  // For these tables a minority's write is decided at once: later statements find it, or never do.
  store.intercept = <T>({ operation }: ClusterCall, apply: () => T): Promise<T> => {
    const execute = (reach: Reach): T | undefined =>
      reach === "partial" && !stores.coin() ? undefined : apply();
    // A write that reaches only a minority is never answered.
    return stores.statements.run(life, kinds[operation], execute) as Promise<T>;
  };
  return store;
}

/** The node's identity among the others, and what happens at the start and end of each of its incarnations. */
function identity({ parts, slot, name, actors }: PlaceOptions) {
  let entries = 0;
  let isStarted = false;
  return {
    clock: { now: () => parts.kernel.now() + slot.skewMs },
    region: slot.region,
    regions: parts.regions,
    address: slot.name,
    protocol: { min: 1, max: 1 },
    schema: { known: 1, read: async () => 1 },
    newIncarnation: () => {
      entries += 1;
      return `${name}-${entries}`;
    },
    life: {
      begin: async (self: Member) => {
        actors().begin(`${slot.region}/${self.incarnation}`);
        // Later ones start automatically.
        if (!isStarted) void actors().start();
        isStarted = true;
      },
      halt: () => {
        parts.mark("lease.lost");
        actors().halt();
      },
    },
    log: (level: LogEntry["level"], event: string, detail: string) =>
      parts.log(name, { level, event, actor: "", detail }),
  };
}

// A node's place among the others: where actors are, under which name it may write, and how it joins and leaves. One kind
// of place is the real membership (cluster/) over a simulated store; the other is a model of it that costs few events,
// for worlds that focus on something else.

export interface Place {
  route(ref: ActorRef): "local" | RemoteTarget;
  /** Whether the actor lives on this node. */
  isHere(ref: ActorRef): boolean | Promise<boolean>;
  /** What other nodes may call. */
  readonly handlers: TransportHandlers;
  /** The incarnation as which this node may currently write; null without a lease. */
  lease(): string | null;
  /** The incarnation that answers at this address, whether or not it holds its lease. */
  incarnation(): string | null;
  join(): void;
  /** A suspended process checks its lease before anything else. Returns whether it was lost. */
  wakeUp(): boolean;
  /** Leaves permanently, after finishing everything accepted. */
  leave(drainMs: number): Promise<void>;
  /** Gives a party that has no home one in this region. */
  settleHome(party: string): Promise<void>;
}

export interface PlaceOptions {
  readonly parts: WorldParts;
  readonly slot: NodeSlot;
  readonly name: string;
  readonly life: Life;
  readonly actors: () => CurrentActors;
}
