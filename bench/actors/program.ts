// In a child process: calls of the smallest possible actor (counter.ts). Durable calls run on a store that syncs to disk or on Cassandra, and the commits
// that they produce are recorded on request, for the floor to repeat. The floor of in-memory messages is here as well, because it
// is the same machine's transition function.

import { randomUUID } from "node:crypto";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { type ActorCommit, type ActorStore, storeWith } from "../../storage/actor-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import type { EnginePlace } from "../floor/engines.ts";
import { heldMemory, inLanes, msOf, type Spent, spend } from "../work.ts";
import { type Added, add, counterMachine, counterSystem, durableRef } from "./counter.ts";

/** Durable calls by a number of callers, spread evenly over counters, each waiting for its answer. */
export interface CallLoad {
  /** The store: a file, or a keyspace. */
  readonly at: string | EnginePlace;
  readonly actors: number;
  readonly callers: number;
  readonly calls: number;
}

interface Driven extends Spent {
  readonly commits: number;
}

/** `onBegin` is called when all actors are in memory and the clock starts. */
async function drive(load: CallLoad, store: ActorStore, onBegin = (): void => {}): Promise<Driven> {
  const system = counterSystem(store);
  const run = randomUUID();
  const refs = Array.from({ length: load.actors }, (_, index) => durableRef(`${run}/${index}`));
  // Load all actors into memory before the clock starts: their first call claims them.
  await Promise.all(refs.map((ref) => system.ask(ref, add)));
  const commitsBefore = system.stats().commits;
  const call = (at: number): Promise<unknown> =>
    system.ask(refs[at % refs.length] as (typeof refs)[number], add);
  onBegin();
  const { elapsedMs, cpu } = await spend(() => inLanes(load.callers, load.calls, call));
  const commits = system.stats().commits - commitsBefore;
  await system.drain(1_000);
  return { elapsedMs, cpu, commits };
}

export async function run(load: CallLoad): Promise<Driven> {
  if (typeof load.at !== "string") return await withEngine(load.at, (store) => drive(load, store));
  await using database = SqliteDatabase.open(load.at);
  return await drive(load, openSqliteActorStore(database, { now: Date.now }));
}

/** The commits in order, grouped by the transaction that they shared. On Cassandra they are one group, without those of first calls. */
export type RecordedCommits = readonly (readonly ActorCommit[])[];

export async function record(load: CallLoad): Promise<RecordedCommits> {
  const { at } = load;
  if (typeof at === "string") return await recordInFile(load, at);
  return await withEngine(at, async (store) => {
    const commits: ActorCommit[] = [];
    let isRecording = false;
    const recording = storeWith(store, {
      commit: (commit) => {
        if (isRecording) commits.push(commit);
        return store.commit(commit);
      },
    });
    await drive(load, recording, () => {
      isRecording = true;
    });
    return [commits];
  });
}

async function withEngine<T>(place: EnginePlace, work: (store: ActorStore) => Promise<T>): Promise<T> {
  const { openSession } = await import("../floor/engines.ts");
  const { openCassandraActorStore } = await import("../../storage/cassandra/actor-store.ts");
  const session = await openSession(place);
  try {
    return await work(openCassandraActorStore(session, { region: place.region, now: Date.now }));
  } finally {
    await session.close();
  }
}

async function recordInFile(load: CallLoad, path: string): Promise<RecordedCommits> {
  await using database = SqliteDatabase.open(path);
  const groups: ActorCommit[][] = [];
  const store = openSqliteActorStore(database, { now: Date.now });
  let commitToWrite: ActorCommit | null = null;
  let group: ActorCommit[] | null = null;
  const write = database.write.bind(database);
  database.write = (work) => {
    const commit = commitToWrite;
    return write((db) => {
      if (group === null) {
        // Work of one transaction runs without a microtask in between (storage/sqlite/database.ts, D4).
        queueMicrotask(() => {
          group = null;
        });
        group = [];
      }
      if (commit !== null && group.push(commit) === 1) groups.push(group);
      return work(db);
    });
  };
  const recording = storeWith(store, {
    commit: (commit) => {
      commitToWrite = commit;
      const outcome = store.commit(commit);
      commitToWrite = null;
      return outcome;
    },
  });
  await drive(load, recording);
  return groups;
}

