// Events of many actors in one row. A commit that only appends events changes two pages of the store file, that of its actor's head
// and that of its events, and hardly another commit shares the latter. So where many commits share a transaction, those are written
// together as one row, and brought to their tables later: all that waits of one actor at once, with its head.
//   W1. From the transaction on that makes a commit, it is in a row of `actor_journal` or in its tables. What an actor has is what its
//       tables have and then, in the order of the rows, what waits.
//   W2. What waits of an actor is brought together with its head. So the head says what the tables have, and a commit that does not
//       follow it is in them already: to bring a row once more, after a crash at any point, changes nothing.
//   W3. Before an actor is claimed, or anything else of it is written, what waits of it is brought in the same transaction.
//   W4. A commit is taken if it follows the last one that this process made of its actor. That is the store's last one as long as no
//       other connection wrote, and every transaction that relies on it looks whether one did. The tables judge all other commits.
//   W5. Memory follows the COMMIT: what a transaction took and brought is forgotten if it is rolled back. Where nobody can know (D3 of
//       database.ts), and where another connection wrote, what the file has is brought before memory is relied on.
//   W6. A row is deleted once all of it is in the tables. While more than `waitingMax` commits wait, each transaction brings as many as
//       it adds, the oldest first, and whatever waits in a row that would be beyond `rowsMax` or `rowTextMax`. A small one brings some, and
//       closing the file, overwriting what is unused or forgetting an actor brings all: nothing of a forgotten actor is left in a row.
//   W7. What waits counts only beside the head that it follows. Another process that found it in the file may have brought it since.

import type { StatementSync } from "node:sqlite";
import { type ActorCommit, type PartitionRow, rowTable } from "../actor-store.ts";
import { numberOf } from "./columns.ts";
import type { Participant, SqliteDatabase } from "./database.ts";

export const journalTable = "CREATE TABLE actor_journal (no INTEGER PRIMARY KEY, body TEXT NOT NULL)";

export interface ActorJournalOptions {
  /** Number of works in a transaction from which on its commits share a row; fewer would be written twice for little. */
  readonly sharedMin?: number;
  /** Number of commits that may wait, which are in memory. */
  readonly waitingMax?: number;
  /** Number of rows, which a start after a crash has to bring. */
  readonly rowsMax?: number;
}

const sharedMinDefault = 16;
const waitingMaxDefault = 4_096;
/** Characters of a commit's events above which it is not taken: writing them twice costs more than the pages. */
const takenTextMax = 1_024;
/** Number of rows that are kept, and of their characters: what is read again after a crash, however long an actor is silent. */
const rowsMaxDefault = 256;
const rowTextMax = 16_777_216;
/** Number of commits that a small transaction brings. */
const broughtBySmall = 32;
/** Number of actors whose last commit is remembered. */
const tailsMax = 50_000;
/** Characters of a row for which the log grows by about one page. */
const textPerPage = 4_096;

/** The last commit of an actor, and the wake-up time that is in its head. */
export interface Tail {
  readonly epoch: number;
  readonly head: number;
  readonly op: string;
  readonly wakeAtMs: number | null;
}

/** Commits of one actor that its tables do not have. */
interface Waiting {
  /** Number of the row with the first of them. */
  readonly since: number;
  /** Head in the tables. */
  readonly from: number;
  readonly events: PartitionRow[];
  tail: Tail;
}

/** What the open transaction knows and did of one actor. */
interface Touched {
  /** Null if it is not known. */
  readonly tail: Tail | null;
  /** Whether what waited before is in the tables now. */
  readonly isBrought: boolean;
  /** Head in the tables below `added`, if nothing else waits. */
  readonly from: number;
  readonly added: readonly PartitionRow[];
}

/** A taken commit as it is written. */
type Taken = readonly [
  actor: number,
  epoch: number,
  expectedHead: number,
  expectedOp: string,
  op: string,
  events: readonly (readonly [k: number, k2: string, body: string])[],
];

export class ActorJournal implements Participant {
  readonly #database: SqliteDatabase;
  readonly #sharedMin: number;
  readonly #waitingMax: number;
  readonly #rowsMax: number;
  readonly #sql: Statements;
  /** By actor number, in the order of `since`. */
  readonly #waiting = new Map<number, Waiting>();
  #waitingCommits = 0;
  /** By number, of actors of which nothing waits. */
  readonly #tails = new Map<number, Tail>();
  #lastRow = 0;
  /** No row before it is left. */
  #firstRow = 1;
  /** Characters of each row from the first one on that this process wrote. */
  #lengths: number[] = [];
  #dataVersion: number;
  /** Whether the file may have rows that memory does not know (W5). */
  #isStale = false;

