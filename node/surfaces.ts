// The HTTP surfaces of a node, built from its services.

import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { buildBusiness, type Publishing } from "../api/business.ts";
import type { HttpDeps } from "../api/http-server.ts";
import { buildRetrieval } from "../api/retrieval.ts";
import type { Route } from "../api/route.ts";
import { buildTools } from "../api/tools.ts";
import { buildVerification, verificationRoutes } from "../api/verification.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { AuditLog } from "../ops/acts.ts";
import type { OpsAccess } from "../ops/guard.ts";
import { createMetrics, type Gauge } from "../ops/metrics.ts";
import { buildOps, type ReadyReport } from "../ops/server.ts";
import type { AuthenticationDeps } from "../service/authenticate.ts";
import { createFetch } from "../service/fetch.ts";
import { createGrantedKeys } from "../service/granted-keys.ts";
import { publishBatch } from "../service/publish.ts";
import { readPush } from "../service/push-status.ts";
import { createQueryBudget, type QueryBudget } from "../service/query-budget.ts";
import { createReceipts } from "../service/receipts.ts";
import { createRequestRate, type RequestRate } from "../service/request-rate.ts";
import { createRevocations, type Revocations } from "../service/revocations.ts";
import { sealContext } from "../service/seal-context.ts";
import { createSearch } from "../service/search.ts";
import { createStandings, ownTrust } from "../service/standing.ts";
import { createVerification } from "../service/verification.ts";
import { createVerify } from "../service/verify.ts";
import { createVerifyPage } from "../service/verify-page.ts";
import type { NodeCluster } from "./cluster.ts";
import { clusterOps } from "./cluster-ops.ts";
import type { SandboxUrls } from "./sandbox/seed.ts";
import type { NodeServices } from "./services.ts";

export interface Surfaces {
  readonly retrieval: FastifyInstance;
  readonly business: FastifyInstance;
  readonly verification: FastifyInstance;
  readonly tools: FastifyInstance;
  readonly ops: FastifyInstance;
}

/** Longer than a busy caller leaves a connection idle. */
const leaveMs = 1_000;

export function buildSurfaces(
  services: NodeServices,
  {
    urls,
    access,
    logger,
    audit,
  }: {
    readonly urls: SandboxUrls;
    readonly access: OpsAccess;
    readonly logger: FastifyBaseLogger;
    readonly audit: AuditLog;
  },
): Surfaces {
  const metrics = createMetrics();
  const http: HttpDeps = {
    logger,
    clock: services.clock,
    observer: metrics,
    incarnation: services.incarnation,
    trustedProxies: services.config.trustedProxies,
    // Callers of a node alone have nowhere else to go.
    ...(services.cluster === null ? {} : { leaveMs }),
  };
  const authentication = authenticationOf(services);
  const verification = verificationOf(services, urls);
  return {
    retrieval: buildRetrieval({
      http,
      authentication,
      authorities: authoritiesOf(urls.base_url),
      baseUrl: urls.base_url,
      ...retrievalOf(services, urls),
      verification,
    }),
    business: buildBusiness({
      http,
      authentication,
      authorities: authoritiesOf(urls.business_url),
      businessUrl: urls.business_url,
      publishing: publishingOf(services),
    }),
    verification: buildVerification({ http, routes: verification, verifyUrl: urls.verify_url }),
    tools: buildTools({ http, mcpUrl: urls.mcp_url }),
    ops: buildOps({
      logger,
      incarnation: services.incarnation,
      access,
      metrics,
      gauges: () => gaugesOf(services),
      ready: () => readiness(services),
      inspect: (ref) => services.actors.inspect(ref),
      listActors: (kind, afterId, limit) => services.actorStore.listActors(kind, afterId, limit),
      revocations: revocationsOf(services, authentication),
      audit,
      cluster: clusterOps(services, (event, detail) => logger.info(detail, event)),
    }),
  };
}

function revocationsOf(
  { parties, register, actors, clock }: NodeServices,
  { grantSigner, registerGrantedKey }: AuthenticationDeps,
): Revocations {
  const grants = grantSigner === null ? null : { signer: grantSigner, register: registerGrantedKey };
  return createRevocations({ parties, register, actors, clock, crypto: nativeCrypto, grants });
}

function authenticationOf(services: NodeServices): AuthenticationDeps {
  return {
    environment: services.keys.environment,
    region: services.keys.region,
    register: services.register,
    actors: services.actors,
    crypto: nativeCrypto,
    clock: services.clock,
    grantSigner: services.keys.grant,
    registerGrantedKey: createGrantedKeys(services),
    requestRate: requestRateOf(services),
  };
}

function requestRateOf({ config, elapsedMs }: NodeServices): RequestRate | null {
  const { requestsPerSecond: perSecond } = config.keyLimits;
  return perSecond === null ? null : createRequestRate({ perSecond, burst: 2 * perSecond, elapsedMs });
}

