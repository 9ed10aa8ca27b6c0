// Child process: a node of the service among others, as `npm start` runs one, configured by the given environment.

import { setTimeout as delay } from "node:timers/promises";
import { pushRef } from "../../actors/messages/refs.ts";
import { toRowQuery } from "../../collections/row-query.ts";
import { parseSearchRequest } from "../../collections/search-request.ts";
import { type RunningNode, startNode } from "../../node/start.ts";
import type { JsonValue } from "../../protocol/canonical-json.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { RecordHead, RecordVersion } from "../../storage/record-store.ts";
import { answerParent } from "../answer-parent.ts";
import { cpuTimes } from "../cpu-times.ts";
import { productId } from "../products.ts";
import { unlimited } from "../unlimited.ts";
import { type FillBatch, fillWith } from "./fill.ts";

export interface ClusterUrls {
  readonly base_url: string;
  readonly business_url: string;
}

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

function running(): RunningNode {
  if (node === null) throw new Error("the node is not started");
  return node;
}

/** Resolves once its surfaces listen and its region's index answers. */
async function open({ env }: { readonly env: Readonly<Record<string, string>> }): Promise<ClusterUrls> {
  Object.assign(process.env, unlimited, env);
  node = await startNode();
  await retryUntil(indexedProducts);
  return node.urls;
}

/** Retries while engines have just started, or a node is between two incarnations. */
async function retryUntil<T>(ask: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await delay(retryMs);
    }
  }
}

/** Stores a batch as a push of it would. */
function fill(batch: FillBatch): Promise<void> {
  return fillWith(running().services, batch);
}

/** Ids of products of a business, by their numbers. */
function recordIds(params: {
  readonly businessUuid: string;
  readonly first: number;
  readonly count: number;
}) {
  const { businessUuid, first, count } = params;
  return Array.from({ length: count }, (_, index) =>
    running().services.recordIdOf(businessUuid, "products", productId(first + index)),
  );
}

/** The number of rows that each query returns, and the query in the form that the index takes. */
async function explain({ bodies }: { readonly bodies: readonly JsonValue[] }) {
  const answers = [];
  for (const body of bodies) {
    const request = parseSearchRequest(body, null);
    if (!request.ok) throw new Error(`${request.code} ${request.detail}`);
    const query = toRowQuery(request.value);
    answers.push({ query, rows: (await running().services.index.search(query)).length });
  }
  return answers;
}

/** Resolves with the outcome once the push has ended and its rows are indexed. */
async function awaitPush(push: { readonly businessUuid: string; readonly pushId: string }) {
  const ref = pushRef(push.businessUuid, push.pushId);
  const options = { timeoutMs: patienceMs };
  for (;;) {
    const report = await retryUntil(() =>
      running().services.actors.ask(ref, { type: "push.await" }, options),
    );
    if (report === null) throw new Error(`push ${push.pushId} was never accepted`);
    if (report.state !== "processing") return report;
    // The push is settled, but an index has not confirmed it yet.
    await delay(indexPollMs);
  }
}

/** What is stored of these records. */
async function readStored({ ids }: { readonly ids: readonly string[] }): Promise<readonly Stored[]> {
  const { records } = running().services;
  return await new Semaphore(readsAtOnce).all(
    ids.map((id) => async () => {
      const served = await records.readServed(id);
      if (served === null) throw new Error(`${id} is not stored`);
      return { version: served.version, head: served.head };
    }),
  );
}

/** Number of products that a search of this region could find. */
function indexedProducts(): Promise<number> {
  return running().services.index.count("products");
}

answerParent({ open, fill, recordIds, explain, awaitPush, readStored, indexedProducts, cpuTimes }, async () =>
  node?.[Symbol.asyncDispose](),
);
