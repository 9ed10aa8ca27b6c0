import { describe, expect, it } from "vitest";
import { type ActorRef, businessRef, keyRef, pushRef } from "../actors/messages/refs.ts";
import { StoreError } from "../storage/cluster-store.ts";
import { createMoves, type Mover, type Moves } from "./moves.ts";
import { declareDead, rejoin, stillBeating } from "./region-status.ts";
import { endWithTest, World, type WorldNode } from "./world.fixture.ts";

const regions = ["east", "west", "south"];
const party = "party-east-0";
const actors = [businessRef(party), keyRef(party, "k"), pushRef(party, "bat_1")];

let world = new World(regions);
endWithTest(() => world);

/** Announces like a router to the nodes of a region: a node that is not reached finds out on its own. */
function announcer(region: string): () => Promise<void> {
  return async () => {
    const there = world.nodes.filter((each) => each.region === region && each.isRunning);
    await Promise.all(there.map(({ membership }) => membership.refresh()));
  };
}

/** Stands in for the actor store in a move, and records what happens. */
class Partitions implements Mover {
  readonly homes = new Map<string, string>();
  readonly found: ActorRef[] = [...actors];
  /** Number of nodes that had the party at each hand-over: it must be 0, or the move is unsafe. */
  readonly havers: number[] = [];
  failures: StoreError[] = [];

  async actorsOf(): Promise<readonly ActorRef[]> {
    return [...this.found];
  }

  async handOver(ref: ActorRef, to: string): Promise<void> {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    this.havers.push(world.havers(party).length);
    this.homes.set(`${ref.kind}/${ref.id}`, to);
  }
}

function movesOf(node: WorldNode, mover: Mover, patienceMs = 10_000): Moves {
  const { store, timers, monotonic, region, placement } = node;
  const isDead = (each: string): boolean => placement.isDead(each);
  return createMoves({
    store,
    mover,
    timers,
    monotonic,
    region,
    regions,
    isDead,
    isMine: () => true,
    announce: announcer(region),
    patienceMs,
  });
}

async function newWorld(): Promise<{
  east: WorldNode[];
  west: WorldNode[];
  mover: Partitions;
  moves: Moves;
}> {
  world = new World(regions);
  const east = [await world.joined({ region: "east" }), await world.joined({ region: "east" })];
  const west = [await world.joined({ region: "west" }), await world.joined({ region: "west" })];
  await world.parties(1, "east");
  await world.time.advance(600);
  const mover = new Partitions();
  return { east, west, mover, moves: movesOf(east[0] as WorldNode, mover) };
}

async function home(): Promise<unknown> {
  return world.cluster.handle("east").readHome(party);
}

