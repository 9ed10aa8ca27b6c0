// Child process: a node of the service as `npm start` runs one, in the given home folder.

import { setTimeout as delay } from "node:timers/promises";
import { pushRef } from "../actors/messages/refs.ts";
import { boundHeapGrowth } from "../node/heap-growth.ts";
import { type RunningNode, startNode } from "../node/start.ts";
import type { RecordKind } from "../protocol/identifiers.ts";
import { publishAds } from "./ads/publish.ts";
import { type AllowanceSurfaces, openAllowanceSurfaces } from "./allowance.ts";
import { answerParent } from "./answer-parent.ts";
import { cpuTimes } from "./cpu-times.ts";
import { heldBytes } from "./heap.ts";
import { type FilledLedgers, fillLedgers, type LedgerLoad } from "./ops/fill-ledgers.ts";
import { openQuickSurface, type QuickSurface } from "./ops/quick-surface.ts";
import { openToolSurfaces, type ToolSurfaces } from "./tool-surfaces.ts";
import { unlimited } from "./unlimited.ts";

const indexPollMs = 5;

let node: RunningNode | null = null;
let allowance: AllowanceSurfaces | null = null;
let tools: ToolSurfaces | null = null;
let ledgers: FilledLedgers | null = null;
let quick: QuickSurface | null = null;
let stopStirring: () => Promise<void> = async () => {};
boundHeapGrowth();

function running(): RunningNode {
  if (node === null) throw new Error("the node is not started");
  return node;
}

/** Starts the node and returns its sandbox, samples included. */
async function open({ home }: { readonly home: string }) {
  Object.assign(process.env, unlimited);
  node = await startNode({ home, portBase: 0, environment: "sandbox", logLevel: "error" });
  const seeded = await node.seeded;
  if (seeded === null) throw new Error("the node is no sandbox");
  return seeded.sandbox;
}

/** Ids of products, by the business's own ids for them. */
function recordIds(params: {
  readonly businessUuid: string;
  readonly kind: RecordKind;
  readonly localIds: readonly string[];
}) {
  const { businessUuid, kind, localIds } = params;
  return localIds.map((id) => running().services.recordIdOf(businessUuid, kind, id));
}

/** Resolves with the outcome once the push has ended and its rows are indexed. */
async function awaitPush({
  businessUuid,
  pushId,
}: {
  readonly businessUuid: string;
  readonly pushId: string;
}): Promise<{ state: string; counts: unknown }> {
  const push = pushRef(businessUuid, pushId);
  for (;;) {
    const { actors } = running().services;
    const report = await actors.ask(push, { type: "push.await" }, { timeoutMs: 600_000 });
    if (report === null) throw new Error(`push ${pushId} was never accepted`);
    const { state, counts } = report;
    if (state !== "processing") return { state, counts };
    // The push is settled, but an index has not confirmed it yet.
    await delay(indexPollMs);
  }
}

/** Number of products that a search could find. */
function indexedProducts(): Promise<number> {
  return running().services.index.count("products");
}

/** Opens the surfaces of a company that pays for what it is served, and returns their ports. */
async function openAllowance(company: string): Promise<AllowanceSurfaces["ports"]> {
  allowance = await openAllowanceSurfaces(running(), company);
  return allowance.ports;
}

/** Opens the tool server and the bare server beside it, and returns their ports. */
async function openTools(): Promise<ToolSurfaces["ports"]> {
  tools = await openToolSurfaces(running());
  return tools.ports;
}

function filledLedgers(): FilledLedgers {
  if (ledgers === null) throw new Error("no accounts were made");
  return ledgers;
}

/** Opens a second operators' surface, and returns its address. */
async function openQuick(everyMs: number): Promise<string> {
  quick = await openQuickSurface(running(), everyMs);
  return quick.url;
}

answerParent(
  {
    ...{ open, recordIds, awaitPush, indexedProducts, cpuTimes },
    ...{ openAllowance, openTools, heldByTools: () => tools?.held() ?? null },
    paidAnswers: () => allowance?.paid() ?? 0,
    fillLedgers: async (load: LedgerLoad) => {
      ledgers = await fillLedgers(running().services, load);
      return ledgers.watched;
    },
    touchLedgers: () => filledLedgers().touch(),
    openQuickSurface: openQuick,
    stirLedgers: (everyMs: number) => {
      stopStirring = filledLedgers().stir(everyMs);
    },
    stopStirring: () => stopStirring(),
    heldBytes,
    publishAds: (campaigns: number) => publishAds(running().services, campaigns),
  },
  async () => {
    await stopStirring();
    await quick?.[Symbol.asyncDispose]();
    await tools?.[Symbol.asyncDispose]();
    await allowance?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  },
);
