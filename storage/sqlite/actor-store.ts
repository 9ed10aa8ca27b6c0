// Actor journals in SQLite: the port's obligations S1–S10. Works that are waiting share one transaction (see database.ts).
// The fence is the UPDATE of the head row by epoch, head and operation; every other statement of a commit runs only if
// that UPDATE changed its one row. Each actor gets a number once, so that row keys stay short.

import type { SQLOutputValue, StatementSync } from "node:sqlite";
import { BoundedMap } from "../../std/bounded-map.ts";
import {
  type Activation,
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type CommitOutcome,
  newActor,
  type PartitionRow,
  type RowSelection,
  rowTable,
} from "../actor-store.ts";
import { ActorJournal, type ActorJournalOptions, journalTable } from "./actor-journal.ts";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE actor_head (
     no INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, epoch INTEGER NOT NULL, owner TEXT NOT NULL,
     head INTEGER NOT NULL, op TEXT NOT NULL, snapshot_seq INTEGER NOT NULL, schema_version INTEGER NOT NULL,
     wake_at INTEGER, UNIQUE (kind, id));
   CREATE INDEX actor_due ON actor_head (wake_at) WHERE wake_at IS NOT NULL;
   CREATE TABLE actor_snapshot (actor INTEGER PRIMARY KEY, body TEXT NOT NULL);
   CREATE TABLE actor_row (
     actor INTEGER NOT NULL, rt INTEGER NOT NULL, k INTEGER NOT NULL, k2 TEXT NOT NULL,
     body TEXT NOT NULL, expires_at INTEGER, PRIMARY KEY (actor, rt, k, k2)) WITHOUT ROWID;
   CREATE INDEX actor_row_by_text ON actor_row (actor, rt, k2) WHERE k > 0 AND rt >= ${rowTable.firstKeyed};`,
  journalTable,
];

/**
 * From this many keys in one selection on, they are passed together: with fewer, that call takes longer than single
 * look-ups.
 */
const keysAtOnceMin = 8;
/** Actor numbers kept in memory; any of them can be looked up again. */
const numbersMax = 50_000;

export interface SqliteActorStoreOptions {
  /** Unix milliseconds, used for expiry only. */
  readonly now: () => number;
  readonly journal?: ActorJournalOptions;
}

/** Opens the actor store in `database`, creating its tables if they are missing. */
export function openSqliteActorStore(database: SqliteDatabase, options: SqliteActorStoreOptions): ActorStore {
  database.migrate("actor", migrations);
  return new SqliteActorStore(database, options);
}

class SqliteActorStore implements ActorStore {
  readonly createsActors = true;
  readonly joinsCommits = true;
  readonly #database: SqliteDatabase;
  readonly #now: () => number;
  readonly #sql: Statements;
  /** `kind\nid` → number of the actor, until it is forgotten. */
  readonly #numbers = new BoundedMap<string, number>(numbersMax);
  /** By actor number, the tables that are known to have no row with k > 0, since the actor was claimed or such a row was written. */
  readonly #plainTables = new BoundedMap<number, Set<number>>(numbersMax);
  readonly #walkExpired: TakeAlong;
  readonly #journal: ActorJournal;

  constructor(database: SqliteDatabase, { now, journal = {} }: SqliteActorStoreOptions) {
    this.#database = database;
    this.#now = now;
    this.#sql = prepareStatements(database);
    this.#walkExpired = walkExpired(database, now());
    this.#journal = new ActorJournal(database, journal);
  }

  async claim(ref: ActorRef, owner: string, firstEpoch = 1): Promise<Activation> {
    const { no, activation } = await this.#database.write(() => {
      this.#journal.look();
      const known = this.#findNumber(ref);
      if (known === undefined) return this.#claimNew(ref, owner, firstEpoch);
      // Another process may have written to it.
      this.#plainTables.delete(known);
      this.#journal.bring(known);
      this.#journal.note(known, null);
      this.#sql.claim.run(owner, known);
      return { no: known, activation: this.#activation(known) };
    });
    // Not kept before now: what made the actor might have been rolled back.
    this.#numbers.set(keyOf(ref), no);
    return activation;
  }

  /** The promise is the write's own: what must not exist without the commit may share its transaction ({@link SqliteDatabase.writeAfter}). */
  commit(commit: ActorCommit): Promise<CommitOutcome> {
    const { ref, creates, with: others } = commit;
    if (commit.forget) return this.#forgotten(commit);
    if (creates !== undefined) return this.#database.write(() => this.#create(commit, creates));
    // Looked up here, outside any transaction: a number seen inside one that is later rolled back must not be kept.
    const no = this.#number(ref);
    if (others !== undefined) return this.#joined(commit, no, others);
    return this.#database.write(() => this.#commit(commit, no ?? this.#findNumber(ref)));
  }

  /** S10: the others are judged before anything is written, so nothing has to be undone. */
  #joined(
    commit: ActorCommit,
    no: number | undefined,
    others: readonly ActorCommit[],
  ): Promise<CommitOutcome> {
    const numbers = others.map(({ ref }) => this.#number(ref));
    return this.#database.write(() => {
      const refused = others.findIndex((other, at) => !this.#isNext(other, numbers[at]));
      const other = others[refused];
      if (other === undefined || !this.#isNext(commit, no)) {
        const outcome = this.#commit(commit, no);
        if (other !== undefined || outcome.status === "refused") return outcome;
        for (const [at, each] of others.entries())
          if (this.#commit(each, numbers[at]).status === "refused")
            throw new Error("a judged commit was refused");
        return outcome;
      }
      return { ...this.#refusal(numbers[refused]), other };
    });
  }

  /** Whether the commit follows its actor's last one. */
  #isNext(commit: ActorCommit, no: number | undefined): boolean {
    if (no === undefined) return false;
    this.#journal.look();
    if (this.#journal.isNext(no, commit)) return true;
    this.#journal.bring(no);
    const head = this.#sql.head.get(no);
    return (
      head?.["epoch"] === commit.epoch &&
      head["head"] === commit.expectedHead &&
      head["op"] === commit.expectedOp
    );
  }

  async readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]> {
    const no = this.#number(ref);
    if (no === undefined) return [];
    const found: PartitionRow[] = [];
    for (const selection of selections) {
      const start = found.length;
      if ("keys" in selection) this.#readByText(no, selection.rt, selection.keys, found);
      else {
        const after = selection.after ?? { k: -1, k2: "" };
        for (const row of this.#sql.range.all(no, selection.rt, after.k, after.k2, selection.limit)) {
          found.push(toRow(row));
        }
      }
      if (selection.rt === rowTable.event) this.#addWaiting(no, selection, found, start);
    }
    return found;
  }

  async readHead(ref: ActorRef): Promise<ActorHead | null> {
    const no = this.#number(ref);
    const row = no === undefined ? undefined : this.#sql.head.get(no);
    if (no === undefined || row === undefined) return null;
    const known = toHead(row);
    const { head = known.head, op = known.op } = this.#journal.waitingOf(no, known)?.tail ?? {};
    return { ...known, head, op };
  }

  async dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]> {
    return this.#sql.due.all(nowMs, limit).map((row) => ({
      ref: { kind: String(row["kind"]), id: String(row["id"]) },
      wakeAtMs: Number(row["wake_at"]),
    }));
  }

  async listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]> {
    return this.#sql.list.all(kind, afterId, limit).map((row) => String(row["id"]));
  }

  async countActors(kind: string, max: number): Promise<number> {
    return Number(this.#sql.count.get(kind, max)?.["known"] ?? 0);
  }

  async #forgotten(commit: ActorCommit): Promise<CommitOutcome> {
    const { ref } = commit;
    const outcome = await this.#database.write(() => this.#commit(commit, this.#findNumber(ref)));
    this.#numbers.delete(keyOf(ref));
    return outcome;
  }

  /** S9: nothing can have fenced off an actor that is not there, so its first head is written as the commit leaves it. */
  #create(commit: ActorCommit, owner: string): CommitOutcome {
    const { ref, epoch, expectedHead, op, wakeAtMs } = commit;
    const { createHead } = this.#sql;
    const created = createHead.run(ref.kind, ref.id, epoch, owner, expectedHead + 1, op, wakeAtMs);
    if (created.changes > 0) {
      const no = Number(created.lastInsertRowid);
      this.#note(no, commit);
      return this.#write(commit, no);
    }
    const no = this.#findNumber(ref);
    if (no === undefined) throw new Error(`actor ${ref.kind}/${ref.id} is in the way and is not there`);
    this.#journal.bring(no);
    return this.#explainRefusal(no, op);
  }

  #commit(commit: ActorCommit, no: number | undefined): CommitOutcome {
    const sql = this.#sql;
    if (no === undefined)
      return commit.forget ? { status: "applied" } : { status: "refused", epoch: 0, head: 0, op: "" };
    if (this.#journal.take(no, commit)) return { status: "applied" };
    const { epoch, expectedHead, expectedOp, op } = commit;
    // What a commit prunes need not be brought, unless it might be refused.
    this.#journal.bring(no, this.#journal.isNext(no, commit) ? commit.snapshot?.seq : 0);
    const fence = [no, epoch, expectedHead, expectedOp] as const;
    // The time is in an index, which is written again even where the time stays.
    const fenced = this.#journal.keepsWakeTime(no, commit)
      ? sql.advanceOnly.run(expectedHead + 1, op, ...fence)
      : sql.advance.run(expectedHead + 1, op, commit.wakeAtMs, ...fence);
    if (fenced.changes === 0) return this.#explainRefusal(no, op);
    this.#note(no, commit);
    if (!commit.forget) return this.#write(commit, no);
    this.#journal.bringAll();
    this.#forget(commit.ref, no);
    return { status: "applied" };
  }

  #note(no: number, { epoch, expectedHead, op, wakeAtMs, forget }: ActorCommit): void {
    this.#journal.note(no, forget ? null : { epoch, head: expectedHead + 1, op, wakeAtMs });
  }

  /** Everything of a commit but its head. */
  #write(commit: ActorCommit, no: number): CommitOutcome {
    const sql = this.#sql;
    for (const key of commit.deletes) sql.remove.run(no, key.rt, key.k, key.k2);
    let expiring = 0;
    for (const row of commit.puts) {
      sql.put.run(no, row.rt, row.k, row.k2, row.body, row.expiresAtMs ?? null);
      if (row.k > 0 && row.rt >= rowTable.firstKeyed) this.#plainTables.delete(no);
      if (row.expiresAtMs !== undefined) expiring += 1;
    }
    if (commit.snapshot !== undefined) {
      const { seq, body, schemaVersion } = commit.snapshot;
      sql.snapshot.run(no, body);
      sql.snapshotHead.run(seq, schemaVersion, no);
      sql.prune.run(no, seq);
    }
    this.#walkExpired(expiring, this.#now());
    return { status: "applied" };
  }

  /** The number may be another actor's from now on: nothing may be kept under it. */
  #forget(ref: ActorRef, no: number): void {
    this.#numbers.delete(keyOf(ref));
    this.#plainTables.delete(no);
    for (const statement of [this.#sql.forgetRows, this.#sql.forgetSnapshot, this.#sql.forgetHead])
      statement.run(no);
  }

  /** Of an actor that is not there nothing can be found: its head is written as the claim leaves it. */
  #claimNew({ kind, id }: ActorRef, owner: string, epoch: number) {
    const { head, op } = newActor;
    const created = this.#sql.createHead.run(kind, id, epoch, owner, head, op, null);
    if (created.changes === 0) throw new Error(`actor ${kind}/${id} is in the way and was not found`);
    const no = Number(created.lastInsertRowid);
    const first = { epoch, owner, head, op, snapshotSeq: 0, snapshot: null, schemaVersion: 0 };
    return { no, activation: { head: first, events: [], outbox: [], timers: [], inbox: [] } };
  }

  /** S3: if the operation at the head is our own, an earlier attempt was applied. */
  #explainRefusal(no: number, op: string): CommitOutcome {
    const refusal = this.#refusal(no);
    return refusal.op === op ? { status: "applied" } : refusal;
  }

  #refusal(no: number | undefined) {
    const row = no === undefined ? undefined : this.#sql.head.get(no);
    const { epoch, head, op } = row === undefined ? { epoch: 0, ...newActor } : toHead(row);
    return { status: "refused", epoch, head, op } as const;
  }

  #activation(no: number): Activation {
    const row = this.#sql.head.get(no);
    if (row === undefined) throw new Error(`actor number ${no} is not there`);
    const head = toHead(row);
    const tables: Record<number, PartitionRow[]> = { 1: [], 2: [], 3: [], 4: [] };
    for (const each of this.#sql.systemRows.all(no)) tables[Number(each["rt"])]?.push(toRow(each));
    return {
      head,
      events: (tables[rowTable.event] ?? []).filter((event) => event.k > head.snapshotSeq),
      outbox: tables[rowTable.outbox] ?? [],
      timers: tables[rowTable.timer] ?? [],
      inbox: tables[rowTable.inbox] ?? [],
    };
  }

  /** Events that wait follow all those in the table. */
  #addWaiting(no: number, selection: RowSelection, found: PartitionRow[], start: number): void {
    const row = this.#journal.has(no) ? this.#sql.head.get(no) : undefined;
    if (row === undefined) return;
    for (const event of this.#journal.waitingOf(no, toHead(row))?.events ?? []) {
      if ("keys" in selection) {
        if (selection.keys.includes(event.k2)) found.push(event);
        continue;
      }
      if (found.length - start >= selection.limit) return;
      const { k, k2 } = selection.after ?? { k: -1, k2: "" };
      if (event.k > k || (event.k === k && event.k2 > k2)) found.push(event);
    }
  }

  #readByText(no: number, rt: number, keys: readonly string[], found: PartitionRow[]): void {
    // Rows with k = 0, the usual case, are found by the primary key and need no second index; whether the table has any
    // others is queried once.
    const hasOthers = this.#hasOthers(no, rt);
    if (!hasOthers && keys.length >= keysAtOnceMin) {
      // In the order of the tree, so that keys on the same page are looked up one after another.
      const together = JSON.stringify(keys.toSorted());
      // SQLite's JSON cannot represent every escaped code point as text, for example U+0000.
      if (!together.includes("\\u")) {
        for (const row of this.#sql.byTextsZero.all(together, no, rt)) found.push(toRow(row));
        return;
      }
    }
    for (const key of keys) {
      const first = this.#sql.byTextZero.get(no, rt, key);
      if (first !== undefined) found.push(toRow(first));
      if (!hasOthers) continue;
      for (const row of this.#sql.byTextOther.all(no, rt, key)) found.push(toRow(row));
    }
  }

  /** Whether a table has rows with k > 0. */
  #hasOthers(no: number, rt: number): boolean {
    const plain = this.#plainTables.get(no);
    if (plain?.has(rt)) return false;
    if (this.#sql.anyTextOther.get(no, rt) !== undefined) return true;
    if (plain === undefined) this.#plainTables.set(no, new Set([rt]));
    else plain.add(rt);
    return false;
  }

  #number(ref: ActorRef): number | undefined {
    const key = keyOf(ref);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const no = this.#findNumber(ref);
    if (no === undefined) return undefined;
    this.#numbers.set(key, no);
    return no;
  }

  #findNumber(ref: ActorRef): number | undefined {
    const no = this.#sql.number.get(ref.kind, ref.id)?.["no"];
    return typeof no === "number" ? no : undefined;
  }
}

type Statements = Readonly<Record<keyof typeof statementTexts, StatementSync>>;

const rowColumns = "rt, k, k2, body, expires_at";
const statementTexts = {
  number: "SELECT no FROM actor_head WHERE kind = ? AND id = ?",
  createHead: `INSERT INTO actor_head (kind, id, epoch, owner, head, op, wake_at, snapshot_seq, schema_version)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO NOTHING`,
  claim: "UPDATE actor_head SET epoch = epoch + 1, owner = ? WHERE no = ?",
  head: `SELECT epoch, owner, head, op, snapshot_seq, schema_version,
    (SELECT body FROM actor_snapshot WHERE actor = no) AS snapshot FROM actor_head WHERE no = ?`,
  advance:
    "UPDATE actor_head SET head = ?, op = ?, wake_at = ? WHERE no = ? AND epoch = ? AND head = ? AND op = ?",
  advanceOnly: "UPDATE actor_head SET head = ?, op = ? WHERE no = ? AND epoch = ? AND head = ? AND op = ?",
  remove: "DELETE FROM actor_row WHERE actor = ? AND rt = ? AND k = ? AND k2 = ?",
  put: "INSERT OR REPLACE INTO actor_row (actor, rt, k, k2, body, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
  snapshot: "INSERT OR REPLACE INTO actor_snapshot (actor, body) VALUES (?, ?)",
  snapshotHead: "UPDATE actor_head SET snapshot_seq = ?, schema_version = ? WHERE no = ?",
  forgetRows: "DELETE FROM actor_row WHERE actor = ?",
  forgetSnapshot: "DELETE FROM actor_snapshot WHERE actor = ?",
  forgetHead: "DELETE FROM actor_head WHERE no = ?",
  prune: `DELETE FROM actor_row WHERE actor = ? AND rt = ${rowTable.event} AND k <= ?`,
  systemRows: `SELECT ${rowColumns} FROM actor_row WHERE actor = ? AND rt < ${rowTable.activation} ORDER BY rt, k, k2`,
  byTextsZero: `SELECT ${rowColumns} FROM json_each(?) CROSS JOIN actor_row
    ON actor = ? AND rt = ? AND k = 0 AND k2 = json_each.value`,
  byTextZero: `SELECT ${rowColumns} FROM actor_row WHERE actor = ? AND rt = ? AND k = 0 AND k2 = ?`,
  anyTextOther: `SELECT 1 FROM actor_row INDEXED BY actor_row_by_text
    WHERE actor = ? AND rt = ? AND k > 0 AND rt >= ${rowTable.firstKeyed} LIMIT 1`,
  byTextOther: `SELECT ${rowColumns} FROM actor_row INDEXED BY actor_row_by_text
    WHERE actor = ? AND rt = ? AND k2 = ? AND k > 0 AND rt >= ${rowTable.firstKeyed}`,
  range: `SELECT ${rowColumns} FROM actor_row WHERE actor = ? AND rt = ? AND (k, k2) > (?, ?)
    ORDER BY k, k2 LIMIT ?`,
  due: "SELECT kind, id, wake_at FROM actor_head WHERE wake_at <= ? ORDER BY wake_at LIMIT ?",
  count: "SELECT COUNT(*) AS known FROM (SELECT 1 FROM actor_head WHERE kind = ? LIMIT ?)",
  list: "SELECT id FROM actor_head WHERE kind = ? AND id > ? ORDER BY id LIMIT ?",
} as const;

function keyOf({ kind, id }: ActorRef): string {
  return `${kind}\n${id}`;
}

function prepareStatements(database: SqliteDatabase): Statements {
  const prepared: Partial<Record<keyof typeof statementTexts, StatementSync>> = {};
  for (const [name, text] of Object.entries(statementTexts)) {
    prepared[name as keyof typeof statementTexts] = database.prepare(text);
  }
  return prepared as Statements;
}

function toRow(row: Record<string, SQLOutputValue>): PartitionRow {
  const plain = {
    rt: Number(row["rt"]),
    k: Number(row["k"]),
    k2: String(row["k2"]),
    body: String(row["body"]),
  };
  const expiresAt = row["expires_at"];
  return typeof expiresAt === "number" ? { ...plain, expiresAtMs: expiresAt } : plain;
}

function toHead(row: Record<string, SQLOutputValue>): ActorHead {
  const snapshot = row["snapshot"];
  return {
    epoch: Number(row["epoch"]),
    owner: String(row["owner"]),
    head: Number(row["head"]),
    op: String(row["op"]),
    snapshotSeq: Number(row["snapshot_seq"]),
    snapshot: typeof snapshot === "string" ? snapshot : null,
    schemaVersion: Number(row["schema_version"]),
  };
}

// Forgets expired rows of actors. Each write of rows that will expire also advances a walk through their table, looking at
// a fixed number of rows for each row written. An index by expiry would give every such row a second place to be written
// and removed, and rows that expire together (one second's nonces) are scattered over both trees: that was half of the
// pages of a claim's commit.
//   E1. Only rows whose expiry has passed are removed.
//   E2. With `seenPerRow` rows looked at for each expiring row written, at most one in `seenPerRow` of all rows is
//       expired.
//   E3. The position is not stored: after a start the walk begins at an actor derived from the start time, so that no part
//       is left out for ever.

const seenPerRow = 4;
/** Rows looked at in one step: fewer are not worth a statement, more would delay the commit that carries the step. */
const stepRowsMin = 256;
const stepRowsMax = 2_048;

type Place = readonly [actor: number, rt: number, k: number, k2: string];

/** Must be called, within the transaction that writes them, with the number of expiring rows written. */
type TakeAlong = (rowsWritten: number, nowMs: number) => void;

/** Creates the walk through table `actor_row`. */
function walkExpired(database: SqliteDatabase, startedAtMs: number): TakeAlong {
  const after = "(actor, rt, k, k2) > (?, ?, ?, ?)";
  const endOfStep = database.prepare(
    `SELECT actor, rt, k, k2 FROM actor_row WHERE ${after} ORDER BY actor, rt, k, k2 LIMIT 1 OFFSET ?`,
  );
  const forget = database.prepare(
    `DELETE FROM actor_row WHERE ${after} AND (actor, rt, k, k2) <= (?, ?, ?, ?) AND expires_at < ?`,
  );
  const forgetRest = database.prepare(`DELETE FROM actor_row WHERE ${after} AND expires_at < ?`);
  const start: Place = [0, 0, 0, ""];
  const lastActor = database.prepare("SELECT ifnull(max(no), 0) AS no FROM actor_head").get();
  const actors = numberOf(lastActor?.["no"]);
  // The position is only a hint where to look: a transaction that is rolled back need not roll it back.
  let place: Place = [startedAtMs % (actors + 1), 0, 0, ""];
  let due = 0;
  return (rowsWritten, nowMs) => {
    due += rowsWritten * seenPerRow;
    if (due < stepRowsMin) return;
    const seen = Math.min(due, stepRowsMax);
    due = 0;
    const end = endOfStep.get(...place, seen - 1);
    if (end === undefined) {
      forgetRest.run(...place, nowMs);
      place = start;
      return;
    }
    const { actor, rt, k, k2 } = end;
    const next: Place = [numberOf(actor), numberOf(rt), numberOf(k), textOf(k2)];
    forget.run(...place, ...next, nowMs);
    place = next;
  };
}
