// Test support: a verified business with one key of every kind, a mandate, and the seals that it makes.

import {
  type AiPolicyRecord,
  actionNames,
  aiPolicyBytes,
  blockedNames,
  useNames,
} from "../protocol/ai-policy.ts";
import { hashOf, toBase64, toHex } from "../protocol/bytes.ts";
import { type PayloadKind, payloadTypes } from "../protocol/dsse.ts";
import { canonicalBytes, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKey, BusinessKeys } from "../protocol/keys/business-keys.ts";
import type { Certificate } from "../protocol/keys/certificate.ts";
import { coseKeyOf } from "../protocol/keys/jwk.ts";
import { type CustodyRequest, custodyRequestPayload } from "../protocol/keys/key-directory.ts";
import type { Mandate } from "../protocol/mandate.ts";
import { buildTree, leafHash } from "../protocol/merkle.ts";
import { type BatchSealV2, type SealV2, sealPayload } from "../protocol/seal.ts";
import type { SidecarV2 } from "../protocol/signed-version.ts";
import { type HoldDecision, holdDecisionPayload } from "../protocol/withdrawal.ts";
import {
  asJson,
  day0,
  document,
  type IssuedTestCertificate,
  issueCertificate,
  soleKey,
  type TestService,
} from "./service.fixture.ts";
import { type AssertionParts, makeKey, seal, sealWithPasskey, type TestKey } from "./signing.fixture.ts";

export const sealedAt = "2026-03-01T12:00:00.000Z";
export const recordId = `svc_${"a".repeat(26)}`;

export interface TestBusiness {
  readonly uuid: string;
  readonly certificate: Certificate;
  readonly issued: IssuedTestCertificate;
  readonly passkey: TestKey;
  readonly hosted: TestKey;
  readonly system: TestKey;
  readonly listed: readonly BusinessKey[];
  readonly mandate: Mandate;
}

export function makeBusiness(service: TestService): TestBusiness {
  const uuid = "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5d";
  const certificate: Certificate = {
    v: 1,
    subject: { kind: "business", uuid },
    legal_name: "Nordlicht Tee GmbH",
    country: "DE",
    verified_since: day0,
    status: "active",
    status_effective_from: day0,
    issued_at: day0,
    previous: null,
    ...(service.environment === "sandbox" ? { sandbox: true } : {}),
  };
  const keys = { passkey: makeKey("ES256"), hosted: makeKey("Ed25519"), system: makeKey("Ed25519") };
  return {
    uuid,
    certificate,
    issued: issueCertificate(service, certificate),
    ...keys,
    listed: [
      listedKey("passkey", keys.passkey),
      listedKey("hosted", keys.hosted),
      listedKey("system", keys.system),
    ],
    mandate: mandateFor(uuid, keys.system),
  };
}

export function listedKey(
  kind: BusinessKey["kind"],
  key: TestKey,
  facts: Partial<BusinessKey> = {},
): BusinessKey {
  const cose = kind === "passkey" ? coseKeyOf(key.jwk) : null;
  return {
    key_id: key.keyId,
    purpose: kind === "system" ? "integration" : "sealing",
    kind,
    public_key: key.jwk,
    ...(cose === null ? {} : { cose: toBase64(cose) }),
    valid_from: day0,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
    ...facts,
  };
}

function mandateFor(uuid: string, key: TestKey): Mandate {
  return {
    v: 1,
    mandate_id: "man_1",
    business_uuid: uuid,
    key_id: key.keyId,
    scope: {
      record_types: ["products"],
      countries: ["DE", "FR"],
      directions: ["publish"],
      caps: { records_per_hour: 10_000, bytes_per_day: 100_000_000 },
      source_ip_allow_list: null,
    },
    valid_from: "2026-02-01T00:00:00.000Z",
    valid_until: "2026-05-01T00:00:00.000Z",
  };
}

/** The signed answer of the published keys, with changes to the list. */
export function publishedKeys(
  service: TestService,
  business: TestBusiness,
  keys: readonly BusinessKey[] = business.listed,
): JsonValue {
  const { uuid, issued } = business;
  const payload: BusinessKeys = {
    v: 1,
    uuid,
    cert_id: issued.certId,
    issued_at: "2026-06-01T00:00:00.000Z",
    keys,
  };
  const { v: _, ...shown } = payload;
  return asJson({ ...shown, signed: document("business-keys.v1", payload, soleKey(service.statement)) });
}

/** A mandate envelope sealed by the business's passkey. */
export function sealedMandate(
  business: TestBusiness,
  facts: Partial<Mandate> = {},
  parts: AssertionParts = {},
): JsonValue {
  const payload = canonicalBytes(asJson({ ...business.mandate, ...facts }));
  return asJson(sealWithPasskey(payloadTypes["mandate.v1"], payload, business.passkey, parts));
}

/** A decision to confirm a held push, sealed by the business's passkey. */
export function sealedDecision(
  business: TestBusiness,
  facts: Partial<HoldDecision> = {},
  parts: AssertionParts = {},
): JsonValue {
  const payload = holdDecisionPayload({
    v: 1,
    business_uuid: business.uuid,
    push_id: `bat_${"0a".repeat(12)}`,
    decision: "confirm",
    at: sealedAt,
    ...facts,
  });
  return asJson(sealWithPasskey(payloadTypes["hold-decision.v1"], payload, business.passkey, parts));
}

