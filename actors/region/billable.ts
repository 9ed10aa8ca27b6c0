// The billable answers of a company, as far as their batches are closed: what is closed is complete, and nothing that was
// served earlier is handed out later (storage/receipt-store.ts, T3).

import { receiptFacts } from "../../protocol/receipt-event.ts";
import {
  closedAfterMs,
  minuteStart,
  positionAt,
  type ReceiptRow,
  type ReceiptStore,
} from "../../storage/receipt-store.ts";
import type { BillableAnswer, BillablePage } from "../messages/region.ts";
import { minuteName } from "./minute-name.ts";

export interface BillableQuestion {
  readonly region: string;
  readonly company: string;
  readonly after: string;
  readonly limit: number;
}

export async function readBillable(
  receipts: Pick<ReceiptStore, "openBatches" | "listReceipts">,
  { region, company, after, limit }: BillableQuestion,
  nowMs: number,
): Promise<BillablePage> {
  const settled_ms = await settledBefore(receipts, region, nowMs);
  const settledAt = positionAt(settled_ms);
  if (after >= settledAt) return { answers: [], up_to: after, more: false, settled_ms };
  const wanted = { region, company, keyId: null, fromMs: instantOf(after), toMs: settled_ms, after, limit };
  const { receipts: rows, next } = await receipts.listReceipts(wanted);
  return {
    answers: rows.flatMap((row) => (row.billable ? answerOf(row) : [])),
    up_to: next ?? settledAt,
    more: next !== null,
    settled_ms,
  };
}

/** The instant before which everything that this region served is in a closed batch. */
async function settledBefore(
  receipts: Pick<ReceiptStore, "openBatches">,
  region: string,
  nowMs: number,
): Promise<number> {
  const minute = minuteName(nowMs - closedAfterMs);
  const [open] = await receipts.openBatches(region, minute, 1);
  return minuteStart(open ?? minute);
}

/** The instant in a position. */
function instantOf(position: string): number {
  return Number.parseInt(position.slice("ret_".length, "ret_".length + 12), 16);
}

/** A pool of ads is never billable. */
function answerOf(row: ReceiptRow): readonly BillableAnswer[] {
  const { kind, collection } = receiptFacts(row);
  if (kind === "ad_pool") return [];
  const answer = {
    ...{ kind, collection },
    retrieval_id: row.retrieval_id,
    key_id: row.key_id,
    nonce: row.nonce,
    served_at_ms: row.served_at_ms,
    incarnation: row.batch.slice(row.batch.indexOf("-") + 1),
  };
  return [answer];
}
