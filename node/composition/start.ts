// A running node: services, the six HTTP surfaces, and in the sandbox the samples.
//   N1. The surfaces answer before the samples are in: a first answer does not wait for them.
//   N2. Closing accepts no new connections, finishes the requests under way on open ones, hands the actors over, then
//       closes the stores.
//   N3. The home and then the ports are held before anything else is opened: no other node has the same folder, and the
//       URLs built from the ports belong to this node.

import { existsSync } from "node:fs";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { pino } from "pino";
import { regionRef } from "../../actors/messages/refs.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { isTransient } from "../../client/retry-until.ts";
import { replaceFile } from "../../crypto/durable-file.ts";
import { ed25519Library } from "../../crypto/ed25519.ts";
import type { AuditLog } from "../../ops/acts.ts";
import { failureAnswer } from "../../service/failure.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { isDamage, StoreFileRefused } from "../../storage/sqlite/database.ts";
import { loadConfig, loadSecrets, type NodeConfig, type NodeOptions } from "../configuration/config.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { loadOpsAccess, opsUrlFile } from "../configuration/http-config.ts";
import { withOwnPortal } from "../configuration/key-config.ts";
import { isAudited, openAuditLog, recordKeySet } from "../keeping/audit-log.ts";
import { clockFault } from "../keeping/fence-refusals.ts";
import { type NodeLog, openLog, openLogFile } from "../keeping/log-file.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import { type SandboxUrls, type SeedOutcome, seedSandbox } from "../sandbox/seed.ts";
import type { NodeServices } from "./capabilities.ts";
import { portalUrlOf } from "./portal-surface.ts";
import { adPublishingOf } from "./publishing-surface.ts";
import { type NodePlatform, openNodeServices } from "./services.ts";
import { buildSurfaces, type Surfaces } from "./surfaces.ts";

export interface RunningNode extends AsyncDisposable {
  readonly config: NodeConfig;
  readonly urls: SandboxUrls;
  readonly services: NodeServices;
  /** The sandbox once its samples are in; null in production. */
  readonly seeded: Promise<SeedOutcome | null>;
}

type Logger = FastifyBaseLogger;

