// Surfaces over real stores and actors on free ports, a business with records and an AI company. For tests.

import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { type SignedRequest, signRequest } from "../client/sign-request.ts";
import { parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Clock, Signer } from "../crypto/port.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { openPublishingNode } from "../node/publishing.fixture.ts";
import type { NodeServices } from "../node/services.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import type { AuthenticationDeps } from "../service/authenticate.ts";
import { createFetch } from "../service/fetch.ts";
import { createGrantedKeys } from "../service/granted-keys.ts";
import { publishBatch } from "../service/publish.ts";
import { readPush } from "../service/push-status.ts";
import { createReceipts } from "../service/receipts.ts";
import type { AnsweredRequest } from "../service/request-observer.ts";
import { issueGrant, type SandboxGrant } from "../service/sandbox-grant.ts";
import { createSandboxGrants } from "../service/sandbox-grants.ts";
import { sealContext } from "../service/seal-context.ts";
import { createSearch } from "../service/search.ts";
import { createStandings } from "../service/standing.ts";
import { createVerification } from "../service/verification.ts";
import { createVerify } from "../service/verify.ts";
import { createVerifyPage } from "../service/verify-page.ts";
import { buildBusiness } from "./business.ts";
import { contractFetch, knowContract } from "./contract.fixture.ts";
import { createEdge, type Edge } from "./edge.ts";
import type { HttpLimits } from "./http-limits.ts";
import type { HttpDeps } from "./http-server.ts";
import { buildRetrieval } from "./retrieval.ts";
import type { Route } from "./route.ts";
import { sandboxGrantRoute } from "./sandbox-grants.ts";
import { buildTools } from "./tools.ts";
import { type AddressRates, buildVerification, verificationRoutes } from "./verification.ts";

export interface TestSurfaces extends AsyncDisposable {
  readonly services: NodeServices;
  readonly edge: Edge;
  readonly retrievalUrl: string;
  readonly businessUrl: string;
  readonly verifyUrl: string;
  readonly toolsUrl: string;
  readonly authentication: AuthenticationDeps;
  /** Moves the clock that authentication and answers read. */
  skipMs(ms: number): void;
  /** Instants that a 404 of a fetch was held until, with the clock's time then. */
  readonly delays: { readonly atMs: number; readonly nowMs: number }[];
  readonly observed: AnsweredRequest[];
  /** Lines of the log, parsed. */
  readonly log: Readonly<Record<string, unknown>>[];
}

export async function openSurfaces(
  limits: Partial<HttpLimits> = {},
  changes: { readonly hosts?: readonly string[]; readonly addressRates?: AddressRates } = {},
): Promise<TestSurfaces> {
  const node = await openPublishingNode();
  const { services } = node;
  let skippedMs = 0;
  const clock: Clock = { now: () => Date.now() + skippedMs };
  const delays: TestSurfaces["delays"] = [];
  const observed: AnsweredRequest[] = [];
  const log: TestSurfaces["log"] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const http: HttpDeps = {
    logger,
    clock,
    observer: { observe: (each) => void observed.push(each) },
    edge: createEdge({ limits }),
    hosts: changes.hosts ?? null,
  };
  const authentication: AuthenticationDeps = {
    environment: "sandbox",
    region: services.keys.region,
    register: services.register,
    actors: services.actors,
    crypto: nativeCrypto,
    clock,
    grantSigner: services.keys.grant,
    registerGrantedKey: createGrantedKeys(services),
    requestRate: null,
    keyRegion: null,
    limitFields: null,
  };
  const { addressRates = { reads: null, verifications: null } } = changes;
  const { urls, close } = await listenAll({ services, http, authentication, clock, delays, addressRates });
  for (const url of Object.values(urls)) await knowContract(url);
  log.length = 0;
  observed.length = 0;
  return {
    services,
    edge: http.edge,
    ...urls,
    authentication,
    skipMs: (ms) => {
      skippedMs += ms;
    },
    delays,
    observed,
    log,
    [Symbol.asyncDispose]: async () => {
      await close();
      await node.close();
    },
  };
}

interface Parts {
  readonly services: NodeServices;
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly clock: Clock;
  readonly delays: TestSurfaces["delays"];
  readonly addressRates: AddressRates;
}

async function listenAll({ services, http, authentication, clock, delays, addressRates }: Parts) {
  const authorities: Record<"retrieval" | "business", string[]> = { retrieval: [], business: [] };
  const routes = verificationRoutesOf(services, clock, { edge: http.edge, addressRates });
  const servers = {
    retrieval: buildRetrieval({
      http,
      authentication,
      authorities: authorities.retrieval,
      baseUrl: "http://127.0.0.1",
      ...retrievalOf(services, clock, delays),
      verification: routes,
      sandbox: [
        grantRoute(services, authentication, { authorities: authorities.retrieval, edge: http.edge }),
      ],
    }),
    business: buildBusiness({
      http,
      authentication,
      authorities: authorities.business,
      businessUrl: "http://127.0.0.1",
      publishing: {
        publishBatch: (request) => publishBatch({ ...services, crypto: nativeCrypto }, request),
        readPush: (request) => readPush(services.actors, request),
        sealContext: (request) => sealContext(services, request),
      },
    }),
    verification: buildVerification({ http, routes, verifyUrl: "http://127.0.0.1" }),
    tools: buildTools({ http, mcpUrl: "http://127.0.0.1" }),
  };
  const listen = async (server: FastifyInstance): Promise<string> =>
    server.listen({ host: "127.0.0.1", port: 0 });
  const urls = {
    retrievalUrl: await listen(servers.retrieval),
    businessUrl: await listen(servers.business),
    verifyUrl: await listen(servers.verification),
    toolsUrl: await listen(servers.tools),
  };
  authorities.retrieval.push(new URL(urls.retrievalUrl).host);
  authorities.business.push(new URL(urls.businessUrl).host);
  const close = async (): Promise<void> => {
    await Promise.all(Object.values(servers).map((server) => server.close()));
  };
  return { urls, close };
}

