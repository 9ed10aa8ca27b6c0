// Child process: messages to in-memory actors for which no sender waits.

import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { answerParent } from "../answer-parent.ts";
import { add, memoryRef } from "./counter.ts";
import { counterSystem } from "./system.ts";

export interface MessageLoad {
  readonly actors: number;
  readonly messages: number;
}

/** Messages queued before they are processed: well below the capacity of a mailbox. */
const burstPerActor = 40;

/** Milliseconds until all messages were handled. */
async function run({ actors, messages }: MessageLoad): Promise<number> {
  await using database = SqliteDatabase.open(":memory:");
  const system = counterSystem(openSqliteActorStore(database, { now: Date.now }));
  const refs = Array.from({ length: actors }, (_, index) => memoryRef(String(index)));
  await sendAll(burstPerActor);
  const startedMs = performance.now();
  for (let left = messages / actors; left > 0; left -= burstPerActor)
    await sendAll(Math.min(left, burstPerActor));
  const elapsedMs = performance.now() - startedMs;
  await system.drain(1_000);
  return elapsedMs;

  async function sendAll(each: number): Promise<void> {
    const target = system.stats().commandsHandled + each * actors;
    for (let turn = 0; turn < each; turn += 1) {
      for (const ref of refs) if (!system.tell(ref, add)) throw new Error("a message was refused");
    }
    while (system.stats().commandsHandled < target) await new Promise((resolve) => setImmediate(resolve));
  }
}

answerParent({ run });