/** Starts a node; resolves once its surfaces listen. Throws {@link ConfigError} for a setting that cannot be used. */
export async function startNode(
  options: NodeOptions = {},
  platform: Omit<NodePlatform, "secrets"> = {},
): Promise<RunningNode> {
  const config = loadConfig(options);
  const secrets = loadSecrets(config);
  await mkdir(config.home, { recursive: true, mode: 0o700 });
  // An existing folder may be accessible to others; the journals, receipts and log in it must not be.
  await chmod(config.home, 0o700);
  const lock = await holdHome(config.home);
  try {
    return await startOnPorts(lock, config, { ...platform, secrets });
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** The file whose lock says that a node runs on a home; the operating system ends it with the process. */
const lockFile = "node.lock";

/** Holds a home until the database is closed. Throws {@link ConfigError} where another node has it, in any process. */
async function holdHome(home: string): Promise<DatabaseSync> {
  const lock = new DatabaseSync(join(home, lockFile), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (!(error instanceof Error && error.message === "database is locked")) throw error;
    const url = await readFile(join(home, opsUrlFile), "utf8").catch(() => "");
    const named = url === "" ? "" : ` (operators' pages: ${url.trim()})`;
    throw new ConfigError(
      "--home",
      `a node already runs on ${home}${named}; stop it, or give this one a folder of its own`,
    );
  }
}

async function startOnPorts(
  lock: DatabaseSync,
  config: NodeConfig,
  platform: NodePlatform,
): Promise<RunningNode> {
  const held = await holdPorts(config);
  try {
    return await startOn({ lock, ports: held }, config, platform);
  } catch (error) {
    await release(held);
    throw await explained(error, config, platform);
  }
}

/** What an operator can do about it, where that is not what the error says. */
async function explained(error: unknown, config: NodeConfig, { clock }: NodePlatform): Promise<unknown> {
  if (config.cluster !== null) return error;
  if (isDamage(error)) return storeDamaged(config, error);
  const fault = await clockFault(config.home, clock ?? { now: Date.now });
  // Keys that are not in force yet are replaced by nobody whose clock is corrected.
  if (fault === null || !(error instanceof ConfigError)) return error;
  return new ConfigError("clock", `${fault}. What failed by it: ${error.message}`);
}

/** The row index is made again by itself: what is left is the file that nothing else can be made from. */
function storeDamaged({ home }: NodeConfig, cause: unknown): StoreFileRefused {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new StoreFileRefused(
    `${join(home, "store.db")} is damaged (${said}): put it, the folder log and the keys back from one backup, as «Restoring» in docs/production.md says, and keep the damaged files`,
    { cause },
  );
}

async function startOn(
  { lock, ports: held }: { readonly lock: DatabaseSync; readonly ports: readonly HeldPort[] },
  given: NodeConfig,
  platform: NodePlatform,
): Promise<RunningNode> {
  const local = urlsOf(
    given,
    held.map(({ port }) => port),
  );
  const config = withOwnPortal(given, local.portal_url);
  const log = logOf(config);
  const logger: Logger = pino({ level: config.logLevel }, log.destination);
  const audit = openAuditLog(config);
  const logEntry = (entry: LogEntry): void => logActor(logger, audit, entry);
  const services = await openNodeServices(config, logEntry, platform);
  const urls = await withPortal(services, local);
  const surfaces = await listening({ services, urls, held, logger, audit });
  await services.actors.start();
  // In a cluster, the node that owns the region's actor opens it.
  if (services.cluster === null) {
    await services.actors.ask(regionRef(config.region), { type: "region.open", region: config.region });
  }
  const seeded = seed(services, urls);
  // Callers that wait for the samples get the error; a node without them still serves.
  seeded.catch((error: unknown) => logger.error({ err: error }, "sandbox.seed_failed"));
  const { region, environment } = config;
  logger.info({ urls, region, environment, ed25519: ed25519Library().name }, "node.listening");
  return {
    config,
    urls,
    services,
    seeded,
    [Symbol.asyncDispose]: async () => {
      try {
        await close(services, surfaces);
        log.close();
      } finally {
        // A node may be closed twice.
        if (lock.isOpen) lock.close();
      }
    },
  };
}

/** Written in blocks, off the requests' path; the rest is written when the node stops. */
function logOf({ logTo, home, retention }: NodeConfig): NodeLog {
  const path = join(home, "node.log");
  return logTo === "file"
    ? openLogFile({ path, retention, clock: { now: Date.now }, timers: nodeTimers })
    : openLog(1);
}

/** The surfaces, listening. A start that fails leaves nothing open. */
async function listening({
  services,
  urls,
  held,
  logger,
  audit,
}: {
  readonly services: NodeServices;
  readonly urls: SandboxUrls;
  readonly held: readonly HeldPort[];
  readonly logger: Logger;
  readonly audit: AuditLog;
}): Promise<Surfaces> {
  let surfaces: Surfaces | null = null;
  const ports = held.map(({ port }) => port);
  try {
    const access = await loadOpsAccess(services.config.ops, ports[surfaceNames.indexOf("ops")] ?? 0);
    await services.register.refresh();
    recordKeySet(audit, services.keys.keySet());
    const built = buildSurfaces(services, { urls, ports, access, logger, audit });
    surfaces = built;
    await Promise.all(held.map((each, index) => each.giveTo(built[surfaceNames[index] ?? "portal"])));
    // For the program on the same machine, which finds the token beside it.
    await replaceFile(join(services.config.home, opsUrlFile), `${urls.ops_url}\n`);
    return surfaces;
  } catch (error) {
    await close(services, surfaces);
    throw error;
  }
}

/** A start that fails leaves nothing open. */
async function withPortal(services: NodeServices, local: SandboxUrls): Promise<SandboxUrls> {
  try {
    const given = services.config.publicUrls.portal_url;
    const portal_url = portalUrlOf(services.anchors.passkeys, { given, local: local.portal_url });
    return { ...local, portal_url };
  } catch (error) {
    await close(services, null);
    throw error;
  }
}

const surfaceNames = ["retrieval", "business", "verification", "tools", "ops", "portal"] as const;

/** Reserves the ports of all surfaces; none stays reserved if one cannot be had. */
async function holdPorts(config: NodeConfig): Promise<readonly HeldPort[]> {
  const holding = surfaceNames.map((name, index) => holdPort(hostOf(config, name), portOf(config, index)));
  const outcomes = await Promise.allSettled(holding);
  const held = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failed = outcomes.find((each) => each.status === "rejected");
  if (failed === undefined) return held;
  await release(held);
  const taken = outcomes.flatMap(({ status }, index) =>
    status === "rejected" ? [portOf(config, index)] : [],
  );
  throw portTaken(failed.reason, config, taken);
}

async function release(held: readonly HeldPort[]): Promise<void> {
  await Promise.all(held.map((each) => each.release()));
}

/** 0 stands for any free port. */
function portOf({ ops, portBase }: NodeConfig, index: number): number {
  if (surfaceNames[index] === "ops" && ops.port !== null) return ops.port;
  return portBase > 0 ? portBase + index : 0;
}

function hostOf(config: NodeConfig, name: (typeof surfaceNames)[number]): string {
  return name === "ops" ? config.ops.host : config.host;
}

function urlsOf(config: NodeConfig, ports: readonly number[]): SandboxUrls {
  const [base_url = "", business_url = "", verify_url = "", mcp_url = "", ops_url = ""] = surfaceNames.map(
    (name, index) => {
      const host = hostOf(config, name);
      return `http://${host.includes(":") ? `[${host}]` : host}:${ports[index]}`;
    },
  );
  // An address of numbers is no domain, and passkeys are of domains.
  const portal_url = `http://localhost:${ports[surfaceNames.indexOf("portal")]}`;
  return { base_url, business_url, verify_url, mcp_url, ops_url, portal_url, ...config.publicUrls };
}

function portTaken(error: unknown, config: NodeConfig, taken: readonly number[]): unknown {
  if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) return error;
  return new ConfigError(
    "--port-base",
    `${config.portBase} to ${config.portBase + surfaceNames.length - 1} are not all free (taken: ${taken.join(", ")}); choose another base`,
  );
}

async function seed(services: NodeServices, urls: SandboxUrls): Promise<SeedOutcome | null> {
  const { keys, config, anchors, clock, parties, keyStore, hostedSigner } = services;
  const { grant } = keys;
  if (grant === null || !config.samples) return null;
  if (!config.background && !existsSync(join(config.home, "sandbox.json")))
    throw new ConfigError(
      "SVC_BACKGROUND",
      "is off, and a new sandbox publishes its samples in the background; start it with on first, or with SVC_SAMPLES=no",
    );
  return whileItPasses(() =>
    seedSandbox({
      home: config.home,
      urls,
      anchors,
      clock,
      parties,
      keyStore,
      grantKey: grant,
      hostedSigner,
      publishRecord: (request) => publishRecord(services, request),
      publishAd: adPublishingOf(services).publishAd,
      images: services.imageStore,
      adCurrency: config.ads.currency,
      recordIdOf: services.recordIdOf,
      fetch,
    }),
  );
}

const seedAttemptsMax = 30;
const seedPauseMs = 1_000;

/**
 * Retries an idempotent task while it fails for a transient reason: in a cluster, actors move while nodes join. A failed
 * attempt must have ended (see {@link seedSandbox}), so that two attempts never overlap.
 */
async function whileItPasses<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const passes = failureAnswer(error) !== null || isTransient(error);
      if (attempt >= seedAttemptsMax || !passes) throw error;
    }
    await delay(seedPauseMs);
  }
}

