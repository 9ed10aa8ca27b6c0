// What a node reports to a load balancer.

import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { indexUnavailable, type RowIndex } from "../../storage/row-index.ts";
import { readiness, readyReadings } from "./readiness.ts";
import type { NodeServices } from "./services.ts";
import { type RunningNode, startNode } from "./start.ts";

const home = mkdtempSync(join(tmpdir(), "svc-ready-"));
let node: RunningNode | null = null;
let count: (rows: RowIndex, collection: string) => Promise<number>;
afterEach(async () => {
  await node?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

async function ready() {
  const answer = await fetch(`${node?.urls.ops_url}/readyz`);
  return [answer.status, await answer.json()] as const;
}

it("is led to while its region's index is away, and says so; not while it may not act itself", async () => {
  const index = (rows: RowIndex): RowIndex => ({
    apply: (changes) => rows.apply(changes),
    search: (query) => rows.search(query),
    isFindable: (collection, id) => rows.isFindable(collection, id),
    purge: (collections) => rows.purge(collections),
    count: (collection) => count(rows, collection),
  });
  count = (rows) => rows.count("products");
  node = await startNode({ home, portBase: 0, logLevel: "silent" }, { index });
  await node.seeded;
  expect(await ready()).toMatchObject([200, { ready: true, degraded: [], checks: { index: "ok" } }]);
  count = () => Promise.reject(indexUnavailable("unreachable", "Nobody is there."));
  const away = { ready: true, degraded: ["index"] };
  expect(await ready()).toMatchObject([
    200,
    { ...away, checks: { store: "ok", index: "unreachable: Nobody is there." } },
  ]);
  count = (rows, collection) =>
    collection === "jobs"
      ? Promise.reject(indexUnavailable("incomplete", "It is missing."))
      : rows.count(collection);
  expect(await ready()).toMatchObject([200, { ...away, checks: { index: "incomplete: It is missing." } }]);
  const { promise: never, resolve: end } = Promise.withResolvers<number>();
  count = () => never;
  const fromMs = performance.now();
  expect(await ready()).toMatchObject([
    200,
    { ...away, checks: { index: "no answer within a second", keys: "ok" } },
  ]);
  // The answer comes before any load balancer gives up.
  expect(performance.now() - fromMs).toBeLessThan(5_000);
  end(0);
  count = (rows) => rows.count("products");
});

const cluster = (storeMs: () => number, logRegion = "eu-west1"): NodeServices["cluster"] =>
  rubbish({
    placement: { regionOf: () => logRegion },
    storeTimeMs: async () => storeMs(),
  });
const space = (freeBytes: number) => async () => [{ place: "home" as const, freeBytes, sizeBytes: 2 ** 40 }];
const gone = (): never => {
  throw new Unavailable("There is no key.", {
    reason: "signing_key",
    effect: "not_applied",
    retryAfterSeconds: 1,
  });
};

describe("each check of readiness", () => {
  let services: NodeServices;
  let now: Date;
  beforeEach(async () => {
    count = (rows) => rows.count("products");
    node = await startNode({ home, portBase: 0, logLevel: "silent", region: "eu-west1" });
    await node.seeded;
    services = node.services;
    now = new Date();
  });

  it("is ok on a node that has everything, and is among its metrics", async () => {
    const [status, report] = await ready();
    const names = ["store", "index", "cluster", "keys", "register", "log_key", "disk", "clock"];
    expect([status, report]).toEqual([
      200,
      {
        ready: true,
        degraded: [],
        checks: Object.fromEntries(names.map((each) => [each, "ok"])),
        plain_text: [],
      },
    ]);
    const text = await (await fetch(`${node?.urls.ops_url}/metrics`)).text();
    for (const name of names) expect(text).toContain(`svc_ready_check{check="${name}"} 1`);
    expect(text).toContain("svc_ready 1");
    const away = readyReadings({ ready: false, degraded: [], checks: { store: "away" }, plain_text: ["a"] });
    expect(away.map(({ name, value }) => [name, value])).toEqual([
      ["svc_ready", 0],
      ["svc_ready_check", 0],
      ["svc_plain_text_channels", 1],
    ]);
  });

  it("tells of a store that fails, and of one that does not answer", async () => {
    const store = (dueActors: () => Promise<never>): NodeServices => ({
      ...services,
      actorStore: { ...services.actorStore, dueActors },
    });
    const fails = store(() => Promise.reject(new Error("The store is away.")));
    expect(await readiness(fails)).toMatchObject({ ready: false, checks: { store: "The store is away." } });
    const hangs = store(() => new Promise(() => {}));
    expect(await readiness(hangs)).toMatchObject({
      ready: false,
      degraded: [],
      checks: { store: "no answer within a second", index: "ok" },
    });
  });

  it("tells of a lease that is lost", async () => {
    expect(await readiness({ ...services, lease: () => null })).toMatchObject({
      ready: false,
      degraded: [],
      checks: { cluster: "no lease: the node joins again", index: "ok" },
    });
  });

  it("tells of working keys that have ended, and of a register that was never read", async () => {
    const currentKeys: NodeServices["currentKeys"] = rubbish({ assertSigners: gone });
    expect(await readiness({ ...services, currentKeys })).toMatchObject({
      ready: false,
      checks: { keys: "There is no key.", register: "ok" },
    });
    const register = { ...services.register, refreshedAtMs: () => null };
    expect(await readiness({ ...services, register })).toMatchObject({
      ready: false,
      checks: { register: "not read yet", keys: "ok" },
    });
  });

  it("tells of a log key that is missing where the log lives, and only there", async () => {
    const without = { ...services, keys: { ...services.keys, log: gone } };
    const degraded = { ready: true, degraded: ["log_key"], checks: { log_key: "There is no key." } };
    expect(await readiness(without)).toMatchObject(degraded);
    const here = { ...without, cluster: cluster(Date.now) };
    expect(await readiness(here)).toMatchObject(degraded);
    const elsewhere = { ...without, cluster: cluster(Date.now, "us-east1") };
    expect(await readiness(elsewhere)).toMatchObject({ degraded: [], checks: { log_key: "ok" } });
  });

  it("tells of a disk that is full: a node with its store on it is not ready", async () => {
    const full = { checks: { disk: "home has 255 MiB left; a node needs 256 MiB" } };
    expect(await readiness(services, space(2 ** 28 - 1))).toMatchObject({ ...full, ready: false });
    expect(await readiness(services, space(2 ** 28))).toMatchObject({ ready: true, checks: { disk: "ok" } });
    const clustered = { ...services, cluster: cluster(Date.now) };
    expect(await readiness(clustered, space(2 ** 28 - 1))).toMatchObject({
      ...full,
      ready: true,
      degraded: ["disk"],
    });
    const unreadable = () => Promise.reject(new Error("EIO"));
    expect(await readiness(services, unreadable)).toMatchObject({ ready: false, checks: { disk: "EIO" } });
  });

  it("tells of an issuance process that is away, where there is to be one", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const issuance = { address: { host: "127.0.0.1", port }, secretFile: "" };
    const issued = { ...services, config: { ...services.config, issuance } };
    expect(await readiness(issued)).toMatchObject({ ready: true, degraded: [], checks: { issuance: "ok" } });
    await new Promise((resolve) => server.close(resolve));
    const { ready: isReady, degraded, checks } = await readiness(issued);
    expect([isReady, degraded]).toEqual([true, ["issuance"]]);
    expect(checks["issuance"]).toContain("it cannot be reached");
  });

  it("tells of an index that answers, and takes no writes", async () => {
    const indexBlock = async () => "svc-products-000001 has read_only_allow_delete";
    expect(await readiness({ ...services, indexBlock })).toMatchObject({
      ready: true,
      degraded: ["index"],
      checks: { index: "it takes no writes: svc-products-000001 has read_only_allow_delete" },
    });
  });

  it("tells of a clock that was set back while a node without a cluster was stopped, and after it was started", async () => {
    const behind =
      /^this machine's clock says .*, 60\d s before .*, at which this node was in use: correct it/;
    await node?.[Symbol.asyncDispose]();
    // The keys of this home are younger than the jump, so it does not start, and not the keys are blamed.
    const clock = { now: () => Date.now() - 600_000 };
    const settings = { home, portBase: 0, logLevel: "error", region: "eu-west1" } as const;
    await expect(startNode(settings, { clock })).rejects.toThrow(
      /^clock: this machine's clock .*cannot sign/,
    );
    await writeFile(join(home, "newest-moment"), new Date(Date.now() + 600_000).toISOString());
    node = await startNode({ ...settings, logTo: "file" });
    expect(await ready()).toMatchObject([
      200,
      { ready: true, degraded: ["clock"], checks: { clock: expect.stringMatching(behind) } },
    ]);
    await node[Symbol.asyncDispose]();
    expect(await readFile(join(home, "node.log"), "utf8")).toContain("clock.behind");
  });

  it("tells of a clock that is off the store's, in either direction", async () => {
    for (const offMs of [-2_100, 2_100]) {
      const off = {
        ...services,
        clock: { now: () => now.getTime() },
        cluster: cluster(() => now.getTime() + offMs),
      };
      const { ready: isReady, degraded, checks } = await readiness(off);
      expect([isReady, degraded]).toEqual([true, ["clock"]]);
      expect(checks["clock"]).toMatch(/^2\d\d\d ms from the store's clock; 2000 ms are allowed/);
    }
    const near = { ...services, cluster: cluster(() => services.clock.now() + 1_000) };
    expect(await readiness(near)).toMatchObject({ degraded: [], checks: { clock: "ok" } });
  });
});
