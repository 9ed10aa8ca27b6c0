// Child process, floor of durable calls: exactly the commits that the calls produced, as plain SQL, in the same groups.
// The statements are those of the store (fence, rows, snapshot, pruning); nothing is decided, built or waited for. Every
// transaction is on the disk before the next one begins (synced-file.ts).

import type { StatementSync } from "node:sqlite";
import type { ActorCommit } from "../../storage/actor-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { answerParent } from "../answer-parent.ts";
import { flushCount, SyncedFile } from "./synced-file.ts";

export interface FencedCommits {
  /** Path of the store file. */
  readonly file: string;
  readonly groups: readonly (readonly ActorCommit[])[];
}

/** Milliseconds that the commits took. */
async function replay({ file, groups }: FencedCommits): Promise<number> {
  await using database = SqliteDatabase.open(file);
  const store = openSqliteActorStore(database, { now: Date.now });
  const numbers = new Map<string, number>();
  const byRef = database.prepare("SELECT no FROM actor_head WHERE kind = ? AND id = ?");
  for (const group of groups) {
    for (const { ref } of group) {
      const key = `${ref.kind}\n${ref.id}`;
      if (numbers.has(key)) continue;
      await store.claim(ref, "floor");
      numbers.set(key, Number(byRef.get(ref.kind, ref.id)?.["no"]));
    }
  }
  // The recorded commits follow the recorded claims: every actor is at its first epoch in both.
  const sql = statements(database);
  const synced = new SyncedFile(file, database.db);
  const startedMs = performance.now();
  for (const group of groups)
    synced.transact(() => {
      for (const commit of group)
        write(sql, numbers.get(`${commit.ref.kind}\n${commit.ref.id}`) ?? 0, commit);
    });
  const elapsedMs = performance.now() - startedMs;
  synced.close();
  return elapsedMs;
}

interface Statements {
  readonly fence: StatementSync;
  readonly put: StatementSync;
  readonly remove: StatementSync;
  readonly snapshot: StatementSync;
  readonly snapshotHead: StatementSync;
  readonly prune: StatementSync;
}

function statements(database: SqliteDatabase): Statements {
  return {
    fence: database.prepare(
      "UPDATE actor_head SET head = ?, op = ?, wake_at = ? WHERE no = ? AND epoch = ? AND head = ? AND op = ?",
    ),
    put: database.prepare(
      "INSERT OR REPLACE INTO actor_row (actor, rt, k, k2, body, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    remove: database.prepare("DELETE FROM actor_row WHERE actor = ? AND rt = ? AND k = ? AND k2 = ?"),
    snapshot: database.prepare("INSERT OR REPLACE INTO actor_snapshot (actor, body) VALUES (?, ?)"),
    snapshotHead: database.prepare("UPDATE actor_head SET snapshot_seq = ?, schema_version = ? WHERE no = ?"),
    prune: database.prepare("DELETE FROM actor_row WHERE actor = ? AND rt = 1 AND k <= ?"),
  };
}

function write(sql: Statements, no: number, commit: ActorCommit): void {
  const { epoch, expectedHead, expectedOp, op, wakeAtMs, snapshot } = commit;
  const { changes } = sql.fence.run(expectedHead + 1, op, wakeAtMs, no, epoch, expectedHead, expectedOp);
  if (changes !== 1) throw new Error("the fence refused a commit that was applied when it was recorded");
  for (const key of commit.deletes) sql.remove.run(no, key.rt, key.k, key.k2);
  for (const row of commit.puts) sql.put.run(no, row.rt, row.k, row.k2, row.body, row.expiresAtMs ?? null);
  if (snapshot === undefined) return;
  sql.snapshot.run(no, snapshot.body);
  sql.snapshotHead.run(snapshot.seq, snapshot.schemaVersion, no);
  sql.prune.run(no, snapshot.seq);
}

answerParent({ replay, flushCount });
