// The activities of the region actor: applying rows to its index, and closing receipt batches.

import { rowPut } from "../../collections/row-change.ts";
import { type Sha256, toHex } from "../../protocol/bytes.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import { type LogEntry, receiptBatchEntry } from "../../protocol/log/leaves.ts";
import { createRootBuilder } from "../../protocol/merkle.ts";
import { openReceiptEvent, receiptFacts, receiptMinute } from "../../protocol/receipt.ts";
import type { CompanyEvent as StoredBody } from "../../protocol/wire/retrieval.ts";
import { type CompanyEvent, type EventStore, eventRetentionMs } from "../../storage/event-store.ts";
import {
  addCounts,
  closedAfterMs,
  countReceipts,
  type ListedReceipt,
  leafIn,
  minuteStart,
  positionAt,
  type ReceiptStore,
} from "../../storage/receipt-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RowChange, RowIndex } from "../../storage/row-index.ts";
import type { RowReference } from "../messages/push.ts";
import { logRef } from "../messages/refs.ts";
import type { BillableAnswer, BillablePage, RegionCommand } from "../messages/region.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface RegionPorts {
  readonly index: RowIndex;
  readonly receipts: ReceiptStore;
  readonly events: EventStore;
  readonly records: RecordStore;
  readonly sha256: Sha256;
  /** Minimum time for which a receipt is kept. */
  readonly receiptRetentionMs: number;
}

/** Maximum number of batches closed in one run; the rest waits for the next minute. */
const batchesMax = 1_000;
/** Number of receipts removed in one step, so that nothing else is delayed. */
const forgottenAtOnce = 64;
/** The same for events, which are small. */
const eventsForgottenAtOnce = 500;
/** Maximum duration of one removal run; the rest waits for the next minute. */
const forgettingMaxMs = 20_000;
/** How long to wait for rows written in another region before the caller is asked to retry. */
const replicationWaitMs = 5_000;

/** What a region does outside its journal: rows for its index, receipts into batches. */
export function regionActivities(ports: RegionPorts): Record<string, Activity> {
  return {
    applyRows: async (params: { work_id: string; changes: readonly RowChange[] }): Promise<RegionCommand> => {
      const applied = await apply(ports.index, params.work_id, params.changes);
      const found = await stillServed(ports, params.changes);
      if (applied.type !== "rows.applied" || found === null) return applied;
      return {
        type: "rows.failed",
        work_id: params.work_id,
        detail: `${found} is still fetched in this region.`,
      };
    },
    indexRows: async (params: IndexRows, context: ActivityContext<"region">): Promise<RegionCommand> => {
      const { changes, missing } = await readChanges(ports, params);
      if (missing === 0) return apply(ports.index, params.work_id, changes);
      const detail = `${missing} rows are not readable in this region yet.`;
      // A throw is retried: the rows written in another region are on their way here.
      if (context.nowMs() - params.asked_at_ms < replicationWaitMs) throw new Error(detail);
      return { type: "rows.failed", work_id: params.work_id, detail };
    },
    findRow: async (params: FindRow): Promise<RegionCommand> => {
      const { work_id, collection, record_id } = params;
      const found = await ports.index.isFindable(collection, record_id).catch(() => null);
      return { type: "rows.found", work_id, found };
    },
    readBillable: async (
      { work_id, ...asked }: BillableQuestion & { readonly work_id: string },
      context: ActivityContext<"region">,
    ): Promise<RegionCommand> => {
      const page = await readBillable(ports.receipts, asked, context.nowMs()).catch(() => null);
      return { type: "billable.read", work_id, page };
    },
    purgeRows: async (params: { work_id: string; collections: readonly CollectionName[] }) => {
      return answered(params.work_id, 0, async () => {
        await ports.index.purge(params.collections);
        return 0;
      });
    },
    closeReceipts: async (
      params: { region: string },
      context: ActivityContext<"region">,
    ): Promise<RegionCommand> => {
      const append = async (entries: readonly LogEntry[]): Promise<void> =>
        void (await context.ask(logRef(), { type: "log.append", entries }));
      const closed = await closeReceiptBatches({ ...ports, append }, params.region, context.nowMs());
      return { type: "receipts.closed", batches: closed };
    },
    forgetReceipts: async (
      params: { region: string },
      context: ActivityContext<"region">,
    ): Promise<RegionCommand> => {
      const batches = await forgetExpired(ports, params.region, context);
      return { type: "receipts.forgotten", batches };
    },
  };
}

