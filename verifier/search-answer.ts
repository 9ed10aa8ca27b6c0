// The whole answer of a search: the receipt over exactly these rows, and every row's signature.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseObject } from "../protocol/payload.ts";
import { refuse, type Verdict } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { type AnswerEvidence, presenterOf, receiptFound } from "./answer-evidence.ts";
import { verifyReceipt } from "./receipt.ts";
import { checkOf, type Report, reportOf } from "./report.ts";
import { verifyRowSignature } from "./row.ts";
import type { Trust } from "./trust.ts";

/** Checks the body of a search answer: `receipt`, and `rows/<i>` for each row. */
export function verifySearchAnswer(trust: Trust, body: Uint8Array, evidence: AnswerEvidence = {}): Report {
  const answer = parseObject(body);
  if (!answer.ok) return reportOf([checkOf("answer", answer)]);
  const { rows, receipt = null, retrieval_id: retrievalId } = answer.value;
  if (!Array.isArray(rows) || typeof retrievalId !== "string") {
    return reportOf([checkOf("answer", refuse("payload_malformed", "Not the answer of a search."))]);
  }
  const subject = { ...presenterOf(evidence), retrievalId };
  const stated = verifyReceipt(trust, receipt, subject);
  const servedAt = stated.ok ? stated.value.served_at : undefined;
  const verdicts = (rows as readonly JsonValue[]).map((row) => verifyRowSignature(trust, row, servedAt));
  const held = rowsOf(verdicts);
  // A row that does not verify fails its own check; the receipt is then checked against the presenter alone.
  const over =
    held === null ? stated : verifyReceipt(trust, receipt, { ...subject, rows: held, isWhole: true });
  return reportOf([
    checkOf("receipt", over, receiptFound),
    ...verdicts.map((verdict, index) => checkOf(`rows/${index}`, verdict, (row) => row.record_id)),
  ]);
}

function rowsOf(verdicts: readonly Verdict<IndexRow>[]): readonly IndexRow[] | null {
  const rows: IndexRow[] = [];
  for (const verdict of verdicts) {
    if (!verdict.ok) return null;
    rows.push(verdict.value);
  }
  return rows;
}
