// Signed requests as bytes, prepared before they are needed, because signing is the caller's work and is not measured; and the load
// that is made of them on a server, ours or a floor, which is given the same work as ours.

import { randomBytes } from "node:crypto";
import { signRequest } from "../client/sign-request.ts";
import type { Signer } from "../crypto/port.ts";
import { createSigner, type PrivateJwk } from "../crypto/private-jwk.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { pae, payloadTypes } from "../protocol/dsse.ts";
import { type SignatureTag, signatureBase } from "../protocol/http-signature.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { packEnvelope, type ReceiptReference } from "../storage/receipt-store.ts";
import type { Child } from "./child.ts";
import { quantile, type Rounds, sidesText } from "./figures.ts";
import type { AnswerPlan } from "./floor/bare-server.ts";
import { type LoadTarget, type ReceivedAnswer, refused, sendAll, sendOne } from "./load.ts";
import { type Cost, costOf } from "./work.ts";

export interface Caller {
  readonly key: Signer;
  /** Sent as `SVC-Sandbox-Key`. */
  readonly grant: string;
  /** Its clock, by default that of the machine. */
  readonly nowMs?: () => number;
}

export interface RequestPlan {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly tag: SignatureTag;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The maximum lifetime of a signature: none expires between being made and being sent. */
const lifetimeSeconds = 300;

export function callerOf(key: { readonly private_jwk: unknown; readonly grant: string }): Caller {
  return { key: createSigner(key.private_jwk as PrivateJwk), grant: key.grant };
}

/** Bytes of a signed request to `baseUrl`. */
export async function makeRequest(baseUrl: string, caller: Caller, plan: RequestPlan): Promise<Uint8Array> {
  const url = new URL(baseUrl + plan.path);
  const body = plan.body ?? null;
  const signed = await signRequest({
    method: plan.method,
    url,
    body,
    key: caller.key,
    tag: plan.tag,
    lifetimeSeconds,
    created: Math.floor((caller.nowMs ?? Date.now)() / 1_000),
    nonce: randomBytes(32).toString("base64url"),
  });
  return requestBytes(plan.method, url, body, {
    accept: "application/json",
    "svc-sandbox-key": caller.grant,
    ...plan.headers,
    ...signed.headers,
  });
}

export function requestBytes(
  method: string,
  { host, pathname, search }: URL,
  body: Uint8Array | null,
  headers: Readonly<Record<string, string>> = {},
): Uint8Array {
  const ofBody =
    body === null ? {} : { "content-type": "application/json", "content-length": String(body.length) };
  const lines = Object.entries({ host, ...ofBody, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = Buffer.from(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
  return body === null ? head : Buffer.concat([head, body]);
}

export async function makeRequests(
  baseUrl: string,
  caller: Caller,
  plans: readonly RequestPlan[],
): Promise<readonly Uint8Array[]> {
  const requests: Uint8Array[] = [];
  for (let first = 0; first < plans.length; first += 256) {
    const some = plans.slice(first, first + 256);
    requests.push(...(await Promise.all(some.map((plan) => makeRequest(baseUrl, caller, plan)))));
  }
  return requests;
}

/** Sends one signed request; throws for an answer that is not 200. */
export async function ask(baseUrl: string, caller: Caller, plan: RequestPlan): Promise<string> {
  const answer = await sendOne(targetOf(baseUrl), await makeRequest(baseUrl, caller, plan));
  if (answer.status !== 200) throw refused(plan.path, answer);
  return answer.body;
}

export function targetOf(baseUrl: string): LoadTarget {
  const { hostname, port } = new URL(baseUrl);
  return { host: hostname, port: Number(port) };
}

export interface Server {
  readonly child: Child;
  readonly target: LoadTarget;
}

/** What a server did under load, and what each answer cost. */
export interface Timed extends Cost {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function timeLoad(
  { child, target }: Server,
  requests: readonly Uint8Array[],
  connections: number,
  note?: (answer: ReceivedAnswer, index: number) => void,
): Promise<Timed> {
  const { result, cpu } = await child.spend(() => sendAll(target, requests, connections, note));
  const { elapsedMs, latenciesMs } = result;
  return {
    rate: (requests.length / elapsedMs) * 1_000,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    ...costOf({ elapsedMs, cpu }, requests.length),
  };
}

/** Load by plans, of which each round takes the next `each`. All are signed for the node, whichever server they are sent to. */
export function loadOf(
  { baseUrl, caller }: { readonly baseUrl: string; readonly caller: Caller },
  load: { readonly plans: readonly RequestPlan[]; readonly each: number; readonly connections: number },
): (server: Server) => (round: number) => Promise<Timed> {
  const { plans, each, connections } = load;
  return (server) => async (round) => {
    const some = plans.slice(round * each, (round + 1) * each);
    return await timeLoad(server, await makeRequests(baseUrl, caller, some), connections);
  };
}

export function cpuText(rounds: Rounds<Timed>): string {
  return (
    `processor time of an answer ${sidesText(rounds, ({ mainMicros }) => mainMicros)} µs on the main thread, ` +
    `${sidesText(rounds, ({ allMicros }) => allMicros)} µs on all.`
  );
}

/** By what a receipt with this payload is kept. */
function referenceOf(payload: Uint8Array): ReceiptReference {
  const { rows, ...rest } = JSON.parse(Buffer.from(payload).toString()) as Receipt;
  return {
    payloadType: payloadTypes["receipt.v3"],
    keyId: "k".repeat(43),
    signature: new Uint8Array(64),
    payload: JSON.stringify({ ...rest, rows: [] }),
    versions: rows.map(({ record_id }) => ({ record_id, generation: 1 })),
  };
}

/** What a floor is given so that it does the same work for these requests as our server, whose answers are captured. */
export async function captureAnswers(
  baseUrl: string,
  caller: Caller,
  plans: readonly RequestPlan[],
): Promise<AnswerPlan> {
  const requests = await makeRequests(baseUrl, caller, plans);
  const bodies: Uint8Array[] = [];
  await sendAll(targetOf(baseUrl), requests, 1, (answer) => void bodies.push(Buffer.from(answer.body())));
  const [body, plan, request] = [bodies[0], plans[0], requests[0]];
  if (body === undefined || plan === undefined || request === undefined)
    throw new Error("nothing was captured");
  const { receipt } = JSON.parse(Buffer.from(body).toString()) as { receipt: { payload: string } };
  const payload = parseBase64(receipt.payload) ?? new Uint8Array();
  const head = Buffer.from(request).toString("latin1");
  const params = /\r\nsignature-input: sig1=([^\r]+)/.exec(head)?.[1] ?? "";
  const contentDigest = /\r\ncontent-digest: ([^\r]+)/.exec(head)?.[1] ?? null;
  const { host: authority, pathname: path } = new URL(baseUrl + plan.path);
  const signed = { method: plan.method, authority, path, query: null, contentDigest };
  return {
    signatureBaseLength: signatureBase(signed, params).length,
    receiptLength: pae(payloadTypes["receipt.v3"], payload).length,
    envelopeLength: packEnvelope({ envelope: "", reference: referenceOf(payload) }).length,
    bodies,
  };
}
