// Receipts in SQLite: the port's obligations T1–T5 and T9. Batches are numbered, so that the keys of receipts stay short and
// finding the open batches reads no receipts.

import { setImmediate } from "node:timers/promises";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { receiptMinute } from "../../protocol/receipt.ts";
import {
  addUsage,
  type CountedReceipt,
  countReceipts,
  hashesIn,
  type ListedReceipt,
  minuteStart,
  packEnvelope,
  packHashes,
  pageBounds,
  positionAt,
  type ReceiptPage,
  type ReceiptRow,
  type ReceiptStore,
  type ReceiptsWanted,
  servedAtOf,
  type UsageCount,
  type UsageWanted,
  unpackEnvelope,
  usageOf,
} from "../receipt-store.ts";
import { bytesOf, numberOf, type Row, textOf } from "./columns.ts";
import { overwritingFreed, type SqliteDatabase } from "./database.ts";
import { signedRowsIn } from "./record-store.ts";

// Which receipts are whose, and how many, in SQLite: the port's obligations T6–T8.
//   L1. The listing of a company is an index of receipts, so a receipt is written once.
//   L2. A batch is counted in the transaction that closes it, and a receipt that comes later in that of its append; so what
//       is counted, and what is in open batches, are all receipts at every commit. Whether a batch is closed is asked of the
//       table once, and again after each closing: a transaction may not come to be.

/** Receipts of other keys that one page passes over at most, where one key is asked for. */
const passedOverMax = 20_000;
const dayMs = 86_400_000;

/** Part of the receipt store's first migration step. */
const receiptListingTables = `CREATE INDEX receipt_by_company ON receipt (company, retrieval_id, batch, key_id);
   CREATE TABLE receipt_usage (
     region TEXT NOT NULL, company TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, kind TEXT NOT NULL,
     collection TEXT NOT NULL, country TEXT NOT NULL, requests INTEGER NOT NULL, billable INTEGER NOT NULL,
     rows INTEGER NOT NULL, PRIMARY KEY (region, company, day, key_id, kind, collection, country)) WITHOUT ROWID;`;

function openReceiptListing(database: SqliteDatabase) {
  const sql = prepareListing(database);
  const pageOf = <Receipt extends ListedReceipt>(
    { ofAll, ofKey }: typeof sql.facts,
    wanted: ReceiptsWanted,
    receiptOfRow: (row: Row) => Receipt,
  ): ReceiptPage<Receipt> => {
    const { region, company, keyId, limit } = wanted;
    const [low, high] = pageBounds(wanted);
    // How far is looked, if not to the end.
    const passed =
      keyId === null ? null : sql.passed.get(company, low, high, passedOverMax - 1)?.["retrieval_id"];
    const until = typeof passed === "string" ? passed : null;
    const rows =
      keyId === null
        ? ofAll.all(company, low, high, region, limit)
        : ofKey.all(company, low, until ?? high, region, keyId, limit);
    const receipts = rows.map(receiptOfRow);
    return { receipts, next: receipts.length < limit ? until : (receipts.at(-1)?.retrieval_id ?? null) };
  };
  const count = (region: string, company: string, each: UsageCount): void => {
    const { day, key_id, kind, collection, country, requests, billable, rows } = each;
    const of = [region, company, day, key_id, kind, collection ?? "", country ?? ""];
    sql.count.run(...of, requests, billable, rows);
  };
  /** The number of a batch that is known to be open. */
  let openNo = 0;
  return {
    /** Within the transaction of an append that changed something. */
    added: (row: ReceiptRow, no: number): void => {
      if (no === openNo) return;
      if (sql.isClosed.get(no) === undefined) openNo = no;
      else count(row.region, row.company, usageOf(row));
    },
    /** Within the transaction that closes a batch for the first time. */
    closed: (
      region: string,
      no: number,
      given: { readonly size: number; readonly counts: ReturnType<typeof countReceipts> },
    ): void => {
      openNo = 0;
      const stored = numberOf(sql.size.get(no)?.["size"]);
      // A receipt that came after these were read is counted as well.
      const all = stored === given.size ? given.counts : countReceipts(sql.batch.all(no).map(countedOf));
      for (const [company, counts] of all) for (const each of counts) count(region, company, each);
    },
    list: (wanted: ReceiptsWanted) =>
      pageOf(sql.receipts, wanted, (row) => ({ ...factsOf(row), packed: bytesOf(row["envelope"]) })),
    facts: (wanted: ReceiptsWanted): ReceiptPage<ListedReceipt> => pageOf(sql.facts, wanted, factsOf),
    usage: (wanted: UsageWanted): readonly UsageCount[] => {
      const { region, company, fromDay, toDay } = wanted;
      const counted = sql.usage.all(region, company, fromDay, toDay).map(usageCountOf);
      const oldest = sql.oldestOpen.get(region)?.["batch"];
      if (typeof oldest !== "string") return addUsage(counted);
      const from = [positionAt(Date.parse(fromDay)), positionAt(minuteStart(oldest))].sort()[1] ?? "";
      const open = sql.open.all(company, from, positionAt(Date.parse(toDay) + dayMs), region);
      return addUsage([...counted, ...open.map((row) => usageOf(countedOf(row)))]);
    },
  };
}

