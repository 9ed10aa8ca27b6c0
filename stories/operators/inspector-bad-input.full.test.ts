// What the operators' pages show of actors that no node would make: a journal with a hundred thousand events, and one that a later
// release wrote. Both are written into the store of a running node, past its actors.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ActorRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { nodeDefinitions } from "../../node/composition/node-actors.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import type { Inspection } from "../../ops/inspection.ts";
import type { JournalPage } from "../../ops/inspection-shapes.ts";
import { noInspection, openOps, report } from "../../ops/ops.fixture.ts";
import { ok } from "../../protocol/result.ts";
import { rowTable } from "../../storage/actor-store.ts";
import { findBrowser } from "../../tools/browser.ts";
import { openPage, openWatchedNode, type View, type WatchedNode } from "./inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere)
  console.warn("NOT TESTED: no Chromium on this machine, so no page of a strange journal was looked at.");
const inBrowser = it.skipIf(!isThere && process.env["CI"] === undefined);

let watched: WatchedNode | null = null;
let node: RunningNode;
let browser: Browser;
const wide: View = { width: 1280, scheme: "light" };
const owner = "somewhere/else";

beforeAll(async () => {
  if (!isThere) return;
  watched = await openWatchedNode({ logLevel: "silent" });
  ({ node, browser } = watched);
}, 240_000);
afterAll(() => watched?.[Symbol.asyncDispose]());

const urlOf = ({ kind, id }: ActorRef) => `${node.urls.ops_url}/ui/actors/${kind}/${id}`;
const machineVersion = () =>
  nodeDefinitions(node.services).find(({ kind }) => kind === "business")?.schemaVersion ?? 0;

interface Written {
  readonly events: number;
  readonly version: number;
  readonly snapshot?: string;
}

/** Writes events of a business, each in a row of its own, a thousand in one commit. */
async function write(ref: ActorRef, { events, version, snapshot }: Written): Promise<void> {
  const store = node.services.actorStore;
  const { head } = await store.claim(ref, owner);
  let op = head.op;
  for (let commit = 0; commit * 1_000 < events; commit += 1) {
    const count = Math.min(1_000, events - commit * 1_000);
    const puts = Array.from({ length: count }, (_, at) => {
      const seq = commit * 1_000 + at + 1;
      const e = [{ type: "chunk.assigned", listings: 1, live: 0 }];
      const body = JSON.stringify({
        v: version,
        t: 1_700_000_000_000 + seq,
        p: head.epoch,
        c: commit + 1,
        e,
      });
      return { rt: rowTable.event, k: seq, k2: "", body };
    });
    const next = `${ref.id}-${commit}`;
    const outcome = await store.commit({
      ref,
      epoch: head.epoch,
      expectedHead: head.head + commit,
      expectedOp: op,
      op: next,
      puts,
      deletes: [],
      wakeAtMs: null,
      ...(snapshot === undefined ? {} : { snapshot: { seq: 0, body: snapshot, schemaVersion: version } }),
    });
    expect(outcome).toEqual({ status: "applied" });
    op = next;
  }
}

const section = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const heapBytes = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

