// Test support: what the statement key signs, with real content.

import { hashOf, toBase64 } from "../protocol/bytes.ts";
import { type PayloadKind, payloadTypes } from "../protocol/dsse.ts";
import type { Entitlement } from "../protocol/entitlement.ts";
import { canonicalBytes, type JsonObject } from "../protocol/json/canonical-json.ts";
import type { KeyDirectory } from "../protocol/keys/key-directory.ts";
import type { VerifyPage, VerifyStatement } from "../protocol/verify-page.ts";
import { withdrawalDocument } from "../protocol/withdrawal.fixture.ts";
import { recordId, type TestBusiness } from "./business.fixture.ts";
import { asJson } from "./service.fixture.ts";
import { seal, type TestKey } from "./signing.fixture.ts";

export const statedAt = "2026-07-01T08:00:00.000Z";

/** What is stated about a record whose seal names a key that nobody has. */
export function statementFacts(bytes: Uint8Array): VerifyStatement {
  return {
    v: 1,
    checked_at: statedAt,
    record_hash: hashOf(bytes),
    valid: false,
    seal: {
      valid: false,
      reason: "key_unknown",
      detail: "No business with a certificate is known here to have the sealing key.",
      claimed: null,
      key_event: null,
      checks: {
        certificate: "not_checked",
        ai_policy: "not_checked",
        scope: "not_checked",
        key_event: "not_checked",
      },
    },
    log_inclusion: { status: "not_in_log", checkpoint: null },
    sidecar: null,
    projection: null,
    ai_policy_bits: null,
    ad: null,
    warnings: [],
  };
}

export function pageFacts(business: TestBusiness, bytes: Uint8Array): VerifyPage {
  const uuid = business.uuid;
  const origin = hashOf(bytes);
  const certId = business.issued.certId;
  return {
    v: 1,
    record_id: recordId,
    adl_origin: origin,
    record_type: "products",
    valid: true,
    status: "current",
    business: {
      business_uuid: uuid,
      name: business.certificate.legal_name,
      certificate_url: `https://verify.test/v1/certificates/${uuid}`,
      certificate: {
        cert_id: certId,
        status: "active",
        statement: "The business was verified.",
        status_effective_from: business.certificate.status_effective_from,
      },
    },
    version: {
      generation: 1,
      sealed_at: "2026-06-01T08:00:00.000Z",
      published_at: "2026-06-01T08:00:01.000Z",
      ended_at: null,
      sealed_under_cert_id: certId,
    },
    removal: null,
    purge_order: null,
    checks: { cert: "matches", served_at: "within" },
    endpoints: null,
    source_line: `svc-source/1 record=${recordId} origin=${origin} cert=${certId} served=${statedAt} verify=https://verify.test/v1/verify/${recordId}?origin=${encodeURIComponent(origin)}&cert=${encodeURIComponent(certId)}&served_at=${encodeURIComponent(statedAt)}`,
    full_check: "https://verify.test/v1/verify",
    checked_at: statedAt,
  };
}

/** A removal of the record on the page, sealed by the business's passkey, over the document or another one. */
export function removalFacts(
  business: TestBusiness,
  changes: { readonly document?: object; readonly sealed?: object } = {},
): NonNullable<VerifyPage["removal"]> {
  const at = "2026-06-02T08:00:00.000Z";
  const document = withdrawalDocument({ record_id: recordId, action: "withdraw", at, ...changes.document });
  const facts = {
    v: 2,
    key_id: business.passkey.keyId,
    cert_id: business.issued.certId,
    hash: hashOf(document),
    sealed_at: at,
    record_type: "products",
    ai_policy_version: 0,
    ...changes.sealed,
  };
  const envelope = seal(payloadTypes["seal.v2"], canonicalBytes(facts), business.passkey);
  return { action: "withdraw", at, received_at: at, document_base64: toBase64(document), seal: envelope };
}

export function directoryFacts(...keys: readonly TestKey[]): KeyDirectory {
  const uuid = "10000000-0000-4000-8000-000000000001";
  return {
    v: 1,
    issued_at: statedAt,
    companies: [
      {
        ai_company_uuid: uuid,
        name: "Example AI",
        certificate_url: `https://verify.test/v1/certificates/${uuid}`,
        keys: keys.map((key) => ({
          key_id: key.keyId,
          alg: key.alg === "ES256" ? "ES256" : "Ed25519",
          public_key: key.jwk,
          source: "portal",
          valid_from: "2026-02-01T00:00:00.000Z",
          valid_until: "2026-06-01T00:00:00.000Z",
        })),
      },
    ],
  };
}

/** Of a company that pays in advance, for a day. */
export function entitlementFacts(...keys: readonly TestKey[]): Entitlement {
  return {
    v: 1,
    ai_company_uuid: "10000000-0000-4000-8000-000000000001",
    legal_name: "Example AI",
    cert_id: `sha256:${"1".repeat(64)}`,
    key_ids: keys.map(({ keyId }) => keyId),
    terms: { version: 2, sha256: `sha256:${"2".repeat(64)}`, agreed_at: "2026-06-01T08:00:00.000Z" },
    billing: "prepaid",
    valid_from: statedAt,
    valid_until: "2026-07-02T08:00:00.000Z",
  };
}

/** The whole answer, with the statement in it. */
export function answerWith(
  kind: PayloadKind,
  facts: object,
  { keys, shown = facts }: { readonly keys: readonly TestKey[]; readonly shown?: object },
): JsonObject {
  const statement = seal(payloadTypes[kind], canonicalBytes(asJson(facts)), ...keys);
  return asJson({ ...shown, statement });
}
