// The answer of a pool of ads, verified whole: the receipt over exactly these ads, and each item alone.
//   PC1. An item that has another form, or whose row does not verify, fails its own checks; the receipt is then checked against the
//        presenter alone.

import { utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { exactItems, exactMember } from "../protocol/exact-member.ts";
import { parseObject } from "../protocol/payload.ts";
import { refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { isObject } from "../std/is-object.ts";
import { type AnswerEvidence, presenterOf, receiptFound } from "../verifier/answer-evidence.ts";
import { type Check, checkOf, type Report, reportOf } from "../verifier/report.ts";
import type { Verifier } from "../verifier/verifier.ts";

/** Checks the text of a pool: `receipt`, and the checks of each item as `ads/<i>/<check>`. */
export function verifyPool(verifier: Verifier, text: string, evidence: AnswerEvidence): Report {
  const pool = parseObject(utf8(text));
  if (!pool.ok) return reportOf([checkOf("answer", pool)]);
  const { receipt = null, retrieval_id: retrievalId } = pool.value;
  const items = exactItems(exactMember(text, "ads") ?? "");
  if (items === null || typeof retrievalId !== "string")
    return reportOf([checkOf("answer", refuse("payload_malformed", "Not the answer of a pool of ads."))]);
  const subject = { ...presenterOf(evidence), retrievalId };
  const stated = verifier.receipt(receipt, subject);
  const servedAt = stated.ok ? stated.value.served_at : undefined;
  const rows: IndexRow[] = [];
  const checks = items.flatMap((item, index): readonly Check[] => {
    const row = verifier.rowSignature(rowIn(item), servedAt);
    if (row.ok) rows.push(row.value);
    const report = verifier.adItem(utf8(item), servedAt === undefined ? {} : { servedAt });
    return report.checks.map((check) => ({ ...check, name: `ads/${index}/${check.name}` }));
  });
  const over =
    rows.length === items.length ? verifier.receipt(receipt, { ...subject, rows, isWhole: true }) : stated;
  return reportOf([checkOf("receipt", over, receiptFound), ...checks]);
}

function rowIn(item: string): JsonValue {
  const value = JSON.parse(item) as JsonValue;
  return isObject(value) ? ((value as JsonObject)["row"] ?? null) : null;
}