  // The open transaction.
  #touched = new Map<number, Touched>();
  #taken: Taken[] = [];
  #isSharing = false;
  #isSmall = true;
  #isWritten = false;
  /** Characters of the row that it adds. */
  #written = 0;
  #firstRowThen = 1;
  #hasLooked = false;
  /** Whether all rows that it found are in the tables now. */
  #isRecovered = false;

  /** Expects the tables of the actor store, and brings what a former process left. Throws what SQLite throws. */
  constructor(database: SqliteDatabase, options: ActorJournalOptions) {
    this.#database = database;
    this.#sharedMin = options.sharedMin ?? sharedMinDefault;
    this.#waitingMax = options.waitingMax ?? waitingMaxDefault;
    this.#rowsMax = options.rowsMax ?? rowsMaxDefault;
    this.#sql = prepareStatements(database);
    this.#dataVersion = this.#readDataVersion();
    if (this.#sql.anyRow.get() !== undefined) {
      this.#isStale = true;
      database.transact(() => this.bringAll());
      this.committed();
    }
    database.join(this);
  }

  /** What waits of an actor between transactions, if it follows this head of its tables (W7): its last commit and its events. */
  waitingOf(
    no: number,
    { epoch, head }: Readonly<Pick<Tail, "epoch" | "head">>,
  ): Readonly<Pick<Waiting, "tail" | "events">> | undefined {
    const waiting = this.#waiting.get(no);
    return waiting?.from === head && waiting.tail.epoch === epoch ? waiting : undefined;
  }

  /** Whether anything of the actor waits, as far as memory knows. */
  has(no: number): boolean {
    return this.#waiting.has(no);
  }

