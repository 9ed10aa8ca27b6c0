// A process that is meant to be killed: it sends commands to actors on an SQLite journal as fast as they are acknowledged,
// and prints each acknowledgement to its standard output as a line `<actor> <command id>`. Its arguments are the store file
// and the name of this run.

import { randomUUID } from "node:crypto";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { ask, counterActor, type TestProtocols } from "../../actors/system/world.fixture.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { tell } from "../../storage/sqlite/tell.fixture.ts";

const actors = 8;
const callersPerActor = 4;

/** An actor system on a store file, with the clock and timers of the process. */
export function openJournal(path: string) {
  const database = SqliteDatabase.open(path);
  const system = createActorSystem<TestProtocols>({
    store: openSqliteActorStore(database, { now: () => Date.now() }),
    definitions: [counterActor],
    activities: { work: async (params: { job: string }) => ({ type: "work.done", job: params.job }) },
    clock: { now: () => Date.now() },
    timers: {
      schedule: (delayMs, run) => {
        const timeout = setTimeout(run, delayMs);
        return () => clearTimeout(timeout);
      },
    },
    entropy: { newOperationId: () => randomUUID() },
    owner: `process-${process.pid}`,
    limits: { snapshotEveryEvents: 20 },
  });
  return { database, system };
}

async function call(
  system: ReturnType<typeof openJournal>["system"],
  actor: string,
  name: string,
): Promise<void> {
  for (let i = 0; ; i += 1) {
    const id = `${name}-${i}`;
    await ask(system, actor, { type: "add.once", id, by: 1 });
    tell(`${actor} ${id}\n`);
    if (i % 10 === 0) await ask(system, actor, { type: "forward", to: "sum", by: 1 });
  }
}

const [, script, path, run] = process.argv;
if (script === import.meta.filename && path !== undefined && run !== undefined) {
  const { system } = openJournal(path);
  await system.start();
  for (let actor = 0; actor < actors; actor += 1) {
    for (let caller = 0; caller < callersPerActor; caller += 1)
      void call(system, `a${actor}`, `${run}-${caller}`);
  }
}
