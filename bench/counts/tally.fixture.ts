// What a process does, counted while it does it. Loaded into each of its threads before the program (`--import`).
//   T1. Statements are counted on every connection of every thread. Those that begin and end a transaction are not among them: how
//       many works share one is a matter of time, and COMMITs are counted by themselves.
//   T2. Pages are those that a COMMIT appended to the write-ahead log of its file.
//   T3. A flush is counted and not made: how long a disk takes decides where the next flush is made
//       (storage/sqlite/log-durability.ts), and the other counts would follow the disk.
//   T4. Promises and heap are those of the main thread, which decides everything.
//   T5. Work of the main thread that is due only after a second or more is never done: it would be in some operations and not in
//       others.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { getHeapStatistics, promiseHooks } from "node:v8";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

/** What all threads count together. */
const sharedNames = ["promises", "statementsBeside", "commits", "pages", "flushes"] as const;
type SharedName = (typeof sharedNames)[number];

/** Everything since the process began. */
export interface Mark extends Readonly<Record<SharedName, number>> {
  readonly heap: number;
  /** Statements of the main thread, by their verb and table. */
  readonly statements: Readonly<Record<string, number>>;
}

const environmentName = "svc.counts";
const totals = totalsOfProcess();
const kinds = new Map<string, string | null>();
const ran = new Map<string, number>();
let statements = 0;
const [besidePlace, commitsPlace] = [sharedNames.indexOf("statementsBeside"), sharedNames.indexOf("commits")];

function totalsOfProcess(): Int32Array<SharedArrayBuffer> {
  if (!isMainThread) return new Int32Array(getEnvironmentData(environmentName) as SharedArrayBuffer);
  const memory = new SharedArrayBuffer(sharedNames.length * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(environmentName, memory);
  return new Int32Array(memory);
}

function add(name: SharedName, count = 1): void {
  Atomics.add(totals, sharedNames.indexOf(name), count);
}

export function markNow(): Mark {
  const heap = getHeapStatistics().total_allocated_bytes;
  const counted = sharedNames.map((name, at) => [name, Atomics.load(totals, at)]);
  return {
    ...(Object.fromEntries(counted) as Record<SharedName, number>),
    heap,
    statements: Object.fromEntries(ran),
  };
}

/** Changes with everything that is done in a store. */
export function storeCount(): number {
  return statements + Atomics.load(totals, besidePlace) + Atomics.load(totals, commitsPlace);
}

const ofTransactions = /^\s*(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|SELECT total_changes)\b/i;

/** `INSERT receipt`, for example; null for a statement that is not counted (T1). */
function kindOf(sql: string): string | null {
  if (ofTransactions.test(sql)) return null;
  const tables = [...sql.matchAll(/\b(?:FROM|INTO|UPDATE|JOIN)\s+(\w+)/gi)].map(([, table]) => table);
  const table = tables.find((each) => each !== "json_each" && each !== "SET");
  return `${/\w+/.exec(sql)?.[0]} ${table ?? ""}`.trim();
}

function noteStatement(sql: string): void {
  let kind = kinds.get(sql);
  if (kind === undefined) {
    kind = kindOf(sql);
    kinds.set(sql, kind);
  }
  if (kind === null) return;
  if (isMainThread) {
    statements += 1;
    ran.set(kind, (ran.get(kind) ?? 0) + 1);
  } else add("statementsBeside");
}

/** The function, with a look at each call once it has returned. */
function watched<F extends (...args: never[]) => unknown>(
  called: F,
  look: (self: unknown, args: readonly unknown[], result: unknown) => void,
): F {
  return new Proxy(called, {
    apply: (target, self, args) => {
      const result = Reflect.apply(target, self, args);
      look(self, args, result);
      return result;
    },
  });
}

const databases = new WeakMap<StatementSync, DatabaseSync>();
const { prepare } = DatabaseSync.prototype;
const { get: read } = StatementSync.prototype;

DatabaseSync.prototype.prepare = watched(prepare, (database, _args, statement) =>
  databases.set(statement as StatementSync, database as DatabaseSync),
);
DatabaseSync.prototype.exec = watched(DatabaseSync.prototype.exec, (_database, [sql]) =>
  noteStatement(String(sql)),
);
for (const name of ["run", "get", "all", "iterate"] as const) {
  const look = (self: unknown): void => {
    const statement = self as StatementSync;
    noteStatement(statement.sourceSQL);
    if (statement.sourceSQL === "COMMIT") noteCommit(databases.get(statement));
  };
  Object.assign(StatementSync.prototype, { [name]: watched(StatementSync.prototype[name], look) });
}

interface Log {
  readonly length: StatementSync;
  /** Pages in it after the last COMMIT. */
  pages: number;
}
const logs = new WeakMap<DatabaseSync, Log>();

function noteCommit(database: DatabaseSync | undefined): void {
  add("commits");
  if (database === undefined) return;
  const log = logs.get(database) ?? {
    length: prepare.call(database, "PRAGMA wal_checkpoint(NOOP)"),
    pages: 0,
  };
  logs.set(database, log);
  const pages = Number(Reflect.apply(read, log.length, [])?.["log"]);
  // A log that has been copied into its file begins again.
  add("pages", pages >= log.pages ? pages - log.pages : pages);
  log.pages = pages;
}

fs.fdatasyncSync = () => add("flushes");
fs.fdatasync = new Proxy(fs.fdatasync, {
  apply: (_target, _self, [, done]: [number, fs.NoParamCallback]) => {
    add("flushes");
    setImmediate(done, null);
  },
});
syncBuiltinESMExports();

const [backgroundMs, neverMs] = [1_000, 2 ** 31 - 1];

if (isMainThread) {
  promiseHooks.onInit(() => add("promises"));
  globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
    apply: (target, self, [run, delayMs = 0, ...args]: [() => void, number | undefined]) =>
      Reflect.apply(target, self, [run, delayMs < backgroundMs ? delayMs : neverMs, ...args]),
  });
}
