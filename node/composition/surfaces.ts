// The HTTP surfaces of a node, built from its services.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { businessRef } from "../../actors/messages/refs.ts";
import { createEdge, type Edge, type EdgeRefusal, edgeRefusals } from "../../api/edge.ts";
import type { HttpDeps } from "../../api/http-server.ts";
import { createDocs, type Docs } from "../../api/pages/docs.ts";
import { verifierPageRoutes } from "../../api/pages/verifier-page.ts";
import type { Route } from "../../api/route.ts";
import { buildBusiness } from "../../api/routes/business.ts";
import { logRoutes } from "../../api/routes/log-routes.ts";
import { publishedRoutes } from "../../api/routes/published-routes.ts";
import { buildRetrieval } from "../../api/routes/retrieval.ts";
import { sandboxGrantRoute } from "../../api/routes/sandbox-grants.ts";
import { buildVerification, verificationRoutes } from "../../api/routes/verification.ts";
import { createToolSessions, type ToolSessions } from "../../api/tool-server/tool-sessions.ts";
import { buildTools, type ToolsDeps } from "../../api/tools.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { createListVerifier } from "../../crypto/turn-lists.ts";
import type { AuditLog } from "../../ops/acts.ts";
import type { OpsAccess } from "../../ops/guard.ts";
import type { LiveTiming } from "../../ops/live.ts";
import { counter, createMetrics, gauge, processMetrics, type Reading } from "../../ops/metrics.ts";
import { createRefusedRequests, type RefusedRequests } from "../../ops/refused-requests.ts";
import { buildOps } from "../../ops/server.ts";
import manifest from "../../package.json" with { type: "json" };
import { buildPortal } from "../../portal/server.ts";
import type { SignatureTag } from "../../protocol/http-signature.ts";
import { createOperatorCampaigns } from "../../service/ads/campaign-renders.ts";
import {
  type AuthenticationDeps,
  createKeyRegion,
  type KeyRegion,
} from "../../service/authentication/authenticate.ts";
import {
  createRegionalBudget,
  createRegionalRate,
  type KeyBudget,
  type KeyRate,
  limitFieldsOf,
  type RegionalLimitDeps,
} from "../../service/authentication/regional-limits.ts";
import {
  type AddressRate,
  createAddressRate,
  createQueryBudget,
  createRequestRate,
  type RequestRate,
} from "../../service/authentication/request-rate.ts";
import { createGrantedKeys, createSandboxGrants } from "../../service/authentication/sandbox-grants.ts";
import { createOperatorLedgers, type OperatorLedgers } from "../../service/money/ledgers.ts";
import type { Applications } from "../../service/portal/applications.ts";
import type { Recoveries } from "../../service/portal/recoveries.ts";
import { createHeldDeletions, orderPurge, readPurges } from "../../service/publishing/purges.ts";
import { createBlocks, createBrands } from "../../service/register/blocks.ts";
import { createEnrolment } from "../../service/register/enrolment.ts";
import { createRevocations } from "../../service/register/revocations.ts";
import { createKeyNetworks } from "../../service/register/source-address.ts";
import { createTakedowns } from "../../service/register/takedowns.ts";
import { createTestVectors, type VectorFolder } from "../../service/verification/published-reads.ts";
import { hostsOf } from "../configuration/http-config.ts";
import { readImageOf, uploadImageOf } from "../images/ad-images.ts";
import { createInspection } from "../inspection/inspection.ts";
import { createAuditReads } from "../keeping/audit-log.ts";
import type { SandboxUrls } from "../sandbox/seed.ts";
import type { NodeServices } from "./capabilities.ts";
import { clusterOps } from "./cluster-ops.ts";
import { nodeDefinitions } from "./node-actors.ts";
import { nodeReadings } from "./node-readings.ts";
import { applicationsOf, portalOf, recoveriesOf } from "./portal-surface.ts";
import { type PublicReads, publicReadsOf } from "./public-reads.ts";
import { adPublishingOf, businessReadsOf, publishingParts } from "./publishing-surface.ts";
import { readiness, readinessWithSpaces, readyReadings } from "./readiness.ts";
import { retrievalOf } from "./retrieval-surface.ts";

export interface Surfaces {
  readonly retrieval: FastifyInstance;
  readonly business: FastifyInstance;
  readonly verification: FastifyInstance;
  readonly tools: FastifyInstance;
  readonly ops: FastifyInstance;
  readonly portal: FastifyInstance;
}

