import { describe, expect, it } from "vitest";
import { clusterRegionsConformance, clusterStoreConformance } from "../cluster-store.conformance.ts";
import { type PartyHome, StoreError } from "../cluster-store.ts";
import { MemoryCluster } from "./cluster-store.ts";

const regions = ["east", "west"];

for (const conformance of [clusterStoreConformance, clusterRegionsConformance]) {
  conformance("the memory store", async () => {
    const cluster = new MemoryCluster(regions, () => 1_780_000_000_000);
    return { regions, handle: async (region) => cluster.handle(region), close: async () => {} };
  });
}

const first: PartyHome = { party: "p", region: "east", moving_to: null, version: 1 };
const moving: PartyHome = { ...first, moving_to: "west", version: 2 };

describe("scripted failures of the memory store", () => {
  it("C2: apply or do not apply as the script says, and tell the caller no more than a real store could", async () => {
    const cluster = new MemoryCluster(regions);
    const store = cluster.handle("east");
    for (const [fault, effect, version] of [
      ["before", "not_applied", 0],
      ["unknown_not_applied", "unknown", 0],
      ["unknown_applied", "unknown", 1],
    ] as const) {
      store.failNext("casView", fault);
      const next = { region: "east", version: 1, members: [] };
      const failure = await store.casView(next).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreError);
      expect(failure).toMatchObject({ effect });
      expect((await store.readView("east")).version).toBe(version);
    }
    expect(store.callsOf("casView")).toBe(3);
  });

  it("a node that is cut off learns nothing and changes nothing", async () => {
    const cluster = new MemoryCluster(regions);
    const store = cluster.handle("east");
    store.cutOff = true;
    await expect(store.readView("east")).rejects.toMatchObject({ effect: "not_applied" });
    await expect(store.casHome(first)).rejects.toMatchObject({ effect: "unknown" });
    store.cutOff = false;
    expect(await store.readHome("p")).toBeNull();
  });

  it("an interceptor may hold a call and apply it late", async () => {
    const cluster = new MemoryCluster(regions);
    const [slow, quick] = [cluster.handle("east"), cluster.handle("east")];
    const release = Promise.withResolvers<void>();
    slow.intercept = async (_, apply) => {
      await release.promise;
      return apply();
    };
    const late = slow.casHome({ ...first, region: "west" });
    expect(await quick.casHome(first)).toBe(true);
    release.resolve();
    expect(await late).toBe(false);
  });
});

describe("regions of the memory store", () => {
  it("C3, C4: a region whose other is lost keeps its view, and knows no home for certain", async () => {
    const cluster = new MemoryCluster(regions);
    const east = cluster.handle("east");
    await east.casHome(first);
    cluster.lose("west");
    expect(await east.casView({ region: "east", version: 1, members: [] })).toBe(true);
    await expect(east.readHome("p")).rejects.toMatchObject({ effect: "not_applied" });
    await expect(east.casHome(moving)).rejects.toBeInstanceOf(StoreError);
    expect(await east.readHomeNearby("p")).toEqual(first);
    await expect(cluster.handle("west").readView("east")).rejects.toBeInstanceOf(StoreError);
    cluster.takeOut("west");
    expect(await east.casHome(moving)).toBe(true);
    cluster.heal("west");
    expect(await cluster.handle("west").readHomeNearby("p")).toEqual(moving);
  });

  it("C5–C7: a region behind answers what was, except where the port promises more", async () => {
    const cluster = new MemoryCluster(regions);
    const [east, west] = [cluster.handle("east"), cluster.handle("west")];
    cluster.lag("west");
    await east.casView({ region: "east", version: 1, members: [] });
    await east.casHome(first);
    expect((await west.readView("east")).version).toBe(0);
    expect(await west.readHomeNearby("p")).toBeNull();
    expect(await west.readHome("p")).toEqual(first);
    await east.casHome(moving);
    expect(await west.readMoves()).toEqual([moving]);
    cluster.separate("west");
    await expect(
      east.casStanding({ region: "west", status: "dead", successor: "east", version: 1 }),
    ).rejects.toBeInstanceOf(StoreError);
    cluster.takeOut("west");
    await east.casStanding({ region: "west", status: "dead", successor: "east", version: 1 });
    expect(await west.readStandings()).toEqual([]);
    cluster.heal("west");
    expect(await west.readStandings()).toHaveLength(1);
    expect((await west.readView("east")).version).toBe(1);
  });

  it("a move is forgotten after a day", async () => {
    let nowMs = 1_000_000_000;
    const cluster = new MemoryCluster(regions, () => nowMs);
    const east = cluster.handle("east");
    await east.casHome(first);
    await east.casHome(moving);
    nowMs += 86_400_000;
    expect(await east.readMoves()).toHaveLength(1);
    nowMs += 1;
    expect(await east.readMoves()).toHaveLength(0);
  });
});
