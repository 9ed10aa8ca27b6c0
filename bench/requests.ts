// Signed requests as bytes, prepared before they are needed: signing is the caller's work and is not measured.

import { randomBytes } from "node:crypto";
import { signRequest } from "../client/sign-request.ts";
import { createSigner } from "../crypto/file-signer.ts";
import type { Signer } from "../crypto/port.ts";
import type { PrivateJwk } from "../crypto/private-jwk.ts";
import { type SignatureTag, signatureBase } from "../protocol/http-signature.ts";
import type { LoadTarget } from "./load.ts";

export interface Caller {
  readonly key: Signer;
  /** Sent as `SVC-Sandbox-Key`. */
  readonly grant: string;
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
    created: Math.floor(Date.now() / 1_000),
    lifetimeSeconds,
    nonce: randomBytes(32).toString("base64url"),
  });
  const headers = {
    host: url.host,
    accept: "application/json",
    ...(body === null ? {} : { "content-type": "application/json", "content-length": String(body.length) }),
    "svc-sandbox-key": caller.grant,
    ...plan.headers,
    ...signed.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(
    `${plan.method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`,
    "latin1",
  );
  return body === null ? head : Buffer.concat([head, body]);
}

/** Requests for many plans, in their order. */
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

export function targetOf(baseUrl: string): LoadTarget {
  const { hostname, port } = new URL(baseUrl);
  return { host: hostname, port: Number(port) };
}

/** Length of the signature base of a request made here. */
export function signatureBaseLength(baseUrl: string, plan: RequestPlan, request: Uint8Array): number {
  const head = Buffer.from(request).toString("latin1");
  const params = /\r\nsignature-input: sig1=([^\r]+)/.exec(head)?.[1] ?? "";
  const contentDigest = /\r\ncontent-digest: ([^\r]+)/.exec(head)?.[1] ?? null;
  const { host, pathname } = new URL(baseUrl + plan.path);
  return signatureBase(
    { method: plan.method, authority: host, path: pathname, query: null, contentDigest },
    params,
  ).length;
}