export interface SurfacePlaces {
  readonly urls: SandboxUrls;
  /** The ports of the surfaces, in their order. */
  readonly ports: readonly number[];
  readonly access: OpsAccess;
  readonly logger: FastifyBaseLogger;
  readonly audit: AuditLog;
}

/** What a test of the surfaces observes or replaces; a real node sets nothing here. */
export interface SurfaceChanges {
  readonly edge?: Edge;
  readonly observer?: HttpDeps["observer"];
  /** The values of Host that unsigned requests may name; null for any. */
  readonly hosts?: readonly string[] | null;
  readonly vectors?: VectorFolder;
  readonly delayUntil?: (atMs: number) => Promise<void>;
  readonly toolSessions?: ToolSessions;
  /** Null for no limit. */
  readonly toolOpenings?: AddressRate | null;
  readonly live?: LiveTiming;
}

/** Longer than a busy caller leaves a connection idle. */
const leaveMs = 1_000;

export function buildSurfaces(
  services: NodeServices,
  { urls, ports, access, logger, audit }: SurfacePlaces,
  changes: SurfaceChanges = {},
): Surfaces {
  const { config } = services;
  const metrics = createMetrics([services.timings.registry, processMetrics()]);
  const refused = createRefusedRequests(() => services.clock.now());
  const { limits } = config.http;
  const edge = changes.edge ?? createEdge({ limits, trustedProxies: config.trustedProxies });
  const docs = createDocs({ failed: (error) => logger.warn({ err: error }, "docs.script_failed") });
  const common: Omit<HttpDeps, "hosts"> = {
    logger,
    docs,
    clock: services.clock,
    observer: changes.observer ?? observedBy(metrics, refused),
    traces: services.tracing,
    edge,
    // Callers of a standalone node have nowhere else to go.
    ...(services.cluster === null ? {} : { leaveMs }),
  };
  const http = (url: string, port: number | undefined): HttpDeps => ({
    ...common,
    hosts:
      changes.hosts === undefined
        ? hostsOf(url, { host: config.host, port: port ?? 0 }, config.http.hosts)
        : changes.hosts,
  });
  const budget = queryBudgetOf(services);
  const authentication = authenticationOf(services);
  const { requestRate } = authentication;
  const reads = publicReadsOf(services, urls.verify_url);
  const verification = [
    ...publicRoutes(reads, edge, changes.vectors ?? vectorFolder()),
    ...verifierPageRoutes({
      anchors: services.anchors,
      isSandbox: reads.isSandbox,
      failed: (error) => logger.warn({ err: error }, "verify.script_failed"),
    }),
  ];
  const grants = grantRoutes(services, authentication, edge);
  const [applications, recoveries] = [applicationsOf(services), recoveriesOf(services)];
  const uploadImage = uploadImageOf(services);
  return {
    retrieval: buildRetrieval({
      http: http(urls.base_url, ports[0]),
      authentication: { ...authentication, limitFields: limitFieldsOf(requestRate, budget) },
      authorities: authoritiesOf(urls.base_url),
      baseUrl: urls.base_url,
      ...retrievalOf(services, urls, { budget, delayUntil: changes.delayUntil }),
      readImage: readImageOf(services, urls.base_url),
      verification,
      sandbox: grants(urls.base_url, "svc-retrieval"),
    }),
    business: buildBusiness({
      http: http(urls.business_url, ports[1]),
      authentication: { ...authentication, limitFields: limitFieldsOf(requestRate, null) },
      authorities: authoritiesOf(urls.business_url),
      businessUrl: urls.business_url,
      ...publishingParts(services, urls.business_url),
      ...businessReadsOf(services, urls.verify_url),
      uploadImage,
      ads: adPublishingOf(services),
      sandbox: grants(urls.business_url, "svc-push"),
    }),
    verification: buildVerification({
      http: http(urls.verify_url, ports[2]),
      routes: verification,
      verifyUrl: urls.verify_url,
    }),
    tools: buildTools({
      http: http(urls.mcp_url, ports[3]),
      mcpUrl: urls.mcp_url,
      verifyUrl: urls.verify_url,
      ...reads,
      ...toolBoundsOf(services, changes),
    }),
    ops: opsOf(services, authentication, {
      logger,
      access,
      audit,
      metrics,
      refused,
      edge,
      docs,
      live: changes.live,
      applications,
      recoveries,
    }),
    portal: buildPortal({
      http: http(urls.portal_url, ports[5]),
      ...portalOf(services, urls, { applications, recoveries, uploadImage }),
    }),
  };
}