function grantRoute(
  { keys, anchors }: NodeServices,
  authentication: AuthenticationDeps,
  place: { readonly authorities: readonly string[]; readonly edge: Edge },
): Route {
  const { passkeys } = anchors;
  const issue = createSandboxGrants({ authentication, grantKey: keys.grant as Signer, passkeys });
  return sandboxGrantRoute({ issue, rate: { take: () => null }, ...place, tag: "svc-retrieval" });
}

function retrievalOf(services: NodeServices, clock: Clock, delays: TestSurfaces["delays"]) {
  const { register, records, index } = services;
  const receipts = createReceipts({
    environment: "sandbox",
    region: services.keys.region,
    incarnation: () => services.incarnation,
    signer: services.keys.receipt,
    store: services.receipts,
    crypto: nativeCrypto,
    clock,
  });
  const delayUntil = async (atMs: number): Promise<void> => {
    delays.push({ atMs, nowMs: clock.now() });
  };
  return {
    search: createSearch({ index, register, receipts, budget: null }),
    fetch: createFetch({
      records,
      register,
      receipts,
      budget: null,
      clock,
      verifyUrl: "https://verify.test",
      delayUntil,
    }),
  };
}

function verificationRoutesOf(
  services: NodeServices,
  clock: Clock,
  bounds: { readonly edge: Edge; readonly addressRates: AddressRates },
) {
  const { register, records, actors, keys, trust } = services;
  return verificationRoutes({
    verification: createVerification({ register, keys, crypto: nativeCrypto, clock }),
    verify: createVerify({
      environment: "sandbox",
      register,
      standings: createStandings({ register, trust }),
      trust,
      records,
      actors,
      statement: keys.statement,
      crypto: nativeCrypto,
      clock,
    }),
    verifyPage: createVerifyPage({
      records,
      register,
      statement: keys.statement,
      clock,
      verifyUrl: "https://verify.test",
    }),
    ...bounds,
  });
}

export interface TestCaller {
  readonly key: SigningKey;
  /** Empty for a key that is registered without one. */
  readonly grant: string;
}

export async function newCaller(
  grantKey: Signer | null,
  role: SandboxGrant["role"],
  uuid: string,
  algorithm: "Ed25519" | "ES256" = "Ed25519",
): Promise<TestCaller> {
  const parsed = await parseSigningKey(generatePrivateJwk(algorithm));
  if (!parsed.ok || grantKey === null) throw new Error("A sandbox has a grant key.");
  const kind = role === "integration" ? "business" : "ai_company";
  const grant = await issueGrant(
    {
      v: 1,
      environment: "sandbox",
      party: { uuid, kind, legal_name: `Test ${kind}`, country: "GB" },
      role,
      public_key: parsed.value.publicJwk,
      mandate_id: null,
    },
    grantKey,
  );
  return { key: parsed.value, grant };
}

export interface SentRequest {
  readonly method?: string;
  /** Path and query. */
  readonly path: string;
  readonly body?: string | Uint8Array | null;
  readonly tag?: SignatureTag;
  readonly nonce?: string;
  /** Unix seconds; now by default. */
  readonly created?: number;
  readonly lifetimeSeconds?: number;
  /** Host that is signed, when it is not the one addressed. */
  readonly signedHost?: string;
  readonly headers?: Readonly<Record<string, string | null>>;
}

let nonces = 0;

export function freshNonce(): string {
  nonces += 1;
  return `nonce-of-a-test-${nonces}-${Math.random()}`;
}

export function bytesOf(body: SentRequest["body"]): Uint8Array | null {
  return typeof body === "string" ? new TextEncoder().encode(body) : (body ?? null);
}

export function signed(base: string, caller: TestCaller, request: SentRequest): Promise<SignedRequest> {
  const url = new URL(request.path, base);
  if (request.signedHost !== undefined) url.host = request.signedHost;
  return signRequest({
    method: request.method ?? (request.body === undefined ? "GET" : "POST"),
    url,
    body: bytesOf(request.body),
    key: caller.key,
    tag: request.tag ?? "svc-retrieval",
    created: request.created ?? Math.floor(Date.now() / 1_000),
    nonce: request.nonce ?? freshNonce(),
    ...(request.lifetimeSeconds === undefined ? {} : { lifetimeSeconds: request.lifetimeSeconds }),
  });
}

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed body; an empty object where there is none. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Signs and sends; `headers` replace those that signing made, or with null leave them out. */
export async function send(
  base: string,
  caller: TestCaller | null,
  request: SentRequest,
  signal: AbortSignal | null = null,
): Promise<ReceivedAnswer> {
  const signing = caller === null ? {} : (await signed(base, caller, request)).headers;
  const headers: Record<string, string> = { ...signing };
  if (caller !== null && caller.grant !== "") headers["svc-sandbox-key"] = caller.grant;
  if (request.body !== undefined) headers["content-type"] = "application/json";
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value === null) delete headers[name];
    else headers[name] = value;
  }
  const body = bytesOf(request.body);
  const response = await contractFetch(new URL(request.path, base), {
    method: request.method ?? (request.body === undefined ? "GET" : "POST"),
    headers,
    signal,
    ...(body === null ? {} : { body: new Uint8Array(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true && text !== "";
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
}

export const productSearch = {
  filter: { all: [{ country: "US" }] },
  sort_by: "published_at:desc",
};
