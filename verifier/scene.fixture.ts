// Test support: a service, a business that it has verified, and a verifier that trusts the service.

import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import type { BusinessKey, BusinessKeys } from "../protocol/keys/business-keys.ts";
import { makeBusiness, publishedKeys, type TestBusiness } from "./business.fixture.ts";
import type { CertificateHistory } from "./certificate.ts";
import { type KeySetParts, keySetAnswer, makeService, type TestService } from "./service.fixture.ts";
import { createVerifier, type Verifier } from "./verifier.ts";

export interface Scene {
  readonly service: TestService;
  readonly business: TestBusiness;
  readonly verifier: Verifier;
  /** The business's verified certificate history. */
  certificates(...envelopes: readonly JsonValue[]): CertificateHistory;
  /** The business's verified keys. */
  keys(listed?: readonly BusinessKey[]): BusinessKeys;
  /** A verifier under another key set of the same service. */
  verifierOf(parts: KeySetParts): Verifier;
}

export function makeScene(environment: Anchors["environment"] = "production"): Scene {
  const service = makeService(environment);
  const business = makeBusiness(service);
  const verifierOf = (parts: KeySetParts) =>
    held(createVerifier({ anchors: service.anchors, keySet: keySetAnswer(service, parts) }));
  const verifier = verifierOf({});
  return {
    service,
    business,
    verifier,
    verifierOf,
    certificates: (...envelopes) => held(verifier.certificates(business.uuid, envelopes)),
    keys: (listed) => held(verifier.businessKeys(business.uuid, publishedKeys(service, business, listed))),
  };
}

type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: string; readonly detail: string };

export function held<T>(verdict: Outcome<T>): T {
  if (!verdict.ok) throw new Error(`${verdict.code}: ${verdict.detail}`);
  return verdict.value;
}

/** Returns `ok`, or the reason code. */
export function codeOf(verdict: Outcome<unknown>): string {
  return verdict.ok ? "ok" : verdict.code;
}

/** The bytes with one bit flipped. */
export function altered(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  copy[copy.length - 3] = (copy[copy.length - 3] ?? 0) ^ 1;
  return copy;
}
