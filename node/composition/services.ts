// Composition of a node without its HTTP surfaces: stores, keys, actors and services, standalone or in a cluster.

import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { type CurrentActors, createCurrentActors } from "../../actors/system/current-actors.ts";
import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { livesHere } from "../../cluster/placement.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import type { ListActs } from "../../ops/lists.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { recordIdOf } from "../../protocol/identifiers.ts";
import { createTrialAllowance } from "../../service/money/allowance.ts";
import {
  type AbandonedDeps,
  abandonedAfterMs,
  dropAbandoned,
  sweepAbandoned,
} from "../../service/publishing/abandoned-pushes.ts";
import { createParties } from "../../service/register/parties.ts";
import { createRegister } from "../../service/register/register.ts";
import type { RowIndex } from "../../storage/row-index.ts";
import type { SqliteOptions } from "../../storage/sqlite/database.ts";
import type { DomainProbe } from "../../transport/domain-probe.ts";
import type { ClusterConfig, ClusterSecrets } from "../configuration/cluster-config.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { judgingBy, openOperatorFiles, watchOperatorFiles } from "../configuration/operator-files.ts";
import { type CountedProbe, countProbes, createDomainProbe } from "../domains/domain-probe.ts";
import type { Resolving } from "../domains/public-request.ts";
import { forgetImages } from "../images/ad-images.ts";
import {
  allowanceOf,
  followRegister,
  insightOf,
  keepAllowance,
  keepInsight,
} from "../keeping/allowance-keeping.ts";
import { clockFault, FenceWitness, keepNewestMoment, type NewestMoment } from "../keeping/fence-refusals.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import { watchKeys } from "../keys/current-keys.ts";
import { createWebhookCalls, type WebhookCalls, type WebhookCallsDeps } from "../notices/webhook-calls.ts";
import { createWebhookKeys } from "../notices/webhook-keys.ts";
import { trialAllowances } from "../sandbox/businesses.ts";
import { createTimings } from "../telemetry/timings.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { openLogWitnesses } from "../witness/log-witnesses.ts";
import type { Acting, DerivedKeys, NodeServices, Process } from "./capabilities.ts";
import { createCluster, type NodeCluster } from "./cluster.ts";
import { keepLogHome } from "./log-parts.ts";
import { createNodeActors } from "./node-actors.ts";
import { createHostedSigner, loadNodeKeys } from "./node-keys.ts";
import { pushPartsOf } from "./publishing-surface.ts";
import { type NodeStores, openEmbeddedStores } from "./stores.ts";

export type { NodeServices };

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
  /** How the endpoints of businesses are reached, where domains are checked. */
  readonly webhookResolving?: Resolving;
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
  const actors = createCurrentActors((owner) =>
    createNodeActors({ ...common, actors, parties }, { owner, log }),
  );
  const { stores, cluster } = await openStores(config, { clock, log, platform, actors });
  const register = createRegister({ store: stores.registerStore, clock });
  const logWitnesses = await openLogWitnesses(config, { ...own, clock, log });
  const newestMoment = cluster === null ? await newestMomentOf(config, { clock, log }) : null;
  const fence = witnessOf(stores, { config, clock, log });
  const [incarnation, timings] = [newIncarnation(), createTimings()];
  const tracing = await tracingOf(config, incarnation, log);
  const derived = derivedFrom(recordIdKey);
  const webhookKeys = createWebhookKeys(derived.webhookSecret);
  const common = {
    ...stores,
    index: platform.index?.(stores.index) ?? stores.index,
    config,
    clock,
    crypto: nativeCrypto,
    incarnation,
    timings,
    tracing,
    timers: platform.timers ?? nodeTimers,
    elapsedMs: platform.elapsedMs ?? (() => Math.floor(performance.now())),
    regions: cluster === null ? () => [config.region] : cluster.regions,
    lease: cluster === null ? () => incarnation : () => leaseOf(cluster),
    ...own,
    ...derived,
    webhookKeys,
    keyStore,
    cluster,
    fence,
    register,
    logWitnesses,
    newestMoment,
    drain: platform.drain ?? stopProcess,
    domainProbe: domainProbeOf(config, platform),
    webhooks: webhooksOf(config, platform, { keys: webhookKeys, clock, log }),
    ...pushPartsOf(config, { stores, recordIdKey, actors, clock, workMs: platform.workMs, log }),
    insight: insightOf(stores, config.retention, { clock, incarnation }),
    ...judgingBy(operatorFiles, register),
    hostedSigner: createHostedSigner({ ...config, secret: recordIdKey, register }),
  };
  const parties = createParties({
    ...common,
    actors,
    recordIdKey,
    settleHome: (party) => settleHome(cluster, party),
    claimKey: (keyId, party) => stores.registerStore.claimKey(keyId, party),
  });
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
    await tracing?.[Symbol.asyncDispose]();
  };
  let listActs: ListActs;
  try {
    // Records are judged by the company names in the register, and by the lists of operators, as soon as the node has actors.
    await register.refresh();
    listActs = await operatorFiles.follow({ store: stores.listStore, clock });
    await beginActing(common, actors, abandoned);
  } catch (error) {
    await close();
    throw error;
  }
  const allowance =
    common.config.environment === "sandbox"
      ? createTrialAllowance(trialAllowances)
      : allowanceOf({ ...common, actors });
  const stopBackground = beginBackground({ ...common, actors, abandoned, allowance, log });
  return {
    ...common,
    actors,
    allowance,
    parties,
    listActs,
    [Symbol.asyncDispose]: () => close(stopBackground()),
  };
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

