// The whole answer of a search: the receipt over exactly these rows, every row's signature, and what is set when rows are served.

import { parsePolicyBits } from "../protocol/ai-policy.ts";
import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import { malformed, parseObject } from "../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactItems, exactMember } from "../protocol/json/strict-json.ts";
import { adRenderMs } from "../protocol/limits.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { type Refusal, refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { poolAnswer } from "../protocol/wire/ad-requests.ts";
import { searchAnswer } from "../protocol/wire/retrieval.ts";
import { isObject } from "../std/json-pointer.ts";
import { verifyAdItem } from "./ad-item.ts";
import {
  type Check,
  checkOf,
  compareMembers,
  type Report,
  reportOf,
  unknownChecks,
  unsignedChecks,
} from "./members.ts";
import { type AnswerEvidence, judgeReceipt, presenterOf, receiptFound, verifyReceipt } from "./receipt.ts";
import { verifyRowSignature } from "./row.ts";
import type { Trust } from "./trust.ts";

/**
 * Checks the body of a search answer: `receipt`, `rows/<i>` for each row, `unsigned/…` for each member that no signature
 * covers, and `unknown/…` for each that is not known.
 */
export function verifySearchAnswer(trust: Trust, body: Uint8Array, evidence: AnswerEvidence = {}): Report {
  const answer = parseObject(body);
  if (!answer.ok) return reportOf([checkOf("answer", answer)]);
  const { unknown, missing } = compareMembers(searchAnswer.schema, answer.value);
  const { rows, receipt = null, retrieval_id: retrievalId, collection = null, country = null } = answer.value;
  if (missing !== null || !Array.isArray(rows) || typeof retrievalId !== "string") {
    return reportOf([checkOf("answer", missing ?? malformed("Not the answer of a search.", ""))]);
  }
  const subject = { ...presenterOf(evidence), retrievalId, kind: "search", collection, country } as const;
  const stated = verifyReceipt(trust, receipt, subject);
  const servedAt = stated.ok ? stated.value.served_at : undefined;
  const verdicts = (rows as readonly JsonValue[]).map((value) =>
    verifyServedRow(trust, value, { servedAt, collection }),
  );
  const held = rowsOf(verdicts);
  // A row that does not verify fails its own check; the receipt is then checked against the presenter alone.
  const over =
    held !== null && stated.ok
      ? judgeReceipt(stated.value, { ...subject, rows: held, isWhole: true })
      : stated;
  return reportOf([
    checkOf("receipt", over, receiptFound),
    ...verdicts.map((verdict, index) => checkOf(`rows/${index}`, verdict, (row) => row.record_id)),
    ...unsignedChecks("search", rows.length === 0 ? [] : ["/rows/*/ai_policy_bits", "/rows/*/sponsored"]),
    ...unknownChecks(unknown),
  ]);
}

/** Verifies a row as a search serves it: its signature, its collection, and the members that are set when it is served. */
export function verifyServedRow(
  trust: Trust,
  value: JsonValue,
  { servedAt, collection }: { readonly servedAt: string | undefined; readonly collection: JsonValue },
): Verdict<IndexRow> {
  const row = verifyRowSignature(trust, value, servedAt);
  if (!row.ok) return row;
  if (row.value.type !== collection)
    return refuse("record_type_mismatch", "The row is of another collection than the answer.", "/type");
  return servedFault(row.value) ?? row;
}

/** What is wrong with the members that are set when a row is served, as far as the signed ones show it. */
function servedFault(row: IndexRow): Refusal<ReasonCode> | null {
  const bits = parsePolicyBits(row["ai_policy_bits"] ?? null);
  if (!bits.ok) return bits;
  if (Object.hasOwn(row, "sponsored") && (row["sponsored"] !== true || row.type !== "products"))
    return malformed("Only a product is marked, by true.", "/sponsored");
  const { ai_policy_version: version, use, action, blocked } = bits.value;
  if (version === 0 && (use | action | blocked) !== 0)
    return refuse("ai_policy_bits_mismatch", "Without an AI policy no bit is set.", "/ai_policy_bits");
  // Versions only increase, so the policy in force when a row is served cannot be older than the one that it was sealed under.
  return version < row.ai_policy_version
    ? refuse(
        "ai_policy_version_mismatch",
        "The bits are of an older AI policy than the row.",
        "/ai_policy_bits/ai_policy_version",
      )
    : null;
}