async function close(services: NodeServices, surfaces: Surfaces | null): Promise<void> {
  await Promise.all(surfaceNames.map((name) => surfaces?.[name].close()));
  await services[Symbol.asyncDispose]();
}

function logActor(logger: Logger, audit: AuditLog, entry: LogEntry): void {
  logger[entry.level]({ actor: entry.actor, detail: entry.detail }, entry.event);
  try {
    if (isAudited(entry)) audit.record(entry.event, { detail: entry.detail });
  } catch (error) {
    logger.error({ err: error }, "audit.failed");
  }
}

// A port that this node reserves before anything serves on it, so that its URLs are known, and cannot be taken by others,
// while the node starts.
//   P1. From the first moment on, the operating system gives the port to nobody else; 0 asks it for any free port.
//   P2. Connections that arrive before a surface serves are closed: there is nothing here yet.

export interface HeldPort {
  readonly port: number;
  /** From now on the surface serves on the port, and releases it when it closes. */
  giveTo(surface: FastifyInstance): Promise<void>;
  /** Releases the port if no surface has taken it over. */
  release(): Promise<void>;
}

/** Rejects if the port cannot be bound. */
export async function holdPort(host: string, port: number): Promise<HeldPort> {
  const holder = createServer((connection) => connection.destroy());
  const listening = Promise.withResolvers<void>();
  holder.once("error", listening.reject);
  holder.listen(port, host, () => listening.resolve());
  await listening.promise;
  const held = (holder.address() as AddressInfo).port;
  let isGiven = false;
  return {
    port: held,
    giveTo: async (surface) => {
      isGiven = true;
      // A server can share another one's listening socket (`server.listen(handle)`). The member is not enumerable, so that
      // the second server that Fastify starts for the other address of «localhost» binds a socket of its own.
      const options = Object.defineProperty({ host, port: held }, "_handle", {
        value: (holder as unknown as { readonly _handle: object })._handle,
      });
      await surface.listen(options);
    },
    release: async () => {
      if (isGiven) return;
      await new Promise((resolve) => holder.close(resolve));
    },
  };
}
