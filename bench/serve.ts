// Child process: a node of the service as `npm start` runs one, alone in a home folder or among others in a region. What only some
// sections need of it is loaded when they ask for it: with `--against`, this program also runs older sources.

import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pushRef } from "../actors/messages/refs.ts";
import { type RunningNode, startNode } from "../node/start.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import type { RecordHead, RecordVersion } from "../storage/record-store.ts";
import { answerParent, cpuTimes, heldBytes } from "./answer-parent.ts";
import type { AllowanceSurfaces, ToolSurfaces } from "./node-surfaces.ts";
import type { FilledLedgers, LedgerLoad } from "./ops/fill-ledgers.ts";
import type { Party } from "./parties.ts";

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
let allowance: AllowanceSurfaces | null = null;
let tools: ToolSurfaces | null = null;
let ledgers: FilledLedgers | null = null;
let stopStirring: () => Promise<void> = async () => {};
const opened: AsyncDisposable[] = [];

/** As `npm start` does; older sources have no such bound. */
async function boundHeap(): Promise<void> {
  if (!existsSync(new URL("../node/heap-growth.ts", import.meta.url))) return;
  const { boundHeapGrowth } = await import("../node/heap-growth.ts");
  boundHeapGrowth();
}

function running(): RunningNode {
  if (node === null) throw new Error("the node is not started");
  return node;
}

/** Starts a node alone, and returns its sandbox, samples included; with the limits that a node has by default only if that is asked for. */
async function open({ home, isLimited = false }: { readonly home: string; readonly isLimited?: boolean }) {
  await boundHeap();
  if (!isLimited) Object.assign(process.env, unlimited);
  node = await startNode({ home, portBase: 0, environment: "sandbox", logLevel: "error" });
  const seeded = await node.seeded;
  if (seeded === null) throw new Error("the node is no sandbox");
  return seeded.sandbox;
}

/** A grant for a key of a new party. */
async function grant(party: Party): Promise<string> {
  const { claimsOf } = await import("./parties.ts");
  const { issueGrant } = await import("../service/sandbox-grant.ts");
  const signer = running().services.keys.grant;
  if (signer === null) throw new Error("the node is no sandbox");
  return await issueGrant(claimsOf(party), signer);
}

/** Starts a node among others, and returns its addresses once its surfaces listen and its region's index answers. */
async function join({
  env,
}: {
  readonly env: Readonly<Record<string, string>>;
}): Promise<RunningNode["urls"]> {
  await boundHeap();
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

/** Ids of products, by the business's own ids for them. */
function recordIds(params: { readonly businessUuid: string; readonly localIds: readonly string[] }) {
  const { businessUuid, localIds } = params;
  return localIds.map((id) => running().services.recordIdOf(businessUuid, "products", id));
}

/** Resolves with the outcome once the push has ended and its rows are indexed. */
async function awaitPush({
  businessUuid,
  pushId,
}: {
  readonly businessUuid: string;
  readonly pushId: string;
}) {
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

/** Number of products that a search of this node could find. */
function indexedProducts(): Promise<number> {
  return running().services.index.count("products");
}

/** The number of rows that each query returns, and the query in the form that the index takes. */
async function explain({ bodies }: { readonly bodies: readonly JsonValue[] }) {
  const { rowQueryOf } = await import("./catalogue.ts");
  const answers = [];
  for (const query of bodies.map(rowQueryOf))
    answers.push({ query, rows: (await running().services.index.search(query)).length });
  return answers;
}

/** What is stored of these records. */
async function readStored({ ids }: { readonly ids: readonly string[] }): Promise<readonly Stored[]> {
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

async function publishAds(campaigns: number): Promise<void> {
  const book = await import("./ads-book.ts");
  await book.publishAds(running().services, campaigns);
}

/** Opens the surfaces of a company that pays for what it is served, and returns their ports. */
async function openAllowance(company: string): Promise<AllowanceSurfaces["ports"]> {
  const { openAllowanceSurfaces } = await import("./node-surfaces.ts");
  allowance = await openAllowanceSurfaces(running(), company);
  opened.push(allowance);
  return allowance.ports;
}

/** Opens the tool server and the bare server beside it, and returns their ports. */
async function openTools(): Promise<ToolSurfaces["ports"]> {
  const { openToolSurfaces } = await import("./node-surfaces.ts");
  tools = await openToolSurfaces(running());
  opened.push(tools);
  return tools.ports;
}

/** Opens a second operators' surface, and returns its address. */
async function openQuickSurface(everyMs: number): Promise<string> {
  const surfaces = await import("./node-surfaces.ts");
  const quick = await surfaces.openQuickSurface(running(), everyMs);
  opened.push(quick);
  return quick.url;
}

async function fillLedgers(load: LedgerLoad): Promise<FilledLedgers["watched"]> {
  const filling = await import("./ops/fill-ledgers.ts");
  ledgers = await filling.fillLedgers(running().services, load);
  return ledgers.watched;
}

function filledLedgers(): FilledLedgers {
  if (ledgers === null) throw new Error("no accounts were made");
  return ledgers;
}

answerParent(
  {
    ...{ open, grant, join, recordIds, awaitPush, indexedProducts, cpuTimes, heldBytes },
    ...{ explain, readStored, publishAds },
    ...{ openAllowance, openTools, openQuickSurface, fillLedgers },
    heldByTools: () => tools?.held() ?? null,
    paidAnswers: () => allowance?.paid() ?? 0,
    touchLedgers: () => filledLedgers().touch(),
    stirLedgers: (everyMs: number) => {
      stopStirring = filledLedgers().stir(everyMs);
    },
    stopStirring: () => stopStirring(),
  },
  async () => {
    await stopStirring();
    for (const each of opened.reverse()) await each[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  },
);