function observedBy(...observers: readonly HttpDeps["observer"][]): HttpDeps["observer"] {
  return {
    observe: (request) => {
      for (const each of observers) each.observe(request);
    },
  };
}

function opsOf(
  services: NodeServices,
  authentication: AuthenticationDeps,
  {
    edge,
    refused,
    ...given
  }: Pick<SurfacePlaces, "logger" | "access" | "audit"> & {
    readonly metrics: ReturnType<typeof createMetrics>;
    readonly refused: RefusedRequests;
    readonly edge: Edge;
    readonly docs: Docs;
    readonly live: LiveTiming | undefined;
    readonly applications: Applications;
    readonly recoveries: Recoveries;
  },
): FastifyInstance {
  const { grantSigner, registerGrantedKey } = authentication;
  const grants = grantSigner === null ? null : { signer: grantSigner, register: registerGrantedKey };
  const revocations = createRevocations({ ...services, grants });
  return buildOps({
    ...given,
    incarnation: services.incarnation,
    readings: async () => [
      ...(await nodeReadings(services)),
      ...readyReadings(await readiness(services)),
      ...services.operatorFiles.readings(),
      ...edgeReadings(edge),
    ],
    ready: () => readiness(services),
    ...createInspection(services, {
      version: release,
      definitions: nodeDefinitions(services),
      refused,
      audit: createAuditReads(services.config),
      check: () => readinessWithSpaces(services),
    }),
    stalledPushes: () => services.stalled.list(),
    purges: {
      late: () => services.latePurges.list(),
      ofBusiness: (uuid, after) => readPurges(services, uuid, after),
      order: (request) => orderPurge(services, request),
    },
    revocations,
    enrolment: createEnrolment({ ...services, revocations }),
    ledgers: operatorLedgersOf(services),
    blocks: createBlocks(services),
    brands: createBrands(services),
    takedowns: createTakedowns(services),
    campaigns: createOperatorCampaigns(services),
    heldDeletions: createHeldDeletions(services),
    lists: services.listActs,
    cluster: clusterOps(services, (event, detail) => given.logger.info(detail, event)),
  });
}

function authenticationOf(
  services: NodeServices,
): Omit<AuthenticationDeps, "requestRate"> & { readonly requestRate: KeyRate | null } {
  return {
    environment: services.keys.environment,
    region: services.keys.region,
    register: services.register,
    actors: services.actors,
    crypto: nativeCrypto,
    judge: createListVerifier(),
    clock: services.clock,
    grantSigner: services.keys.grant,
    registerGrantedKey: createGrantedKeys(services),
    requestRate: keyRateOf(services),
    limitFields: null,
    keyRegion: keyRegionOf(services),
    networks: createKeyNetworks(services),
  };
}

/** Grants per minute that a node issues to one address, and to all addresses together. */
const grantsPerMinute = 30;
const allGrantsPerMinute = 600;

/** The endpoint at which a newcomer's own key gets its grant; production has none. */
function grantRoutes(
  { keys, anchors, elapsedMs }: NodeServices,
  authentication: AuthenticationDeps,
  edge: Edge,
): (url: string, tag: SignatureTag) => readonly Route[] {
  const { grant: grantKey } = keys;
  if (grantKey === null) return () => [];
  const rate = createAddressRate({ perMinute: grantsPerMinute, allPerMinute: allGrantsPerMinute, elapsedMs });
  const issue = createSandboxGrants({ authentication, grantKey, passkeys: anchors.passkeys });
  return (url, tag) => [sandboxGrantRoute({ issue, rate, edge, authorities: authoritiesOf(url), tag })];
}

const keyBurstSeconds = 2;

/** A standalone node counts for itself; the nodes of a region count together. */
function keyRateOf(services: NodeServices): KeyRate | null {
  const { requestsPerSecond: perSecond } = services.config.keyLimits;
  const regional = regionalOf(services);
  if (perSecond === null || regional === null) return rateOf(services, perSecond, keyBurstSeconds);
  return createRegionalRate(regional, { perSecond, burst: keyBurstSeconds * perSecond });
}

function regionalOf({ cluster, actors, elapsedMs, config }: NodeServices): RegionalLimitDeps | null {
  if (cluster === null) return null;
  const { region } = config;
  return { actors, region, elapsedMs, nodes: () => cluster.membership.view(region).members.length };
}

