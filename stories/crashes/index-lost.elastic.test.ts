// A region's Elasticsearch that is new, or has lost its indexes: searches are refused until these are built from the records,
// which happens by itself and once, while fetches and publishing go on.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { readiness } from "../../node/composition/readiness.ts";
import { type IndexKeeping, keepElasticIndex } from "../../node/keeping/index-keeping.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import { freshOptions, hasElastic, removeAll } from "../../storage/elasticsearch/elastic.fixture.ts";
import { readGenerations, removeGeneration } from "../../storage/elasticsearch/generations.ts";
import { ElasticRowIndex } from "../../storage/elasticsearch/row-index.ts";
import {
  jsonOf,
  openBusiness,
  product,
  publish,
  seal,
  sealAndPublish,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";

/** Building an index of a few rows, and notifying it again of a push, on a slow machine. */
const patience = { timeout: 60_000, interval: 100 };

/** Timers that run when the test says so. */
function manualTimers() {
  const waiting: (() => void)[] = [];
  return {
    timers: {
      schedule: (_: number, run: () => void) => {
        waiting.push(run);
        return () => {};
      },
    },
    waiting,
    runAll: () => {
      for (const run of waiting.splice(0)) run();
    },
  };
}

const options = freshOptions();
const events: string[] = [];
const { timers, waiting, runAll } = manualTimers();
/** What two nodes of the region see of its index; the first of them answers callers. */
const indexes = hasElastic ? [new ElasticRowIndex(options), new ElasticRowIndex(options)] : [];
let surfaces: TestSurfaces;
let company: TestCaller;
let business: TestBusiness;
let keeping: readonly IndexKeeping[] = [];

beforeAll(async () => {
  const [index] = indexes;
  if (index === undefined) return;
  surfaces = await openSurfaces({}, {}, { index: () => index });
  const { services } = surfaces;
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  business = await openBusiness(services);
});
afterAll(async () => {
  await Promise.all(keeping.map((each) => each.stop()));
  await surfaces?.[Symbol.asyncDispose]();
  if (indexes[0] !== undefined) await removeAll(indexes[0].engine, options.prefix);
  await Promise.all(indexes.map((each) => each.close()));
});

function search(collection = "products"): Promise<ReceivedAnswer> {
  const path = `/v1/${collection}/search`;
  return send(surfaces.retrievalUrl, company, { path, body: JSON.stringify(productSearch) });
}

async function rows(): Promise<number> {
  return ((await search()).json["rows"] as readonly unknown[]).length;
}

async function expectMissing(): Promise<void> {
  const refused = await search();
  expect(refused).toMatchObject({ status: 503, json: { code: "unavailable", reason: "index" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await readiness(surfaces.services)).toMatchObject({
    ready: true,
    degraded: ["index"],
    checks: { index: expect.stringMatching(/^incomplete: .*built from the records/) },
  });
}

/** Both nodes look and have looked; returns what was built. */
async function looked(): Promise<readonly string[]> {
  events.length = 0;
  runAll();
  await expect.poll(() => waiting.length, patience).toBe(keeping.length);
  return events.filter((each) => each.startsWith("index.built"));
}

describe.skipIf(!hasElastic)("an index", { timeout: 180_000 }, () => {
  it("of a new deployment is there once nodes run, and was built once", async () => {
    await expectMissing();
    keeping = indexes.map((kept) =>
      keepElasticIndex(kept, {
        records: surfaces.services.records,
        now: Date.now,
        timers,
        log: ({ event, detail }) => void events.push(`${event} ${detail}`),
      }),
    );
    await expect.poll(() => waiting.length, patience).toBe(keeping.length);
    const built = events.filter((each) => /^index\.built .*, with 0 changes$/.test(each));
    expect(built).toHaveLength(collectionNames.length);
    expect(await looked()).toEqual([]);
    for (const each of keeping) expect(each.missing()).toEqual([]);
    expect(await readiness(surfaces.services)).toMatchObject({ degraded: [], checks: { index: "ok" } });
    expect(await rows()).toBe(0);
  });

  it("that is lost while nodes run refuses searches until it is whole, and is built once, while the rest goes on", async () => {
    const { services } = surfaces;
    const first = jsonOf(await sealAndPublish(services, business, [product("a"), product("b")]));
    const [record] = first["results"] as readonly { readonly record_id: string }[];
    await expect.poll(rows, patience).toBe(2);
    for (const { engine } of indexes.slice(0, 1)) await removeAll(engine, options.prefix);
    await expectMissing();
    const path = `/v1/records/${record?.record_id}`;
    expect(await send(surfaces.retrievalUrl, company, { path })).toMatchObject({ status: 200 });
    const records = [product("c")];
    const { push_id: pushId, batch_seal } = await seal(business, records, { seq: 2 });
    const second = jsonOf(await publish(services, business, publishBody(batch_seal, records)));
    expect(second).toMatchObject({ status: 200, results: [{ outcome: "accepted" }] });
    const caller = rubbish({ key: business.key, party: business.party });
    const status = async () =>
      jsonOf(await readPush(services.actors, { caller, pushId, outcome: null, cursor: null }));
    await expectMissing();
    expect(await status()).toMatchObject({ state: "processing", progress: { settled: 1, total: 1 } });
    const built = await looked();
    expect(built).toHaveLength(collectionNames.length);
    expect(built).toContain("index.built products, with 3 changes");
    expect(await rows()).toBe(3);
    await expect.poll(status, patience).toMatchObject({ state: "complete" });
  });

  it("of one collection that is lost leaves the others searched, and the node says so all the same", async () => {
    for (const index of indexes.slice(0, 1)) {
      const { serving } = await readGenerations(index.engine, index.namesOf("jobs"));
      await removeGeneration(index.engine, serving ?? "");
    }
    expect((await search("jobs")).status).toBe(503);
    expect(await rows()).toBe(3);
    expect(await readiness(surfaces.services)).toMatchObject({ ready: true, degraded: ["index"] });
    expect(await looked()).toEqual(["index.built jobs, with 0 changes"]);
    expect((await search("jobs")).status).toBe(200);
  });
});