/** Messages queued before they are processed: well below the capacity of a mailbox. */
const burstPerActor = 40;

/** Milliseconds until all messages to in-memory actors were handled, for which no sender waits. */
export async function messages(actors: number, total: number): Promise<number> {
  await using database = SqliteDatabase.open(":memory:");
  const system = counterSystem(openSqliteActorStore(database, { now: Date.now }));
  const refs = Array.from(
    { length: actors },
    (_, index) => ({ kind: "memory-counter", id: String(index) }) as const,
  );
  const sendAll = async (each: number): Promise<void> => {
    const target = system.stats().commandsHandled + each * actors;
    for (let turn = 0; turn < each; turn += 1) {
      for (const ref of refs) if (!system.tell(ref, add)) throw new Error("a message was refused");
    }
    while (system.stats().commandsHandled < target) await nextTurn();
  };
  await sendAll(burstPerActor);
  const elapsedMs = await msOf(async () => {
    for (let left = total / actors; left > 0; left -= burstPerActor)
      await sendAll(Math.min(left, burstPerActor));
  });
  await system.drain(1_000);
  return elapsedMs;
}

/** Floor of in-memory messages: milliseconds that the machine's transition function takes, with one scope for all calls. */
export async function transitions(actors: number, total: number): Promise<number> {
  const machine: AnyStateMachine = counterMachine;
  // A scope in which a machine without effects or children runs.
  const nothing = (): void => {};
  const self = { id: "", sessionId: "", system: { _sendInspectionEvent: nothing }, send: nothing };
  const scope = {
    self,
    system: self.system,
    id: "",
    sessionId: "",
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  } as unknown as Parameters<AnyStateMachine["transition"]>[2];
  const event: Added = { type: "added", by: 1 };
  const snapshots: AnyMachineSnapshot[] = Array.from({ length: actors }, () =>
    machine.getInitialSnapshot(scope),
  );
  const turns = (count: number): void => {
    for (let turn = 0; turn < count; turn += 1) {
      for (let actor = 0; actor < actors; actor += 1) {
        const snapshot = snapshots[actor];
        if (snapshot !== undefined) snapshots[actor] = machine.transition(snapshot, event, scope);
      }
    }
  };
  turns(burstPerActor);
  return await msOf(() => turns(total / actors));
}

const callsAtOnce = 2_000;

/**
 * What so many actors cost that were used once and have since been passivated. Others, which come and go before, warm up
 * everything that does not grow with the number of actors.
 */
export async function passive(file: string, warmUp: number, actors: number) {
  // Surviving a power failure does not matter here.
  await using database = SqliteDatabase.open(file, { synchronous: "NORMAL" });
  // The page cache is bounded whatever the number of actors; it is kept small, because it would mask what is measured.
  database.db.exec("PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;");
  const limits = { idleMs: 1_000, idleSweepMs: 500 };
  const system = counterSystem(openSqliteActorStore(database, { now: Date.now }), limits);
  let created = 0;
  const create = async (count: number): Promise<void> => {
    await inLanes(callsAtOnce, count, () => {
      created += 1;
      return system.ask(durableRef(`passive/${created}`), add);
    });
    while (system.stats().active > 0) await delay(100);
  };
  await create(warmUp);
  const before = heldMemory();
  const elapsedMs = await msOf(() => create(actors));
  const after = heldMemory();
  await system.drain(1_000);
  const addedHeapBytes = after.heapUsed - before.heapUsed;
  return { addedBytes: after.rss - before.rss, addedHeapBytes, elapsedMs };
}