describe("moving a party's home", () => {
  it("every actor is handed over while the party is nowhere, and then it is in the other region", async () => {
    const { west, mover, moves } = await newWorld();
    const begunMs = world.time.now();
    expect(await world.time.run(moves.move(party, "west"))).toBe("moved");
    expect(world.time.now() - begunMs).toBeLessThan(300);
    expect([...mover.homes]).toEqual(actors.map((ref) => [`${ref.kind}/${ref.id}`, "west"]));
    expect(mover.havers).toEqual([0, 0, 0]);
    await world.time.advance(600);
    const havers = world.havers(party);
    expect(havers).toHaveLength(1);
    expect(west).toContain(havers[0]);
    expect(await world.time.run(moves.move(party, "west"))).toBe("there");
  });

  it("T3: a party with many actors is not nowhere for long on slow machines: they are handed over side by side", async () => {
    const { east, mover } = await newWorld();
    const [node] = east as [WorldNode];
    for (let index = 0; index < 200; index += 1) mover.found.push(pushRef(party, `bat_more_${index}`));
    let [underWay, most] = [0, 0];
    const slow: Mover = {
      actorsOf: () => mover.actorsOf(),
      handOver: async (ref, to) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise<void>((resolve) => void world.time.schedule(400, resolve));
        await mover.handOver(ref, to);
        underWay -= 1;
      },
    };
    // Each call to the store takes its time as well.
    for (const each of world.nodes) each.latencyMs = () => 100;
    const begunMs = world.time.now();
    expect(await world.time.run(movesOf(node, slow).move(party, "west"))).toBe("moved");
    expect(world.time.now() - begunMs).toBeLessThan(10_000);
    expect(mover.homes.size).toBe(actors.length + 200);
    expect(most).toBeLessThanOrEqual(16);
  });

  it("one hand-over that fails ends the move as it is, and the others are not begun", async () => {
    const { east, mover } = await newWorld();
    const [node] = east as [WorldNode];
    for (let index = 0; index < 200; index += 1) mover.found.push(pushRef(party, `bat_more_${index}`));
    let begun = 0;
    const failing: Mover = {
      actorsOf: () => mover.actorsOf(),
      handOver: async () => {
        begun += 1;
        throw new StoreError("not_applied", "away");
      },
    };
    const moves = movesOf(node, failing);
    await expect(world.time.run(moves.move(party, "west"))).rejects.toBeInstanceOf(StoreError);
    expect(begun).toBeLessThan(100);
    expect(await home()).toMatchObject({ region: "east", moving_to: "west" });
    expect(await world.time.run(movesOf(node, mover).resume())).toBe(1);
    expect(mover.homes.size).toBe(actors.length + 200);
  });

  it("step 2: nothing is handed over before every node of the region has let go of the party", async () => {
    const { east, mover, moves } = await newWorld();
    const letGo = Promise.withResolvers<void>();
    east[1]?.membership.onChange(() => letGo.promise);
    const moving = moves.move(party, "west");
    await world.time.advance(900);
    expect(mover.homes.size).toBe(0);
    letGo.resolve();
    expect(await world.time.run(moving)).toBe("moved");
  });

  it("F2: a node that dies is waited for no longer than it takes to remove it", async () => {
    const { east, mover, moves } = await newWorld();
    east[1]?.kill();
    const moving = moves.move(party, "west");
    await world.time.advance(1_000);
    expect(mover.homes.size).toBe(0);
    expect(await world.time.run(moving)).toBe("moved");
  });

  it("T2: a node that does not follow leaves the party where it was", async () => {
    const { east, mover } = await newWorld();
    const [one, stuck] = east as [WorldNode, WorldNode];
    stuck.store.intercept = async (call, apply) => {
      if (call.operation === "readMoves") throw new StoreError("not_applied", "unreadable");
      return apply();
    };
    expect(await world.time.run(movesOf(one, mover, 2_000).move(party, "west"))).toBe("given_up");
    expect(mover.homes.size).toBe(0);
    expect(await home()).toEqual({ party, region: "east", moving_to: null, version: 3 });
  });

  it("T1, T2: a move is taken up by another node at any step, and not given up once that has gone on", async () => {
    for (const crashAt of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const { east, mover } = await newWorld();
      const [one, two] = east as [WorldNode, WorldNode];
      let steps = 0;
      const dying: Mover = {
        actorsOf: () => mover.actorsOf(),
        handOver: async (ref, to) => {
          steps += 1;
          if (steps >= crashAt - 4) throw new Error("the node is gone");
          return mover.handOver(ref, to);
        },
      };
      if (crashAt <= 2)
        one.store.failNext("casHome", crashAt === 1 ? "unknown_applied" : "unknown_not_applied");
      void movesOf(one, dying)
        .move(party, "west")
        .catch(() => {});
      await world.time.advance(crashAt * 20);
      if (crashAt <= 4) one.kill();
      await world.time.advance(1_500);
      await world.time.run(movesOf(two, mover).resume());
      expect(await home()).toMatchObject({ region: "west", moving_to: null });
      expect([...mover.homes.values()]).toEqual(["west", "west", "west"]);
      await world.time.advance(600);
      expect(world.havers(party)).toHaveLength(1);
      for (const node of world.nodes) node.kill();
    }
  });

  it("T2: who waits no longer for a node that does not follow cannot give up what another has gone on with", async () => {
    const { east, mover } = await newWorld();
    const [one, two] = east as [WorldNode, WorldNode];
    let isStuck = true;
    const { intercept } = two.store;
    two.store.intercept = async (call, apply) => {
      if (isStuck && call.operation === "readMoves") throw new StoreError("not_applied", "unreadable");
      return intercept === undefined ? apply() : intercept(call, apply);
    };
    const impatient = movesOf(one, mover, 1_000).move(party, "west");
    await world.time.advance(500);
    const slow: Mover = {
      actorsOf: () => mover.actorsOf(),
      handOver: async (ref, to) => {
        await mover.handOver(ref, to);
        await new Promise<void>((resolve) => void world.time.schedule(3_000, resolve));
      },
    };
    const patient = movesOf(two, slow).move(party, "west");
    // The write of the node that gives up is delayed for long.
    const { intercept: usual } = one.store;
    one.store.intercept = async (call, apply) => {
      if (call.operation === "casHome")
        await new Promise<void>((resolve) => void world.time.schedule(2_000, resolve));
      return usual === undefined ? apply() : usual(call, apply);
    };
    await world.time.advance(700);
    isStuck = false;
    expect(await world.time.run(Promise.all([impatient, patient]))).toEqual(["moved", "moved"]);
    expect(await home()).toMatchObject({ region: "west", moving_to: null });
  });

  it("T1: two nodes that do the same move do it once", async () => {
    const { east, mover } = await newWorld();
    const outcomes = await world.time.run(
      Promise.all(east.map((node) => movesOf(node, mover).move(party, "west"))),
    );
    expect(outcomes).toEqual(["moved", "moved"]);
    expect(await home()).toMatchObject({ region: "west", moving_to: null });
    expect(mover.havers.every((count) => count === 0)).toBe(true);
  });

  it("T4: an actor that came to be during the move is handed over, too", async () => {
    const { mover, moves } = await newWorld();
    const late = keyRef(party, "late");
    const handOver = mover.handOver.bind(mover);
    mover.handOver = async (ref, to) => {
      if (mover.found.length === actors.length) mover.found.push(late);
      await handOver(ref, to);
    };
    await world.time.run(moves.move(party, "west"));
    expect(mover.homes.get(`${late.kind}/${late.id}`)).toBe("west");
  });

  it("a hand-over that fails or of which nobody knows is repeated, and left to a later resume", async () => {
    const { mover, moves } = await newWorld();
    mover.failures = ["unknown", "not_applied"].map(
      (effect) => new StoreError(effect as "unknown", "scripted"),
    );
    expect(await world.time.run(moves.move(party, "west"))).toBe("moved");
    mover.failures = Array.from({ length: 5 * actors.length }, () => new StoreError("unknown", "scripted"));
    const back = movesOf(world.nodes[2] as WorldNode, mover);
    await expect(world.time.run(back.move(party, "east"))).rejects.toBeInstanceOf(StoreError);
    expect(await home()).toMatchObject({ region: "west", moving_to: "east" });
    mover.failures = [];
    expect(await world.time.run(back.resume())).toBe(1);
    expect(await home()).toMatchObject({ region: "east", moving_to: null });
  });

  it("what cannot be moved is refused before anything is changed", async () => {
    const { west, mover, moves } = await newWorld();
    expect(await moves.move(party, "unheard-of")).toBe("region_unknown");
    expect(await world.time.run(moves.move("nobody", "west"))).toBe("home_unknown");
    expect(await world.time.run(moves.move(party, "east"))).toBe("there");
    expect(await world.time.run(movesOf(west[0] as WorldNode, mover).move(party, "south"))).toBe("not_here");
    const store = world.cluster.handle("east");
    await store.casHome({ party, region: "east", moving_to: "south", version: 2 });
    expect(await world.time.run(moves.move(party, "west"))).toBe("moving_elsewhere");
    await store.casStanding({ region: "south", status: "dead", successor: null, version: 1 });
    await world.time.advance(600);
    expect(await world.time.run(moves.move(party, "south"))).toBe("region_dead");
    expect(await world.time.run(moves.resume())).toBe(1);
    expect(await home()).toMatchObject({ region: "east", moving_to: null });
    expect(mover.homes.size).toBe(0);
  });
});