  /** Takes the commit if it can wait; false if it has to be judged by the tables and written to them (W4). */
  take(no: number, commit: ActorCommit): boolean {
    if (!this.#isSharing || !canWait(commit)) return false;
    this.look();
    if (!this.keepsWakeTime(no, commit)) return false;
    const { epoch, expectedHead, expectedOp, op, puts, wakeAtMs } = commit;
    const touched = this.#touched.get(no);
    this.#taken.push([no, epoch, expectedHead, expectedOp, op, puts.map(({ k, k2, body }) => [k, k2, body])]);
    this.#touched.set(no, {
      tail: { epoch, head: expectedHead + 1, op, wakeAtMs },
      isBrought: touched?.isBrought ?? false,
      from: touched?.from ?? expectedHead,
      added: touched === undefined ? puts : [...touched.added, ...puts],
    });
    return true;
  }

  /** Whether it is known to follow the actor's last commit. False also if that is not known. */
  isNext(no: number, { epoch, expectedHead, expectedOp }: ActorCommit): boolean {
    const tail = this.#tailOf(no);
    return tail?.epoch === epoch && tail.head === expectedHead && tail.op === expectedOp;
  }

  /** Whether it is known besides that it leaves the wake-up time as it is. */
  keepsWakeTime(no: number, commit: ActorCommit): boolean {
    return this.isNext(no, commit) && this.#tailOf(no)?.wakeAtMs === commit.wakeAtMs;
  }

  /** W3. Events up to `prunedUpTo` need not be brought, because the transaction prunes them. */
  bring(no: number, prunedUpTo = 0): void {
    if (this.#isStale) this.look();
    const touched = this.#touched.get(no);
    const added = touched?.added ?? [];
    if (added.length === 0 && !this.#waitsStill(no)) return;
    this.look();
    const waiting = this.#waitsStill(no) ? this.#waiting.get(no) : undefined;
    const [tail, from] = [touched?.tail ?? waiting?.tail, waiting?.from ?? touched?.from];
    // Another connection has written, and what waited was found in the file and brought.
    if (tail === undefined || from === undefined) return;
    const { changes } = this.#sql.advance.run(tail.head, tail.op, no, tail.epoch, from);
    if (changes !== 1) {
      // The file says what is true: the next transaction reads it.
      this.#isStale = true;
      throw new Error(`what waits of actor number ${no} does not follow its head`);
    }
    if (added.length > 0) this.#taken = this.#taken.filter(([taken]) => taken !== no);
    for (const rows of [waiting?.events ?? [], added])
      for (const { k, k2, body } of rows) if (k > prunedUpTo) this.#sql.put.run(no, k, k2, body);
    this.#touched.set(no, { tail, isBrought: true, from: tail.head, added: [] });
  }

  /** Notes what the transaction has left of an actor in the tables, after {@link bring}; null if that is not known. */
  note(no: number, tail: Tail | null): void {
    if (this.#waitsStill(no)) throw new Error(`something of actor number ${no} still waits`);
    this.#touched.set(no, { tail, isBrought: true, from: tail?.head ?? 0, added: [] });
  }

  /** Looks, once in a transaction, whether another connection wrote, and brings what the file has if memory cannot be relied on (W5). */
  look(): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    const version = this.#readDataVersion();
    if (version === this.#dataVersion && !this.#isStale) return;
    this.#dataVersion = version;
    this.#isStale = true;
    this.#isRecovered = true;
    this.#tails.clear();
    for (const { no, body } of this.#sql.rows.all()) {
      for (const taken of JSON.parse(String(body)) as readonly Taken[]) this.#bringAgain(taken);
      this.#lastRow = Math.max(this.#lastRow, numberOf(no));
    }
    this.#sql.removeRows.run(this.#lastRow + 1);
    this.#firstRowThen = this.#lastRow + 1;
  }

  begun(works: number): void {
    this.#reset();
    this.#isSharing = works >= this.#sharedMin;
    this.#isSmall = !this.#isSharing;
  }

  /** What a look brings must not be undone with a single work. */
  begunIsolated(): void {
    this.begun(0);
    this.look();
  }

  savepoint(): () => void {
    const touched = new Map(this.#touched);
    return () => {
      this.#touched = touched;
    };
  }

  ending(): void {
    const excess = this.#waitingCommits + this.#taken.length - this.#waitingMax;
    this.#bringOldest(this.#isSmall ? broughtBySmall : excess);
    this.#bringBefore(this.#firstKept());
    if (this.#firstNeeded() > this.#firstRow) this.look();
    this.#firstRowThen = this.#firstNeeded();
    if (this.#firstRowThen > this.#firstRow && !this.#isRecovered)
      this.#sql.removeRows.run(this.#firstRowThen);
    // A later work of the transaction may have brought what an earlier one took.
    this.#isWritten = this.#touched.values().some(({ added }) => added.length > 0);
    if (!this.#isWritten) return;
    const body = JSON.stringify(this.#taken);
    this.#sql.addRow.run(this.#lastRow + 1, body);
    this.#written = body.length;
    this.#database.countChanges(Math.ceil(body.length / textPerPage));
  }

  committed(): void {
    if (this.#isRecovered) {
      this.#waiting.clear();
      this.#waitingCommits = 0;
      this.#isStale = false;
    }
    if (this.#isRecovered) this.#lengths = [];
    if (this.#isWritten) {
      this.#lastRow += 1;
      this.#lengths.push(this.#written);
    }
    this.#firstRow = this.#firstRowThen;
    this.#lengths.splice(0, Math.max(0, this.#lengths.length - (this.#lastRow + 1 - this.#firstRow)));
    if (this.#tails.size > tailsMax) this.#tails.clear();
    for (const [no, touched] of this.#touched) this.#merge(no, touched);
    this.#reset();
  }

  undone(isKnown: boolean): void {
    if (!isKnown) this.#isStale = true;
    this.#reset();
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0 || this.#isStale;
  }

  bringAll(): void {
    this.look();
    for (const no of [...this.#waiting.keys(), ...this.#touched.keys()]) this.bring(no);
  }

  #reset(): void {
    this.#touched = new Map();
    this.#taken = [];
    this.#isSharing = false;
    this.#isSmall = true;
    this.#isWritten = false;
    this.#firstRowThen = this.#firstRow;
    this.#hasLooked = false;
    this.#isRecovered = false;
  }

  /** Within the transaction. */
  #tailOf(no: number): Tail | null | undefined {
    const touched = this.#touched.get(no);
    if (touched !== undefined) return touched.tail;
    return this.#isRecovered ? undefined : (this.#waiting.get(no)?.tail ?? this.#tails.get(no));
  }

  #waitsStill(no: number): boolean {
    return !this.#isRecovered && this.#touched.get(no)?.isBrought !== true && this.#waiting.has(no);
  }

  /** W2: a commit that does not follow the head in the tables is in them. */
  #bringAgain([no, epoch, expectedHead, expectedOp, op, events]: Taken): void {
    const { changes } = this.#sql.follow.run(expectedHead + 1, op, no, epoch, expectedHead, expectedOp);
    if (changes === 0) return;
    for (const [k, k2, body] of events) this.#sql.put.run(no, k, k2, body);
  }

  #bringOldest(commits: number): void {
    let left = commits;
    for (const [no, { tail, from }] of this.#waiting) {
      if (left <= 0) return;
      if (!this.#waitsStill(no)) continue;
      this.bring(no);
      left -= tail.head - from;
    }
  }

  #bringBefore(row: number): void {
    for (const [no, { since }] of this.#waiting) {
      if (since >= row) return;
      if (this.#waitsStill(no)) this.bring(no);
    }
  }

  /** Number of the first row that may be left beside one more (W6). */
  #firstKept(): number {
    let first = this.#lastRow + 2 - this.#rowsMax;
    let text = this.#lengths.reduce((sum, length) => sum + length, 0);
    for (const [at, length] of this.#lengths.entries()) {
      if (text <= rowTextMax) break;
      text -= length;
      first = Math.max(first, this.#lastRow + 2 + at - this.#lengths.length);
    }
    return first;
  }

  /** Number of the first row of which something waits; that of the next row if nothing does. */
  #firstNeeded(): number {
    for (const [no, { since }] of this.#waiting) if (this.#waitsStill(no)) return since;
    return this.#lastRow + 1;
  }

  #merge(no: number, { tail, isBrought, from, added }: Touched): void {
    let waiting = this.#waiting.get(no);
    if (waiting !== undefined && isBrought) {
      this.#waiting.delete(no);
      this.#waitingCommits -= waiting.tail.head - waiting.from;
      waiting = undefined;
    }
    if (tail === null || added.length > 0) this.#tails.delete(no);
    else this.#tails.set(no, tail);
    if (tail === null || added.length === 0) return;
    if (waiting === undefined) {
      this.#waiting.set(no, { since: this.#lastRow, from, events: [...added], tail });
      this.#waitingCommits += tail.head - from;
      return;
    }
    this.#waitingCommits += tail.head - waiting.tail.head;
    waiting.events.push(...added);
    waiting.tail = tail;
  }

  #readDataVersion(): number {
    return numberOf(this.#sql.dataVersion.get()?.["data_version"]);
  }
}

/** Whether it only appends events. */
function canWait({ puts, deletes, snapshot, forget, creates }: ActorCommit): boolean {
  if (puts.length === 0 || deletes.length > 0) return false;
  if (snapshot !== undefined || forget !== undefined || creates !== undefined) return false;
  let characters = 0;
  for (const { rt, body, expiresAtMs } of puts) {
    if (rt !== rowTable.event || expiresAtMs !== undefined) return false;
    characters += body.length;
  }
  return characters <= takenTextMax;
}

type Statements = Readonly<Record<keyof typeof statementTexts, StatementSync>>;

const statementTexts = {
  dataVersion: "PRAGMA data_version",
  anyRow: "SELECT 1 FROM actor_journal LIMIT 1",
  rows: "SELECT no, body FROM actor_journal ORDER BY no",
  addRow: "INSERT INTO actor_journal (no, body) VALUES (?, ?)",
  removeRows: "DELETE FROM actor_journal WHERE no < ?",
  follow: "UPDATE actor_head SET head = ?, op = ? WHERE no = ? AND epoch = ? AND head = ? AND op = ?",
  advance: "UPDATE actor_head SET head = ?, op = ? WHERE no = ? AND epoch = ? AND head = ?",
  put: `INSERT OR REPLACE INTO actor_row (actor, rt, k, k2, body, expires_at) VALUES (?, ${rowTable.event}, ?, ?, ?, NULL)`,
};

function prepareStatements(database: SqliteDatabase): Statements {
  const prepared: Partial<Record<keyof typeof statementTexts, StatementSync>> = {};
  for (const [name, text] of Object.entries(statementTexts))
    prepared[name as keyof typeof statementTexts] = database.prepare(text);
  return prepared as Statements;
}