/**
 * A record of which the region has learned that it is not served, while its own store still has the head of an earlier version:
 * a removal is confirmed once neither a search nor a fetch finds the record here.
 */
async function stillServed({ records }: RegionPorts, changes: readonly RowChange[]): Promise<string | null> {
  for (const { kind, record_id, change } of changes) {
    if (kind !== "remove") continue;
    const head = await records.readHead(record_id);
    if (head?.live && head.change < change) return record_id;
  }
  return null;
}

interface FindRow {
  readonly work_id: string;
  readonly collection: CollectionName;
  readonly record_id: string;
}

interface IndexRows {
  readonly work_id: string;
  readonly collection: CollectionName;
  readonly references: readonly RowReference[];
  readonly asked_at_ms: number;
}

/** How often rows that are on their way here are read again before the caller retries from the beginning. */
const readsMax = 4;

/**
 * Returns the row changes whose rows are readable here, and how many are not. A version that was purged meanwhile was deleted
 * before: no index needs its row, and the removal arrives by itself.
 */
async function readChanges(
  ports: RegionPorts,
  params: IndexRows,
): Promise<{ readonly changes: readonly RowChange[]; readonly missing: number }> {
  const byVersion = new Map<string, string>();
  let missing = params.references;
  for (let read = 0; read < readsMax && missing.length > 0; read += 1) {
    for (const row of await ports.records.readRows(missing))
      byVersion.set(`${row.record_id} ${row.generation}`, row.row);
    missing = missing.filter(({ record_id, generation }) => !byVersion.has(`${record_id} ${generation}`));
  }
  const changes = params.references.flatMap((reference) => {
    const row = byVersion.get(`${reference.record_id} ${reference.generation}`) ?? "";
    return row === "" ? [] : [rowPut(params.collection, reference, row)];
  });
  return { changes, missing: missing.length };
}

function apply(index: RowIndex, workId: string, changes: readonly RowChange[]): Promise<RegionCommand> {
  return answered(workId, changes.length, async () => {
    const outcomes = await index.apply(changes);
    return outcomes.filter((outcome) => outcome === "stale").length;
  });
}

/** The result of some work of the index, which says how many of its rows were stale. */
async function answered(workId: string, rows: number, run: () => Promise<number>): Promise<RegionCommand> {
  try {
    return { type: "rows.applied", work_id: workId, stale: await run(), rows };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { type: "rows.failed", work_id: workId, detail };
  }
}

/** Stores the events of every batch whose minute has passed, and closes and counts it: the root over its receipts in retrieval_id order (RFC 6962 §2.1). */
export async function closeReceiptBatches(
  ports: Pick<RegionPorts, "receipts" | "events" | "sha256"> & {
    readonly append: (entries: readonly LogEntry[]) => Promise<void>;
  },
  region: string,
  nowMs: number,
): Promise<number> {
  const names = await ports.receipts.openBatches(region, minuteName(nowMs - closedAfterMs), batchesMax);
  for (const batch of names) {
    const { root, receipts, counts } = await readThrough(ports, region, batch);
    // Before it is closed as well: a batch that is closed is in the log, or on its way there.
    await ports.append([receiptBatchEntry({ region, batch, root })]);
    const closed = { region, batch, root, tree_size: receipts.length, closed_at_ms: nowMs };
    await ports.receipts.closeBatch(closed, receipts, counts);
  }
  return names.length;
}

/** Reads a batch page by page: a minute of a busy node has tens of thousands of receipts. Their envelopes were hashed when they were kept. */
async function readThrough(
  { receipts: store, events, sha256 }: Pick<RegionPorts, "receipts" | "events" | "sha256">,
  region: string,
  batch: string,
): Promise<{
  readonly root: string;
  readonly receipts: readonly ListedReceipt[];
  readonly counts: ReturnType<typeof countReceipts>;
}> {
  const tree = createRootBuilder(sha256);
  const receipts: ListedReceipt[] = [];
  let counts: ReturnType<typeof countReceipts> = new Map();
  for await (const page of store.readBatch(region, batch)) {
    // Before the batch is closed: what is interrupted is done again, and no event is left out.
    await events.put(region, eventsOf(page));
    for (const receipt of page) {
      tree.add(leafIn(receipt));
      receipts.push(receipt);
    }
    counts = addCounts(counts, countReceipts(page));
  }
  return { root: `sha256:${toHex(tree.root())}`, receipts, counts };
}

