// In a child process, floor of durable calls: exactly the commits that the calls produced, as plain SQL, in the same groups. The
// statements are those of the store for a commit that shares no row (fence, rows, snapshot, pruning). Nothing is decided, built or
// waited for but the disk: every transaction is on it before the next one begins (synced-file.ts).

import type { ActorCommit, ActorRef } from "../../storage/actor-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import type { RecordedCommits } from "../actors/program.ts";
import { msOf } from "../work.ts";
import { SyncedFile } from "./synced-file.ts";

/** Milliseconds that the commits took, in a new store file. */
export async function replay(file: string, groups: RecordedCommits): Promise<number> {
  await using database = SqliteDatabase.open(file);
  // The recorded commits follow the recorded claims: every actor is at its first epoch in both.
  const numbers = await claimAll(database, groups);
  const write = preparedWrite(database);
  const synced = new SyncedFile(file, database.db);
  const elapsedMs = await msOf(() => {
    for (const group of groups)
      synced.transact(() => {
        for (const commit of group) write(numbers.get(keyOf(commit.ref)) ?? 0, commit);
      });
  });
  synced.close();
  return elapsedMs;
}

function keyOf({ kind, id }: ActorRef): string {
  return `${kind}\n${id}`;
}

/** The numbers by which the store knows the actors. */
async function claimAll(
  database: SqliteDatabase,
  groups: RecordedCommits,
): Promise<ReadonlyMap<string, number>> {
  const store = openSqliteActorStore(database, { now: Date.now });
  const numbers = new Map<string, number>();
  const byRef = database.prepare("SELECT no FROM actor_head WHERE kind = ? AND id = ?");
  for (const { ref } of groups.flat()) {
    if (numbers.has(keyOf(ref))) continue;
    await store.claim(ref, "floor");
    numbers.set(keyOf(ref), Number(byRef.get(ref.kind, ref.id)?.["no"]));
  }
  return numbers;
}

function preparedWrite(database: SqliteDatabase): (no: number, commit: ActorCommit) => void {
  const fence = database.prepare(
    "UPDATE actor_head SET head = ?, op = ?, wake_at = ? WHERE no = ? AND epoch = ? AND head = ? AND op = ?",
  );
  const put = database.prepare(
    "INSERT OR REPLACE INTO actor_row (actor, rt, k, k2, body, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const remove = database.prepare("DELETE FROM actor_row WHERE actor = ? AND rt = ? AND k = ? AND k2 = ?");
  const putSnapshot = database.prepare("INSERT OR REPLACE INTO actor_snapshot (actor, body) VALUES (?, ?)");
  const head = database.prepare("UPDATE actor_head SET snapshot_seq = ?, schema_version = ? WHERE no = ?");
  const prune = database.prepare("DELETE FROM actor_row WHERE actor = ? AND rt = 1 AND k <= ?");
  return (no, { epoch, expectedHead, expectedOp, op, wakeAtMs, snapshot, deletes, puts }) => {
    const { changes } = fence.run(expectedHead + 1, op, wakeAtMs, no, epoch, expectedHead, expectedOp);
    if (changes !== 1) throw new Error("the fence refused a commit that was applied when it was recorded");
    for (const key of deletes) remove.run(no, key.rt, key.k, key.k2);
    for (const row of puts) put.run(no, row.rt, row.k, row.k2, row.body, row.expiresAtMs ?? null);
    if (snapshot === undefined) return;
    putSnapshot.run(no, snapshot.body);
    head.run(snapshot.seq, snapshot.schemaVersion, no);
    prune.run(no, snapshot.seq);
  };
}
