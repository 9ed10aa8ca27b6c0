// Whether a load balancer should route callers to this node. A failure of what all nodes of a region share, and can do
// without, takes none of them out: without the index, pushes, fetches and verification continue, and only searches get 503.

import { logParty } from "../../actors/messages/refs.ts";
import { clockOffsetMs, defaultTiming } from "../../cluster/poller.ts";
import { gauge, type Reading } from "../../ops/metrics.ts";
import type { ReadyReport } from "../../ops/shapes.ts";
import { collectionNames, formatTimestamp } from "../../protocol/identifiers.ts";
import { reachIssuance } from "../keys/issuance-client.ts";
import { type DiskSpace, diskSpace } from "../telemetry/disk.ts";
import type { Acting, NodeServices } from "./capabilities.ts";
import type { NodeCluster } from "./cluster.ts";
import { keyFaultOf } from "./log-parts.ts";

/** The caller gives up sooner than a store or an index does. */
const answerMs = 1_000;
/** Less room than this is as good as none: a write-ahead log alone may take it. */
const freeBytesMin = 256 * 2 ** 20;

type Checks = Readonly<Record<string, () => unknown>>;

/** `space` says what room there is. */
export async function readiness(services: NodeServices, space = diskSpace): Promise<ReadyReport> {
  const outcomes = await Promise.all(
    Object.entries(checksOf(services, space)).map(
      async ([name, run]) => [name, await outcomeOf(run)] as const,
    ),
  );
  const failed = outcomes.flatMap(([name, outcome]) => (outcome === "ok" ? [] : [name]));
  const dispensable = dispensableOf(services);
  return {
    ready: failed.every((name) => dispensable.includes(name)),
    degraded: failed.filter((name) => dispensable.includes(name)),
    checks: Object.fromEntries(outcomes),
    plain_text: services.config.plainText,
  };
}

/** The same, with the room that was found on the disks; none where it could not be read in time. */
export async function readinessWithSpaces(
  services: NodeServices,
): Promise<{ readonly report: ReadyReport; readonly spaces: readonly DiskSpace[] }> {
  let spaces: readonly DiskSpace[] = [];
  const report = await readiness(services, async (config) => {
    spaces = await diskSpace(config);
    return spaces;
  });
  return { report, spaces };
}

/**
 * The checks that may fail without stopping the node from serving. A clock that is off is among them: it may be the store's,
 * and then it is off for all nodes. An embedded node has its store on the disk that is full, a cluster node only its logs.
 */
function dispensableOf({ cluster }: Acting): readonly string[] {
  return ["index", "log_key", "issuance", "clock", ...(cluster === null ? [] : ["disk"])];
}

function checksOf(services: NodeServices, space: typeof diskSpace): Checks {
  const { clock, cluster } = services;
  const { issuance } = services.config;
  return {
    store: () => services.actorStore.dueActors(0, 1),
    // One that is missing is refused to searches of its collection alone.
    index: async () => {
      await Promise.all(collectionNames.map((collection) => services.index.count(collection)));
      // It answers, and so nothing else would say that what is published is not found in it.
      const block = await services.indexBlock();
      if (block !== null) throw new Error(`it takes no writes: ${block}`);
    },
    cluster: () => {
      if (services.lease() === null) throw new Error("no lease: the node joins again");
    },
    keys: () => services.currentKeys.assertSigners(formatTimestamp(clock.now())),
    register: () => {
      if (services.register.refreshedAtMs() === null) throw new Error("not read yet");
    },
    log_key: () => assertLogKey(services),
    disk: async () => assertRoom(await space(services.config)),
    ...(issuance === null ? {} : { issuance: () => reachIssuance(issuance.address) }),
    clock: () => (cluster === null ? services.newestMoment?.assertReached() : assertClock(cluster, clock)),
  };
}

/** Leaves of the log wait in the region that has it, while none of its nodes has the key. */
function assertLogKey({ cluster, config, keys, clock }: NodeServices): void {
  if (cluster !== null && cluster.placement.regionOf(logParty) !== config.region) return;
  const fault = keyFaultOf(keys, clock);
  if (fault !== null) throw new Error(fault);
}

function assertRoom(spaces: readonly DiskSpace[]): void {
  const full = spaces.filter(({ freeBytes }) => freeBytes < freeBytesMin);
  if (full.length === 0) return;
  const left = full.map(({ place, freeBytes }) => `${place} has ${Math.floor(freeBytes / 2 ** 20)} MiB left`);
  throw new Error(`${left.join(", ")}; a node needs 256 MiB`);
}

async function assertClock(
  { storeTimeMs }: Pick<NodeCluster, "storeTimeMs">,
  clock: NodeServices["clock"],
): Promise<void> {
  const monotonic = { nowMs: () => performance.now() };
  const offMs = await clockOffsetMs({ store: { storeTimeMs }, clock, monotonic });
  const { clockOffMaxMs } = defaultTiming;
  if (offMs > clockOffMaxMs)
    throw new Error(
      `${Math.round(offMs)} ms from the store's clock; ${clockOffMaxMs} ms are allowed: repair NTP`,
    );
}

async function outcomeOf(run: () => unknown): Promise<string> {
  try {
    await inTime(Promise.try(run));
    return "ok";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function inTime(answer: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("no answer within a second")), answerMs);
  await Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** The report as readings for /metrics: alerts need no prober of their own. */
export function readyReadings({ ready, checks, plain_text }: ReadyReport): readonly Reading[] {
  return [
    gauge("svc_ready", "1 while callers should be led to this node, as /readyz says.", ready ? 1 : 0),
    ...Object.entries(checks).map(([check, outcome]) =>
      gauge("svc_ready_check", "1 for each check of /readyz that is ok.", outcome === "ok" ? 1 : 0, {
        check,
      }),
    ),
    gauge(
      "svc_plain_text_channels",
      "Channels that are in the clear because settings allow it.",
      plain_text.length,
    ),
  ];
}
