// Receipts on the model's plain tables: the batch is registered before its first row is written.

import { StoreError } from "../../storage/actor-store.ts";
import {
  addUsage,
  type ClosedBatch,
  countReceipts,
  type ListedReceipt,
  pageBounds,
  type ReceiptRow,
  type ReceiptStore,
  type UsageCount,
  usageOf,
} from "../../storage/receipt-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { Reach } from "./statements.ts";
import { readPlainly, type StoreClient, writePlainly } from "./store-model.ts";

/** So few that every other batch has several pages. */
const batchPage = 2;

interface BatchName {
  readonly region: string;
  readonly batch: string;
}

/** What a closed batch contains, which outlives its receipts. */
interface CountedBatch extends BatchName {
  readonly ids: ReadonlySet<string>;
  readonly counts: ReadonlyMap<string, readonly UsageCount[]>;
}

export function openSimReceiptStore(client: StoreClient): ReceiptStore {
  const { model, life, region: here } = client;
  const batches: PlainTable<BatchName> = model.tables.of("receipt_batch");
  const rows: PlainTable<ReceiptRow> = model.tables.of("receipt");
  const closed: PlainTable<ClosedBatch> = model.tables.of("receipt_batch_closed");
  const forgotten: PlainTable<BatchName> = model.tables.of("receipt_batch_forgotten");
  const counted: PlainTable<CountedBatch> = model.tables.of("receipt_batch_counted");
  const retracted: PlainTable<BatchName> = model.tables.of("receipt_retracted");
  const read = <T>(execute: () => T): Promise<T> => readPlainly(client, execute);
  const write = <T>(execute: (reach: Reach) => T): Promise<T> => model.statements.run(life, "write", execute);
  /** Those that were not taken back. */
  const allRows = (): readonly ReceiptRow[] =>
    rows.values(here).filter((row) => retracted.read(here, rowKey(row)) === null);
  const rowsOf = (region: string, batch: string): readonly ReceiptRow[] =>
    allRows()
      .filter((row) => row.region === region && row.batch === batch)
      .sort(byId);
  const namesOf = (names: readonly BatchName[], wanted: (name: BatchName) => boolean): readonly string[] =>
    names
      .filter(wanted)
      .map(({ batch }) => batch)
      .sort((a, b) => (a < b ? -1 : 1));
  return {
    sharesCommits: false,
    ...listingOf({ here, read, counted, allRows }),
    append: async (row, after = null) => {
      if (after !== null && (await after).status === "refused") {
        throw new StoreError("not_applied", "the commit that the receipt follows was refused");
      }
      const { region, batch } = row;
      await writePlainly(client, batches, [{ key: keyOf(row), value: { region, batch }, stamp: 1 }]);
      await writePlainly(client, rows, [{ key: rowKey(row), value: row, stamp: 1 }]);
    },
    retract: (row) =>
      write((reach) => {
        if (closed.read(here, keyOf(row)) !== null) return false;
        const { region, batch } = row;
        retracted.write(here, [{ key: rowKey(row), value: { region, batch }, stamp: 1 }], reach);
        return true;
      }),
    openBatches: (region, beforeMinute, limit) =>
      read(() =>
        namesOf(
          batches.values(here),
          (name) =>
            name.region === region &&
            name.batch.slice(0, 12) < beforeMinute &&
            closed.read(here, keyOf(name)) === null &&
            rowsOf(region, name.batch).length > 0,
        ).slice(0, limit),
      ),
    async *readBatch(region, batch) {
      for (let after = "", isOver = false; !isOver; ) {
        const page = await read(() =>
          rowsOf(region, batch)
            .filter(({ retrieval_id }) => retrieval_id > after)
            .slice(0, batchPage)
            .map(factsOf),
        );
        if (page.length > 0) yield page;
        after = page.at(-1)?.retrieval_id ?? after;
        isOver = page.length < batchPage;
      }
    },
    closeBatch: (closing, receipts, counts = countReceipts(receipts)) => {
      const { region, batch } = closing;
      const ids = new Set(receipts.map((row) => row.retrieval_id));
      // Closing a batch again over more rows is a different closing; over the same rows it changes nothing.
      const cell = { key: keyOf(closing), value: closing, stamp: closing.tree_size };
      return write((reach) => {
        counted.write(here, [{ ...cell, value: { region, batch, ids, counts } }], reach);
        closed.write(here, [cell], reach);
      });
    },
    readClosed: (region, batch) => read(() => closed.read(here, keyOf({ region, batch }))),
    keptBatches: (region, beforeMinute, limit) =>
      read(() =>
        namesOf(
          closed.values(here),
          (name) =>
            name.region === region &&
            name.batch.slice(0, 12) < beforeMinute &&
            forgotten.read(here, keyOf(name)) === null,
        ).slice(0, limit),
      ),
    closedBatches: (region, minute) =>
      read(() =>
        namesOf(closed.values(here), (name) => name.region === region && name.batch.startsWith(`${minute}-`)),
      ),
    forgetReceipts: (region, batch, limit) =>
      write((reach) => {
        const key = keyOf({ region, batch });
        if (closed.read(here, key) === null) return true;
        const gone = rowsOf(region, batch).slice(0, limit);
        rows.remove(gone.map(rowKey));
        if (gone.length === limit) return false;
        forgotten.write(here, [{ key, value: { region, batch }, stamp: 1 }], reach);
        return true;
      }),
    readReceipt: (region, retrievalId) =>
      read(
        () =>
          allRows()
            .filter((row) => row.region === region && row.retrieval_id === retrievalId)
            .sort((a, b) => (a.batch < b.batch ? -1 : 1))[0] ?? null,
      ),
  };
}

