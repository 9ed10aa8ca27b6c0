// A node among others: its membership, where actors are, and the way to those that are elsewhere.
//   U1. An incarnation has its own actor system and its own transport; both stop before its lease is said to be lost.
//   U2. What the view places elsewhere is let go before a change counts as followed; what it places here is woken up.
//   U3. The region's actor is opened wherever it is, again with every change: whoever had it may be gone.

import { setTimeout as wait } from "node:timers/promises";
import { mayCross } from "../actors/messages/crossing.ts";
import { regionRef } from "../actors/messages/refs.ts";
import type { CurrentActors } from "../actors/system/current-actors.ts";
import type { LogEntry } from "../actors/system/ports.ts";
import { type ActorRouter, createActorRouter } from "../cluster/actor-router.ts";
import type { Greeting } from "../cluster/admission.ts";
import { createMembership, type Membership } from "../cluster/membership.ts";
import { createMoves, type Moves } from "../cluster/moves.ts";
import { createPlacement, type Placement } from "../cluster/placement.ts";
import { PresenceEnded } from "../cluster/presence.ts";
import {
  type DeclareOutcome,
  declareDead,
  declareFault,
  type RejoinOutcome,
  rejoin,
  type StandingsOptions,
} from "../cluster/standings.ts";
import { stillBeating } from "../cluster/still-beating.ts";
import { defaultTiming } from "../cluster/timing.ts";
import type { Clock } from "../crypto/port.ts";
import type { DeadRegion, RefusedOrder } from "../ops/cluster.ts";
import { utf8 } from "../protocol/bytes.ts";
import { StoreError } from "../storage/cluster-store.ts";
import { remoteFailure } from "../transport/actor-transport.ts";
import {
  type MutualTls,
  openWsTransport,
  type TransportStats,
  type WsTransport,
} from "../transport/ws/transport.ts";
import type { ClusterConfig, ClusterSecrets } from "./cluster-config.ts";
import { ConfigError } from "./config-error.ts";
import { nodeTimers } from "./node-timers.ts";
import type { EngineStores } from "./stores.ts";

/** Versions of the protocol between nodes that this program speaks. */
export const protocol = { min: 1, max: 1 } as const;

const resumeMovesMs = 5_000;
const openRegionMs = 30_000;
/** How long a starting node tries to join, and waits between two attempts. */
const joinPatienceMs = 60_000;
const joinPauseMs = 500;

export interface NodeCluster {
  readonly region: string;
  /** All of them, dead ones too. */
  readonly regionNames: readonly string[];
  readonly membership: Membership;
  readonly placement: Placement;
  readonly router: ActorRouter;
  readonly moves: Moves;
  /** Regions whose indexes are told: those that were not declared dead. */
  regions(): readonly string[];
  /**
   * Takes the region out of the keyspace first: without it there is a majority to say so. One whose nodes are seen to beat
   * stays as it is, unless it is forced.
   */
  declareDead(order: DeadRegion): Promise<DeclareOutcome | RefusedOrder>;
  /** Puts a region that was taken out into the keyspace again. False for one that is unknown. */
  putIn(region: string): Promise<boolean>;
  rejoin(region: string): Promise<RejoinOutcome>;
  transportStats(): TransportStats | null;
  /** Joins; from then on the node has actors. Rejects when it may not, or its port is taken. */
  join(): Promise<void>;
  /** Leaves: what was accepted is finished first. */
  leave(drainMs: number): Promise<void>;
}

export interface ClusterOptions {
  readonly config: ClusterConfig;
  readonly secrets: ClusterSecrets;
  /** PEM texts of `config.tls`; null for none. */
  readonly tls: MutualTls | null;
  readonly region: string;
  readonly clock: Clock;
  readonly stores: Pick<EngineStores, "actorStore" | "clusterStore" | "schema" | "takeOut" | "putIn">;
  readonly newIncarnation: () => string;
  readonly actors: CurrentActors;
  readonly log: (entry: LogEntry) => void;
}

