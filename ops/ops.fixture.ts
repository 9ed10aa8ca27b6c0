// The operators' surface on top of what a test provides. For tests.

import type { FastifyInstance, FastifyReply } from "fastify";
import { pino } from "pino";
import type { KeptAct } from "../actors/messages/business.ts";
import { type Contract, contractOf, type OpenApiDocument } from "../api/contract.fixture.ts";
import { ok, refuse } from "../protocol/result.ts";
import type { OperatorCampaigns } from "../service/ads/campaign-renders.ts";
import type { OperatorLedgers } from "../service/money/ledgers.ts";
import type { OperatorApplications } from "../service/portal/applications.ts";
import type { OperatorRecoveries } from "../service/portal/recoveries.ts";
import type { HeldDeletions } from "../service/publishing/purges.ts";
import type { Blocks, Brands } from "../service/register/blocks.ts";
import type { Enrolment } from "../service/register/enrolment.ts";
import type {
  CertificateState,
  KeyState,
  MandateState,
  Revocations,
} from "../service/register/revocations.ts";
import type { Takedowns } from "../service/register/takedowns.ts";
import type { ActorActing } from "./cluster.ts";
import { createOpsSessions } from "./guard.ts";
import type { Inspection } from "./inspection.ts";
import type { ActorDetail, MachineChart } from "./inspection-shapes.ts";
import type { ListActs } from "./lists.ts";
import { LiveViews } from "./live.ts";
import { createMetrics } from "./metrics.ts";
import { openApiOf } from "./open-api.ts";
import { buildOps, type OpsDeps, opsRoutes } from "./server.ts";
import { signedIn } from "./sign-in.fixture.ts";
import type { PurgeReads } from "./takedowns.ts";

export const report: ActorDetail = {
  ref: { kind: "push", id: "bat_1" },
  party: null,
  status: "active",
  state: "processing",
  context: {},
  epoch: 1,
  head: 2,
  owner: "eu-west1/a",
  mailbox: 0,
  timers: [],
  outbox: [],
  lastEvents: [],
  failure: null,
  crash: null,
  states: ["processing"],
  waits: [],
  durability: "journal",
  machine_version: 1,
  stored_version: null,
  activations: [],
  refused_writes: [],
  place: { at: "here", region: "eu-west1", node: "a", detail: null },
};
export const token = "an-operators-token-of-32-characters";
/** Who signs in in these tests. */
export const by = "Ada at the desk";
export const authorization = signedIn(token, by);
export const act = { reason: "It was in a public repository." };

/** The content of a register as operators are shown it. */
export const since = "2026-11-20T03:00:00.000Z";
const partyUuid = "10000000-0000-4000-8000-000000000001";
const named = { legal_name: "Diamonds Ltd", revoked_at: since };
export const keyFacts: KeyState = {
  key_id: "A".repeat(43),
  party_uuid: partyUuid,
  role: "integration",
  ...named,
  valid_from: since,
  valid_until: null,
  compromised_from: null,
};
export const mandateFacts: MandateState = {
  mandate_id: "m/1",
  business_uuid: partyUuid,
  key_id: keyFacts.key_id,
  ...named,
  valid_from: since,
  valid_until: since,
  accepted_at: since,
};
export const certificateFacts: CertificateState = {
  cert_id: `sha256:${"0".repeat(64)}`,
  uuid: partyUuid,
  kind: "business",
  legal_name: "Diamonds Ltd",
  status: "active",
  status_effective_from: since,
  status_reason: null,
  issued_at: since,
};
export const keptAct = (change: number): KeptAct => ({
  act: "key.revoke",
  entry: "key/k",
  by,
  reason: act.reason,
  at: since,
  change,
});

/** The Host of an injected request. */
const hosts = ["localhost:80"];
const nothing = async () => refuse("unknown", "There is none.");

export const noLedgers: OperatorLedgers = {
  account: async () => null,
  list: async () => ({ accounts: [], next_after: null, is_complete: true }),
  enter: nothing,
  statement: async () => ok(null),
};

export const noRevocations: Revocations = {
  hasGrants: false,
  key: nothing,
  revokeKey: nothing,
  mandate: nothing,
  revokeMandate: nothing,
  certificate: nothing,
  endCertificate: nothing,
  revokeGrant: nothing,
  acts: async () => ({ acts: [], next_after: null }),
};

export const noApplications: OperatorApplications = {
  read: async () => null,
  list: async () => ({ applications: [], next_after: null }),
  approve: nothing,
  refuse: nothing,
  evidence: { view: async () => null },
};

export const noRecoveries: OperatorRecoveries = {
  read: async () => null,
  list: async () => ({ recoveries: [], next_after: null }),
  approve: nothing,
  refuse: nothing,
};

export const noEnrolment: Enrolment = {
  party: nothing,
  certify: nothing,
  reissue: nothing,
  registerKey: nothing,
};

