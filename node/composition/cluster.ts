// A cluster node: its membership, the placement of actors, and the route to those on other nodes.
//   U1. Each incarnation has its own actor system and its own transport; both stop before its lease is reported lost.
//   U2. A view change counts as followed only after the actors that it places elsewhere are released; those it places here
//       are woken up.
//   U3. The region's actor is opened wherever it is placed, again after every change: its previous owner may be gone.

import { setTimeout as wait } from "node:timers/promises";
import { mayCross } from "../../actors/messages/crossing.ts";
import type { Message } from "../../actors/messages/protocol.ts";
import { regionRef } from "../../actors/messages/refs.ts";
import type { CurrentActors } from "../../actors/system/current-actors.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { type ActorRouter, createActorRouter } from "../../cluster/actor-router.ts";
import type { Greeting } from "../../cluster/admission.ts";
import { MemberLifecycleEnded } from "../../cluster/member-lifecycle.ts";
import { createMembership, type Membership } from "../../cluster/membership.ts";
import { createMoves, type Moves } from "../../cluster/moves.ts";
import { createPlacement, type Placement } from "../../cluster/placement.ts";
import { defaultTiming } from "../../cluster/poller.ts";
import {
  type DeclareOutcome,
  declareDead,
  declareFault,
  type RegionStatusOptions,
  type RejoinOutcome,
  rejoin,
  stillBeating,
} from "../../cluster/region-status.ts";
import type { Clock } from "../../crypto/port.ts";
import type { DeadRegion, RefusedOrder } from "../../ops/cluster.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { StoreError } from "../../storage/cluster-store.ts";
import { remoteFailure } from "../../transport/actor-transport.ts";
import {
  type MutualTls,
  openWsTransport,
  type TransportStats,
  type WsTransport,
} from "../../transport/ws/transport.ts";
import type { ClusterConfig, ClusterSecrets } from "../configuration/cluster-config.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import type { EngineStores } from "./engine-stores.ts";

/** The versions of the node-to-node protocol that this program speaks. */
export const protocol = { min: 1, max: 1 } as const;

const resumeMovesMs = 5_000;
const openRegionMs = 30_000;
/** How long a starting node keeps trying to join, and its pause between two attempts. */
const joinPatienceMs = 60_000;
const joinPauseMs = 500;

export interface NodeCluster {
  readonly region: string;
  /** All regions, including dead ones. */
  readonly regionNames: readonly string[];
  readonly membership: Membership;
  readonly placement: Placement;
  readonly router: ActorRouter;
  readonly moves: Moves;
  /** The regions whose indexes are updated: those that have not been declared dead. */
  regions(): readonly string[];
  /**
   * Declares a region dead. First removes it from the keyspace: the remaining regions then have a majority to declare it. A
   * region whose nodes still send heartbeats is left unchanged unless forced.
   */
  declareDead(order: DeadRegion): Promise<DeclareOutcome | RefusedOrder>;
  /** Adds a removed region back to the keyspace. Returns false for an unknown region. */
  putIn(region: string): Promise<boolean>;
  rejoin(region: string): Promise<RejoinOutcome>;
  /** The store's clock, in Unix milliseconds. */
  storeTimeMs(): Promise<number>;
  transportStats(): TransportStats | null;
  /** Sets who answers what other nodes ask this one for their operators; until then they are refused. */
  answerOperators(answer: (command: Message) => Promise<unknown>): void;
  /** Joins the cluster; from then on the node has actors. Rejects if it may not join or its port is taken. */
  join(): Promise<void>;
  /** Leaves the cluster after finishing accepted work. */
  leave(drainMs: number): Promise<void>;
}

export interface ClusterOptions {
  readonly config: ClusterConfig;
  readonly secrets: ClusterSecrets;
  /** The PEM texts for `config.tls`; null without TLS. */
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
  const parts: RegionStatusOptions = {
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
  let operators = (_command: Message): Promise<unknown> => {
    const detail = "the node is starting";
    throw remoteFailure("draining", { retryAfterSeconds: 1, effect: "not_applied", detail });
  };
  const router = createActorRouter({
    ...parts,
    operators: (command) => operators(command),
    placement,
    membership,
    local: () => actors,
    mayCross,
    targetOf: ({ address, incarnation }) => ({
      ask: async (to, command, timeoutMs, traceparent) =>
        transports.target(address, incarnation).ask(to, command, timeoutMs, traceparent),
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
    storeTimeMs: () => options.stores.clusterStore.storeTimeMs(),
    transportStats: () => transports.current()?.stats() ?? null,
    answerOperators: (answer) => {
      operators = answer;
    },
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

/** The node's membership, which opens and ends an actor system and a transport with each incarnation (U1). */
function membershipOf(
  options: ClusterOptions,
  parts: RegionStatusOptions,
  transports: Transports,
): Membership {
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
  parts: RegionStatusOptions,
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
  parts: RegionStatusOptions,
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

/** Follows view changes (U2, U3), and resumes moves that another node left unfinished. */
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
    // The waker's next scan finds what cannot be found now.
    await actors.adopt().catch(() => {});
    await letGo;
  });
  const timers = [
    setInterval(openRegion, openRegionMs).unref(),
    // A move that cannot continue now is retried on the next tick.
    setInterval(() => void moves.resume().catch(() => {}), resumeMovesMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/**
 * Joins for the first time. Transient failures are retried; a slow machine may lose a lease before it is active. Rejects
 * with failures that no retry can fix.
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
      const isTransient = error instanceof MemberLifecycleEnded || error instanceof StoreError;
      if (!isTransient || performance.now() > lateMs) throw error;
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
  /** Stops answering for the incarnation; the port is free by the time the next `open` proceeds. */
  end(): void;
  current(): WsTransport | null;
  target(address: string, incarnation: string): ReturnType<WsTransport["target"]>;
  greet(address: string, incarnation: string): Promise<Greeting>;
  close(): Promise<void>;
}

/** Opens one transport after another on the same port. */
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
          ask: (to, command, timeoutMs, traceparent) =>
            router().handlers.ask(to, command, timeoutMs, traceparent),
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