function usageCountOf(row: Row): UsageCount {
  return {
    day: textOf(row["day"]),
    key_id: textOf(row["key_id"]),
    kind: textOf(row["kind"]) as UsageCount["kind"],
    collection: textOf(row["collection"]) || null,
    country: textOf(row["country"]) || null,
    requests: numberOf(row["requests"]),
    billable: numberOf(row["billable"]),
    rows: numberOf(row["rows"]),
  };
}

function countedOf(row: Row): CountedReceipt {
  return {
    company: textOf(row["company"]),
    key_id: textOf(row["key_id"]),
    billable: row["billable"] === 1,
    served_at_ms: numberOf(row["served_at"]),
    event: textOf(row["event"]),
  };
}

function prepareListing(database: SqliteDatabase) {
  const ofCompany = `FROM receipt r INDEXED BY receipt_by_company CROSS JOIN receipt_batch b ON b.no = r.batch
     WHERE r.company = ? AND r.retrieval_id > ? AND r.retrieval_id <= ? AND b.region = ?`;
  const facts = "r.company, r.key_id, r.billable, r.served_at, r.event";
  const all = `${facts}, b.region, b.batch, r.retrieval_id, r.nonce, r.hashes`;
  /** Pages of these columns. */
  const listing = (columns: string) => ({
    ofAll: database.prepare(`SELECT ${columns} ${ofCompany} ORDER BY r.retrieval_id LIMIT ?`),
    ofKey: database.prepare(
      `SELECT ${columns} ${ofCompany} AND r.key_id = ? ORDER BY r.retrieval_id LIMIT ?`,
    ),
  });
  return {
    isClosed: database.prepare("SELECT 1 FROM receipt_batch WHERE no = ? AND root IS NOT NULL"),
    count: database.prepare(
      `INSERT INTO receipt_usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, billable = billable + excluded.billable, rows = rows + excluded.rows`,
    ),
    size: database.prepare("SELECT count(*) AS size FROM receipt WHERE batch = ?"),
    batch: database.prepare(
      "SELECT company, key_id, billable, served_at, event FROM receipt WHERE batch = ?",
    ),
    receipts: listing(`${all}, r.envelope`),
    facts: listing(all),
    passed: database.prepare(
      `SELECT retrieval_id FROM receipt INDEXED BY receipt_by_company WHERE company = ? AND retrieval_id > ? AND retrieval_id <= ?
       ORDER BY retrieval_id LIMIT 1 OFFSET ?`,
    ),
    usage: database.prepare(
      `SELECT day, key_id, kind, collection, country, requests, billable, rows FROM receipt_usage
       WHERE region = ? AND company = ? AND day >= ? AND day <= ?`,
    ),
    oldestOpen: database.prepare(
      "SELECT batch FROM receipt_batch WHERE root IS NULL AND region = ? ORDER BY batch LIMIT 1",
    ),
    open: database.prepare(`SELECT ${facts} ${ofCompany} AND b.root IS NULL`),
  };
}

// The receipts and their batches.

/** Receipts of a batch that are read in one step: some ten milliseconds for those of searches. */
const batchPage = 250;

/** Migration steps of the tables, for {@link SqliteDatabase.migrate}. */
const migrations: readonly string[] = [
  // An id encodes its minute, and thereby its batches: one index of receipts is enough. The envelope is the last column: it is on pages of
  // its own, which nobody reads who asks for the others.
  `CREATE TABLE receipt_batch (
     no INTEGER PRIMARY KEY, region TEXT NOT NULL, batch TEXT NOT NULL, root TEXT, tree_size INTEGER,
     closed_at INTEGER, forgotten INTEGER NOT NULL DEFAULT 0, UNIQUE (region, batch));
   CREATE INDEX receipt_batch_open ON receipt_batch (region, batch) WHERE root IS NULL;
   CREATE INDEX receipt_batch_kept ON receipt_batch (region, batch) WHERE root IS NOT NULL AND forgotten = 0;
   CREATE TABLE receipt (
     batch INTEGER NOT NULL, retrieval_id TEXT NOT NULL, key_id TEXT NOT NULL, nonce TEXT NOT NULL,
     billable INTEGER NOT NULL, served_at INTEGER NOT NULL, event TEXT NOT NULL, company TEXT NOT NULL, hashes BLOB NOT NULL,
     envelope BLOB NOT NULL);
   CREATE UNIQUE INDEX receipt_by_batch ON receipt (batch, retrieval_id);
   ${receiptListingTables}`,
];

