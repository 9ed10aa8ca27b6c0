// Which receipts are whose, and how many, in SQLite: the port's obligations T6–T8.
//   L1. A receipt and its place in the listing of its company are one transaction.
//   L2. A batch is counted in the transaction that closes it, and a receipt that comes later in that of its append; so what
//       is counted, and what is in open batches, are all receipts at every commit.

import type { StatementSync } from "node:sqlite";
import {
  minuteStart,
  pageBounds,
  positionAt,
  type ReceiptRow,
  type ReceiptsWanted,
  type UsageWanted,
} from "../receipt-store.ts";
import { addUsage, type CountedReceipt, countReceipts, type UsageCount, usageOf } from "../receipt-usage.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

/** Receipts of other keys that one page passes over at most, where one key is asked for. */
const passedOverMax = 20_000;
const dayMs = 86_400_000;

/** Part of the receipt store's first migration step. */
export const receiptListingTables = `CREATE TABLE receipt_of_company (
     company TEXT NOT NULL, retrieval_id TEXT NOT NULL, batch INTEGER NOT NULL, key_id TEXT NOT NULL,
     PRIMARY KEY (company, retrieval_id, batch)) WITHOUT ROWID;
   CREATE TABLE receipt_usage (
     region TEXT NOT NULL, company TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, kind TEXT NOT NULL,
     collection TEXT NOT NULL, country TEXT NOT NULL, requests INTEGER NOT NULL, billable INTEGER NOT NULL,
     rows INTEGER NOT NULL, PRIMARY KEY (region, company, day, key_id, kind, collection, country)) WITHOUT ROWID;`;

export interface ReceiptListing {
  /** Within the transaction of an append that changed something. */
  added(row: ReceiptRow, no: number): void;
  /** Within the transaction that takes a receipt of an open batch back. */
  retracted(company: string, retrievalId: string, no: number): void;
  /** Within the transaction that closes a batch for the first time. */
  closed(
    region: string,
    no: number,
    given: { readonly size: number; readonly counts: ReturnType<typeof countReceipts> },
  ): void;
  /** Before receipts of a batch are forgotten, within the same transaction: the first `limit` of them. */
  forgotten(no: number, limit: number): void;
  /** The rows of a page as `receipt` has them, and where the next one starts. */
  list(wanted: ReceiptsWanted): { readonly rows: readonly Row[]; readonly next: string | null };
  usage(wanted: UsageWanted): readonly UsageCount[];
}

export function openReceiptListing(database: SqliteDatabase): ReceiptListing {
  const sql = prepareStatements(database);
  const count = (region: string, company: string, each: UsageCount): void => {
    const { day, key_id, kind, collection, country, requests, billable, rows } = each;
    const of = [region, company, day, key_id, kind, collection ?? "", country ?? ""];
    sql.count.run(...of, requests, billable, rows);
  };
  return {
    added: (row, no) => {
      sql.add.run(row.company, row.retrieval_id, no, row.key_id);
      if (sql.isClosed.get(no) !== undefined) count(row.region, row.company, usageOf(row));
    },
    retracted: (company, retrievalId, no) => void sql.remove.run(company, retrievalId, no),
    closed: (region, no, given) => {
      const stored = numberOf(sql.size.get(no)?.["size"]);
      // A receipt that came after these were read is counted as well.
      const all = stored === given.size ? given.counts : countReceipts(sql.batch.all(no).map(countedOf));
      for (const [company, counts] of all) for (const each of counts) count(region, company, each);
    },
    forgotten: (no, limit) => {
      for (const row of sql.first.all(no, limit))
        sql.remove.run(textOf(row["company"]), textOf(row["id"]), no);
    },
    list: (wanted) => list(sql, wanted),
    usage: (wanted) => usage(sql, wanted),
  };
}