export function createCluster(options: ClusterOptions): NodeCluster {
  const { config, region, actors } = options;
  const parts: StandingsOptions = {
    store: options.stores.clusterStore,
    monotonic,
    timers: nodeTimers,
    region,
    regions: config.regions,
    announce: async () => {
      await Promise.all([membership.refresh(), router.announce()]);
    },
  };
  const transports = createTransports(options, {
    router: () => router,
    addressOf: (incarnation) => addressOf(membership, config.regions, incarnation),
  });
  const membership = membershipOf(options, parts, transports);
  const placement = createPlacement({ ...parts, membership });
  const router = createActorRouter({
    ...parts,
    placement,
    membership,
    local: () => actors,
    mayCross,
    targetOf: ({ address, incarnation }) => ({
      ask: async (to, command, timeoutMs) =>
        transports.target(address, incarnation).ask(to, command, timeoutMs),
      deliver: async (to, from, messages) =>
        transports.target(address, incarnation).deliver(to, from, messages),
    }),
  });
  const moves = movesOf(options, parts, placement);
  const stopKeeping = keepUp({ region, membership, placement, moves, router, actors });
  return {
    region,
    regionNames: config.regions,
    membership,
    placement,
    router,
    moves,
    regions: () => config.regions.filter((each) => !placement.isDead(each)),
    ...standingsOf(options, parts),
    transportStats: () => transports.current()?.stats() ?? null,
    join: () => joinPatiently(membership, config, noteTo(options.log)),
    leave: async (drainMs) => {
      stopKeeping();
      await membership.leave(() => actors.drain(drainMs));
      membership.stop();
      await transports.close();
    },
  };
}

function addressOf(membership: Membership, regions: readonly string[], incarnation: string): string | null {
  for (const region of regions) {
    const member = membership.view(region).members.find((each) => each.incarnation === incarnation);
    if (member !== undefined) return member.address;
  }
  return null;
}

const monotonic = { nowMs: () => performance.now() };

function noteTo(
  log: ClusterOptions["log"],
): (level: LogEntry["level"], event: string, detail: string) => void {
  return (level, event, detail) => log({ level, event, actor: "", detail });
}

/** U1. */
function membershipOf(options: ClusterOptions, parts: StandingsOptions, transports: Transports): Membership {
  const { config, region, clock, stores, actors } = options;
  return createMembership({
    ...parts,
    clock,
    address: config.address,
    protocol,
    schema: stores.schema,
    newIncarnation: options.newIncarnation,
    life: {
      begin: async (self) => {
        await transports.open(self.incarnation);
        actors.begin(`${region}/${self.incarnation}`);
      },
      greet: ({ address, incarnation }) => transports.greet(address, incarnation),
      halt: () => {
        actors.halt();
        transports.end();
      },
    },
    log: noteTo(options.log),
  });
}

function movesOf(
  { region, stores, log }: ClusterOptions,
  parts: StandingsOptions,
  placement: Placement,
): Moves {
  return createMoves({
    ...parts,
    mover: stores.actorStore,
    isDead: (each) => placement.isDead(each),
    isMine: () => placement.locate(regionRef(region)).at === "here",
    log: noteTo(log),
  });
}

function stillBeats(nodes: readonly string[]): RefusedOrder {
  const which =
    nodes.length === 1
      ? `the node ${nodes[0]} still writes heartbeats`
      : `${nodes.join(", ")} still write heartbeats`;
  const detail = `${which}. Stop the region's nodes first, or use "force": true.`;
  return { outcome: "still_beats", detail };
}

function standingsOf(
  { config, stores }: ClusterOptions,
  parts: StandingsOptions,
): Pick<NodeCluster, "declareDead" | "putIn" | "rejoin"> {
  return {
    declareDead: async ({ region: dead, successor, force }) => {
      const fault = await declareFault(parts, dead, successor);
      if (fault !== null) return fault;
      const beating = force ? [] : await stillBeating(parts, dead, defaultTiming.leaseMs);
      if (beating.length > 0) return stillBeats(beating);
      await stores.takeOut(dead);
      return declareDead(parts, dead, successor);
    },
    putIn: async (back) => {
      const isKnown = config.regions.includes(back);
      if (isKnown) await stores.putIn(back);
      return isKnown;
    },
    rejoin: (back) => rejoin(parts, back),
  };
}