/** Opens the receipt store in `database`, creating its tables if they are missing. */
export function openSqliteReceiptStore(database: SqliteDatabase): ReceiptStore {
  database.migrate("receipt", migrations);
  const sql = prepareStatements(database);
  const listing = openReceiptListing(database);
  const readSignedRows = signedRowsIn(database);
  const findNumber = (region: string, batch: string): number | undefined => {
    const found = sql.batchNumber.get(region, batch);
    return found === undefined ? undefined : numberOf(found["no"]);
  };
  /** Not cached: a number assigned within a transaction that is later rolled back would stay behind. */
  const batchNumber = (region: string, batch: string): number =>
    findNumber(region, batch) ?? Number(sql.addBatch.run(region, batch).lastInsertRowid);
  /** Number of the batch that was last written to: numbers are never reassigned, so it is never stale. */
  let last = { region: "", batch: "", no: 0 };
  /** Must be called outside any transaction; undefined while no receipt of the batch is committed. */
  const committedNumber = (region: string, batch: string): number | undefined => {
    if (last.batch === batch && last.region === region) return last.no;
    const no = findNumber(region, batch);
    if (no !== undefined) last = { region, batch, no };
    return no;
  };
  return {
    sharesCommits: true,
    append: async (row, after = null) => {
      const known = committedNumber(row.region, row.batch);
      const [hashes, packed] = [packHashes(row), packEnvelope(row)];
      const work = (): void => {
        const no = known ?? batchNumber(row.region, row.batch);
        const { retrieval_id, key_id, nonce, billable, served_at_ms, event, company } = row;
        const facts = [billable ? 1 : 0, served_at_ms, event, company] as const;
        const { changes } = sql.append.run(no, retrieval_id, key_id, nonce, ...facts, hashes, packed);
        if (changes > 0) listing.added(row, no);
      };
      if (after === null) await database.write(work);
      else await database.writeAfter({ write: after, holds: ({ status }) => status === "applied" }, work);
    },
    // Works run in the order in which they were submitted, so the append is over by then.
    retract: async ({ region, batch, retrieval_id }) =>
      await database.write((db) => {
        if (sql.closedNumber.get(region, batch) !== undefined) return false;
        const no = findNumber(region, batch);
        if (no === undefined) return true;
        overwritingFreed(db, () => sql.retract.run(no, retrieval_id));
        return true;
      }),
    openBatches: async (...wanted) => sql.openBatches.all(...wanted).map((row) => textOf(row["batch"])),
    async *readBatch(region, batch) {
      for (let after = "", isOver = false; !isOver; ) {
        const page = sql.readBatch.all(region, batch, after, batchPage).map(factsOf);
        if (page.length > 0) yield page;
        after = page.at(-1)?.retrieval_id ?? after;
        isOver = page.length < batchPage;
        if (!isOver) await setImmediate();
      }
    },
    closeBatch: async (closed, receipts, counts) => {
      await database.write(() => {
        const no = batchNumber(closed.region, closed.batch);
        const isFirst = sql.closedNumber.get(closed.region, closed.batch) === undefined;
        if (isFirst) {
          const counted = counts ?? countReceipts(receipts);
          listing.closed(closed.region, no, { size: receipts.length, counts: counted });
        }
        sql.close.run(closed.root, closed.tree_size, closed.closed_at_ms, no, closed.tree_size);
      });
    },
    readClosed: async (region, batch) => {
      const row = sql.readClosed.get(region, batch);
      if (row === undefined) return null;
      const [root, tree_size] = [textOf(row["root"]), numberOf(row["tree_size"])];
      return { region, batch, root, tree_size, closed_at_ms: numberOf(row["closed_at"]) };
    },
    keptBatches: async (...wanted) => sql.keptBatches.all(...wanted).map((row) => textOf(row["batch"])),
    forgetReceipts: async (region, batch, limit) =>
      await database.write((db) => {
        const found = sql.closedNumber.get(region, batch);
        if (found === undefined) return true;
        const no = numberOf(found["no"]);
        const forgotten = overwritingFreed(db, () => Number(sql.forget.run(no, limit).changes));
        if (forgotten === limit) return false;
        sql.markForgotten.run(no);
        return true;
      }),
    closedBatches: async (region, minute) =>
      sql.closedBatches.all(region, ...namesOfMinute(minute)).map((row) => textOf(row["batch"])),
    readReceipt: async (region, retrievalId) => {
      const servedAtMs = servedAtOf(retrievalId);
      if (servedAtMs === null) return null;
      const minute = receiptMinute(formatTimestamp(servedAtMs));
      const row = sql.readReceipt.get(region, ...namesOfMinute(minute), retrievalId);
      if (row === undefined) return null;
      const facts = factsOf(row);
      return { ...facts, envelope: await unpackEnvelope(bytesOf(row["envelope"]), facts, readSignedRows) };
    },
    listReceipts: async (wanted) => {
      const { receipts: rows, next } = listing.list(wanted);
      const receipts: ReceiptRow[] = [];
      for (const { packed, ...facts } of rows) {
        receipts.push({ ...facts, envelope: await unpackEnvelope(packed, facts, readSignedRows) });
        // The rows of fifty versions were looked up.
        await setImmediate();
      }
      return { receipts, next };
    },
    listFacts: async (wanted) => listing.facts(wanted),
    readUsage: async (wanted) => listing.usage(wanted),
  };
}

