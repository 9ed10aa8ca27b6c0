// In a child process: a node of the service on the embedded store, without samples, that counts what it does (tally.fixture.ts). Beside it are
// a durable actor and a log, each on a file of its own.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startNode } from "../../node/composition/start.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { newAdvertiser } from "../../stories/ads/ads.fixture.ts";
import { add, counterSystem, durableRef } from "../actors/counter.ts";
import { benchEntry, openSequencer } from "../log/sequencer.ts";
import { adopt, running } from "../serve.ts";
import { type Mark, markNow, storeCount } from "./tally.fixture.ts";

/** Nobody is limited, and what a push appends to the log is not sequenced meanwhile. */
const settings = {
  SVC_SAMPLES: "no",
  SVC_LOG_INTERVAL_SECONDS: "86400",
  SVC_KEY_REQUESTS_PER_SECOND: "0",
  SVC_KEY_QUERY_COST_PER_MINUTE: "0",
  SVC_CONNECTION_REQUESTS_MAX: "0",
};

const closing = new AsyncDisposableStack();
let inside: Readonly<Record<InsideOperation, () => Promise<unknown>>> | null = null;

export type InsideOperation = "call" | "append";

/** Opens everything in a new folder, and returns where the node is, the time by its clock, and the folder of its keys. */
export async function open(folder: string) {
  Object.assign(process.env, settings);
  await mkdir(folder);
  const nowMs = Date.now();
  const options = { home: join(folder, "node"), portBase: 0, environment: "sandbox" } as const;
  // The time stands still: what is read again after a while would be read in some operations and not in others, and work would
  // pause as often as the machine is slow.
  const platform = { clock: { now: () => nowMs }, workMs: () => 0 };
  const node = await startNode(options, platform);
  adopt(node);
  const database = closing.use(SqliteDatabase.open(join(folder, "actors.db")));
  const system = counterSystem(openSqliteActorStore(database, { now: Date.now }));
  closing.defer(() => system.drain(1_000));
  const counter = durableRef("one");
  inside = { call: () => system.ask(counter, add), append: openLog(folder) };
  return { urls: node.urls, nowMs, keysFolder: join(folder, "node/keys") };
}

/** Opens a log; each call appends another leaf, and waits for the checkpoint that covers it. */
function openLog(folder: string): () => Promise<void> {
  let published = Promise.withResolvers<void>();
  const sequencer = openSequencer(folder, {
    log: (log) => ({
      ...log,
      publish: async (head) => {
        await log.publish(head);
        published.resolve();
      },
    }),
  });
  closing.use(sequencer);
  let appended = 0;
  return async () => {
    published = Promise.withResolvers();
    appended += 1;
    await sequencer.append(benchEntry(appended));
    await published.promise;
  };
}

/** Publishes a campaign with so many ads, and waits until pools may have them. */
export async function publishAds(count: number): Promise<void> {
  const advertiser = await newAdvertiser({ running: running() });
  const answers = [await advertiser.campaign({ price: "0.01", budget: "1000" })];
  for (let ad = 0; ad < count; ad += 1) answers.push(await advertiser.ad(`ad-${ad}`));
  const refused = answers.find(({ status }) => status >= 300);
  if (refused !== undefined) throw new Error(refused.text);
  await settled();
  await running().services.register.refresh();
}

/** Turns of the event loop in which nothing happens. */
const quietTurns = 20;

function settled(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let last = -1;
  let quiet = 0;
  const look = (): void => {
    const now = storeCount();
    quiet = now === last && running().services.actors.stats().outboxPending === 0 ? quiet + 1 : 0;
    last = now;
    if (quiet < quietTurns) setImmediate(look);
    else resolve();
  };
  look();
  return promise;
}

export async function mark(): Promise<Mark> {
  await settled();
  return markNow();
}

export async function repeat(operation: InsideOperation, count: number): Promise<void> {
  const run = inside?.[operation];
  if (run === undefined) throw new Error("the node is not open");
  for (let time = 0; time < count; time += 1) await run();
}

export const close = () => closing.disposeAsync();
