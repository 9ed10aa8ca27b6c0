// What a node reports to a load balancer.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { indexUnavailable, type RowIndex } from "../storage/row-index.ts";
import { readiness } from "./readiness.ts";
import { type RunningNode, startNode } from "./start.ts";

const home = mkdtempSync(join(tmpdir(), "svc-ready-"));
let node: RunningNode | null = null;
let count: (rows: RowIndex) => Promise<number>;
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
    count: () => count(rows),
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
  const { services } = node;
  expect(await readiness({ ...services, lease: () => null })).toMatchObject({
    ...{ ready: false, degraded: [], checks: { cluster: "no lease: the node joins again", index: "ok" } },
  });
  const gone = () => Promise.reject(new Error("The store is away."));
  expect(
    await readiness({ ...services, actorStore: { ...services.actorStore, dueActors: gone } }),
  ).toMatchObject({ ready: false, checks: { store: "The store is away." } });
});
