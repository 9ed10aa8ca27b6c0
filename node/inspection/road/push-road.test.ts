// The road of a push of which the journals keep nothing any more.

import { afterAll, beforeAll, expect, it } from "vitest";
import { acceptedTimes } from "../../../actors/push/ports.ts";
import { part } from "../../../protocol/rubbish.fixture.ts";
import { rowTable } from "../../../storage/actor-store.ts";
import { product } from "../../../stories/publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../../stories/retrieval/attack.fixture.ts";
import { nodeDefinitions } from "../../composition/node-actors.ts";
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

/** The node's own parts. */
function deps(): PushRoadDeps {
  const { services } = node.running;
  const { actorStore, logStore: log, pause, config } = services;
  return {
    ...{ log, pause, definitions: nodeDefinitions(services), traceLink: null },
    regions: () => [config.region],
    askSpans: async () => [],
    store: part({
      readHead: (ref) => actorStore.readHead(ref),
      readRows: (ref, selections) => actorStore.readRows(ref, selections),
    }),
  };
}

it("PR1: has the same steps and nodes from its rows where the journals are pruned", async () => {
  const { services } = node.running;
  const whole = await readPushRoad(deps(), { ...push, fromChunk: null });
  const inRows = deps();
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
  const { services } = node.running;
  const road = await readPushRoad(
    {
      ...deps(),
      store: {
        ...deps().store,
        readRows: async (ref, selections) => {
          const rows = await services.actorStore.readRows(ref, selections);
          if (ref.kind !== "push") return rows.filter(({ rt }) => rt !== rowTable.event);
          // A request that only repeats the acceptance knows neither time.
          return rows.map((row) =>
            row.rt === acceptedTimes.rt ? { ...row, body: JSON.stringify({ leaf: "sha256:l" }) } : row,
          );
        },
      },
    },
    { ...push, fromChunk: null },
  );
  expect(road?.unknown.map(({ what }) => what)).toEqual(["charged", "numbered"]);
});

it("is null for a push that was never accepted", async () => {
  expect(await readPushRoad(deps(), { ...push, pushId: "bat_none", fromChunk: null })).toBeNull();
});
