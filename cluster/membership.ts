// This node's membership in its region: it joins, holds a lease, leaves, and joins again after it has lost the lease.
//
// Why two nodes cannot both act for one actor: every commit of an actor carries the epoch of its activation, and the
// store refuses a commit with a lower epoch (storage/actor-store.ts S1, S2). Safety relies on that alone. Membership adds
//   - where to look: nodes that agree on the view agree on the place (placement.ts), without further communication;
//   - a lease: a node that cannot show that it is alive stops on its own, before the others take over. So a node that hangs
//     in the network wastes nobody's time, serves nothing stale, and its actors do not take epochs from each other;
//   - hand-over without losing a request: a node that takes something over waits until its previous holder has released it.
//
// What happens:
//   N1. Crash (kill -9): the others remove the node once its heartbeat has not changed for `evictMs` (see poller.ts for the
//       whole time), or at once when it starts again at the same address.
//   N2. Pause or hang: the first check finds the lease lost. `halt` is called before any answer.
//   N3. Cut off from the store: like N2, `leaseMs` after the start of the last heartbeat that got through. Cut off from other
//       nodes only: nothing happens; they fail to reach it, and the callers are asked to retry.
//   N4. Rolling restart: a node leaves (others wait for it, at most `leaveGraceMs`), then joins (it waits for the
//       others). A call that arrives for an actor between two nodes waits (actor-router.ts) and is answered by the second.
//   N5. Another region lost: this region's views, heartbeats and leases are in its own domain of the store and continue. The
//       parties at home there are out of reach until an operator declares that region dead (region-status.ts).
//   N6. The node's own region declared dead: like N2; the node keeps trying to join until the region has re-joined.

import type { TimerPort } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import { backOffMs } from "../std/back-off.ts";
import type { ClusterStore, Member, RegionStatus, RegionView } from "../storage/cluster-store.ts";
import { assertAdmitted, assertKnown, type Greeting, JoinRefused, type ProtocolRange } from "./admission.ts";
import { type ChangeListener, type ClusterLog, ClusterView } from "./cluster-view.ts";
import { type LossReason, MemberLifecycle, MemberLifecycleEnded } from "./member-lifecycle.ts";
import { type ClusterTiming, defaultTiming, type Monotonic, timingFaults } from "./poller.ts";

export interface NodeLife {
  /**
   * Prepares to act as this incarnation: a transport that answers for it, an actor system that claims in its name.
   * Called before each entry, including the first.
   */
  begin(self: Member): Promise<void>;
  /**
   * Asks another member, as the incarnation that was begun, whether both belong to one cluster. Never rejects. Absent if
   * no stranger can be a member.
   */
  greet?(member: Member): Promise<Greeting>;
  /** The incarnation has lost its lease: everything that acts for it stops before this returns. */
  halt(self: Member, reason: LossReason): void;
}

export interface MembershipOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  readonly region: string;
  /** All regions of the cluster, including the node's own. */
  readonly regions: readonly string[];
  /** `host:port` at which other nodes reach this one. */
  readonly address: string;
  readonly protocol: ProtocolRange;
  /** The newest schema that this node knows, and the one that the store has. */
  readonly schema: { readonly known: number; readonly read: () => Promise<number> };
  /** Returns a name that no incarnation of any node ever had. */
  readonly newIncarnation: () => string;
  readonly life: NodeLife;
  readonly timing?: Partial<ClusterTiming>;
  readonly log?: ClusterLog;
}

export interface Membership {
  readonly region: string;
  readonly address: string;
  readonly timing: ClusterTiming;
  /**
   * Resolves as an active member. Rejects with {@link JoinRefused}, or an error of the store or of `begin`; then it may be
   * called again. Once it has resolved, a lost lease is followed by attempts to rejoin, for as long as it takes.
   */
  join(): Promise<Member>;
  /** The incarnation in force, as this node knows it; null while there is none. */
  self(): Member | null;
  /** Whether this node may act now (N2). */
  holdsLease(): boolean;
  /** Milliseconds since the lease was last renewed, and until it ends; null while there is none. */
  leaseTimes(): { readonly ageMs: number; readonly remainingMs: number } | null;
  view(region: string): RegionView;
  standing(region: string): RegionStatus | undefined;
  /** Whether the member's actors go elsewhere although it is still present, because it takes too long to leave. */
  isGivenUp(member: Member): boolean;
  /** Increased whenever this node's knowledge changes. */
  generation(): number;
  onChange(listener: ChangeListener): void;
  /** Registers a listener for views written by this node: a good moment to tell the others to look. */
  onViewWritten(listener: () => void): void;
  /** Polls again; resolves when the results of reads that began after this call are known. Never rejects. */
  refresh(): Promise<void>;
  /** Reports that a member does not answer. It is watched more closely for a while, but removed no earlier than otherwise. */
  suspect(): void;
  /** Leaves permanently; `drain` finishes the accepted work. Views are still followed until `stop`. */
  leave(drain: () => Promise<void>): Promise<void>;
  /** Ends everything at once, halting what acts. */
  stop(): void;
}