function optionsOf({ store, timers, monotonic, region }: WorldNode): Parameters<typeof rejoin>[0] {
  return { store, timers, monotonic, region, regions, announce: announcer(region) };
}

describe("an operator's word on a region", () => {
  it("D1: a region is declared dead by others, with a successor that lives", async () => {
    const { east } = await newWorld();
    const [node] = east as [WorldNode];
    const options = optionsOf(node);
    const say = (region: string, successor: string | null) =>
      world.time.run(declareDead(options, region, successor));
    expect(await say("unheard-of", null)).toBe("region_unknown");
    expect(await say("east", "west")).toBe("own_region");
    expect(await say("west", "west")).toBe("successor_unfit");
    expect(await say("west", "unheard-of")).toBe("successor_unfit");
    node.store.failNext("casStanding", "unknown_applied");
    expect(await say("west", null)).toBe("declared");
    expect(await say("west", "east")).toBe("declared");
    expect(await say("west", "east")).toBe("declared");
    expect(await world.time.run(node.store.readStandings())).toEqual([
      { region: "west", status: "dead", successor: "east", version: 2 },
    ]);
    expect(await say("south", "west")).toBe("successor_unfit");
  });

  it("is warned of the nodes there that still beat, and of no other", async () => {
    const { east, west } = await newWorld();
    const { store, timers } = east[0] as WorldNode;
    const look = () => world.time.run(stillBeating({ store, timers }, "west", 2_000));
    const nameOf = ({ incarnation, membership }: WorldNode): string =>
      `${membership.address} (${incarnation})`;
    expect(await look()).toEqual(west.map(nameOf).sort());
    west[0]?.kill();
    const [, left] = west as [WorldNode, WorldNode];
    expect(await look()).toEqual([nameOf(left)]);
    left.pause();
    expect(await look()).toEqual([]);
    left.resume();
    expect(await look()).toHaveLength(1);
    expect(await world.time.run(stillBeating({ store, timers }, "south", 2_000))).toEqual([]);
  });

  it("D2, D3: what was taken over stays, what was not is at home again, after all have followed", async () => {
    const { east, west } = await newWorld();
    const [taken, untouched] = await world.parties(2, "west");
    const [node] = east as [WorldNode];
    const options = optionsOf(node);
    for (const each of west) each.pause();
    expect(await world.time.run(rejoin(options, "west"))).toBe("not_dead");
    await world.time.run(declareDead(options, "west", "east"));
    await world.time.advance(600);
    for (const each of east) await world.time.run(each.placement.settle(businessRef(taken ?? "")));
    expect(world.havers(taken ?? "")).toHaveLength(1);
    for (const each of west) each.resume();
    await world.time.advance(3_000);
    expect(west.map((each) => each.membership.holdsLease())).toEqual([false, false]);
    expect(await world.time.run(rejoin({ ...options, region: "south" }, "west"))).toBe("not_successor");
    const letGo = Promise.withResolvers<void>();
    east[1]?.membership.onChange(() => letGo.promise);
    expect(await world.time.run(rejoin({ ...options, patienceMs: 300 }, "west"))).toBe("not_followed");
    expect(world.havers(untouched ?? "")).toEqual([]);
    letGo.resolve();
    expect(await world.time.run(rejoin(options, "west"))).toBe("rejoined");
    await world.time.advance(8_000);
    expect(west.map((each) => each.membership.self()?.state)).toEqual(["active", "active"]);
    expect(east).toContain(world.havers(taken ?? "")[0]);
    expect(west).toContain(world.havers(untouched ?? "")[0]);
  });
});
