// Receipt: the service's signed statement of what it served, to whom and when (specification, «Receipt»).

import { formatHash, hashOf, type Sha256, utf8 } from "./bytes.ts";
import { type Envelope, openPayload, type PayloadOf, payloadTypes } from "./dsse.ts";
import { collectionNames } from "./identifiers.ts";
import { searchRowsMax } from "./limits.ts";
import { leafHash } from "./merkle.ts";
import type { Verdict } from "./reason-codes.ts";
import {
  country,
  hash,
  integer,
  keyId,
  list,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  region,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { recordId } from "./wire/push.ts";

const versionNumber = integer({ min: 0, max: 2_147_483_647 });
const rowCommon = {
  record_id: recordId,
  /** Hash of the exact record bytes. */
  adl_origin: hash,
  /** The signature of the row as served. */
  adl_row_sig: matching(/^[A-Za-z0-9+/]{86}==$/, "a base64 Ed25519 signature"),
};
const rowsOf = { min: 0, max: searchRowsMax };
/** One row served. The version is the one that the row itself names. */
const policyRow = object({ ...rowCommon, ai_policy_version: versionNumber });
const policyRows = list(policyRow, rowsOf);
const termsRows = list(object({ ...rowCommon, terms_version: versionNumber }), rowsOf);
export type ReceiptRow = Of<typeof policyRow>;

const common = {
  ai_company_uuid: uuid,
  /** Null unless the kind is `search`. */
  collection: nullable(oneOf(collectionNames)),
  /** Null on a fetch, which has no country. */
  country: nullable(country),
  kind: oneOf(["search", "fetch", "ad_pool"]),
  /** The serving region, whose receipt key signs. */
  region,
  /** SHA-256 of the caller's signature base. */
  request_hash: hash,
  retrieval_id: text(128),
  served_at: timestamp,
};
/** The caller's key. A receipt of version 1 does not name it, so it proves nothing about who asked. */
const caller = { key_id: keyId };

const versions = [1, 2, 3];
export const receiptV1 = {
  version: 1,
  versions,
  shape: object({ ...common, v: literal(1), rows: termsRows }),
};
export const receiptV2 = {
  version: 2,
  versions,
  shape: object({ ...common, v: literal(2), ...caller, rows: termsRows }),
};
export const receiptV3 = {
  version: 3,
  versions,
  shape: object({ ...common, v: literal(3), ...caller, rows: policyRows }),
};
export type ReceiptV1 = PayloadOf<typeof receiptV1>;
export type ReceiptV2 = PayloadOf<typeof receiptV2>;
export type ReceiptV3 = PayloadOf<typeof receiptV3>;
export type Receipt = ReceiptV1 | ReceiptV2 | ReceiptV3;

/** Opens an envelope that must be a receipt of version 1, 2 or 3. It only reads: the signature is not verified. */
export function openReceipt(envelope: Envelope): Verdict<Receipt> {
  const { "receipt.v1": first, "receipt.v2": second, "receipt.v3": third } = payloadTypes;
  if (envelope.payloadType === first) return openPayload(envelope, first, receiptV1);
  if (envelope.payloadType === second) return openPayload(envelope, second, receiptV2);
  return openPayload(envelope, third, receiptV3);
}

/**
 * The RFC 8785 text of a version 3 receipt, built without sorting, because every answer with rows signs one. Every string
 * except the retrieval id has a format that needs no escaping.
 */
export function receiptPayloadText(receipt: Omit<ReceiptV3, "v">): string {
  return (
    `{"ai_company_uuid":"${receipt.ai_company_uuid}","collection":${quoted(receipt.collection)},` +
    `"country":${quoted(receipt.country)},"key_id":"${receipt.key_id}","kind":"${receipt.kind}",` +
    `"region":"${receipt.region}","request_hash":"${receipt.request_hash}",` +
    `"retrieval_id":${JSON.stringify(receipt.retrieval_id)},"rows":[${receipt.rows.map(receiptRowText).join(",")}],` +
    `"served_at":"${receipt.served_at}","v":3}`
  );
}

/** The RFC 8785 text of one of its rows. */
export function receiptRowText(row: ReceiptRow): string {
  return (
    `{"adl_origin":"${row.adl_origin}","adl_row_sig":"${row.adl_row_sig}",` +
    `"ai_policy_version":${row.ai_policy_version},"record_id":"${row.record_id}"}`
  );
}

function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

/**
 * `YYYYMMDDHHMM` of a timestamp, with which the name of a receipt batch starts (specification, «Events»: one-minute
 * batches).
 */
export function receiptMinute(timestamp: string): string {
  const date = timestamp.slice(0, 4) + timestamp.slice(5, 7) + timestamp.slice(8, 10);
  return date + timestamp.slice(11, 13) + timestamp.slice(14, 16);
}

// What is stored beside a receipt for the event stream, the company's listing and its usage: what the receipt's row does not
// say without being opened.

export interface ReceiptEvent {
  /** The uuid of the AI company. */
  readonly company: string;
  readonly type: "search" | "fetch" | "ad_pool";
  readonly collection: string | null;
  readonly country: string | null;
  readonly rows: number;
  readonly client_query_id: string | null;
}

/** What was answered, and to which company: the facts of a {@link ReceiptEvent} that every receipt states itself. */
export type ReceiptFacts = Omit<ReceiptEvent, "client_query_id" | "type"> & {
  readonly kind: "search" | "fetch" | "ad_pool";
};

/** The JSON text that is stored. */
export function receiptEventText(event: ReceiptEvent): string {
  return JSON.stringify(event);
}

/** Reads what {@link receiptEventText} wrote. */
export function openReceiptEvent(text: string): ReceiptEvent {
  return JSON.parse(text) as ReceiptEvent;
}

/** The facts of a stored receipt, of its event. */
export function receiptFacts({ event }: { readonly event: string }): ReceiptFacts {
  const { company, type, collection, country, rows } = openReceiptEvent(event);
  return { company, kind: type, collection, country, rows };
}

/** By what a receipt is found and proved: the hash of its envelope, and that of the envelope as a leaf of its batch (RFC 6962 §2.1). */
export function receiptHashes(
  envelope: string,
  sha256: Sha256,
): { readonly hash: string; readonly leaf: string } {
  const bytes = utf8(envelope);
  return { hash: hashOf(bytes, sha256), leaf: formatHash(leafHash(bytes, sha256)) };
}