function list(sql: Statements, wanted: ReceiptsWanted): ReturnType<ReceiptListing["list"]> {
  const { region, company, keyId, limit } = wanted;
  const [low, high] = pageBounds(wanted);
  if (keyId === null) return pageOf(sql.list.all(company, low, high, region, limit), limit, null);
  const passed = sql.passed.get(company, low, high, passedOverMax - 1)?.["retrieval_id"];
  const until = typeof passed === "string" ? passed : null;
  return pageOf(sql.listOfKey.all(company, low, until ?? high, region, keyId, limit), limit, until);
}

/** `until` is how far was looked, if not to the end. */
function pageOf(
  rows: readonly Row[],
  limit: number,
  until: string | null,
): ReturnType<ReceiptListing["list"]> {
  return { rows, next: rows.length < limit ? until : textOf(rows.at(-1)?.["retrieval_id"]) };
}

function usage(sql: Statements, wanted: UsageWanted): readonly UsageCount[] {
  const { region, company, fromDay, toDay } = wanted;
  const counted = sql.usage.all(region, company, fromDay, toDay).map(usageCountOf);
  const oldest = sql.oldestOpen.get(region)?.["batch"];
  if (typeof oldest !== "string") return addUsage(counted);
  const from = [positionAt(Date.parse(fromDay)), positionAt(minuteStart(oldest))].sort()[1] ?? "";
  const open = sql.open.all(company, from, positionAt(Date.parse(toDay) + dayMs), region);
  return addUsage([...counted, ...open.map((row) => usageOf(countedOf(row)))]);
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

interface Statements {
  readonly add: StatementSync;
  readonly isClosed: StatementSync;
  readonly count: StatementSync;
  readonly size: StatementSync;
  readonly batch: StatementSync;
  readonly first: StatementSync;
  readonly remove: StatementSync;
  readonly list: StatementSync;
  readonly listOfKey: StatementSync;
  readonly passed: StatementSync;
  readonly usage: StatementSync;
  readonly oldestOpen: StatementSync;
  readonly open: StatementSync;
}

function prepareStatements(database: SqliteDatabase): Statements {
  const ofCompany = `FROM receipt_of_company c CROSS JOIN receipt_batch b ON b.no = c.batch
     CROSS JOIN receipt r ON r.batch = c.batch AND r.retrieval_id = c.retrieval_id
     WHERE c.company = ? AND c.retrieval_id > ? AND c.retrieval_id <= ? AND b.region = ?`;
  const facts = "c.company, r.key_id, r.billable, r.served_at, r.event";
  const all = `${facts}, r.envelope, b.region, b.batch, r.retrieval_id, r.nonce`;
  return {
    add: database.prepare("INSERT INTO receipt_of_company VALUES (?, ?, ?, ?)"),
    isClosed: database.prepare("SELECT 1 FROM receipt_batch WHERE no = ? AND root IS NOT NULL"),
    count: database.prepare(
      `INSERT INTO receipt_usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, billable = billable + excluded.billable, rows = rows + excluded.rows`,
    ),
    size: database.prepare("SELECT count(*) AS size FROM receipt WHERE batch = ?"),
    batch: database.prepare(
      "SELECT company, key_id, billable, served_at, event FROM receipt WHERE batch = ?",
    ),
    first: database.prepare(
      "SELECT retrieval_id AS id, company FROM receipt WHERE batch = ? ORDER BY retrieval_id LIMIT ?",
    ),
    remove: database.prepare(
      "DELETE FROM receipt_of_company WHERE company = ? AND retrieval_id = ? AND batch = ?",
    ),
    list: database.prepare(`SELECT ${all} ${ofCompany} ORDER BY c.retrieval_id LIMIT ?`),
    listOfKey: database.prepare(
      `SELECT ${all} ${ofCompany} AND c.key_id = ? ORDER BY c.retrieval_id LIMIT ?`,
    ),
    passed: database.prepare(
      `SELECT retrieval_id FROM receipt_of_company WHERE company = ? AND retrieval_id > ? AND retrieval_id <= ?
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
