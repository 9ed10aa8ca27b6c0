// Checks a receipt that somebody presents, alone or with rows: who signed it, to whom it was given, that it lists these rows,
// and that the transparency log contains it (specification, «Public verification», receipt verification).

import { hashOf, sha256, utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { type Receipt, receiptMinute } from "../protocol/receipt.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { type IndexRow, parseRow } from "../protocol/row.ts";
import { isObject } from "../std/json-pointer.ts";
import { type Check, checkOf, type Report, reportOf, unchecked } from "../verifier/members.ts";
import { receiptFound } from "../verifier/receipt.ts";
import { createVerifier, type Verifier } from "../verifier/verifier.ts";
import { readAnchors } from "../verifier/verify.ts";
import type { AnchorsChoice } from "./evidence.ts";
import { readInclusion } from "./log-reads.ts";
import type { SvcClient } from "./service-client.ts";

/** A receipt as somebody holds it. */
export interface PresentedReceipt {
  /** The parsed envelope. */
  readonly envelope: JsonValue;
  /** The rows that came with it; null if it is presented alone. */
  readonly rows: readonly JsonValue[] | null;
}

/**
 * The receipt in a file: its envelope, an answer to a search or fetch, one receipt of `GET /v1/receipts`, or an answer of it
 * with a single receipt. Any other file is `not_a_receipt`.
 */
export function readPresented(file: Uint8Array): Result<PresentedReceipt, "not_a_receipt"> {
  const none = (detail: string) => refuse("not_a_receipt", detail);
  const parsed = parseStrictJson(file);
  if (!parsed.ok) return none(`The file is not JSON: ${parsed.detail}`);
  const { value } = parsed;
  if (!isObject(value)) return none("The file contains no receipt.");
  const { receipts, receipt, rows } = value as Readonly<Record<string, JsonValue>>;
  if (Array.isArray(receipts) && receipts.length === 1) return presented(receipts[0] ?? null, null);
  if (receipt !== undefined) return presented(receipt, Array.isArray(rows) ? rows : null);
  return "payload" in value
    ? ok({ envelope: value as JsonValue, rows: null })
    : none("The file contains no receipt.");
}

function presented(
  held: JsonValue,
  rows: readonly JsonValue[] | null,
): Result<PresentedReceipt, "not_a_receipt"> {
  const envelope = isObject(held) && "receipt" in held ? (held["receipt"] as JsonValue) : held;
  return ok({ envelope, rows });
}

export interface ReceiptCheckOptions extends AnchorsChoice {
  /** The answer of `GET /.well-known/keys`. */
  readonly keySet: Uint8Array;
  /** The key of the one who presents it, which the receipt must name. */
  readonly callerKeyId: string;
  /** Reads the proof of the transparency log; null: the log is not asked. */
  readonly log: Pick<SvcClient, "verificationRead"> | null;
}

/**
 * The checks `key_set`, `receipt` (`receipt_caller_mismatch` for another presenter's, `receipt_row_mismatch` for a row that it
 * does not list unchanged), the signature of each row, and `log`. Throws what {@link SvcClient} throws.
 */
export async function checkReceipt(
  { envelope, rows }: PresentedReceipt,
  options: ReceiptCheckOptions,
): Promise<Result<Report, "anchors_unusable">> {
  const anchors = readAnchors(options.anchorsText, options.allowSandbox);
  if (!anchors.ok) return anchors;
  const verifier = createVerifier({ anchors: anchors.value, keySet: options.keySet });
  if (!verifier.ok) return ok(reportOf([checkOf("key_set", verifier)]));
  const parsed = rows === null ? ok([]) : parseRows(rows);
  if (!parsed.ok) return ok(reportOf([checkOf("rows", parsed)]));
  const subject = { callerKeyId: options.callerKeyId, rows: parsed.value };
  const receipt = verifier.value.receipt(envelope, subject);
  const servedAt = receipt.ok ? receipt.value.served_at : undefined;
  const signatures = (rows ?? []).map((row, index) =>
    checkOf(`rows/${index}`, verifier.value.rowSignature(row, servedAt), ({ record_id }) => record_id),
  );
  const logged = receipt.ok
    ? await logCheck(verifier.value, JSON.stringify(envelope), receipt.value, options.log)
    : unchecked("log", "Only a valid receipt is looked for.");
  return ok(
    reportOf([
      checkOf("key_set", verifier),
      checkOf("receipt", receipt, receiptFound),
      ...signatures,
      logged,
    ]),
  );
}

function parseRows(rows: readonly JsonValue[]): Verdict<readonly IndexRow[]> {
  const parsed: IndexRow[] = [];
  for (const value of rows) {
    const row = parseRow(value);
    if (!row.ok) return row;
    parsed.push(row.value);
  }
  return ok(parsed);
}

/** `text` is the envelope as the service wrote it: without spaces, in its own order of members, which parsing keeps. */
async function logCheck(
  verifier: Verifier,
  text: string,
  { region, served_at }: Receipt,
  log: ReceiptCheckOptions["log"],
): Promise<Check> {
  if (log === null) return unchecked("log", "The log was not asked.");
  const envelope = utf8(text);
  const query = new URLSearchParams({
    leaf: hashOf(envelope, sha256),
    region,
    name: receiptMinute(served_at),
  });
  const answer = await readInclusion(log, query.toString());
  if (answer?.batch === undefined)
    return unchecked("log", "The log does not contain the receipt, or not yet.");
  const { batch } = answer;
  return checkOf("log", verifier.receiptInclusion(envelope, { ...answer, batch }), ({ size }) => {
    return `In batch ${batch.name}, under the checkpoint of ${size} leaves.`;
  });
}
