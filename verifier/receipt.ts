// Receipts: the service's statement of what it served, to whom and when.

import { parseEnvelope } from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { openReceipt, type Receipt } from "../protocol/receipt.ts";
import { ok, refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { type TrustedKeys, verifyWorking } from "./trust.ts";

/** What a receipt is checked against; omitted members are not compared. */
export interface ReceiptSubject {
  /** The key of the presenter, which the receipt must name. */
  readonly callerKeyId?: string;
  /** SHA-256 of the signature base that the presenter sent. */
  readonly requestHash?: string;
  readonly retrievalId?: string;
  /** What was served. */
  readonly kind?: Receipt["kind"];
  /** The collection and the country that the answer names. */
  readonly collection?: JsonValue;
  readonly country?: JsonValue;
  /** The rows, each of which must be in the receipt unchanged. */
  readonly rows?: readonly IndexRow[];
  /** Whether `rows` is everything that was served: the receipt must then list exactly these, in this order. */
  readonly isWhole?: boolean;
}

/**
 * Verifies a receipt: it must be signed by a receipt key of the region it names that was valid at `served_at`. A key of
 * another region is `key_unknown`; another caller, or a format 1 receipt where a caller must be named, is
 * `receipt_caller_mismatch`; a row that is not in it unchanged, another kind of answer, collection or country is
 * `receipt_row_mismatch`.
 */
export function verifyReceipt(
  trust: TrustedKeys,
  value: JsonValue,
  subject: ReceiptSubject = {},
): Verdict<Receipt> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const receipt = openReceipt(envelope.value);
  if (!receipt.ok) return receipt;
  const { region, served_at: at } = receipt.value;
  const signed = verifyWorking(trust, envelope.value, { use: "receipt", region, at });
  return signed.ok ? judgeReceipt(receipt.value, subject) : signed;
}

/** What {@link verifyReceipt} judges beside the signature, of a receipt that verified: its rows are judged under the time that it states. */
export function judgeReceipt(receipt: Receipt, subject: ReceiptSubject): Verdict<Receipt> {
  const caller = judgeCaller(receipt, subject);
  if (!caller.ok) return caller;
  const rows = judgeRows(receipt, subject);
  return rows.ok ? ok(receipt) : rows;
}

function judgeCaller(
  receipt: Receipt,
  { callerKeyId, requestHash, retrievalId }: ReceiptSubject,
): Verdict<void> {
  if (callerKeyId !== undefined) {
    if (receipt.v === 1) return otherCaller("A format 1 receipt names no caller.");
    if (receipt.key_id !== callerKeyId) return otherCaller("The receipt was given to another caller.");
  }
  if (requestHash !== undefined && receipt.request_hash !== requestHash)
    return otherCaller("The receipt answers another request.");
  if (retrievalId !== undefined && receipt.retrieval_id !== retrievalId)
    return otherCaller("The receipt is of another retrieval.");
  return ok(undefined);
}

function judgeRows(receipt: Receipt, subject: ReceiptSubject): Verdict<void> {
  const { rows = [], isWhole = false } = subject;
  for (const name of ["kind", "collection", "country"] as const) {
    if (subject[name] !== undefined && subject[name] !== receipt[name])
      return otherRows(`The receipt is of another ${name}.`);
  }
  if (isWhole && rows.length !== receipt.rows.length)
    return otherRows("The receipt lists another number of rows.");
  for (const [index, row] of rows.entries()) {
    const place = isWhole
      ? index
      : receipt.rows.findIndex((candidate) => candidate.record_id === row.record_id);
    const entry = receipt.rows[place];
    const pointer = `/rows/${index}`;
    if (entry === undefined || entry.record_id !== row.record_id)
      return otherRows("The receipt does not list this row.", pointer);
    if (entry.adl_origin !== row.adl_origin) return otherRows("The row is of other record bytes.", pointer);
    if (entry.adl_row_sig !== row.adl_row_sig) return otherRows("The row is another projection.", pointer);
    if ("ai_policy_version" in entry && entry.ai_policy_version !== row.ai_policy_version) {
      return otherRows("The row names another AI policy version.", pointer);
    }
  }
  return ok(undefined);
}

function otherCaller(detail: string): Verdict<never> {
  return refuse("receipt_caller_mismatch", detail);
}

function otherRows(detail: string, pointer?: string): Verdict<never> {
  return refuse("receipt_row_mismatch", detail, pointer);
}

/**
 * Evidence that a caller may hold in addition to an answer. It is parsed JSON of the verification surface unless stated
 * otherwise.
 */
export interface AnswerEvidence {
  /** The caller's own key: the receipt must name it. */
  readonly callerKeyId?: string;
  /** SHA-256 of the signature base that the caller sent. */
  readonly requestHash?: string;
  /** The answer of `GET /v1/certificates/{uuid}`. */
  readonly certificate?: JsonValue;
  /** The answer of `GET /v1/certificates/{uuid}/keys`. */
  readonly businessKeys?: JsonValue;
  /** The answer of `GET /v1/certificates/{uuid}/key-custody`. */
  readonly keyCustody?: JsonValue;
  /** The mandate envelope. */
  readonly mandate?: JsonValue;
  /** The address of the verification surface, without a trailing slash, to which the addresses in the answer have to lead. */
  readonly verifyUrl?: string;
  /**
   * The exact bytes of the record and of the AI policy record, for an answer whose text is no longer the one served. Bytes of
   * another content than the answer shows are refused.
   */
  readonly record?: Uint8Array;
  readonly policyRecord?: Uint8Array;
}

/** What the receipt is checked against, given who presents it. */
export function presenterOf({ callerKeyId, requestHash }: AnswerEvidence): ReceiptSubject {
  return {
    ...(callerKeyId === undefined ? {} : { callerKeyId }),
    ...(requestHash === undefined ? {} : { requestHash }),
  };
}

/** A human-readable summary of a valid receipt. */
export function receiptFound(receipt: Receipt): string {
  return `Served at ${receipt.served_at} by ${receipt.region} to ${receipt.ai_company_uuid}.`;
}
