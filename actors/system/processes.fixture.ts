// Processes that come one after another on one store, under a time that passes in steps. For tests.

import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import type { SqliteDatabase } from "../../storage/sqlite/database.ts";
import type { ActorProtocols } from "../messages/kinds.ts";
import type { ManualTime } from "./manual-time.fixture.ts";
import type { ActorSystemOptions, LocalActorSystem } from "./ports.ts";
import { createActorSystem } from "./runtime.ts";

const hourMs = 3_600_000;
let processes = 0;

/** A process on the same store as those before it. */
export function newProcess(
  { database, time }: { readonly database: SqliteDatabase; readonly time: ManualTime },
  { definitions, activities }: Pick<ActorSystemOptions, "definitions" | "activities">,
): LocalActorSystem<ActorProtocols> {
  processes += 1;
  let operations = 0;
  const owner = `node-${processes}`;
  return createActorSystem<ActorProtocols>({
    store: openSqliteActorStore(database, { now: () => time.now() }),
    ...{ definitions, activities, clock: time, timers: time, owner, log: () => {} },
    entropy: {
      newOperationId: () => {
        operations += 1;
        return `${owner}-${operations}`;
      },
    },
    // A week of sweeps would take longer than all the rest.
    limits: { pollMs: hourMs / 4, idleSweepMs: hourMs, deadlineSweepMs: hourMs, outboxWakeMs: hourMs / 4 },
  });
}

/** Activities of these names that do nothing. */
export function idle(names: readonly string[]): ActorSystemOptions["activities"] {
  return Object.fromEntries(names.map((name) => [name, async () => null]));
}

/** Lets time pass by the hour, so that real reads and writes keep up with it. */
export async function pass(time: ManualTime, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= hourMs) {
    await time.advance(Math.min(left, hourMs));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
