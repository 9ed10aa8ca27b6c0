import { describe, expect, it } from "vitest";
import { businessRef, keyRef, nonceRef, pushRef, regionRef } from "../actors/messages/refs.ts";
import type { RegionStatus } from "../storage/cluster-store.ts";
import { livesHere } from "./placement.ts";
import { endWithTest, World, type WorldNode } from "./world.fixture.ts";

let world = new World();
endWithTest(() => world);

async function twoRegions(): Promise<{ east: WorldNode[]; west: WorldNode[] }> {
  world = new World(["east", "west", "south"]);
  const east = [await world.joined({ region: "east" }), await world.joined({ region: "east" })];
  const west = [await world.joined({ region: "west" }), await world.joined({ region: "west" })];
  await world.time.advance(600);
  return { east, west };
}

function standing(changes: Partial<RegionStatus>): RegionStatus {
  return { region: "east", status: "dead", successor: null, version: 1, ...changes };
}

describe("placement", () => {
  it("Q1: everything of a party is at one node of its home region, and every node knows which", async () => {
    const { east } = await twoRegions();
    for (const party of await world.parties(12, "east")) {
      const [has, ...others] = world.havers(party);
      expect(others).toEqual([]);
      expect(east).toContain(has);
      for (const node of world.nodes) {
        for (const ref of [businessRef(party), keyRef(party, "k"), pushRef(party, "bat_1")]) {
          const located = node.placement.locate(ref);
          if (node === has) expect(located).toEqual({ at: "here" });
          else expect(located).toMatchObject({ at: "node", region: "east", member: has?.membership.self() });
        }
      }
    }
  });

  it("Q5: what names a region is at one node there, spread by its own name", async () => {
    const { west } = await twoRegions();
    const refs = [
      regionRef("west"),
      ...Array.from({ length: 30 }, (_, index) => nonceRef(`key-${index}`, "west")),
    ];
    const homes = refs.map((ref) => world.nodes.filter((node) => node.placement.locate(ref).at === "here"));
    for (const home of homes) {
      expect(home).toHaveLength(1);
      expect(west).toContain(home[0]);
    }
    expect(new Set(homes.flat()).size).toBe(2);
  });

  it("a home is looked up once, also when many ask; a party without one is not asked for again at once", async () => {
    const { east } = await twoRegions();
    const [node] = east as [WorldNode];
    const [party] = await world.parties(1, "west");
    const fresh = await world.joined({ region: "east" });
    const ref = businessRef(party ?? "");
    expect(fresh.placement.locate(ref)).toMatchObject({ at: "nowhere", reason: "home_unknown" });
    expect(fresh.placement.regionOf(party ?? "")).toBeNull();
    expect(node.placement.regionOf(party ?? "")).toBe("west");
    const before = fresh.store.callsOf("readHomeNearby");
    await world.time.run(Promise.all([1, 2, 3].map(() => fresh.placement.settle(ref))));
    expect(fresh.store.callsOf("readHomeNearby") - before).toBe(1);
    expect(fresh.placement.locate(ref)).toMatchObject({ at: "node", region: "west" });
    const stranger = businessRef("nobody");
    await world.time.run(node.placement.settle(stranger));
    const asked = node.store.callsOf("readHome");
    await world.time.run(node.placement.settle(stranger));
    expect(node.store.callsOf("readHome")).toBe(asked);
    expect(node.placement.locate(stranger)).toMatchObject({ reason: "home_unknown" });
    await world.time.advance(1_001);
    await world.time.run(node.placement.settle(stranger));
    expect(node.store.callsOf("readHome")).toBe(asked + 1);
  });

  it("no more homes than 256 are looked up at once: further callers are told to come again, and their actors stay unknown", async () => {
    const { east } = await twoRegions();
    const [node] = east as [WorldNode];
    const refs = Array.from({ length: 257 }, (_, index) => businessRef(`stranger-${index}`));
    const settled = await world.time.run(Promise.allSettled(refs.map((ref) => node.placement.settle(ref))));
    const refused = settled.filter(({ status }) => status === "rejected");
    expect(refused).toEqual([
      { status: "rejected", reason: expect.objectContaining({ effect: "not_applied" }) },
    ]);
    await world.time.run(node.placement.settle(businessRef("stranger-256")));
    expect(node.store.callsOf("readHome")).toBe(257);
  });

  it("tells of each actor on one node that it lives here, also of a party that nobody asked for there", async () => {
    await twoRegions();
    const parties = await world.parties(12, "east");
    const fresh = await world.joined({ region: "east" });
    await world.time.advance(600);
    const has = (node: WorldNode, party: string): Promise<boolean> =>
      world.time.run(livesHere(node.placement, pushRef(party, "bat_1")));
    let movedHere = 0;
    for (const party of parties) {
      const answers: boolean[] = [];
      for (const node of world.nodes) answers.push(await has(node, party));
      expect(answers.filter((isHere) => isHere)).toHaveLength(1);
      if (answers[world.nodes.indexOf(fresh)]) movedHere += 1;
    }
    expect(movedHere).toBeGreaterThan(0);
    expect(await has(fresh, "nobody")).toBe(false);
  });

  it("a new party gets its home where it registers, whatever becomes of the answer", async () => {
    const { east, west } = await twoRegions();
    const [here, there] = [east[0], west[0]] as [WorldNode, WorldNode];
    for (const fault of ["unknown_applied", "unknown_not_applied"] as const) {
      here.store.failNext("casHome", fault);
      const home = await world.time.run(here.placement.assignHome(fault));
      expect(home).toEqual({ party: fault, region: "east", moving_to: null, version: 1 });
      expect(await world.time.run(there.placement.assignHome(fault))).toEqual(home);
      expect(there.placement.homeOf(fault)).toEqual(home);
    }
  });

  it("Q3: a home on the move is nowhere, and then where it moved", async () => {
    const { east, west } = await twoRegions();
    const [party = ""] = await world.parties(1, "east");
    const store = world.cluster.handle("east");
    await store.casHome({ party, region: "east", moving_to: "west", version: 2 });
    await world.time.advance(600);
    for (const node of world.nodes) {
      expect(node.placement.locate(businessRef(party))).toMatchObject({ at: "nowhere", reason: "moving" });
    }
    await store.casHome({ party, region: "west", moving_to: null, version: 3 });
    await world.time.advance(600);
    expect(east.some((node) => node.has(party))).toBe(false);
    expect(west.filter((node) => node.has(party))).toHaveLength(1);
  });

  it("Q3: a move to a region that died meanwhile holds up nobody", async () => {
    await twoRegions();
    const [party = ""] = await world.parties(1, "east");
    const store = world.cluster.handle("east");
    await store.casHome({ party, region: "east", moving_to: "south", version: 2 });
    await store.casStanding(standing({ region: "south" }));
    await world.time.advance(600);
    expect(world.havers(party)).toHaveLength(1);
  });

  it("Q4: a dead region's parties are lost without a successor, and follow one, home first", async () => {
    const { east, west } = await twoRegions();
    const parties = await world.parties(6, "east");
    for (const node of east) node.kill();
    const store = world.cluster.handle("west");
    await store.casStanding(standing({}));
    await world.time.advance(600);
    const [one] = west as [WorldNode];
    expect(one.placement.locate(businessRef(parties[0] ?? ""))).toMatchObject({ reason: "region_lost" });
    expect(one.placement.regionOf(parties[0] ?? "")).toBeNull();
    expect(one.placement.locate(regionRef("east"))).toMatchObject({ reason: "region_lost" });
    await store.casStanding(standing({ successor: "west", version: 2 }));
    await world.time.advance(600);
    for (const party of parties) {
      expect(one.placement.regionOf(party)).toBe("west");
      expect(world.havers(party)).toEqual([]);
      for (const node of west) await world.time.run(node.placement.settle(businessRef(party)));
      expect(world.havers(party)).toHaveLength(1);
      expect(await store.readHome(party)).toEqual({ party, region: "west", moving_to: null, version: 2 });
    }
    expect(one.placement.locate(nonceRef("k", "east"))).toMatchObject({ reason: "region_lost" });
    expect(one.placement.isDead("east")).toBe(true);
  });

  it("Q4: the successor of a dead successor takes over, and a circle of dead regions ends", async () => {
    const { west } = await twoRegions();
    const [party = ""] = await world.parties(1, "east");
    const store = world.cluster.handle("west");
    await store.casStanding(standing({ successor: "south" }));
    await store.casStanding(standing({ region: "south", successor: "west" }));
    await world.time.advance(600);
    for (const node of west) await world.time.run(node.placement.settle(businessRef(party)));
    expect(west.filter((node) => node.has(party))).toHaveLength(1);
    const [other = ""] = await world.parties(2, "south");
    await store.casStanding(standing({ region: "south", successor: "east", version: 2 }));
    await world.time.advance(600);
    expect(west[0]?.placement.locate(businessRef(other))).toMatchObject({ reason: "region_lost" });
  });

  it("a region without nodes has nothing anywhere", async () => {
    const { east } = await twoRegions();
    const [party = ""] = await world.parties(1, "south");
    expect(east[0]?.placement.locate(businessRef(party))).toMatchObject({ reason: "no_nodes" });
    expect(east[0]?.placement.locate(regionRef("unheard-of"))).toMatchObject({ reason: "no_nodes" });
  });

  it("N5: with the other region lost, homes are read nearby", async () => {
    const { east } = await twoRegions();
    const store = world.cluster.handle("east");
    await store.casHome({ party: "p", region: "east", moving_to: null, version: 1 });
    for (const region of ["west", "south"]) world.cluster.lose(region);
    for (const node of east) await world.time.run(node.placement.settle(businessRef("p")));
    expect(world.havers("p")).toHaveLength(1);
    const unknown = east[0]?.placement.settle(businessRef("unheard-of")) ?? Promise.resolve();
    await expect(world.time.run(unknown)).rejects.toMatchObject({ name: "StoreError" });
  });
});