/** Without looks at domains none is confirmed, and nothing is called. */
function webhooksOf(
  { domains }: NodeConfig,
  platform: NodePlatform,
  parts: Omit<WebhookCallsDeps, "resolving">,
): WebhookCalls | null {
  const resolving = platform.webhookResolving ?? domains;
  return domains.areChecked ? createWebhookCalls({ ...parts, resolving }) : null;
}

const monotonic = { nowMs: () => performance.now() };

/**
 * Starts the node's background tasks. The returned function stops all of them and returns promises for the end of their
 * last runs.
 */
function beginBackground(
  parts: Omit<NodeServices, "parties" | "listActs" | typeof Symbol.asyncDispose> & {
    readonly abandoned: AbandonedDeps;
    readonly log: (entry: LogEntry) => void;
  },
): () => readonly Promise<void>[] {
  const { register, log } = parts;
  const stopFollowing = followRegister({ register, timers: nodeTimers, monotonic, log });
  const stopWatching = watchKeys(parts.currentKeys, nodeTimers, log);
  const stopLooking = watchOperatorFiles(parts.operatorFiles, { timers: nodeTimers, monotonic, log });
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
export async function settleHome(cluster: NodeCluster | null, party: string): Promise<void> {
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
  const { region, cluster, retention, bulkImport, adImageBytesMax, evidenceBounds } = config;
  const { analyticsDays } = retention;
  return openClustered({
    config: cluster,
    secrets,
    region,
    analyticsDays,
    bulkImport,
    adImageBytesMax,
    evidenceBounds,
    clock,
    log,
    actors,
  });
}

async function openClustered(options: {
  readonly config: ClusterConfig;
  readonly secrets: ClusterSecrets;
  readonly region: string;
  readonly analyticsDays: number;
  readonly bulkImport: boolean;
  readonly adImageBytesMax: number;
  readonly evidenceBounds: NodeConfig["evidenceBounds"];
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly actors: CurrentActors;
}): Promise<{ readonly stores: NodeStores; readonly cluster: NodeCluster }> {
  const { config, secrets, region, analyticsDays, bulkImport, adImageBytesMax, evidenceBounds, clock, log } =
    options;
  // The drivers of the engines are loaded only where there are engines.
  const { openEngineStores, readTls } = await import("./engine-stores.ts");
  const tls = await readTls(config);
  let cluster: NodeCluster | null = null;
  const stores = await openEngineStores(config, secrets, {
    clock,
    log,
    region,
    analyticsDays,
    bulkImport,
    adImageBytesMax,
    evidenceBounds,
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
  { cluster, config, incarnation }: Process & Pick<Acting, "cluster">,
  actors: CurrentActors,
  abandoned: AbandonedDeps,
): Promise<void> {
  if (cluster !== null) return cluster.join();
  actors.begin(`${config.region}/${incarnation}`);
  // Only a standalone node can be sure that nobody is about to accept what was staged, however recently.
  await dropAbandoned(abandoned, Number.POSITIVE_INFINITY);
}

function derivedFrom(recordIdKey: Uint8Array): DerivedKeys {
  const { hmacSha256 } = nativeCrypto;
  return {
    recordIdOf: (businessUuid, kind, localId) =>
      recordIdOf(kind, hmacSha256(recordIdKey, utf8(`${businessUuid}\n${kind}\n${localId}`))),
    cursorKey: hmacSha256(recordIdKey, utf8("cursors")),
    imageLinkKey: hmacSha256(recordIdKey, utf8("image links")),
    webhookSecret: hmacSha256(recordIdKey, utf8("webhooks")),
    portalKey: hmacSha256(recordIdKey, utf8("portal")),
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
