// The road of a push that an earlier release accepted and settled, or of which the journals keep nothing any more.

import { afterAll, beforeAll, expect, it } from "vitest";
import { acceptedTimes, chunkTimes, lateIndexes } from "../../../actors/push/times.ts";
import { rowTable } from "../../../storage/actor-store.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../attack.fixture.ts";
import { nodeDefinitions } from "../../node-actors.ts";
import { product } from "../../publishing.fixture.ts";
import { type PushRoadDeps, readPushRoad } from "./push-road.ts";

let node: AttackNode;
let push = { businessUuid: "", pushId: "" };

beforeAll(async () => {
  node = await openAttackNode();
  const business = await newBusiness(node);
  const { body, pushId } = await batchBody(business, [product("one")], { seq: 1 });
  await publishOver(node, business, body);
  await awaitPush(node, business, pushId);
  push = { businessUuid: business.party.uuid, pushId };
});
afterAll(() => node.close());

/** The node's own parts, with a store that has no rows of these tables. */
function depsWithout(tables: readonly number[]): PushRoadDeps {
  const { services } = node.running;
  const { actorStore, records, logStore: log, pause, config } = services;
  const lost = new Set(tables);
  return {
    ...{ records, log, pause, definitions: nodeDefinitions(services), traceLink: null },
    regions: () => [config.region],
    askSpans: async () => [],
    store: {
      readHead: (ref) => actorStore.readHead(ref),
      readRows: async (ref, selections) =>
        (await actorStore.readRows(ref, selections)).filter(({ rt }) => !lost.has(rt)),
    },
  };
}

const timeTables = [acceptedTimes, chunkTimes, lateIndexes].map(({ rt }) => rt);
const read = async (tables: readonly number[]) =>
  readPushRoad(depsWithout(tables), { ...push, fromChunk: null });

it("PR2: of an earlier release has what its journals say, and names what nobody noted", async () => {
  const road = await read(timeTables);
  const whats = road?.steps.map(({ what }) => what) ?? [];
  for (const what of ["received", "charged", "numbered", "accepted", "settled", "complete"])
    expect(whats).toContain(what);
  for (const what of ["judged", "signed", "stored"]) expect(whats).not.toContain(what);
  expect(road?.unknown).toEqual([
    {
      ...{ what: "judged", chunk: null },
      words: "The judging, signing, storing and indexing of chunk 1: the release that did it noted no times.",
    },
  ]);
  expect(road?.chunks).toMatchObject([
    { state: "settled", judged_at: null, published: null, settled_at: expect.any(String) },
  ]);
  // The leaf follows from the seal that is stored.
  expect(road?.log.leaf).toMatch(/^sha256:/);
  expect((await read([]))?.log.leaf).toBe(road?.log.leaf);
});

it("PR1: of this release has the same steps and nodes from its rows where the journals are pruned", async () => {
  const { services } = node.running;
  const whole = await read([]);
  const inRows = depsWithout([]);
  // The other actors' events are only in their snapshots.
  const road = await readPushRoad(
    {
      ...inRows,
      store: {
        ...inRows.store,
        readRows: async (ref, selections) => {
          const rows = await services.actorStore.readRows(ref, selections);
          return ref.kind === "push" ? rows : rows.filter(({ rt }) => rt !== rowTable.event);
        },
      },
    },
    { ...push, fromChunk: null },
  );
  const placesOf = (of: typeof road, what: string) =>
    of?.steps.filter((step) => step.what === what).map(({ actor, region, node: at }) => [actor, region, at]);
  for (const what of ["charged", "numbered"]) {
    expect(placesOf(road, what)).toHaveLength(1);
    expect(placesOf(road, what)).toEqual(placesOf(whole, what));
  }
  expect(road?.unknown).toEqual([]);
});

it("PR2: says that it is not known when it was charged and numbered, where neither has it", async () => {
  const road = await read([...timeTables, rowTable.event]);
  // Without its own events it is as it began: it was never accepted.
  expect(road).toBeNull();
  const { services } = node.running;
  const without = depsWithout(timeTables);
  const unknown = await readPushRoad(
    {
      ...without,
      store: {
        ...without.store,
        readRows: async (ref, selections) => {
          const rows = await services.actorStore.readRows(ref, selections);
          const isLost = (rt: number) =>
            ref.kind === "push" ? timeTables.includes(rt) : rt === rowTable.event;
          return rows.filter(({ rt }) => !isLost(rt));
        },
      },
    },
    { ...push, fromChunk: null },
  );
  expect(unknown?.unknown.map(({ what }) => what)).toEqual(["charged", "numbered", "judged"]);
});

it("is null for a push that was never accepted", async () => {
  expect(await readPushRoad(depsWithout([]), { ...push, pushId: "bat_none", fromChunk: null })).toBeNull();
});