/** U2, U3, and moves that another node left half done. */
function keepUp(
  parts: Pick<NodeCluster, "region" | "membership" | "placement" | "moves" | "router"> & {
    readonly actors: CurrentActors;
  },
): () => void {
  const { region, membership, placement, moves, router, actors } = parts;
  const openRegion = (): void => {
    const ref = regionRef(region);
    if (placement.locate(ref).at === "here") {
      actors.tell(ref, { type: "region.open", region });
    }
  };
  membership.onViewWritten(() => router.announce());
  membership.onChange(async () => {
    const letGo = actors.handOver();
    openRegion();
    // What cannot be found now is found by the waker's next look.
    await actors.adopt().catch(() => {});
    await letGo;
  });
  const timers = [
    setInterval(openRegion, openRegionMs).unref(),
    // A move that cannot go on now is looked at again the next time.
    setInterval(() => void moves.resume().catch(() => {}), resumeMovesMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/**
 * The first join of a node. What may be otherwise in a moment is tried again; a slow machine may lose a lease before it
 * is active. Rejects with what no patience helps against.
 */
async function joinPatiently(
  membership: Membership,
  { listen }: ClusterConfig,
  note: ReturnType<typeof noteTo>,
): Promise<void> {
  const lateMs = performance.now() + joinPatienceMs;
  for (;;) {
    try {
      await membership.join();
      return;
    } catch (error) {
      if (isAddressTaken(error)) {
        const what = `${listen.host}:${listen.port} cannot be listened on (${String(error)}); name another address`;
        throw new ConfigError("SVC_NODE_LISTEN", what);
      }
      const mayPass = error instanceof PresenceEnded || error instanceof StoreError;
      if (!mayPass || performance.now() > lateMs) throw error;
      note("warn", "cluster.join_failed", error.message);
      await wait(joinPauseMs);
    }
  }
}

function isAddressTaken(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "EADDRINUSE" || code === "EADDRNOTAVAIL" || code === "EACCES";
}

interface Transports {
  open(incarnation: string): Promise<void>;
  /** Stops answering for the incarnation; the port is free once the next `open` goes on. */
  end(): void;
  current(): WsTransport | null;
  target(address: string, incarnation: string): ReturnType<WsTransport["target"]>;
  greet(address: string, incarnation: string): Promise<Greeting>;
  close(): Promise<void>;
}

/** One transport after the other, at the same port. */
function createTransports(
  options: ClusterOptions,
  {
    router,
    addressOf,
  }: {
    readonly router: () => ActorRouter;
    readonly addressOf: (incarnation: string) => string | null;
  },
): Transports {
  const { config, secrets, region, log, tls } = options;
  let current: WsTransport | null = null;
  let closing: Promise<void> = Promise.resolve();
  const end = (): void => {
    const ended = current;
    current = null;
    if (ended !== null) closing = closing.then(() => ended.close());
  };
  return {
    open: async (incarnation) => {
      end();
      await closing;
      current = await openWsTransport({
        ...config.listen,
        cluster: config.name,
        secret: secrets.cluster === null ? null : utf8(secrets.cluster),
        alsoAccepted: secrets.alsoCluster === null ? null : utf8(secrets.alsoCluster),
        self: { incarnation, region, address: config.address },
        protocol,
        tls,
        addressOf,
        handlers: {
          ask: (to, command, timeoutMs) => router().handlers.ask(to, command, timeoutMs),
          deliver: (to, from, messages) => router().handlers.deliver(to, from, messages),
        },
        log: (entry) => log({ actor: "", ...entry }),
      });
    },
    end,
    current: () => current,
    target: (address, incarnation) => {
      if (current !== null) return current.target(address, incarnation);
      const detail = "the node is between two lives";
      throw remoteFailure("draining", { retryAfterSeconds: 1, effect: "not_applied", detail });
    },
    greet: async (address, incarnation) => current?.greet(address, incarnation) ?? "unknown",
    close: async () => {
      end();
      await closing;
    },
  };
}
