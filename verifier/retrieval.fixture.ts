// Test support: the rows, receipts and whole answers that a region serves.

import { policyBits, policyBitsText } from "../protocol/ai-policy.ts";
import { hashOf, toBase64, utf8 } from "../protocol/bytes.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { projectRecord } from "../protocol/projection/project.ts";
import type { ReceiptV3 } from "../protocol/receipt.ts";
import { type IndexRow, rowSigningText, serveRow, signedRowText } from "../protocol/row.ts";
import { parseRecordSeal } from "../protocol/seal.ts";
import { formatSourceLine } from "../protocol/source-line.ts";
import {
  batchSeal,
  policyRecord,
  recordBytes,
  recordId,
  sealedPolicy,
  sidecarEnvelope,
  sidecarFacts,
  type TestBusiness,
} from "./business.fixture.ts";
import { asJson, document, keyCertificate, region, soleKey, type TestService } from "./service.fixture.ts";
import { shownPriceFormat } from "./shown-price.ts";
import { nativeSha256, signBytes } from "./signing.fixture.ts";

export const servedAt = "2026-03-05T10:00:00.000Z";
export const callerKeyId = `${"k".repeat(42)}A`;

/** A row as a search serves it, parsed. */
export function servedRow(
  service: TestService,
  business: TestBusiness,
  bytes: Uint8Array,
  making: RowMaking = {},
): JsonValue {
  return JSON.parse(servedRowText(service, business, bytes, making)) as JsonValue;
}

export interface RowMaking {
  readonly collection?: CollectionName;
  readonly recordId?: string;
  /** What the service signs instead of what the projection gives; undefined for a member that it leaves out. */
  readonly change?: Readonly<Record<string, JsonValue | undefined>>;
}

function servedRowText(
  service: TestService,
  business: TestBusiness,
  bytes: Uint8Array,
  { collection = "products", recordId: id = recordId, change = {} }: RowMaking = {},
): string {
  const key = soleKey(service.projection);
  const projected = projectRecord({
    collection,
    record: JSON.parse(new TextDecoder().decode(bytes)) as JsonObject,
    recordId: id,
    businessUuid: business.uuid,
    hash: hashOf(bytes, nativeSha256),
    certId: business.issued.certId,
    keyId: key.keyId,
    publishedAt: 1_772_366_402,
    aiPolicyVersion: 1,
  });
  const row = JSON.parse(JSON.stringify({ ...projected, ...change })) as JsonObject;
  const text = rowSigningText(row);
  const signed = signedRowText(text, toBase64(signBytes(key, utf8(text))));
  return serveRow(signed, policyBitsText(1, policyBits(policyRecord())));
}

export function receiptFacts(
  rows: readonly Pick<IndexRow, "record_id" | "adl_origin" | "adl_row_sig" | "ai_policy_version">[],
): ReceiptV3 {
  return {
    v: 3,
    ai_company_uuid: "9d1c2b3a-4e5f-4a6b-8c7d-1f2e3d4c5b6a",
    collection: "products",
    country: "DE",
    key_id: callerKeyId,
    kind: "search",
    region,
    request_hash: hashOf(utf8("signature base")),
    retrieval_id: "ret_1",
    rows: rows.map(({ record_id, adl_origin, adl_row_sig, ai_policy_version }) => ({
      record_id,
      adl_origin,
      adl_row_sig,
      ai_policy_version,
    })),
    served_at: servedAt,
  };
}

/** The body of a search answer with one row. */
export function searchBody(service: TestService, business: TestBusiness, bytes: Uint8Array): string {
  const row = servedRowText(service, business, bytes);
  const receipt = document(
    "receipt.v3",
    receiptFacts([JSON.parse(row) as IndexRow]),
    soleKey(service.receipt),
  );
  return `{"retrieval_id":"ret_1","collection":"products","country":"DE","rows":[${row}],"receipt":${JSON.stringify(receipt)}}`;
}

/** The address of the verification surface. */
export const verifyUrl = "https://verify.test";

/** The members of the proof of a shown price, with its chain. The row is one that the service made otherwise, where `making` says so. */
export function shownPrice(service: TestService, business: TestBusiness, making: RowMaking = {}): JsonObject {
  const row = servedRow(service, business, recordBytes(), making) as IndexRow;
  const { record_id, adl_origin: origin, adl_origin_cert: cert_id } = row;
  const signers = [service.issuance, service.projection, service.receipt];
  return asJson({
    format: shownPriceFormat,
    environment: service.environment,
    row,
    receipt: document("receipt.v3", receiptFacts([row]), soleKey(service.receipt)),
    source_line: formatSourceLine({ record_id, origin, cert_id, served_at: servedAt, verify_url: verifyUrl }),
    certificate_base64: (business.issued.envelope as JsonObject)["payload"],
    key_certificates: service.links
      .filter(({ certified }) => signers.includes(certified))
      .map((link) => keyCertificate(service, link)),
  });
}

/** Members of the answer, those of its provenance, and the row that its receipt lists. */
interface FetchChanges {
  readonly provenance?: object;
  readonly row?: RowMaking;
  readonly [name: string]: unknown;
}

/** The body of a fetch answer, which contains the record and the AI policy record verbatim. */
export function fetchBody(
  service: TestService,
  business: TestBusiness,
  bytes: Uint8Array,
  { provenance = {}, row: making = {}, ...changes }: FetchChanges = {},
): string {
  const row = JSON.parse(servedRowText(service, business, bytes, making)) as IndexRow;
  const facts = { ...receiptFacts([row]), kind: "fetch", collection: null, country: null };
  const policy = sealedPolicy(business);
  const source = {
    record_id: row.record_id,
    origin: hashOf(bytes),
    cert_id: business.issued.certId,
    served_at: servedAt,
  };
  const verbatim = {
    record: new TextDecoder().decode(bytes),
    ai_policy: `{"version":1,"record":${new TextDecoder().decode(policy.bytes)},"seal":${JSON.stringify(policy.seal)}}`,
  };
  const served = {
    record_id: row.record_id,
    business_uuid: business.uuid,
    type: row.type,
    published_at: "2026-03-01T12:00:02.000Z",
    seal: batchSeal(business, [bytes], 0),
    sidecar: sidecarEnvelope(service, sidecarFacts(business, bytes)),
    receipt: document("receipt.v3", facts, soleKey(service.receipt)),
    ...changes,
  };
  const parsed = parseRecordSeal(served.seal);
  const members = {
    ...served,
    provenance: {
      certificate_url: `${verifyUrl}/v1/certificates/${business.uuid}`,
      projection_version: row.adl_proj,
      log_leaf: parsed.ok ? sealLeafOf(parsed.value.envelope, nativeSha256) : hashOf(utf8("")),
      source_line: formatSourceLine({ ...source, verify_url: verifyUrl }),
      ...provenance,
    },
  };
  const texts = {
    ...Object.fromEntries(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)])),
    ...verbatim,
  };
  return `{${Object.entries(texts)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(",")}}`;
}