/** A batch name continues with «-» after the minute; «.» is the next character after it. */
function namesOfMinute(minute: string): readonly [from: string, before: string] {
  return [`${minute}-`, `${minute}.`];
}

function prepareStatements(database: SqliteDatabase) {
  const facts =
    "b.region, b.batch, r.retrieval_id, r.key_id, r.nonce, r.billable, r.served_at, r.event, r.company, r.hashes";
  const receipts = "FROM receipt_batch b CROSS JOIN receipt r ON r.batch = b.no";
  return {
    batchNumber: database.prepare("SELECT no FROM receipt_batch WHERE region = ? AND batch = ?"),
    addBatch: database.prepare("INSERT INTO receipt_batch (region, batch) VALUES (?, ?)"),
    append: database.prepare(
      "INSERT INTO receipt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    ),
    retract: database.prepare("DELETE FROM receipt WHERE batch = ? AND retrieval_id = ?"),
    openBatches: database.prepare(
      "SELECT batch FROM receipt_batch WHERE root IS NULL AND region = ? AND batch < ? ORDER BY batch LIMIT ?",
    ),
    readBatch:
      database.prepare(`SELECT ${facts} ${receipts} WHERE b.region = ? AND b.batch = ? AND r.retrieval_id > ?
       ORDER BY r.retrieval_id LIMIT ?`),
    // A batch is closed again only after late rows came in (T3), so over more rows: repeating an earlier close undoes
    // nothing.
    close: database.prepare(
      `UPDATE receipt_batch SET root = ?, tree_size = ?, closed_at = ?
       WHERE no = ? AND (root IS NULL OR tree_size < ?)`,
    ),
    readClosed: database.prepare(
      "SELECT root, tree_size, closed_at FROM receipt_batch WHERE region = ? AND batch = ? AND root IS NOT NULL",
    ),
    keptBatches: database.prepare(
      `SELECT batch FROM receipt_batch WHERE root IS NOT NULL AND forgotten = 0 AND region = ? AND batch < ?
       ORDER BY batch LIMIT ?`,
    ),
    closedNumber: database.prepare(
      "SELECT no FROM receipt_batch WHERE region = ? AND batch = ? AND root IS NOT NULL",
    ),
    forget: database.prepare(
      `DELETE FROM receipt WHERE rowid IN
         (SELECT rowid FROM receipt WHERE batch = ? ORDER BY retrieval_id LIMIT ?)`,
    ),
    markForgotten: database.prepare("UPDATE receipt_batch SET forgotten = 1 WHERE no = ?"),
    closedBatches: database.prepare(
      `SELECT batch FROM receipt_batch WHERE root IS NOT NULL AND region = ? AND batch >= ? AND batch < ?
       ORDER BY batch`,
    ),
    readReceipt: database.prepare(
      `SELECT ${facts}, r.envelope ${receipts} WHERE b.region = ? AND b.batch >= ? AND b.batch < ? AND r.retrieval_id = ? LIMIT 1`,
    ),
  };
}

function factsOf(row: Row): ListedReceipt {
  return {
    region: textOf(row["region"]),
    batch: textOf(row["batch"]),
    retrieval_id: textOf(row["retrieval_id"]),
    company: textOf(row["company"]),
    key_id: textOf(row["key_id"]),
    nonce: textOf(row["nonce"]),
    billable: row["billable"] === 1,
    served_at_ms: numberOf(row["served_at"]),
    event: textOf(row["event"]),
    ...hashesIn(bytesOf(row["hashes"])),
  };
}
