// In a child process: a node of the service as `npm start` runs one, alone in a home folder or among others in a region. What only some
// sections need of it is in modules that import it, and is loaded for them: with `--against`, this one also runs older sources.

import { setTimeout as delay } from "node:timers/promises";
import { pushRef } from "../actors/messages/refs.ts";
import { type RunningNode, startNode } from "../node/composition/start.ts";
import { boundHeapGrowth } from "../node/keeping/heap-growth.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { RecordHead, RecordVersion } from "../storage/record-store.ts";

/** The benchmark measures how much a node can do, not how much it lets one caller request. */
const unlimited = {
  SVC_KEY_REQUESTS_PER_SECOND: "0",
  SVC_KEY_QUERY_COST_PER_MINUTE: "0",
  SVC_ADDRESS_CONNECTIONS_MAX: "0",
  SVC_CONNECTION_REQUESTS_MAX: "0",
};

/** A stored version, and the head that moved to it. */
export interface Stored {
  readonly version: RecordVersion;
  readonly head: RecordHead;
}

const readsAtOnce = 64;
const patienceMs = 600_000;
const retryMs = 50;
const indexPollMs = 5;

let node: RunningNode | null = null;
let isAmongOthers = false;

export function running(): RunningNode {
  if (node === null) throw new Error("the node is not started");
  return node;
}

/** Has this module's functions ask a node that was started in another way, and `close` end it. */
export function adopt(started: RunningNode): void {
  node = started;
}

/** Starts a node alone, and returns its sandbox, samples included; with the limits that a node has by default only if that is asked for. */
export async function open(home: string, isLimited = false) {
  boundHeapGrowth();
  if (!isLimited) Object.assign(process.env, unlimited);
  node = await startNode({ home, portBase: 0, environment: "sandbox", logLevel: "error" });
  const seeded = await node.seeded;
  if (seeded === null) throw new Error("the node is no sandbox");
  return seeded.sandbox;
}

/** The same, without libsodium. */
export async function openWithOpenssl(home: string) {
  const { chooseOpenssl } = await import("../crypto/ed25519.ts");
  chooseOpenssl();
  return await open(home);
}

/** Starts a node among others, and returns its addresses once its surfaces listen and its region's index answers. */
export async function join(env: Readonly<Record<string, string>>): Promise<RunningNode["urls"]> {
  boundHeapGrowth();
  Object.assign(process.env, unlimited, env);
  isAmongOthers = true;
  node = await startNode();
  await retried(indexedProducts);
  return node.urls;
}

/** Retries while engines have just started, or a node is between two incarnations. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isAmongOthers || performance.now() > untilMs) throw error;
      await delay(retryMs);
    }
  }
}

/** The incarnation of a node in a cluster: another one says that it lost its lease meanwhile. */
export function incarnation(): Promise<string> {
  return retried(async () => {
    const held = running().services.lease();
    if (held === null) throw new Error("the node has no lease");
    return held;
  });
}

/** Ids of products, by the business's own ids for them. */
export function recordIds(businessUuid: string, localIds: readonly string[]): readonly string[] {
  return localIds.map((id) => running().services.recordIdOf(businessUuid, "products", id));
}

/** Resolves with the outcome once the push has ended and its rows are indexed. */
export async function awaitPush(businessUuid: string, pushId: string) {
  const push = pushRef(businessUuid, pushId);
  const options = { timeoutMs: patienceMs };
  for (;;) {
    const report = await retried(() => running().services.actors.ask(push, { type: "push.await" }, options));
    if (report === null) throw new Error(`push ${pushId} was never accepted`);
    const { state, counts } = report;
    if (state !== "processing") return { state, counts };
    // The push is settled, but an index has not confirmed it yet.
    await delay(indexPollMs);
  }
}

export function indexedProducts(): Promise<number> {
  return running().services.index.count("products");
}

/** The number of rows that each query returns, and the query in the form that the index takes. */
export async function explain(bodies: readonly JsonValue[]) {
  const { rowQueryOf } = await import("./catalogue.ts");
  const answers = [];
  for (const query of bodies.map(rowQueryOf))
    answers.push({ query, rows: (await running().services.index.search(query)).length });
  return answers;
}

export async function readStored(ids: readonly string[]): Promise<readonly Stored[]> {
  const { Semaphore } = await import("../std/semaphore.ts");
  const { records } = running().services;
  return await new Semaphore(readsAtOnce).all(
    ids.map((id) => async () => {
      const served = await records.readServed(id);
      if (served === null) throw new Error(`${id} is not stored`);
      return { version: served.version, head: served.head };
    }),
  );
}

export async function close(): Promise<void> {
  await node?.[Symbol.asyncDispose]();
}
