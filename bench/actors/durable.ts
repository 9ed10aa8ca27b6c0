// Child process: durable calls through the actor system, on a store that syncs to disk. On request it records the
// fenced commits that the calls came to, in the groups in which they shared transactions, for the floor to repeat.

import { randomUUID } from "node:crypto";
import type { ActorCommit, ActorStore } from "../../storage/actor-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { answerParent } from "../answer-parent.ts";
import type { Add } from "./counter.ts";
import { counterSystem } from "./system.ts";

export interface DurableLoad {
  /** Path of the store file. */
  readonly file: string;
  readonly actors: number;
  /** Calls on their way at any time, spread evenly over the actors. */
  readonly callers: number;
  readonly calls: number;
}

export interface DurableResult {
  readonly calls: number;
  readonly elapsedMs: number;
  readonly commits: number;
}

const add: Add = { type: "add", by: 1 };

async function run(load: DurableLoad): Promise<DurableResult> {
  await using database = SqliteDatabase.open(load.file);
  return await drive(load, openSqliteActorStore(database, { now: Date.now }));
}

/** Commits by the transaction that they shared, in order. */
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
    claim: (ref, owner) => store.claim(ref, owner),
    readRows: (ref, selections) => store.readRows(ref, selections),
    readHead: (ref) => store.readHead(ref),
    dueActors: (nowMs, limit) => store.dueActors(nowMs, limit),
    listActors: (kind, afterId, limit) => store.listActors(kind, afterId, limit),
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

/** Works of one transaction run without a microtask in between (storage/sqlite/database.ts, D4). */
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

async function drive(load: DurableLoad, store: ActorStore): Promise<DurableResult> {
  const system = counterSystem(store);
  const run = randomUUID();
  const refs = Array.from({ length: load.actors }, (_, index) => ({
    kind: "durable-counter",
    id: `${run}/${index}`,
  }));
  // Actors are in memory before the clock starts: their first call claims them.
  await Promise.all(refs.map((ref) => system.ask(ref, add)));
  const commitsBefore = system.stats().commits;
  let called = 0;
  const caller = async (): Promise<void> => {
    while (called < load.calls) {
      const ref = refs[called % refs.length];
      called += 1;
      if (ref !== undefined) await system.ask(ref, add);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: load.callers }, caller));
  const elapsedMs = performance.now() - startedMs;
  const commits = system.stats().commits - commitsBefore;
  await system.drain(1_000);
  return { calls: load.calls, elapsedMs, commits };
}

answerParent({ run, record });