/** Makes the membership of a node, not yet joined. Throws a TypeError for times that contradict each other. */
export function createMembership(options: MembershipOptions): Membership {
  const { region, address, life, timers, log = () => {} } = options;
  const timing: ClusterTiming = { ...defaultTiming, ...options.timing };
  const faults = timingFaults(timing);
  if (faults.length > 0) throw new TypeError(faults.join("; "));
  const outlook = new ClusterView({ ...options, timing, log });
  const written = new Set<() => void>();
  let presence: MemberLifecycle | null = null;
  let joins = false;
  let cancelRejoin: (() => void) | null = null;
  const enter = async (): Promise<Member> => {
    const { self, silent } = await begin(options, timing, () => joins);
    const entering = new MemberLifecycle(
      {
        ...options,
        timing,
        outlook,
        log,
        silent,
        ended: (reason) => ended(entering, reason),
        viewWritten: () => {
          for (const listener of written) listener();
        },
      },
      self,
    );
    presence = entering;
    await entering.enter();
    log("info", "cluster.joined", self.incarnation);
    return entering.self;
  };
  const ended = (former: MemberLifecycle, reason: LossReason): void => {
    if (presence === former) presence = null;
    life.halt(former.self, reason);
    log("warn", "cluster.lease_lost", `${former.self.incarnation}: ${reason}`);
    if (former.self.state === "active") rejoin(1);
  };
  const rejoin = (attempt: number): void => {
    if (!joins) return;
    const delayMs = backOffMs(attempt, { firstMs: timing.rejoinMs, maxMs: timing.rejoinMaxMs });
    cancelRejoin = timers.schedule(delayMs, () => {
      enter().catch((error: unknown) => {
        const level = error instanceof JoinRefused ? "error" : "warn";
        log(level, "cluster.join_failed", error instanceof Error ? error.message : String(error));
        rejoin(attempt + 1);
      });
    });
  };
  return {
    region,
    address,
    timing,
    join: async () => {
      outlook.start();
      joins = true;
      try {
        return await enter();
      } catch (error) {
        joins = false;
        throw error;
      }
    },
    self: () => presence?.self ?? null,
    holdsLease: () => presence?.holdsLease() ?? false,
    leaseTimes: () => {
      const remainingMs = presence?.leaseRemainingMs() ?? 0;
      return remainingMs === 0 ? null : { ageMs: timing.leaseMs - remainingMs, remainingMs };
    },
    view: (of) => {
      const view = outlook.view(of);
      const self = presence?.self;
      if (of !== region || self?.state !== "leaving") return view;
      const members = view.members.map((each) => (each.incarnation === self.incarnation ? self : each));
      return { ...view, members };
    },
    standing: (of) => outlook.standing(of),
    isGivenUp: (member) => outlook.leavingForMs(member) > timing.leaveGraceMs,
    generation: () => outlook.generation,
    onChange: (listener) => outlook.onChange(listener),
    onViewWritten: (listener) => void written.add(listener),
    refresh: () => outlook.refresh(),
    suspect: () => outlook.hurry(timing.evictMs + timing.viewMs),
    leave: async (drain) => {
      joins = false;
      cancelRejoin?.();
      if (presence === null) return drain();
      await presence.leave(drain);
      presence = null;
    },
    stop: () => {
      joins = false;
      cancelRejoin?.();
      presence?.end("stopped");
      presence = null;
      outlook.stop();
    },
  };
}

/** Begins an incarnation that may join, and says which members are silent. Throws if it may not. */
async function begin(options: MembershipOptions, timing: ClusterTiming, joins: () => boolean) {
  const { clock, newIncarnation, address, protocol, life, timers } = options;
  const untilEvicted = (): Promise<void> =>
    new Promise((resolve) => void timers.schedule(timing.evictMs, resolve));
  const silent = await assertAdmitted({ ...options, ...timing, untilEvicted });
  const self: Member = {
    incarnation: newIncarnation(),
    address,
    state: "joining",
    protocol_min: protocol.min,
    protocol_max: protocol.max,
    joined_at_ms: clock.now(),
  };
  await life.begin(self);
  try {
    if (life.greet !== undefined) await assertKnown(address, life.greet, { ...options, untilEvicted });
    if (!joins()) throw new MemberLifecycleEnded("stopped");
  } catch (error) {
    life.halt(self, "stopped");
    throw error;
  }
  return { self, silent };
}
