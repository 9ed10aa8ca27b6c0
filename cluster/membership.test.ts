import { describe, expect, it } from "vitest";
import { JoinRefused } from "./admission.ts";
import { defaultTiming } from "./poller.ts";
import { endWithTest, World } from "./world.fixture.ts";

let world = new World();
endWithTest(() => world);
function newWorld(regions?: readonly string[]): World {
  world = new World(regions);
  return world;
}

describe("joining", () => {
  it("a node becomes active, and others learn of it", async () => {
    const { time } = newWorld();
    const first = await world.joined();
    expect(first.membership.self()?.state).toBe("active");
    expect(first.membership.holdsLease()).toBe(true);
    const second = await world.joined();
    await time.advance(600);
    for (const node of world.nodes) {
      expect(node.membership.view("east").members.map((each) => each.incarnation)).toEqual([
        first.incarnation,
        second.incarnation,
      ]);
    }
    expect(first.life).toEqual([`begin ${first.incarnation}`]);
  });

  it("many join at once, each exactly once", async () => {
    const { time } = newWorld();
    const nodes = [1, 2, 3, 4, 5].map(() => world.node());
    await time.run(Promise.all(nodes.map((node) => node.membership.join())));
    expect((await world.members()).toSorted()).toEqual(
      nodes.map((node) => `${node.incarnation} active`).sort(),
    );
  });

  it("I2: what the new node will have is moving until the others have let go of it", async () => {
    const { time } = newWorld();
    const first = await world.joined();
    const letGo = Promise.withResolvers<void>();
    first.membership.onChange(() => letGo.promise);
    const second = world.node();
    const parties = await world.parties(20, "east");
    const joining = second.membership.join();
    await time.advance(700);
    expect(second.membership.self()?.state).toBe("joining");
    expect(first.membership.view("east").members.map((each) => each.state)).toEqual(["active", "joining"]);
    const still = parties.filter((party) => first.has(party));
    expect(still.length).toBeGreaterThan(3);
    expect(still.length).toBeLessThan(17);
    expect(parties.filter((party) => second.has(party))).toEqual([]);
    letGo.resolve();
    await time.run(joining);
    await time.advance(600);
    await world.know(second, parties);
    expect(parties.filter((party) => first.has(party))).toEqual(still);
    expect(parties.filter((party) => second.has(party))).toHaveLength(20 - still.length);
  });

  it("I2: who hangs while it should let go is waited for no longer than its lease can last", async () => {
    const { time } = newWorld();
    const first = await world.joined();
    first.membership.onChange(() => new Promise(() => {}));
    const second = world.node();
    await time.run(second.membership.join());
    expect(second.membership.self()?.state).toBe("active");
  });

  it("I5: a node that starts again at its address replaces its earlier life at once", async () => {
    const { time } = newWorld();
    const other = await world.joined();
    const killed = await world.joined({ address: "127.0.0.1:9000" });
    killed.kill();
    const again = world.node({ address: "127.0.0.1:9000" });
    const joining = again.membership.join();
    await time.advance(100);
    expect(await world.members()).toEqual([`${other.incarnation} active`, `${again.incarnation} joining`]);
    await time.run(joining);
    expect(again.membership.self()?.state).toBe("active");
  });

  it("A1: a store with a newer schema refuses the node", async () => {
    newWorld();
    const old = world.node({ membership: { schema: { known: 3, read: async () => 4 } } });
    await expect(world.time.run(old.membership.join())).rejects.toMatchObject({ code: "schema_newer" });
    expect(await world.members()).toEqual([]);
    expect(old.life).toEqual([]);
  });

  it("A2: a node that shares no protocol with a living one is refused, in either region", async () => {
    const { time } = newWorld(["east", "west"]);
    await world.joined({ region: "west", membership: { protocol: { min: 1, max: 2 } } });
    const newer = world.node({ membership: { protocol: { min: 3, max: 4 } } });
    await expect(time.run(newer.membership.join())).rejects.toBeInstanceOf(JoinRefused);
    const between = await world.joined({ membership: { protocol: { min: 2, max: 3 } } });
    expect(between.membership.self()?.state).toBe("active");
  });

  it("A2: a dead node keeps nobody out", async () => {
    const { time } = newWorld();
    const old = await world.joined();
    old.kill();
    const newer = world.node({ membership: { protocol: { min: 3, max: 4 } } });
    await time.run(newer.membership.join());
    await time.advance(3_500);
    expect(await world.members()).toEqual([`${newer.incarnation} active`]);
  });

  it("A3: a clock that is far off is refused, one that is a little off is not, however slow the store", async () => {
    const { time } = newWorld();
    for (const wallOffMs of [-2_100, 2_100, 3_600_000]) {
      const off = world.node({ wallOffMs });
      await expect(time.run(off.membership.join())).rejects.toMatchObject({ code: "clock_off" });
    }
    for (const wallOffMs of [-1_900, 1_900]) {
      const node = world.node({ wallOffMs });
      node.latencyMs = () => 200;
      await time.run(node.membership.join());
      expect(node.membership.self()?.state).toBe("active");
    }
  });

  it("A5: a node that a living one takes for a stranger is refused, and halted", async () => {
    const { time } = newWorld();
    const first = await world.joined();
    const stranger = world.node();
    stranger.greet = ({ incarnation }) => (incarnation === first.incarnation ? "stranger" : "unknown");
    await expect(time.run(stranger.membership.join())).rejects.toMatchObject({ code: "stranger" });
    expect(await world.members()).toEqual([`${first.incarnation} active`]);
    expect(stranger.life.map((each) => each.split(" ")[0])).toEqual(["begin", "halt"]);
  });

  it("A5: neither a dead node nor one that cannot be asked keeps anybody out", async () => {
    const { time } = newWorld();
    const dead = await world.joined();
    await world.joined();
    dead.kill();
    const node = world.node();
    node.greet = ({ incarnation }) => (incarnation === dead.incarnation ? "stranger" : "unknown");
    await time.run(node.membership.join());
    expect(node.membership.self()?.state).toBe("active");
  });

  it("A4, N6: a node of a region that was declared dead is out, and back once it is re-joined", async () => {
    const { time, cluster } = newWorld();
    const node = await world.joined();
    const store = cluster.handle("east");
    await store.casStanding({ region: "east", status: "dead", successor: null, version: 1 });
    await time.advance(600);
    expect(node.membership.holdsLease()).toBe(false);
    expect(node.life.at(-1)).toMatch(/halt .* region_dead/);
    await expect(time.run(world.node().membership.join())).rejects.toMatchObject({ code: "region_dead" });
    await store.casStanding({ region: "east", status: "active", successor: null, version: 2 });
    await time.advance(7_000);
    expect(node.membership.self()?.state).toBe("active");
  });

  it("a store that cannot be asked refuses the join with its own error, and leaves nothing behind", async () => {
    const { time } = newWorld();
    const node = world.node();
    node.cut();
    await expect(time.run(node.membership.join())).rejects.toMatchObject({ name: "StoreError" });
    expect(node.life).toEqual([]);
    node.mend();
    await time.run(node.membership.join());
    expect(node.membership.self()?.state).toBe("active");
  });

  it("times that contradict each other are refused", () => {
    newWorld();
    const { leaseMs } = defaultTiming;
    for (const timing of [
      { evictMs: leaseMs },
      { beatMs: 1_000 },
      { joinPatienceMs: 3_000 },
      { viewMs: 0 },
    ]) {
      expect(() => world.node({ membership: { timing } })).toThrow(TypeError);
    }
    expect(() => world.node({ membership: { timing: { evictMs: 2 * leaseMs } } })).not.toThrow();
  });
});
