// What every kind of signed payload is: who signs it, with how many signatures, and its members. The envelope specification and
// the JSON Schemas are made from this table, which has each payload type exactly once.

import { adProductRecord } from "./ad-campaign.ts";
import { aiPolicyRecord } from "./ai-policy.ts";
import { type PayloadFormat, type PayloadKind, payloadTypes } from "./dsse.ts";
import { entitlementFormat } from "./entitlement.ts";
import { collectionNames, type ShownType } from "./identifiers.ts";
import type { JsonObject } from "./json/canonical-json.ts";
import { businessKeysFormat } from "./keys/business-keys.ts";
import { certificateFormat } from "./keys/certificate.ts";
import {
  custodyRequestFormat,
  keyCustodyFormat,
  keyDirectoryFormat,
  keyPossessionFormat,
} from "./keys/key-directory.ts";
import { keyCertificateFormat, keySetFormat } from "./keys/key-set.ts";
import { mandateFormat } from "./mandate.ts";
import { receiptV1, receiptV2, receiptV3 } from "./receipt.ts";
import { recordJsonSchema, recordTypes } from "./records/parse-record.ts";
import { batchSealV1, batchSealV2, sealV1, sealV2 } from "./seal.ts";
import type { Shape } from "./shape.ts";
import { sidecarV1, sidecarV2 } from "./signed-version.ts";
import { verifyPageFormat, verifyStatementFormat } from "./verify-page.ts";
import { holdDecisionFormat } from "./withdrawal.ts";

interface KindFacts {
  readonly says: string;
  /** Whose key signs, and when that key has to be valid. */
  readonly signedBy: string;
  /** `pair`: P-256 and ML-DSA-65, both required. */
  readonly signatures: "one" | "pair";
  /** `verified`: an older format, which is still verified and never issued. */
  readonly standing: "issued" | "verified";
  readonly format: Pick<PayloadFormat<unknown>, "version"> & {
    readonly shape: Pick<Shape<unknown>, "schema">;
  };
  /** What the schema cannot say. */
  readonly rules: readonly string[];
}

const one = { signatures: "one", standing: "issued", rules: [] } as const;
const pair = { signatures: "pair", standing: "issued", rules: [] } as const;
const older = { ...one, standing: "verified" } as const;

const sealer = "the key `key_id` of the business, valid at `sealed_at`";
const receiptKey = "the receipt key of `region`, valid at `served_at`";
const sidecarKey = "a sidecar key, valid at `published_at`";
const statementKey = (at: string) => `a statement key, valid at \`${at}\``;
const issuancePair = "both halves of an issuance key, valid at `issued_at`";

const seal = "The business sealed the bytes of one record, an AI policy or a removal.";
const batchSeal =
  "A system of the business sealed a batch of records: `root` is the RFC 6962 Merkle root over the records' raw bytes, in order.";
const sidecar = "The service published these bytes as a version of the record, under this authority.";
const receipt = "The service served these rows to this caller.";