export const noBlocks: Blocks = {
  ofBusiness: nothing,
  setBlocked: nothing,
  ofCompany: nothing,
  joinGroup: nothing,
};

export const noBrands: Brands = { ofBusiness: nothing, confirm: nothing };
export const noTakedowns: Takedowns = {
  of: nothing,
  impose: nothing,
  lift: nothing,
  inForce: () => ({ takedowns: [], total: 0 }),
};

export const noCampaigns: OperatorCampaigns = {
  of: nothing,
  reverse: nothing,
  stop: nothing,
  unusual: async () => ({ unusual: [], next_after: null }),
};

export const noPurges: PurgeReads = {
  late: () => [],
  ofBusiness: async () => ({ purges: [], next_after: null }),
  order: nothing,
};

export const noHeldDeletions: HeldDeletions = { ofBusiness: nothing, decide: nothing };

export const noLists: ListActs = {
  all: () => [],
  of: async () => null,
  bytes: async () => null,
  set: async () => refuse("refused", "There is none."),
};

const never = async () => refuse("unknown", "This actor does not exist.");

const emptyChart = (kind: string): MachineChart => ({
  kind,
  part_of: null,
  version: 1,
  durability: "journal",
  states: [],
  transitions: [],
  events: [],
});

/** The only actor is that of {@link report}. */
export const noInspection: Inspection = {
  nodes: async () => [],
  counts: async () => ({ at: since, kinds: [], attention: [], pushes_under_way: [], missing: [] }),
  list: async ({ scope }) => ({ scope, actors: [], next_after: null, missing: [] }),
  attention: async () => ({ nodes: [], actors: [], total: 0, is_complete: true, missing: [] }),
  search: async () => ({ actors: [], is_complete: true, missing: [] }),
  audit: async () => ({ entries: [], next_before: null, unreadable: [], missing: [] }),
  refused: async () => ({ codes: [], requests: [], forgotten: 0, missing: [] }),
  detail: async ({ kind, id }) => (kind === "push" && id === "bat_1" ? report : null),
  machines: () => ["business", "integration-key", "ledger", "push"].map(emptyChart),
  past: { journal: never, exported: never },
};

export const noActing: ActorActing = {
  act: async () => ({ refused: "unknown" }),
  drain: async () => ({ refused: "unknown" }),
};

/** To compile a document costs more than most tests of the surface. */
const contracts = new Map<boolean, Contract>();

function contractFor(deps: OpsDeps): Contract {
  const isClustered = deps.cluster !== null;
  const sessions = createOpsSessions({ nowMs: Date.now, isSecure: false });
  const made =
    contracts.get(isClustered) ??
    contractOf(openApiOf(opsRoutes(deps, sessions, new LiveViews())) as unknown as OpenApiDocument);
  contracts.set(isClustered, made);
  return made;
}

/** The surface; its answers are checked against its own document. */
export function openOps(changes: Partial<OpsDeps> = {}): FastifyInstance {
  const deps: OpsDeps = {
    logger: pino({ level: "silent" }),
    incarnation: "t",
    access: { hosts, token, isLoopback: true },
    metrics: createMetrics(),
    readings: () => [{ name: "svc_actors_active", help: "Actors in memory.", kind: "gauge", value: 3 }],
    ready: async () => ({ ready: true, degraded: [], checks: { store: "ok" }, plain_text: [] }),
    inspection: noInspection,
    acting: noActing,
    stalledPushes: () => [],
    purges: noPurges,
    revocations: noRevocations,
    enrolment: noEnrolment,
    applications: noApplications,
    recoveries: noRecoveries,
    ledgers: noLedgers,
    blocks: noBlocks,
    brands: noBrands,
    takedowns: noTakedowns,
    campaigns: noCampaigns,
    heldDeletions: noHeldDeletions,
    lists: noLists,
    audit: { record: () => {} },
    cluster: null,
    ...changes,
  };
  const server = buildOps(deps);
  const contract = contractFor(deps);
  server.addHook("onSend", async (request, reply, payload) => {
    // Pages are for people, and are no part of the document.
    if (request.url === "/" || request.url.startsWith("/ui/")) return payload;
    const text = Buffer.isBuffer(payload) ? payload.toString() : typeof payload === "string" ? payload : "";
    const headers = { get: (name: string) => headerText(reply.getHeader(name)) };
    // The body of an answer to HEAD is dropped after this.
    const method = request.method === "HEAD" ? "GET" : request.method;
    const answer = { method, path: request.url, status: reply.statusCode, headers, text };
    const faults = contract.faults(answer);
    if (faults.length > 0) throw new Error(`${request.method} ${request.url}: ${faults.join("; ")}`);
    return payload;
  });
  return server;
}

function headerText(value: ReturnType<FastifyReply["getHeader"]>): string | null {
  return value === undefined ? null : String(value);
}