function rowsOf(verdicts: readonly Verdict<IndexRow>[]): readonly IndexRow[] | null {
  const rows: IndexRow[] = [];
  for (const verdict of verdicts) {
    if (!verdict.ok) return null;
    rows.push(verdict.value);
  }
  return rows;
}

// The whole answer of a pool of ads: the receipt over exactly these ads, and each item alone.
//   PA1. An item that has another form, or whose row does not verify, fails its own checks; the receipt is then checked against the
//        presenter alone.

/**
 * Checks the body of a pool, exactly as received: `receipt`, the checks of each item as `ads/<i>/<check>`, and what was not
 * checked of the answer itself. A failed check `answer` is reported if the body is not a pool, or names another time until which the ads
 * may be rendered than follows from the receipt.
 */
export function verifyPoolAnswer(trust: Trust, body: Uint8Array, evidence: AnswerEvidence = {}): Report {
  const pool = parseObject(body);
  if (!pool.ok) return reportOf([checkOf("answer", pool)]);
  const { receipt = null, retrieval_id: retrievalId, country = null, render_until: until } = pool.value;
  const { unknown, missing } = compareMembers(poolAnswer.schema, { ...pool.value, ads: [] });
  const items = exactItems(exactMember(parseUtf8(body) ?? "", "ads") ?? "");
  if (missing !== null || items === null || typeof retrievalId !== "string")
    return reportOf([checkOf("answer", missing ?? malformed("Not the answer of a pool of ads.", ""))]);
  const subject = { ...presenterOf(evidence), retrievalId, kind: "ad_pool", country } as const;
  const stated = verifyReceipt(trust, receipt, subject);
  const servedAt = stated.ok ? stated.value.served_at : undefined;
  const rows: IndexRow[] = [];
  const checks = items.flatMap((item, index): readonly Check[] => {
    const row = verifyRowSignature(trust, rowIn(item), servedAt);
    if (row.ok) rows.push(row.value);
    const report = verifyAdItem(trust, utf8(item), servedAt === undefined ? {} : { servedAt });
    return report.checks.map((check) => ({ ...check, name: `ads/${index}/${check.name}` }));
  });
  const over =
    rows.length === items.length && stated.ok
      ? judgeReceipt(stated.value, { ...subject, rows, isWhole: true })
      : stated;
  const fault = memberFault(pool.value, stated, until);
  return reportOf([
    ...(fault === null ? [] : [checkOf("answer", fault)]),
    checkOf("receipt", over, receiptFound),
    ...checks,
    ...unsignedChecks("ad_pool", ["/subdivision"]),
    ...unknownChecks(unknown),
  ]);
}

function memberFault(
  pool: JsonObject,
  receipt: Verdict<Receipt>,
  until: JsonValue | undefined,
): Refusal<"hash_mismatch" | "payload_malformed"> | null {
  const { country, subdivision = null } = pool;
  if (subdivision !== null && !(typeof subdivision === "string" && subdivision.startsWith(`${country}-`)))
    return malformed("Must be a subdivision of the country, or null.", "/subdivision");
  const servedAtMs = receipt.ok ? parseTimestamp(receipt.value.served_at) : null;
  return servedAtMs === null || until === formatTimestamp(servedAtMs + adRenderMs)
    ? null
    : refuse("hash_mismatch", "Another time than ten minutes after the ads were served.", "/render_until");
}

function rowIn(item: string): JsonValue {
  const value = JSON.parse(item) as JsonValue;
  return isObject(value) ? ((value as JsonObject)["row"] ?? null) : null;
}
