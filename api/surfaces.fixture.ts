// Test support: surfaces over real stores and actors on free ports, a business with records and an AI company.

import { pino } from "pino";
import { type SignedRequest, signRequest } from "../client/sign-request.ts";
import { parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import type { Clock, Signer } from "../crypto/port.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import type { NodeServices } from "../node/composition/services.ts";
import { holdPort } from "../node/composition/start.ts";
import { buildSurfaces, type SurfaceChanges, type SurfacePlaces } from "../node/composition/surfaces.ts";
import { loadOpsAccess } from "../node/configuration/http-config.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { answerJson, type Outcome } from "../service/answer.ts";
import { issueGrant, type SandboxGrant } from "../service/register/sandbox-grant.ts";
import type { AnsweredRequest } from "../service/request-observer.ts";
import { addressBlock } from "../std/ip-address.ts";
import { openPublishingNode } from "../stories/publishing/publishing.fixture.ts";
import type { Check } from "./checks.ts";
import { contractFetch, knowContract } from "./contract.fixture.ts";
import { createEdge, type Edge } from "./edge.ts";
import type { HttpLimits } from "./http-limits.ts";

export interface TestSurfaces extends AsyncDisposable {
  readonly services: NodeServices;
  readonly edge: Edge;
  readonly retrievalUrl: string;
  readonly businessUrl: string;
  readonly verifyUrl: string;
  readonly toolsUrl: string;
  /** Advances the clock of the node. */
  skipMs(ms: number): void;
  /** The instants until which the 404 of a fetch was held, with the clock's time at that moment. */
  readonly delays: { readonly atMs: number; readonly nowMs: number }[];
  readonly observed: AnsweredRequest[];
  /** The lines of the log, parsed. */
  readonly log: Readonly<Record<string, unknown>>[];
}

/**
 * The surfaces as a node builds them. Here keys are not rate-limited, any host may be named, and nothing waits for the
 * clock.
 */
export async function openSurfaces(
  limits: Partial<HttpLimits> = {},
  changes: Pick<SurfaceChanges, "hosts" | "vectors" | "toolSessions" | "toolOpenings"> = {},
  platform: Parameters<typeof openPublishingNode>[1] = {},
  env: Parameters<typeof openPublishingNode>[0] = {},
): Promise<TestSurfaces> {
  let skippedMs = 0;
  const clock: Clock = { now: () => Date.now() + skippedMs };
  const node = await openPublishingNode(env, { clock, ...platform });
  const held = await Promise.all(Array.from({ length: 4 }, () => holdPort("127.0.0.1", 0)));
  const ports = held.map(({ port }) => port);
  const [base_url = "", business_url = "", verify_url = "", mcp_url = ""] = ports.map(
    (port) => `http://127.0.0.1:${port}`,
  );
  const { config } = node.services;
  const keyLimits = { requestsPerSecond: null, queryCostPerMinute: null };
  const services: NodeServices = { ...node.services, clock, config: { ...config, keyLimits } };
  const delays: TestSurfaces["delays"] = [];
  const observed: AnsweredRequest[] = [];
  const log: TestSurfaces["log"] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const edge = createEdge({ limits });
  const places: SurfacePlaces = {
    urls: { base_url, business_url, verify_url, mcp_url, ops_url: "", portal_url: "http://localhost:0" },
    ports,
    access: await loadOpsAccess(config.ops, 0),
    logger,
    audit: { record: () => {} },
  };
  const { ops, portal, ...surfaces } = buildSurfaces(services, places, {
    edge,
    observer: { observe: (each) => void observed.push(each) },
    hosts: null,
    delayUntil: async (atMs) => void delays.push({ atMs, nowMs: clock.now() }),
    ...changes,
  });
  const built = [surfaces.retrieval, surfaces.business, surfaces.verification, surfaces.tools] as const;
  await Promise.all(built.map((surface, index) => held[index]?.giveTo(surface)));
  for (const url of [base_url, business_url, verify_url, mcp_url]) await knowContract(url);
  log.length = 0;
  observed.length = 0;
  return {
    services: node.services,
    edge,
    retrievalUrl: base_url,
    businessUrl: business_url,
    verifyUrl: verify_url,
    toolsUrl: mcp_url,
    skipMs: (ms) => {
      skippedMs += ms;
    },
    delays,
    observed,
    log,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...built, ops, portal].map((surface) => surface.close()));
      await node.close();
    },
  };
}

/** Takes all the turns that an address may have. */
export function holdTurns({ checks, limits }: Edge, address: string): { readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const check: Check = { request: rubbish({ socket: {} }), owner: addressBlock(address) };
  for (let count = 0; count < limits.checksPerAddressMax; count += 1)
    void checks.answer(check, () => promise);
  return { end: () => resolve(answerJson(200, {})) };
}

export interface TestCaller {
  readonly key: SigningKey;
  /** Empty for a key that is registered without a grant. */
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
  /** Unix seconds (default: now). */
  readonly created?: number;
  readonly lifetimeSeconds?: number;
  /** The signed host, if it is not the one addressed. */
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
  /** The parsed body; an empty object if there is none. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Signs and sends; `headers` replace those produced by signing, or with null remove them. */
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
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
}

export const productSearch = {
  filter: { all: [{ country: "US" }] },
  sort_by: "published_at:desc",
} as const;