const facts: Readonly<Record<PayloadKind, KindFacts>> = {
  "seal.v2": { ...one, says: seal, signedBy: sealer, format: sealV2 },
  "seal.v1": { ...older, says: seal, signedBy: sealer, format: sealV1 },
  "batch-seal.v2": { ...one, says: batchSeal, signedBy: sealer, format: batchSealV2 },
  "batch-seal.v1": { ...older, says: batchSeal, signedBy: sealer, format: batchSealV1 },
  "sidecar.v2": { ...one, says: sidecar, signedBy: sidecarKey, format: sidecarV2 },
  "sidecar.v1": { ...older, says: sidecar, signedBy: sidecarKey, format: sidecarV1 },
  "receipt.v3": { ...one, says: receipt, signedBy: receiptKey, format: receiptV3 },
  "receipt.v2": { ...older, says: receipt, signedBy: receiptKey, format: receiptV2 },
  "receipt.v1": { ...older, says: receipt, signedBy: receiptKey, format: receiptV1 },
  "certificate.v1": {
    ...pair,
    says: "The service verified who a business or an AI company is; its status since then.",
    signedBy: issuancePair,
    format: certificateFormat,
    rules: [
      "`cert_id` is the hash of the payload bytes.",
      "An active certificate has no `status_reason`; a withdrawn one always has one.",
    ],
  },
  "business-keys.v1": {
    ...one,
    says: "The keys of a business, those that ended too.",
    signedBy: statementKey("issued_at"),
    format: businessKeysFormat,
    rules: [
      "A `system` key is for `integration`, every other key for `sealing`.",
      "`key_id` is the thumbprint of `public_key`, and no key is listed twice.",
      "A passkey has `cose`, which is the same key; no other key has it.",
    ],
  },
  "key-custody.v1": {
    ...pair,
    says: "Who holds a key of a business: the service for it, or it itself.",
    signedBy: issuancePair,
    format: keyCustodyFormat,
    rules: [
      "`statement_id` is the hash of the payload bytes.",
      "`effective_from` is never later than `issued_at`.",
    ],
  },
  "mandate.v1": {
    ...one,
    says: "A person of the business lets a system's key publish within these bounds.",
    signedBy: "a passkey of the business, valid at `valid_from`; in a sandbox also a hosted key",
    format: mandateFormat,
    rules: ["`valid_until` is after `valid_from`, and at most 92 days later."],
  },
  "hold-decision.v1": {
    ...one,
    says: "A person of the business confirms or rejects a push that was held.",
    signedBy: "a passkey of the business, valid at `at`",
    format: holdDecisionFormat,
  },
  "custody-request.v1": {
    ...one,
    says: "A person of the business asks for a statement of who holds one of its keys.",
    signedBy: "a passkey of the business, valid at `at`",
    format: custodyRequestFormat,
    rules: ["`effective_from` is never later than `at`."],
  },
  "key-possession.v1": {
    ...one,
    says: "The holder of a key agrees to its registration for this party in this role.",
    signedBy: "the key itself",
    format: keyPossessionFormat,
  },
  "key-set.v1": {
    ...pair,
    says: "The service's own keys, with their certificates.",
    signedBy: issuancePair,
    format: keySetFormat,
    rules: [
      "`certificates` are envelopes of payload type key-certificate v1: a key without one is not trusted.",
      "`pair` names the other half of a root or issuance key; no other key has one.",
      "A receipt key has a `region`; no other key has one.",
      "`key_id` is the thumbprint of `public_key`, and no key is listed twice.",
    ],
  },
  "key-certificate.v1": {
    ...pair,
    says: "What a key of the service, or both halves of one, may sign.",
    signedBy:
      "both halves of `issuer` (roots certify roots and issuance keys, issuance keys the others), valid at `issued_at`",
    format: keyCertificateFormat,
    rules: [
      "`keys` is a P-256 and an ML-DSA-65 key, in this order, for `root` and `issuance`, and one Ed25519 key for any other use.",
      "A receipt key has a `region`; no other key has one.",
    ],
  },
  "key-directory.v1": {
    ...one,
    says: "AI companies that chose to be listed, with their keys.",
    signedBy: statementKey("issued_at"),
    format: keyDirectoryFormat,
    rules: ["`key_id` is the thumbprint of `public_key`; no company and no key is listed twice."],
  },
  "entitlement.v1": {
    ...one,
    says: "An AI company may use the service by these keys, under these terms, for this time.",
    signedBy: statementKey("valid_from"),
    format: entitlementFormat,
    rules: [
      "`valid_until` is after `valid_from`, and at most 24 hours later.",
      "Whatever is wrong with it is `entitlement_invalid`; a genuine one is `entitlement_expired` from `valid_until` on.",
    ],
  },
  "verify-statement.v1": {
    ...one,
    says: "What the service found about the record or the entitlement that it was given.",
    signedBy: statementKey("checked_at"),
    format: verifyStatementFormat,
  },
  "verify-page.v1": {
    ...one,
    says: "What the service knows about a record with this id and these bytes.",
    signedBy: statementKey("checked_at"),
    format: verifyPageFormat,
    rules: ["`record_id` is of `record_type`.", "A removal says what its document says."],
  },
};

/** One kind of signed payload. */
export interface PublishedKind extends KindFacts {
  /** For example `batch-seal`. */
  readonly kind: string;
  readonly version: number;
  readonly payloadType: string;
}

export const publishedKinds: readonly PublishedKind[] = (Object.keys(facts) as PayloadKind[]).map((name) => ({
  ...facts[name],
  kind: name.slice(0, name.lastIndexOf(".")),
  version: facts[name].format.version,
  payloadType: payloadTypes[name],
}));

/** The JSON Schema of a payload; null when there is no such kind or version. */
export function payloadSchemaDocument(kind: string, version: string): JsonObject | null {
  const found = publishedKinds.find((each) => each.kind === kind && String(each.version) === version);
  if (found === undefined) return null;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:svc:payload:${kind}:${version}`,
    title: `${kind} v${version}`,
    description: `Payload of an envelope of type ${found.payloadType}.`,
    ...found.format.shape.schema,
  };
}

// The published JSON Schemas of what a business seals: the five record types, ads, sponsored products and the AI policy record.

const types: readonly ShownType[] = [...collectionNames, "ads"];

const documents: ReadonlyMap<string, JsonObject> = new Map([
  ...types.map((name) => [`${name}/${recordTypes[name].version}`, recordJsonSchema(name)] as const),
  [
    "ad_product/1",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:svc:record:ad_product:1",
      title: "Sponsored product",
      ...adProductRecord.schema,
    },
  ],
  [
    "ai_policy/1",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:svc:record:ai_policy:1",
      title: "AI policy record",
      ...aiPolicyRecord.schema,
    },
  ],
]);

/** `<type>/<version>` of every record that has a schema, as named after `svc/` in its member `schema`. */
export const recordSchemaNames: readonly string[] = [...documents.keys()];

/** The schema of a record; null when there is none. */
export function recordSchemaDocument(name: string): JsonObject | null {
  return documents.get(name) ?? null;
}
