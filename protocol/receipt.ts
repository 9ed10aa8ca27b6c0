// Receipt: the service's signed statement of what it served, to whom and when (specification, «Receipt»).

import { type Envelope, openEnvelope, type PayloadFormat, parsePayload, payloadTypes } from "./dsse.ts";
import { collectionNames } from "./identifiers.ts";
import { searchRowsMax } from "./limits.ts";
import type { Verdict } from "./reason-codes.ts";
import {
  closed,
  country,
  hash,
  integer,
  keyId,
  list,
  literal,
  matching,
  nullable,
  oneOf,
  region,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { recordId } from "./wire/push.ts";

interface ReceiptRowCommon {
  readonly record_id: string;
  /** Hash of the exact record bytes. */
  readonly adl_origin: string;
  /** Base64 signature of the row as served. */
  readonly adl_row_sig: string;
}

/** One row served. The version is the one that the row itself names. */
export interface ReceiptRow extends ReceiptRowCommon {
  readonly ai_policy_version: number;
}

export interface TermsReceiptRow extends ReceiptRowCommon {
  readonly terms_version: number;
}

interface ReceiptCommon {
  readonly ai_company_uuid: string;
  /** Null unless the kind is `search`. */
  readonly collection: string | null;
  /** Null on a fetch, which has no country. */
  readonly country: string | null;
  readonly kind: "search" | "fetch" | "ad_pool";
  /** The serving region, whose receipt key signs. */
  readonly region: string;
  /** SHA-256 of the caller's signature base. */
  readonly request_hash: string;
  readonly retrieval_id: string;
  readonly served_at: string;
}

export interface ReceiptV3 extends ReceiptCommon {
  readonly v: 3;
  /** The caller's key. */
  readonly key_id: string;
  readonly rows: readonly ReceiptRow[];
}

export interface ReceiptV2 extends ReceiptCommon {
  readonly v: 2;
  readonly key_id: string;
  readonly rows: readonly TermsReceiptRow[];
}

/** Does not name the caller's key, so it proves nothing about who asked. */
export interface ReceiptV1 extends ReceiptCommon {
  readonly v: 1;
  readonly rows: readonly TermsReceiptRow[];
}

export type Receipt = ReceiptV1 | ReceiptV2 | ReceiptV3;

const versionNumber = integer({ min: 0, max: 2_147_483_647 });
const rowCommon = {
  record_id: recordId,
  adl_origin: hash,
  adl_row_sig: matching(/^[A-Za-z0-9+/]{86}==$/, "a base64 Ed25519 signature"),
};
const rowsOf = { min: 0, max: searchRowsMax };
const policyRows = list(closed<ReceiptRow>({ ...rowCommon, ai_policy_version: versionNumber }), rowsOf);
const termsRows = list(closed<TermsReceiptRow>({ ...rowCommon, terms_version: versionNumber }), rowsOf);

const common = {
  ai_company_uuid: uuid,
  collection: nullable(oneOf(collectionNames)),
  country: nullable(country),
  kind: oneOf(["search", "fetch", "ad_pool"] as const),
  region,
  request_hash: hash,
  retrieval_id: text(128),
  served_at: timestamp,
};

const versions = [1, 2, 3];
export const receiptV1: PayloadFormat<ReceiptV1> = {
  version: 1,
  versions,
  shape: closed<ReceiptV1>({ ...common, v: literal(1), rows: termsRows }),
};
export const receiptV2: PayloadFormat<ReceiptV2> = {
  version: 2,
  versions,
  shape: closed<ReceiptV2>({ ...common, v: literal(2), key_id: keyId, rows: termsRows }),
};
export const receiptV3: PayloadFormat<ReceiptV3> = {
  version: 3,
  versions,
  shape: closed<ReceiptV3>({ ...common, v: literal(3), key_id: keyId, rows: policyRows }),
};

/** Opens an envelope that must be a receipt of version 1, 2 or 3. It only reads: the signature is not verified. */
export function openReceipt(envelope: Envelope): Verdict<Receipt> {
  if (envelope.payloadType === payloadTypes["receipt.v1"])
    return openAs(envelope, payloadTypes["receipt.v1"], receiptV1);
  if (envelope.payloadType === payloadTypes["receipt.v2"])
    return openAs(envelope, payloadTypes["receipt.v2"], receiptV2);
  return openAs(envelope, payloadTypes["receipt.v3"], receiptV3);
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
    `"retrieval_id":${JSON.stringify(receipt.retrieval_id)},"rows":[${receipt.rows.map(rowText).join(",")}],` +
    `"served_at":"${receipt.served_at}","v":3}`
  );
}

function rowText(row: ReceiptRow): string {
  return (
    `{"adl_origin":"${row.adl_origin}","adl_row_sig":"${row.adl_row_sig}",` +
    `"ai_policy_version":${row.ai_policy_version},"record_id":"${row.record_id}"}`
  );
}

function quoted(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

function openAs<T>(envelope: Envelope, type: string, format: PayloadFormat<T>): Verdict<T> {
  const payload = openEnvelope(envelope, type);
  return payload.ok ? parsePayload(payload.value, format) : payload;
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
