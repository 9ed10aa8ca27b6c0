import { describe, expect, it } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { StoreError } from "../storage/cluster-store.ts";
import { defaultTiming } from "./poller.ts";
import { chance, endWithTest, World } from "./world.fixture.ts";

let world = new World();
endWithTest(() => world);
function newWorld(regions?: readonly string[]): World {
  world = new World(regions);
  return world;
}

describe("losing the lease", () => {
  it("N1: a killed node is removed, and what it had is elsewhere within the stated time", async () => {
    const { time } = newWorld();
    for (let count = 0; count < 3; count += 1) await world.joined();
    const [killed, ...others] = world.nodes;
    const parties = await world.parties(30, "east");
    const had = parties.filter((party) => killed?.has(party));
    expect(had.length).toBeGreaterThan(0);
    const killedMs = time.now();
    killed?.kill();
    while (!had.every((party) => others.some((node) => node.has(party)))) {
      await time.advance(10);
      expect(time.now() - killedMs).toBeLessThan(3_600);
    }
    expect(time.now() - killedMs).toBeGreaterThan(defaultTiming.leaseMs);
    expect(others.flatMap((node) => node.life.slice(1))).toEqual([]);
  });

  it("N2: after a pause the first thing that asks finds the lease lost, whatever runs first", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { time } = newWorld();
      const paused = await world.joined();
      const other = await world.joined();
      const parties = await world.parties(10, "east");
      const former = paused.incarnation;
      let heldAfterwards = false;
      paused.membership.onChange(() => {
        if (paused.incarnation === former) heldAfterwards ||= paused.membership.holdsLease();
      });
      heldAfterwards = false;
      paused.pause();
      await time.advance(5_000);
      expect(parties.every((party) => other.has(party))).toBe(true);
      paused.resume(chance(seed));
      expect(heldAfterwards).toBe(false);
      expect(parties.some((party) => paused.has(party))).toBe(false);
      await time.settle();
      expect(paused.life.at(-1)).toBe(`halt ${former} lease_expired`);
      await time.advance(3_000);
      expect(paused.membership.self()?.state).toBe("active");
      expect(paused.incarnation).not.toBe(former);
      for (const node of world.nodes) node.kill();
    }
  });

  it("N2: a call that is the first thing to run after a pause finds nothing here, and everything halted", async () => {
    const { time } = newWorld();
    const paused = await world.joined();
    await world.joined();
    const parties = await world.parties(10, "east");
    expect(parties.some((party) => paused.has(party))).toBe(true);
    paused.pause();
    await time.advance(5_000);
    // A listener that hears of the loss may continue to act for a moment, so whatever acts is halted before that.
    const heardOf: (string | undefined)[] = [];
    paused.membership.onChange(() => void heardOf.push(paused.life.at(-1)));
    expect(parties.some((party) => paused.has(party))).toBe(false);
    expect(paused.life.at(-1)).toMatch(/halt .* lease_expired/);
    expect(heardOf).toEqual([paused.life.at(-1)]);
  });

  it("L1: answers that are long on their way do not make the lease longer", async () => {
    const { time } = newWorld();
    const slow = await world.joined();
    const other = await world.joined();
    const parties = await world.parties(10, "east");
    slow.answerMs = () => 1_300;
    await time.advance(5_000);
    expect(parties.some((party) => slow.has(party))).toBe(true);
    const both: string[] = [];
    time.probe = () => both.push(...parties.filter((party) => slow.has(party) && other.has(party)));
    // Its requests are lost from now on, but the answers to earlier ones still arrive.
    slow.latencyMs = () => 60_000;
    await time.advance(6_000);
    expect(both).toEqual([]);
    expect(parties.every((party) => other.has(party))).toBe(true);
  });

  it("a pause within the lease changes nothing", async () => {
    const { time } = newWorld();
    const paused = await world.joined();
    await world.joined();
    const { incarnation } = paused;
    paused.pause();
    await time.advance(1_300);
    paused.resume();
    await time.advance(5_000);
    expect(paused.incarnation).toBe(incarnation);
    expect(await world.members()).toHaveLength(2);
  });

  it("N3: a node that is cut off from the store stops before the others take over, and comes back", async () => {
    const { time } = newWorld();
    const cut = await world.joined();
    const other = await world.joined();
    const parties = await world.parties(10, "east");
    cut.cut();
    await time.advance(defaultTiming.leaseMs + 1);
    expect(cut.life.at(-1)).toMatch(/halt .* lease_expired/);
    expect(parties.some((party) => cut.has(party))).toBe(false);
    await time.advance(2_000);
    expect(parties.every((party) => other.has(party))).toBe(true);
    cut.mend();
    await time.advance(8_000);
    expect(cut.membership.self()?.state).toBe("active");
    expect(parties.every((party) => world.havers(party).length === 1)).toBe(true);
  });

  it("a beat that is confirmed after the lease ended does not renew it", async () => {
    const { time } = newWorld();
    const slow = await world.joined();
    const { incarnation } = slow;
    slow.lostMs = 60_000;
    slow.latencyMs = () => 1_500;
    await time.advance(12_000);
    expect(slow.life).toContain(`halt ${incarnation} lease_expired`);
  });

  it("clocks that run a tenth too fast or slow remove nobody", async () => {
    const { time } = newWorld();
    for (const rate of [0.9, 1, 1.1]) await world.joined({ rate });
    await time.advance(60_000);
    expect(world.nodes.flatMap((node) => node.life.slice(1))).toEqual([]);
    expect(await world.members()).toHaveLength(3);
  });

  it("two that remove the same node at once, a compare-and-set of unknown outcome between them, remove it once", async () => {
    const { time } = newWorld();
    const killed = await world.joined();
    const others = [await world.joined(), await world.joined()];
    others[0]?.store.failNext("casView", "unknown_applied");
    others[1]?.store.failNext("casView", "unknown_not_applied");
    const { version } = await world.cluster.handle("east").readView("east");
    killed.kill();
    await time.advance(4_500);
    expect(await world.members()).toEqual(others.map((node) => `${node.incarnation} active`));
    expect((await world.cluster.handle("east").readView("east")).version).toBe(version + 1);
  });

  it("I6: a node that finds itself removed has lost its lease, though it beats", async () => {
    const { time, cluster } = newWorld();
    const node = await world.joined();
    const { incarnation } = node;
    const store = cluster.handle("east");
    const view = await store.readView("east");
    await store.casView({ ...view, version: view.version + 1, members: [] });
    await time.advance(600);
    expect(node.life).toContain(`halt ${incarnation} evicted`);
    await time.advance(3_000);
    expect(node.membership.self()?.state).toBe("active");
  });

  it("I4: a node without a lease removes nobody", async () => {
    const { time } = newWorld();
    const one = await world.joined();
    const two = await world.joined();
    // The store stops responding to everybody.
    for (const node of world.nodes) node.cut();
    await time.advance(10_000);
    const before = await world.members();
    expect(before).toEqual(
      [one, two].map((_, index) => expect.stringContaining(`.${index < 2 ? 1 : 2} active`)),
    );
    for (const node of world.nodes) node.mend();
    await time.advance(10_000);
    expect(world.nodes.map((node) => node.membership.self()?.state)).toEqual(["active", "active"]);
    expect(await world.members()).toHaveLength(2);
  });

  it("a store that is away is told of once a minute, and once when it is back", async () => {
    const { time } = newWorld(["east", "west"]);
    const node = await world.joined();
    const told = (): readonly string[] => node.log.filter((line) => line.includes(" cluster.look_"));
    node.cut();
    await time.advance(10 * 60_000);
    expect(told()).toHaveLength(10);
    expect(told()[0]).toMatch(/^warn cluster\.look_failed .+: no answer$/);
    for (const line of told().slice(1))
      expect(line).toMatch(/^warn .+ \(failures since the last line: \d{3}\)$/);
    node.mend();
    await time.advance(60_000);
    expect(told().slice(10)).toEqual([
      expect.stringMatching(/^info cluster\.look_succeeded failures: \d{4}$/),
    ]);
  });

  it("a node that was stopped tells of nothing that was under way then", async () => {
    const { time } = newWorld(["east", "west"]);
    const node = await world.joined();
    // The call takes long and then fails, because the store's connection is closed meanwhile.
    const inVain = async (): Promise<never> => {
      await new Promise<void>((resolve) => void time.schedule(800, resolve));
      throw new StoreError("not_applied", "the session is closed");
    };
    const { intercept: usual } = node.store;
    node.store.intercept = (call, apply) =>
      call.operation === "beat" || usual === undefined ? inVain() : usual(call, apply);
    await time.advance(550);
    await time.run(node.membership.leave(async () => {}));
    node.store.intercept = inVain;
    await time.advance(550);
    const asked = node.store.callsOf("readView");
    expect(asked).toBeGreaterThan(2);
    node.membership.stop();
    await time.advance(10_000);
    expect(node.log.filter((line) => !line.startsWith("info cluster.joined"))).toEqual([]);
    expect(node.store.callsOf("readView")).toBe(asked);
  });

  it("N5: a region goes on when the store of the other is lost", async () => {
    const { time, cluster } = newWorld(["east", "west"]);
    const east = [await world.joined(), await world.joined()];
    await world.joined({ region: "west" });
    cluster.lose("west");
    await time.advance(30_000);
    expect(east.flatMap((node) => node.life.slice(1))).toEqual([]);
    const third = await world.joined();
    expect(third.membership.self()?.state).toBe("active");
    expect(world.nodes[2]?.life.at(-1)).toMatch(/lease_expired/);
  });
});

