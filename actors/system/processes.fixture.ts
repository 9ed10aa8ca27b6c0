// Processes that come one after another on one store, under a time that passes in steps. For tests.

import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import type { SqliteDatabase } from "../../storage/sqlite/database.ts";
import type { ActorProtocols } from "../messages/kinds.ts";
import type { ManualTime } from "./manual-time.fixture.ts";
import type { ActorSystemOptions, LocalActorSystem } from "./ports.ts";
import { createActorSystem } from "./runtime.ts";

const hourMs = 3_600_000;
let processes = 0;

/** Counts what is under way of calls whose work is real. */
class RealWork {
  #open = 0;

  get isUnderWay(): boolean {
    return this.#open > 0;
  }

  /** The same functions, counted. */
  counted<T extends object>(calls: T, isCounted: (name: string) => boolean = () => true): T {
    return new Proxy(calls, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function" || !isCounted(String(name))) return member;
        return (...given: readonly unknown[]) => this.#until(Reflect.apply(member, target, given));
      },
    });
  }

  async #until<R>(result: Promise<R>): Promise<R> {
    this.#open += 1;
    try {
      return await result;
    } finally {
      this.#open -= 1;
    }
  }
}

/** A process on the same store as those before it. The activities in `waiting` wait for something other than real work. */
export function newProcess(
  { database, time }: { readonly database: SqliteDatabase; readonly time: ManualTime },
  {
    definitions,
    activities,
    waiting = [],
  }: Pick<ActorSystemOptions, "definitions" | "activities"> & { readonly waiting?: readonly string[] },
): LocalActorSystem<ActorProtocols> {
  processes += 1;
  let operations = 0;
  const owner = `node-${processes}`;
  const work = new RealWork();
  time.isWorking = () => work.isUnderWay;
  return createActorSystem<ActorProtocols>({
    store: work.counted(openSqliteActorStore(database, { now: () => time.now() })),
    activities: work.counted(activities, (name) => !waiting.includes(name)),
    definitions,
    clock: time,
    timers: time,
    owner,
    log: () => {},
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
