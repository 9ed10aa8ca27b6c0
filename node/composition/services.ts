// Composition of a node without its HTTP surfaces: stores, keys, actors and services, standalone or in a cluster.

import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { PushPorts } from "../../actors/push/ports.ts";
import { type CurrentActors, createCurrentActors } from "../../actors/system/current-actors.ts";
import type { LocalActorSystem, LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { livesHere } from "../../cluster/placement.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock, Signer } from "../../crypto/port.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { type RecordKind, recordIdOf } from "../../protocol/identifiers.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import type { Allowance } from "../../service/money/allowance.ts";
import {
  type AbandonedDeps,
  abandonedAfterMs,
  dropAbandoned,
  sweepAbandoned,
} from "../../service/publishing/abandoned-pushes.ts";
import type { UploadTokens } from "../../service/publishing/bulk-upload.ts";
import type { ParsedLeaves, PushLeaves } from "../../service/publishing/push-leaves.ts";
import { createParties, type Parties } from "../../service/register/parties.ts";
import { createRegister, type Register } from "../../service/register/register.ts";
import type { ServiceKeys } from "../../service/register/service-keys.ts";
import type { Insight } from "../../service/retrieval/insight.ts";
import type { OwnerTurns, Pace, RightOfWay } from "../../std/work.ts";
import type { RowIndex } from "../../storage/row-index.ts";
import type { SqliteOptions } from "../../storage/sqlite/database.ts";
import type { DomainProbe } from "../../transport/domain-probe.ts";
import type { Trust } from "../../verifier/trust.ts";
import type { ClusterConfig, ClusterSecrets } from "../configuration/cluster-config.ts";
import type { NodeBackground, NodeConfig } from "../configuration/config.ts";
import {
  type Judging,
  judgingBy,
  openOperatorFiles,
  watchOperatorFiles,
} from "../configuration/operator-files.ts";
import { type CountedProbe, countProbes, createDomainProbe } from "../domains/domain-probe.ts";
import { forgetImages } from "../images/ad-images.ts";
import {
  allowanceOf,
  followRegister,
  insightOf,
  keepAllowance,
  keepInsight,
} from "../keeping/allowance-keeping.ts";
import { clockFault, FenceWitness, keepNewestMoment, type NewestMoment } from "../keeping/fence-refusals.ts";
import type { LatePurgeList, StalledPushes } from "../keeping/late-purges.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import { type CurrentKeys, watchKeys } from "../keys/current-keys.ts";
import type { Notices } from "../notices/notices.ts";
import { createTimings, type Timings } from "../telemetry/timings.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { type LogWitnesses, openLogWitnesses } from "../witness/log-witnesses.ts";
import { createCluster, type NodeCluster } from "./cluster.ts";
import { keepLogHome } from "./log-parts.ts";
import { createNodeActors } from "./node-actors.ts";
import { createHostedKeys, loadNodeKeys } from "./node-keys.ts";
import { pushPartsOf } from "./publishing-surface.ts";
import { type NodeStores, openEmbeddedStores, openEngineStores, readTls } from "./stores.ts";

export interface NodeServices extends Judging, Omit<NodeStores, "close" | "fenceLedger">, AsyncDisposable {
  readonly config: NodeConfig;
  readonly clock: Clock;
  readonly timers: TimerPort;
  /** Whole milliseconds since an arbitrary instant; monotonic, whatever the clock does. */
  readonly elapsedMs: () => number;
  /** Identifies this run of the process; no other run has the same value. */
  readonly incarnation: string;
  /** The incarnation under which this node may write now; null while it has no lease. */
  readonly lease: () => string | null;
  readonly keys: ServiceKeys;
  readonly anchors: Anchors;
  /** Trust in the service's own keys, based on the public anchors; it changes with the key set. */
  readonly trust: () => Trust;
  /** The key set and signers in force. */
  readonly currentKeys: CurrentKeys;
  readonly actors: LocalActorSystem;
  /** The cluster side of the node; null if it is standalone. */
  readonly cluster: NodeCluster | null;
  /** The traces that this node records; null if it records none. */
  readonly tracing: Tracing | null;
  /** How long commits and receipts take. */
  readonly timings: Timings;
  /** The commits that the fence refused, for this node and for all. */
  readonly fence: FenceWitness;
  readonly register: Register;
  readonly leaves: PushLeaves;
  readonly uploadTokens: UploadTokens;
  readonly parsed: ParsedLeaves;
  /** What businesses learn from answers. */
  readonly insight: Insight;
  /** The prepaid money that this node spends; null where nothing is charged. */
  readonly allowance: Allowance | null;
  /** Yields to the event loop once. */
  readonly pause: () => Promise<void>;
  /** The company whose search is next. */
  readonly searchTurns: OwnerTurns;
  /** At which the node works for everybody, as for the key directory. */
  readonly pace: Pace;
  /** At which it works for a business: where a request waits for it, and where nobody does. */
  readonly paces: PushPorts["paces"];
  /** Searches and fetches go before the processing of pushes. */
  readonly rightOfWay: RightOfWay;
  /** How long a hold waits for a decision. */
  readonly holdMs: number;
  readonly background: NodeBackground;
  readonly stalled: StalledPushes;
  readonly latePurges: LatePurgeList;
  readonly notices: Notices;
  readonly logWitnesses: LogWitnesses;
  /** By which a node without a cluster sees that its clock was set back; null in a cluster, which compares with the store. */
  readonly newestMoment: NewestMoment | null;
  /** Looks at the domains of endpoints; null if this node does not. */
  readonly domainProbe: CountedProbe | null;
  readonly parties: Parties;
  /** Has the process hand its actors over and end, as a signal to end does. */
  readonly drain: () => void;
  readonly keyStore: FileKeyStore;
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
  /** Secret bytes for the codes of cursors, the same on all nodes. */
  readonly cursorKey: Uint8Array;
  /** Secret bytes for the tokens of ads, and for the marks of conversations that are shown some; the same on all nodes. */
  readonly adTokenKey: Uint8Array;
  readonly adSessionKey: Uint8Array;
  /** Secret bytes for the links to images, the same on all nodes. */
  readonly imageLinkKey: Uint8Array;
  readonly recordIdOf: (businessUuid: string, kind: RecordKind, localId: string) => string;
}

const drainMs = 10_000;

/** Replacements for the platform's facilities that a test may provide. */
export interface NodePlatform {
  readonly clock?: Clock;
  readonly elapsedMs?: NodeServices["elapsedMs"];
  /** Milliseconds of any origin, by which long work makes room for other work. */
  readonly workMs?: () => number;
  /** The timers of everything except the actors. */
  readonly timers?: TimerPort;
  /** Wraps the node's index. */
  readonly index?: (index: RowIndex) => RowIndex;
  /** See {@link SqliteOptions.onCommit}; called for both store files. */
  readonly onCommit?: SqliteOptions["onCommit"];
  /** Used if domains are checked. */
  readonly domainProbe?: DomainProbe;
  /** Required if the configuration has a cluster. */
  readonly secrets?: ClusterSecrets | null;
  /** See {@link NodeServices.drain}. */
  readonly drain?: () => void;
}

export async function openNodeServices(
  config: NodeConfig,
  log: (entry: LogEntry) => void = () => {},
  platform: NodePlatform = {},
): Promise<NodeServices> {
  await mkdir(config.home, { recursive: true, mode: 0o700 });
  const clock = platform.clock ?? { now: Date.now };
  const operatorFiles = await openOperatorFiles(config, log);
  const keyStore = await FileKeyStore.open(config.keys);
  const { recordIdKey, ...own } = await loadNodeKeys(config, keyStore, clock);
  // The cluster starts them once it has joined: by then all their dependencies exist.
  const actors = createCurrentActors((owner) => createNodeActors(common, { owner, log }));
  const { stores, cluster } = await openStores(config, { clock, log, platform, actors });
  const register = createRegister({ store: stores.registerStore, clock });
  const logWitnesses = await openLogWitnesses(config, { ...own, clock, log });
  const newestMoment = cluster === null ? await newestMomentOf(config, { clock, log }) : null;
  const fence = witnessOf(stores, { config, clock, log });
  const [incarnation, timings] = [newIncarnation(), createTimings()];
  const common = {
    ...stores,
    index: platform.index?.(stores.index) ?? stores.index,
    ...{ config, clock, incarnation, timings, tracing: await tracingOf(config, incarnation, log) },
    timers: platform.timers ?? nodeTimers,
    elapsedMs: platform.elapsedMs ?? (() => Math.floor(performance.now())),
    lease: cluster === null ? () => incarnation : () => leaseOf(cluster),
    ...own,
    ...{ cluster, fence, register, logWitnesses, newestMoment, drain: platform.drain ?? stopProcess },
    domainProbe: domainProbeOf(config, platform),
    ...pushPartsOf(config, { stores, recordIdKey, actors, clock, workMs: platform.workMs, log }),
    insight: insightOf(stores, config.retention, { clock, incarnation }),
    ...judgingBy(operatorFiles, register),
    ...{ keyStore, ...derivedFrom(recordIdKey) },
    hostedSigner: hostedSignerOf(config, { store: keyStore, register, recordIdKey }),
  };
  const abandoned: AbandonedDeps = {
    actors,
    records: stores.records,
    isHere: (push) => cluster === null || livesHere(cluster.placement, push),
  };
  const close = async (stopped: readonly Promise<void>[] = []): Promise<void> => {
    logWitnesses.stop();
    await (cluster === null ? actors.drain(drainMs) : cluster.leave(drainMs));
    await Promise.all(stopped);
    for (const each of [common.notices, timings.longestStep]) each.close();
    await logWitnesses[Symbol.asyncDispose]();
    await Promise.all([fence.stop(), newestMoment?.stop()]);
    await stores.close();
    await common.tracing?.[Symbol.asyncDispose]();
  };
  try {
    // Records are judged by the company names in the register as soon as the node has actors.
    await register.refresh();
    await beginActing(common, actors, abandoned);
  } catch (error) {
    await close();
    throw error;
  }
  const allowance = allowanceOf({ ...common, actors });
  const stopBackground = beginBackground({ ...common, actors, abandoned, allowance, log });
  return {
    ...common,
    ...{ actors, allowance },
    parties: createParties({
      ...{ actors, clock, crypto: nativeCrypto, keys: own.keys, recordIdKey, trust: own.trust },
      settleHome: (party) => settleHome(cluster, party),
      claimKey: (keyId, party) => stores.registerStore.claimKey(keyId, party),
    }),
    [Symbol.asyncDispose]: () => close(stopBackground()),
  };
}

function hostedSignerOf(
  { environment }: NodeConfig,
  parts: Omit<Parameters<typeof createHostedKeys>[0], "environment">,
): NodeServices["hostedSigner"] {
  return createHostedKeys({ ...parts, environment });
}

/** A clock that was set back is said at once, since nothing else of the start need fail. */
async function newestMomentOf(
  { home }: NodeConfig,
  { clock, log }: { readonly clock: Clock; readonly log: (entry: LogEntry) => void },
): Promise<NewestMoment> {
  const fault = await clockFault(home, clock);
  if (fault !== null) log({ level: "error", event: "clock.behind", actor: "", detail: fault });
  const onFailed = (error: unknown): void =>
    log({ level: "warn", event: "clock.not_kept", actor: "", detail: String(error) });
  return keepNewestMoment(home, { clock, timers: nodeTimers, onFailed });
}

function stopProcess(): void {
  process.kill(process.pid, "SIGTERM");
}

function witnessOf(
  { fenceLedger: ledger }: NodeStores,
  parts: { readonly config: NodeConfig; readonly clock: Clock; readonly log: (entry: LogEntry) => void },
): FenceWitness {
  const { config, clock, log } = parts;
  return new FenceWitness({ ledger, region: config.region, clock, timers: nodeTimers, monotonic, log });
}

/** What records traces is loaded only where they are sent somewhere. */
async function tracingOf(
  config: NodeConfig,
  incarnation: string,
  log: (entry: LogEntry) => void,
): Promise<Tracing | null> {
  const { endpoint } = config.tracing;
  if (endpoint === null) return null;
  const { openTracing } = await import("../telemetry/tracing.ts");
  return openTracing(endpoint, { config, incarnation, log });
}

function domainProbeOf({ domains }: NodeConfig, platform: NodePlatform): CountedProbe | null {
  return domains.areChecked ? countProbes(platform.domainProbe ?? createDomainProbe(domains)) : null;
}

const monotonic = { nowMs: () => performance.now() };

/**
 * Starts the node's background tasks. The returned function stops all of them and returns promises for the end of their
 * last runs.
 */
function beginBackground(
  parts: Pick<
    NodeServices,
    | "register"
    | "currentKeys"
    | "clock"
    | "timers"
    | "insight"
    | "operatorFiles"
    | "cluster"
    | "config"
    | "actors"
    | "logWitnesses"
    | "allowance"
    | "imageStore"
    | "records"
  > & {
    readonly abandoned: AbandonedDeps;
    readonly log: (entry: LogEntry) => void;
  },
): () => readonly Promise<void>[] {
  const { register, log } = parts;
  const stopFollowing = followRegister({ register, timers: nodeTimers, monotonic, log });
  const stopWatching = watchKeys(parts.currentKeys, nodeTimers, log);
  const stopLooking = watchOperatorFiles(parts.operatorFiles, nodeTimers);
  const stopSweeping = sweepFromTimeToTime(parts.abandoned, parts);
  const stopInsight = keepInsight({ ...parts, monotonic });
  const stopKeeping = keepLogHome({ ...parts, timers: nodeTimers });
  const stopSpending = keepAllowance(parts.allowance, nodeTimers);
  const stopForgetting = forgetImages(parts, { log, timers: nodeTimers });
  return () => {
    stopKeeping();
    return [
      stopForgetting(),
      stopSpending(),
      stopWatching(),
      stopFollowing(),
      stopSweeping(),
      stopInsight(),
      stopLooking(),
    ];
  };
}

/** A new party gets its home in the region that first hears of it. */
async function settleHome(cluster: NodeCluster | null, party: string): Promise<void> {
  if (cluster !== null && cluster.placement.homeOf(party) === null) await cluster.placement.assignHome(party);
}

function newIncarnation(): string {
  return randomUUID().replaceAll("-", "").slice(0, 12);
}

function leaseOf({ membership }: NodeCluster): string | null {
  return membership.holdsLease() ? (membership.self()?.incarnation ?? null) : null;
}

async function openStores(
  config: NodeConfig,
  parts: {
    readonly clock: Clock;
    readonly log: (entry: LogEntry) => void;
    readonly platform: NodePlatform;
    readonly actors: CurrentActors;
  },
): Promise<{ readonly stores: NodeStores; readonly cluster: NodeCluster | null }> {
  const { clock, log, platform, actors } = parts;
  if (config.cluster === null) {
    const { onCommit } = platform;
    return { stores: await openEmbeddedStores(config, { clock, log, onCommit }), cluster: null };
  }
  const { secrets } = platform;
  if (secrets === null || secrets === undefined) throw new Error("A clustered node is given its secrets.");
  const { region, cluster, retention, bulkImport, adImageBytesMax } = config;
  const { analyticsDays } = retention;
  return openClustered({
    ...{ config: cluster, secrets, region, analyticsDays, bulkImport, adImageBytesMax, clock, log, actors },
  });
}

async function openClustered(options: {
  readonly config: ClusterConfig;
  readonly secrets: ClusterSecrets;
  readonly region: string;
  readonly analyticsDays: number;
  readonly bulkImport: boolean;
  readonly adImageBytesMax: number;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly actors: CurrentActors;
}): Promise<{ readonly stores: NodeStores; readonly cluster: NodeCluster }> {
  const { config, secrets, region, analyticsDays, bulkImport, adImageBytesMax, clock, log } = options;
  const tls = await readTls(config);
  let cluster: NodeCluster | null = null;
  const stores = await openEngineStores(config, secrets, {
    clock,
    log,
    region,
    analyticsDays,
    bulkImport,
    adImageBytesMax,
    regions: {
      // A region becomes an actor's home only while placement assigns the actor to it.
      homeAllowed: (ref) => cluster?.placement.locate(ref).at === "here",
      isDead: (other) => cluster?.placement.isDead(other) ?? false,
    },
  });
  cluster = createCluster({ ...options, stores, newIncarnation, tls });
  return { stores, cluster };
}

/** From here on the node has actors. */
async function beginActing(
  services: Pick<NodeServices, "cluster" | "config" | "incarnation">,
  actors: CurrentActors,
  abandoned: AbandonedDeps,
): Promise<void> {
  const { cluster, config, incarnation } = services;
  if (cluster !== null) return cluster.join();
  actors.begin(`${config.region}/${incarnation}`);
  // Only a standalone node can be sure that nobody is about to accept what was staged, however recently.
  await dropAbandoned(abandoned, Number.POSITIVE_INFINITY);
}

// What follows from the secret of the record ids, which all nodes share and which never changes.

function derivedFrom(
  recordIdKey: Uint8Array,
): Pick<NodeServices, "recordIdOf" | "cursorKey" | "imageLinkKey" | "adTokenKey" | "adSessionKey"> {
  const { hmacSha256 } = nativeCrypto;
  return {
    recordIdOf: (businessUuid, kind, localId) =>
      recordIdOf(kind, hmacSha256(recordIdKey, utf8(`${businessUuid}\n${kind}\n${localId}`))),
    cursorKey: hmacSha256(recordIdKey, utf8("cursors")),
    imageLinkKey: hmacSha256(recordIdKey, utf8("image links")),
    adTokenKey: hmacSha256(recordIdKey, utf8("ad tokens")),
    adSessionKey: hmacSha256(recordIdKey, utf8("ad sessions")),
  };
}

// Drops abandoned pushes from time to time for as long as a node runs, and says in the log how that went.

/** The interval between two sweeps. */
const sweepEveryMs = 3_600_000;

/** In a cluster, each node sweeps the pushes that live on it. The returned function stops it. */
function sweepFromTimeToTime(
  abandoned: AbandonedDeps,
  platform: {
    readonly clock: Clock;
    readonly timers: TimerPort;
    readonly log: (entry: LogEntry) => void;
  },
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    platform.log({ level, event, actor: "", detail });
  return sweepAbandoned({
    ...abandoned,
    ...platform,
    everyMs: sweepEveryMs,
    afterMs: abandonedAfterMs,
    dropped: (pushes) => note("info", "push.abandoned_dropped", `${pushes} pushes were never accepted`),
    failed: (error) => note("warn", "push.abandoned_look_failed", String(error)),
  });
}