/** Allows bursts of `burstSeconds` times the rate. */
function rateOf(
  { elapsedMs }: NodeServices,
  perSecond: number | null,
  burstSeconds: number,
): RequestRate | null {
  if (perSecond === null) return null;
  return createRequestRate({ perSecond, burst: burstSeconds * perSecond, elapsedMs });
}

function keyRegionOf({ config, cluster }: NodeServices): KeyRegion | null {
  if (cluster === null || config.cluster?.bindKeysToHome !== true) return null;
  const { placement } = cluster;
  return createKeyRegion({
    region: config.region,
    regionOf: (party) => {
      if (placement.homeOf(party) !== null) return placement.regionOf(party);
      return placement.settle(businessRef(party)).then(() => placement.regionOf(party));
    },
  });
}

function queryBudgetOf(services: NodeServices): KeyBudget | null {
  const { queryCostPerMinute: perMinute } = services.config.keyLimits;
  if (perMinute === null) return null;
  const regional = regionalOf(services);
  const { elapsedMs } = services;
  return regional === null
    ? createQueryBudget({ perMinute, elapsedMs })
    : createRegionalBudget(regional, perMinute);
}

/** A loopback node is reached under both of its names. */
function authoritiesOf(url: string): readonly string[] {
  const { host, port } = new URL(url);
  return host.startsWith("127.0.0.1") ? [host, port === "" ? "localhost" : `localhost:${port}`] : [host];
}

function operatorLedgersOf({ actors, actorStore, operatorFiles, register }: NodeServices): OperatorLedgers {
  const partyOf = async (uuid: string) => register.party(uuid);
  return createOperatorLedgers({ actors, actorStore, prices: operatorFiles.prices, partyOf });
}

function publicRoutes(reads: PublicReads, edge: Edge, folder: VectorFolder): readonly Route[] {
  const vectors = createTestVectors({ folder, sha256: nativeCrypto.sha256 });
  return [
    ...verificationRoutes({ ...reads, edge }),
    ...logRoutes(reads.log),
    ...publishedRoutes(reads.published, vectors),
  ];
}

/** Sessions of the tool server that a node opens for one address per minute. */
const toolOpeningsPerMinute = 120;

/** All addresses together are not limited: their sessions are, and a checker is never kept out by others. */
function toolBoundsOf(
  { elapsedMs }: NodeServices,
  { toolSessions, toolOpenings }: Pick<SurfaceChanges, "toolSessions" | "toolOpenings">,
): Pick<ToolsDeps, "sessions" | "openings"> {
  const allPerMinute = Number.POSITIVE_INFINITY;
  const openings = createAddressRate({ perMinute: toolOpeningsPerMinute, allPerMinute, elapsedMs });
  return {
    sessions: toolSessions ?? createToolSessions(elapsedMs),
    openings: toolOpenings === undefined ? openings : toolOpenings,
  };
}

// What the node's connected peers use and how often a limit was hit, for /metrics.

function edgeReadings(edge: Edge): readonly Reading[] {
  const { connections, bodyBytes, answerBytes } = edge.usage();
  const { waiting, answering } = edge.checks.usage();
  return [
    gauge("svc_http_connections", "Connections of callers.", connections),
    gauge("svc_http_body_bytes", "Bytes of bodies that are being read or answered.", bodyBytes),
    gauge("svc_http_answer_bytes", "Bytes of answers that peers have not read.", answerBytes),
    gauge("svc_http_checks_waiting", "Checks that anyone may make and that wait for their turn.", waiting),
    gauge("svc_http_checks_answering", "Checks that anyone may make and that are being answered.", answering),
    ...Object.entries(edge.refusals).map(([kind, value]) =>
      counter(`svc_http_refused_${kind}_total`, edgeRefusals[kind as EdgeRefusal], value),
    ),
  ];
}

// The folder of the public test vectors, which is part of the release.

/** Above any file of vectors; what is larger does not belong there. */
export const vectorBytesMax = 8_388_608;

const ofRelease = fileURLToPath(new URL("../../vectors", import.meta.url));

/** The files below `folder`. */
export function vectorFolder(folder: string = ofRelease): VectorFolder {
  return {
    read: async (path) => {
      const place = join(folder, path);
      const found = await stat(place).catch(absent);
      if (found === null || !found.isFile()) return null;
      if (found.size > vectorBytesMax) throw new Error(`${place} is too large for test vectors.`);
      return new Uint8Array(await readFile(place));
    },
  };
}

function absent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}

// The release of the program, as its package says.

const release: string = manifest.version;