/** A request for a custody statement, sealed by the business's passkey. */
export function sealedCustodyRequest(
  business: TestBusiness,
  facts: Partial<CustodyRequest> = {},
  parts: AssertionParts = {},
): JsonValue {
  const payload = custodyRequestPayload({
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    effective_from: sealedAt,
    at: sealedAt,
    ...facts,
  });
  return asJson(sealWithPasskey(payloadTypes["custody-request.v1"], payload, business.passkey, parts));
}

export const product = {
  schema: "svc/products/1",
  language: "de",
  business_product_id: "tea-1",
  product_name: "Earl Grey",
  countries: ["DE", "FR"],
  vertical: "grocery",
  category: "tea",
  channel: "online",
  brand: "Nordlicht",
  tags: ["tea"],
  short_description: "Black tea with bergamot.",
  prices: [{ country: "DE", currency: "EUR", amount: "9.90" }],
  on_sale: false,
  availability: "in_stock",
  product_url: "https://nordlicht.test/earl-grey",
};

export function recordBytes(changes: object = {}): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ ...product, ...changes }));
}

export function sealFacts(business: TestBusiness, key: TestKey, bytes: Uint8Array): SealV2 {
  return {
    v: 2,
    key_id: key.keyId,
    cert_id: business.issued.certId,
    hash: hashOf(bytes),
    sealed_at: sealedAt,
    record_type: "products",
    ai_policy_version: 1,
  };
}

/** A record seal made with the passkey; facts and type may be changed before sealing. */
export function passkeySeal(
  business: TestBusiness,
  bytes: Uint8Array,
  facts: object = {},
  options: { readonly kind?: PayloadKind; readonly parts?: AssertionParts } = {},
): JsonValue {
  const payload = canonicalBytes(asJson({ ...sealFacts(business, business.passkey, bytes), ...facts }));
  return asJson(
    sealWithPasskey(payloadTypes[options.kind ?? "seal.v2"], payload, business.passkey, options.parts),
  );
}

export interface BatchParts {
  readonly facts?: object;
  readonly key?: TestKey;
  readonly kind?: PayloadKind;
}

/** The record seal of leaf `index` of a batch: its envelope and the path to the root. */
export function batchSeal(
  business: TestBusiness,
  records: readonly Uint8Array[],
  index: number,
  parts: BatchParts = {},
): JsonValue {
  const tree = buildTree(records.map((record) => leafHash(record)));
  const key = parts.key ?? business.system;
  const facts: BatchSealV2 = {
    v: 2,
    key_id: key.keyId,
    cert_id: business.issued.certId,
    root: `sha256:${toHex(tree.root)}`,
    tree_size: records.length,
    seq: 7,
    sealed_at: sealedAt,
    record_type: "products",
    ai_policy_version: 1,
  };
  const payload =
    parts.facts === undefined ? sealPayload(facts) : canonicalBytes(asJson({ ...facts, ...parts.facts }));
  return asJson({
    batch_seal: seal(payloadTypes[parts.kind ?? "batch-seal.v2"], payload, key),
    leaf_index: index,
    tree_size: records.length,
    proof: tree.path(index).map((node) => `sha256:${toHex(node)}`),
  });
}

/** What the service states about a record that the integration key published. */
export function sidecarFacts(business: TestBusiness, bytes: Uint8Array): SidecarV2 {
  return {
    v: 2,
    action: "publish",
    ai_policy_version: 1,
    batch_id: `bat_${"0".repeat(24)}`,
    business_uuid: business.uuid,
    cert_id: business.issued.certId,
    change: 1,
    generation: 1,
    path: "A",
    published_at: "2026-03-01T12:00:02.000Z",
    received_at: "2026-03-01T12:00:01.000Z",
    record_id: recordId,
    record_type: "products",
    record_version: 1,
    scope: {
      basis: "mandate",
      key_id: business.system.keyId,
      kind: "system",
      mandate_id: "man_1",
      permissions: ["publish:products"],
    },
    seal_ok: true,
    sealed_at: sealedAt,
    sealed_by_key_id: business.system.keyId,
    sha256: hashOf(bytes),
    source: "api",
  };
}

export function sidecarEnvelope(
  service: TestService,
  facts: object,
  key: TestKey = soleKey(service.sidecar),
): JsonValue {
  return document("sidecar.v2", facts, key);
}

/** A policy that grants everything except the named bits, and blocks alcohol and politics. */
export function policyRecord(
  changes: Partial<Pick<AiPolicyRecord, "use" | "action" | "blocked">> = {},
): AiPolicyRecord {
  const all = <N extends string>(names: readonly N[], value: (name: N) => boolean) =>
    Object.fromEntries(names.map((name) => [name, value(name)])) as Record<N, boolean>;
  return {
    schema: "svc/ai_policy/1",
    ai_policy_schema: 2,
    use: all(useNames, () => true),
    action: all(actionNames, () => true),
    blocked: all(blockedNames, (name) => name === "alcohol" || name === "politics_elections"),
    ...changes,
  };
}

/** The exact bytes of an AI policy record and its own seal, which names the version that it creates. */
export function sealedPolicy(
  business: TestBusiness,
  record: AiPolicyRecord = policyRecord(),
  facts: object = {},
): { readonly bytes: Uint8Array; readonly seal: JsonValue } {
  const bytes = aiPolicyBytes(record);
  const own = { record_type: "ai_policy", sealed_at: "2026-02-01T00:00:00.000Z" };
  return { bytes, seal: passkeySeal(business, bytes, { ...own, ...facts }) };
}