describe("leaving", () => {
  it("I3, N4: nothing is here while it drains, and the others take over once it is gone", async () => {
    const { time } = newWorld();
    const leaver = await world.joined();
    const other = await world.joined();
    const parties = await world.parties(20, "east");
    const drained = Promise.withResolvers<void>();
    const had = parties.filter((party) => leaver.has(party));
    const leaving = leaver.membership.leave(() => drained.promise);
    expect(had.some((party) => leaver.has(party))).toBe(false);
    await time.advance(1_000);
    expect(await world.members()).toEqual([`${leaver.incarnation} leaving`, `${other.incarnation} active`]);
    expect(had.flatMap((party) => world.havers(party))).toEqual([]);
    const moving = { at: "nowhere", reason: "moving" };
    for (const party of had) expect(other.placement.locate(businessRef(party))).toMatchObject(moving);
    drained.resolve();
    await time.run(leaving);
    await time.advance(600);
    expect(had.every((party) => other.has(party))).toBe(true);
    expect(leaver.membership.holdsLease()).toBe(false);
    expect(leaver.life).toHaveLength(1);
    await time.advance(10_000);
    expect(await world.members()).toEqual([`${other.incarnation} active`]);
  });

  it("Q2: who takes long to leave is given up, and removed in the end", async () => {
    const { time } = newWorld();
    const leaver = await world.joined();
    const other = await world.joined();
    const parties = await world.parties(20, "east");
    const leaving = leaver.membership.leave(
      () => new Promise((resolve) => void time.schedule(8_000, resolve)),
    );
    await time.advance(defaultTiming.leaveGraceMs + 700);
    expect(parties.every((party) => other.has(party))).toBe(true);
    await time.run(leaving);
    expect(await world.members()).toEqual([`${other.incarnation} active`]);
  });

  it("a node that dies while it leaves is removed, and one that is cut off leaves all the same", async () => {
    const { time } = newWorld();
    const [one, two, three] = [await world.joined(), await world.joined(), await world.joined()];
    void one.membership.leave(() => new Promise(() => {}));
    await time.advance(100);
    one.kill();
    two.cut();
    await time.run(two.membership.leave(async () => {}));
    await time.advance(5_000);
    expect(await world.members()).toEqual([`${three.incarnation} active`]);
  });

  it("stop ends everything at once, and nothing joins again", async () => {
    const { time } = newWorld();
    const node = await world.joined();
    node.membership.stop();
    expect(node.life.at(-1)).toMatch(/halt .* stopped/);
    const calls = node.store.callsOf("beat") + node.store.callsOf("readView");
    await time.advance(20_000);
    expect(node.store.callsOf("beat") + node.store.callsOf("readView")).toBe(calls);
  });
});