interface Listed {
  readonly here: string;
  readonly read: <T>(execute: () => T) => Promise<T>;
  readonly counted: PlainTable<CountedBatch>;
  readonly allRows: () => readonly ReceiptRow[];
}

/** Which receipts are whose, and how many. */
function listingOf({
  here,
  read,
  counted,
  allRows,
}: Listed): Pick<ReceiptStore, "listReceipts" | "listFacts" | "readUsage"> {
  /** Ids of the receipts over which a batch was closed; null while it is open. */
  const contents = (name: BatchName): ReadonlySet<string> | null =>
    counted.read(here, keyOf(name))?.ids ?? null;
  /** A receipt that came after its batch was closed is not listed: nobody was given it (T3). */
  const listed = (region: string, company: string): readonly ReceiptRow[] =>
    allRows().filter(
      (row) =>
        row.region === region && row.company === company && (contents(row)?.has(row.retrieval_id) ?? true),
    );
  const listReceipts: ReceiptStore["listReceipts"] = (wanted) => {
    const { region, company, keyId, limit } = wanted;
    const [low, high] = pageBounds(wanted);
    return read(() => {
      const receipts = listed(region, company)
        .filter((row) => row.retrieval_id > low && row.retrieval_id <= high)
        .filter((row) => keyId === null || row.key_id === keyId)
        .sort(byId)
        .slice(0, limit);
      return { receipts, next: receipts.length < limit ? null : (receipts.at(-1)?.retrieval_id ?? null) };
    });
  };
  return {
    listReceipts,
    listFacts: async (wanted) => {
      const { receipts, next } = await listReceipts(wanted);
      return { receipts: receipts.map(factsOf), next };
    },
    readUsage: ({ region, company, fromDay, toDay }) =>
      read(() => {
        const ofClosed = counted.values(here).filter((each) => each.region === region);
        const open = listed(region, company).filter((row) => contents(row) === null);
        const counts = [
          ...ofClosed.flatMap(({ counts }) => counts.get(company) ?? []),
          ...open.map((row) => usageOf(row)),
        ];
        return addUsage(counts.filter(({ day }) => day >= fromDay && day <= toDay));
      }),
  };
}

function keyOf({ region, batch }: BatchName): string {
  return `${region}/${batch}`;
}

function rowKey(row: ReceiptRow): string {
  return `${keyOf(row)}/${row.retrieval_id}`;
}

function factsOf({ envelope: _, ...facts }: ReceiptRow): ListedReceipt {
  return facts;
}

function byId(a: ReceiptRow, b: ReceiptRow): number {
  return a.retrieval_id < b.retrieval_id ? -1 : 1;
}
