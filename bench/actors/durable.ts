// Child process: durable calls through the actor system, on a store that syncs to disk. On request it records the
// fenced commits that the calls produced, grouped by shared transaction, for the floor to repeat.

import type { ActorCommit, ActorStore } from "../../storage/actor-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { answerParent } from "../answer-parent.ts";
import { type CallLoad, type DurableResult, drive } from "./drive.ts";

export type { DurableResult };

export interface DurableLoad extends CallLoad {
  /** Path of the store file. */
  readonly file: string;
}

async function run(load: DurableLoad): Promise<DurableResult> {
  await using database = SqliteDatabase.open(load.file);
  return await drive(load, openSqliteActorStore(database, { now: Date.now }));
}

/** Records the commits by the transaction that they shared, in order. */
async function record(load: DurableLoad): Promise<readonly (readonly ActorCommit[])[]> {
  await using database = SqliteDatabase.open(load.file);
  const groups: ActorCommit[][] = [];
  const store = openSqliteActorStore(database, { now: Date.now });
  let commitToWrite: ActorCommit | null = null;
  const write = database.write.bind(database);
  database.write = (work) => {
    const commit = commitToWrite;
    return write((db) => {
      if (commit !== null) groupOfNow(groups).push(commit);
      return work(db);
    });
  };
  const recording: ActorStore = {
    createsActors: store.createsActors,
    claim: (ref, owner) => store.claim(ref, owner),
    readRows: (ref, selections) => store.readRows(ref, selections),
    readHead: (ref) => store.readHead(ref),
    dueActors: (nowMs, limit) => store.dueActors(nowMs, limit),
    listActors: (kind, afterId, limit) => store.listActors(kind, afterId, limit),
    countActors: (kind, max) => store.countActors(kind, max),
    commit: (commit) => {
      commitToWrite = commit;
      const outcome = store.commit(commit);
      commitToWrite = null;
      return outcome;
    },
  };
  await drive(load, recording);
  return groups;
}

let isGroupOpen = false;

/** Work of one transaction runs without a microtask in between (storage/sqlite/database.ts, D4). */
function groupOfNow(groups: ActorCommit[][]): ActorCommit[] {
  const last = groups.at(-1);
  if (isGroupOpen && last !== undefined) return last;
  isGroupOpen = true;
  queueMicrotask(() => {
    isGroupOpen = false;
  });
  const group: ActorCommit[] = [];
  groups.push(group);
  return group;
}

answerParent({ run, record });