/**
 * Removes the receipts of batches whose minute ended longer ago than the retention period; returns the number of batches from
 * which all receipts were removed.
 */
export async function forgetExpired(
  { receipts, events, receiptRetentionMs }: Pick<RegionPorts, "receipts" | "events" | "receiptRetentionMs">,
  region: string,
  { nowMs }: Pick<ActivityContext, "nowMs">,
): Promise<number> {
  const untilMs = nowMs() + forgettingMaxMs;
  const names = await receipts.keptBatches(region, minuteName(nowMs() - receiptRetentionMs), batchesMax);
  let forgotten = 0;
  for (const batch of names) {
    let isOver = false;
    while (!isOver && nowMs() < untilMs)
      isOver = await receipts.forgetReceipts(region, batch, forgottenAtOnce);
    if (!isOver) break;
    forgotten += 1;
  }
  let removed = eventsForgottenAtOnce;
  while (removed === eventsForgottenAtOnce && nowMs() < untilMs)
    removed = await events.forget(nowMs() - eventRetentionMs, eventsForgottenAtOnce);
  return forgotten;
}

// The events of AI companies, from the receipts of one batch: what was answered, and nothing that was not.

/** An event as it is stored: the cursor is its place in the store. */
type Body = Omit<StoredBody, "cursor">;

function eventsOf(receipts: readonly ListedReceipt[]): readonly CompanyEvent[] {
  return receipts.map((row) => {
    const { company, collection, ...event } = openReceiptEvent(row.event);
    const body: Body = {
      event_id: `event_${row.retrieval_id.slice("ret_".length)}`,
      at: formatTimestamp(row.served_at_ms),
      retrieval_id: row.retrieval_id,
      key_id: row.key_id,
      billable: row.billable,
      region: row.region,
      collection: collection as Body["collection"],
      ...event,
    };
    return { company, retrieval_id: row.retrieval_id, body: JSON.stringify(body) };
  });
}

// The billable answers of a company, as far as their batches are closed: what is closed is complete, and nothing that was
// served earlier is handed out later (storage/receipt-store.ts, T3).

interface BillableQuestion {
  readonly region: string;
  readonly company: string;
  readonly after: string;
  readonly limit: number;
}

async function readBillable(
  receipts: ReceiptStore,
  { region, company, after, limit }: BillableQuestion,
  nowMs: number,
): Promise<BillablePage> {
  const settled_ms = await settledBefore(receipts, region, nowMs);
  const settledAt = positionAt(settled_ms);
  if (after >= settledAt) return { answers: [], up_to: after, more: false, settled_ms };
  const wanted = { region, company, keyId: null, fromMs: instantOf(after), toMs: settled_ms, after, limit };
  const { receipts: rows, next } = await receipts.listFacts(wanted);
  return {
    answers: rows.flatMap((row) => (row.billable ? answerOf(row) : [])),
    up_to: next ?? settledAt,
    more: next !== null,
    settled_ms,
  };
}

/** The instant before which everything that this region served is in a closed batch. */
async function settledBefore(receipts: ReceiptStore, region: string, nowMs: number): Promise<number> {
  const minute = minuteName(nowMs - closedAfterMs);
  const [open] = await receipts.openBatches(region, minute, 1);
  return minuteStart(open ?? minute);
}

/** The instant in a position. */
function instantOf(position: string): number {
  return Number.parseInt(position.slice("ret_".length, "ret_".length + 12), 16);
}

/** A pool of ads is never billable. */
function answerOf(row: ListedReceipt): readonly BillableAnswer[] {
  const { kind, collection } = receiptFacts(row);
  if (kind === "ad_pool") return [];
  const answer = {
    kind,
    collection,
    retrieval_id: row.retrieval_id,
    key_id: row.key_id,
    nonce: row.nonce,
    served_at_ms: row.served_at_ms,
    incarnation: row.batch.slice(row.batch.indexOf("-") + 1),
  };
  return [answer];
}

/** The UTC minute of an instant as `YYYYMMDDHHMM`, with which a batch's name starts. */
export function minuteName(ms: number): string {
  return receiptMinute(formatTimestamp(ms));
}