/** Resolves with how long the work took, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const fromMs = performance.now();
  await work();
  return Math.round(performance.now() - fromMs);
}

const manyEvents = 100_000;

inBrowser(
  "a journal with a hundred thousand events: the page is there at once, and the journal follows",
  async () => {
    const ref: ActorRef = { kind: "business", id: "70000000-0000-4000-8000-000000000001" };
    await write(ref, { events: manyEvents, version: machineVersion() });
    const heapBefore = heapBytes();
    await using opened = await openPage(browser, "about:blank", wide);
    const { page } = opened;
    page.setDefaultTimeout(120_000);
    const journal = section(page, "Journal");
    // The script of the pages is bundled once, for the first that comes.
    await page.goto(`${node.urls.ops_url}/ui/`);
    const firstMs = await timed(async () => {
      await page.goto(urlOf(ref));
      await page.getByRole("heading", { name: "Statechart" }).waitFor();
    });
    expect(firstMs).toBeLessThan(20_000);
    // The journal is run through once, and the page shows it by itself.
    const wholeMs = await timed(() => journal.getByRole("cell", { name: "100,000", exact: true }).waitFor());
    await section(page, "State now").getByText('"listings": 100000').waitFor();
    const pageMs = await timed(async () => {
      await page.getByRole("button", { name: "Earlier events" }).click();
      await journal.getByRole("cell", { name: "99,950", exact: true }).waitFor();
    });
    expect(pageMs).toBeLessThan(15_000);

    const kept = heapBytes() - heapBefore;
    expect(kept).toBeLessThan(64 * 2 ** 20);
    const client = await page.context().newCDPSession(page);
    await client.send("HeapProfiler.collectGarbage");
    const { usedSize } = await client.send("Runtime.getHeapUsage");
    expect(usedSize).toBeLessThan(64 * 2 ** 20);
    expect(opened.complaints).toEqual([]);
    const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
    console.log(
      `first paint ${firstMs} ms, journal ${wholeMs} ms, earlier page ${pageMs} ms; ` +
        `the node keeps ${mebibytes(kept)}, the browser uses ${mebibytes(usedSize)}`,
    );
  },
  300_000,
);

inBrowser(
  "a journal that takes long: the page is there before it, says that it is read, and shows it by itself",
  async () => {
    const { machines } = (await (await contractFetch(`${node.urls.ops_url}/ops/machines`)).json()) as {
      readonly machines: ReturnType<Inspection["machines"]>;
    };
    const { resolve: arrive, promise: arrived } = Promise.withResolvers<void>();
    const event = { seq: 3, at: "2026-01-01T00:00:00.000Z", commit: 2, epoch: 1, type: "push.accepted" };
    const journal: JournalPage = {
      ...report.ref,
      head: report.head,
      last_seq: 3,
      pruned_up_to: 2,
      next_before: null,
      unreadable: null,
      events: [{ ...event, event: {}, from: null, to: null }],
    };
    const hosts: string[] = [];
    const server = openOps({
      access: { hosts, token: "t".repeat(40), isLoopback: true },
      inspection: {
        ...noInspection,
        machines: () => machines,
        past: { ...noInspection.past, journal: () => arrived.then(() => ok(journal)) },
      },
    });
    try {
      const base = await server.listen({ port: 0, host: "127.0.0.1" });
      hosts.push(new URL(base).host);
      await using opened = await openPage(browser, `${base}/ui/actors/push/${report.ref.id}`, wide);
      const { page } = opened;
      await section(page, "Journal").getByText("The journal is being read").waitFor();
      arrive();
      await section(page, "Journal").getByRole("cell", { name: "3", exact: true }).first().waitFor();
      expect(await page.getByText("The journal is being read").count()).toBe(0);
    } finally {
      arrive();
      await server.close();
    }
  },
  120_000,
);

inBrowser(
  "a machine version that is not here any more: the page says so, and shows the journal without statechart and states",
  async () => {
    const ref: ActorRef = { kind: "business", id: "70000000-0000-4000-8000-000000000002" };
    const version = machineVersion() + 7;
    await write(ref, { events: 60, version, snapshot: JSON.stringify({ value: "elsewhere", context: {} }) });
    await using opened = await openPage(browser, `${node.urls.ops_url}/ui/`, wide);
    const { page } = opened;
    await page.getByRole("searchbox").fill(ref.id);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: ref.id }).click();
    await page.locator("[data-live=on]").waitFor();
    expect(await section(page, "Why it waits").innerText()).toContain(
      "Its journal cannot be read by this release",
    );
    const words = `Another release wrote this actor with version ${version} of its machine; this release has version ${machineVersion()}.`;
    expect(await section(page, "Statechart").innerText()).toContain(words);
    expect(await page.locator(".chart").count()).toBe(0);
    const journal = section(page, "Journal");
    expect(await journal.locator("tbody tr").count()).toBe(50);
    expect(await journal.innerText()).toContain("States are unknown: ");
    await page.getByRole("button", { name: "Earlier events" }).click();
    await expect.poll(() => journal.locator("tbody tr").count()).toBe(10);
    // A message to it fails for it alone: the node goes on, and the page says what happened.
    await expect(
      node.services.actors.ask({ kind: "business", id: ref.id }, { type: "holds.read", after: 0, limit: 1 }),
    ).rejects.toThrow();
    await section(page, "Why it waits")
      .getByText(/It crashed/)
      .waitFor();
    expect((await contractFetch(`${node.urls.ops_url}/readyz`)).status).toBe(200);
    expect(opened.complaints).toEqual([]);
  },
  240_000,
);