function queryBudgetOf({ config, elapsedMs }: NodeServices): QueryBudget | null {
  const { queryCostPerMinute: perMinute } = config.keyLimits;
  return perMinute === null ? null : createQueryBudget({ perMinute, elapsedMs });
}

/** A loopback node is reached under both of its names. */
function authoritiesOf(url: string): readonly string[] {
  const { host, port } = new URL(url);
  return host.startsWith("127.0.0.1") ? [host, port === "" ? "localhost" : `localhost:${port}`] : [host];
}

function retrievalOf(services: NodeServices, urls: SandboxUrls) {
  const { register, records, index, clock } = services;
  const receipts = createReceipts({
    environment: services.keys.environment,
    region: services.keys.region,
    incarnation: services.lease,
    signer: services.keys.receipt,
    store: services.receipts,
    crypto: nativeCrypto,
    clock,
  });
  const budget = queryBudgetOf(services);
  return {
    search: createSearch({ index, register, receipts, budget }),
    fetch: createFetch({
      records,
      register,
      receipts,
      budget,
      clock,
      verifyUrl: urls.verify_url,
      delayUntil: (atMs) => delayUntil(clock, atMs),
    }),
  };
}

async function delayUntil(clock: NodeServices["clock"], atMs: number): Promise<void> {
  for (let left = atMs - clock.now(); left > 0; left = atMs - clock.now()) {
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}

function publishingOf(services: NodeServices): Publishing {
  const deps = { ...services, crypto: nativeCrypto };
  return {
    publishBatch: (request) => publishBatch(deps, request),
    readPush: (request) => readPush(services.actors, request),
    sealContext: (request) => sealContext(services, request),
  };
}

function gaugesOf(services: NodeServices): readonly Gauge[] {
  const stats = services.actors.stats();
  const gauge = (name: string, help: string, value: number): Gauge => ({ name, help, kind: "gauge", value });
  const counter = (name: string, help: string, value: number): Gauge => ({
    name,
    help,
    kind: "counter",
    value,
  });
  return [
    gauge("svc_actors_active", "Actors in memory.", stats.active),
    gauge("svc_actors_waiting", "Commands and messages waiting in mailboxes.", stats.mailboxed),
    gauge(
      "svc_actors_quarantined",
      "Actors taken out of service after repeated crashes.",
      stats.quarantined.length,
    ),
    gauge("svc_actors_outbox", "Effects not acknowledged yet.", stats.outboxPending),
    counter("svc_actors_commands_total", "Commands handled.", stats.commandsHandled),
    counter("svc_actors_commits_total", "Commits applied.", stats.commits),
    counter("svc_actors_refused_commits_total", "Commits refused by the fence.", stats.refusedCommits),
    counter("svc_actors_crashes_total", "Crashes of actors.", stats.crashes),
    ...(services.cluster === null ? [] : clusterGauges(services.cluster, gauge)),
    gauge("svc_process_resident_bytes", "Resident memory of the process.", process.memoryUsage.rss()),
  ];
}

function clusterGauges(
  { membership, regionNames, transportStats }: NodeCluster,
  gauge: (name: string, help: string, value: number) => Gauge,
): readonly Gauge[] {
  const members = regionNames.flatMap((region) => membership.view(region).members);
  return [
    gauge("svc_cluster_members", "Nodes of all regions, as this one knows them.", members.length),
    gauge("svc_cluster_lease_held", "1 while this node may act.", membership.holdsLease() ? 1 : 0),
    gauge("svc_cluster_peers", "Nodes that this one calls.", transportStats()?.peers.length ?? 0),
  ];
}

async function readiness(services: NodeServices): Promise<ReadyReport> {
  const checks: Record<string, string> = {};
  const check = async (name: string, run: () => unknown): Promise<void> => {
    try {
      await run();
      checks[name] = "ok";
    } catch (error) {
      checks[name] = error instanceof Error ? error.message : String(error);
    }
  };
  await check("store", () => services.actorStore.dueActors(0, 1));
  await check("index", () => services.index.count("products"));
  await check("cluster", () => {
    if (services.lease() === null) throw new Error("no lease: the node joins again");
  });
  await check("register", () => {
    if (services.register.refreshedAtMs() === null) throw new Error("not read yet");
  });
  const ready = Object.values(checks).every((state) => state === "ok");
  return { ready, checks, plain_text: services.config.plainText };
}

/** What needs no account: everything that anyone may check. */
function verificationOf(services: NodeServices, urls: SandboxUrls): readonly Route[] {
  const { register, keys, clock, anchors, records } = services;
  const trust = ownTrust(anchors, keys.keySet, nativeCrypto);
  const common = { register, clock, crypto: nativeCrypto, statement: keys.statement };
  return verificationRoutes({
    verification: createVerification({ ...common, keys }),
    verify: createVerify({
      ...common,
      environment: keys.environment,
      standings: createStandings({ register, trust }),
      trust,
    }),
    verifyPage: createVerifyPage({ ...common, records, verifyUrl: urls.verify_url }),
  });
}
