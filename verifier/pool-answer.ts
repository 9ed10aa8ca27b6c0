// The whole answer of a pool of ads: the receipt over exactly these ads, and each item alone.
//   PA1. An item that has another form, or whose row does not verify, fails its own checks; the receipt is then checked against the
//        presenter alone.

import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { exactItems, exactMember } from "../protocol/exact-member.ts";
import { formatTimestamp, parseTimestamp } from "../protocol/identifiers.ts";
import { adRenderMs } from "../protocol/limits.ts";
import { malformed, parseObject } from "../protocol/payload.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { type Refusal, refuse, type Verdict } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { poolAnswer } from "../protocol/wire/ad-requests.ts";
import { isObject } from "../std/is-object.ts";
import { verifyAdItem } from "./ad-item.ts";
import { type AnswerEvidence, presenterOf, receiptFound } from "./answer-evidence.ts";
import { compareMembers, unknownChecks, unsignedChecks } from "./members.ts";
import { verifyReceipt } from "./receipt.ts";
import { type Check, checkOf, type Report, reportOf } from "./report.ts";
import { verifyRowSignature } from "./row.ts";
import type { Trust } from "./trust.ts";

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
    rows.length === items.length
      ? verifyReceipt(trust, receipt, { ...subject, rows, isWhole: true })
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
