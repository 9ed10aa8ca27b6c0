import { describe, expect, it } from "vitest";
import { Unavailable } from "../std/unavailable.ts";
import type { Member } from "../storage/cluster-store.ts";
import type { RemoteTarget } from "../transport/actor-transport.ts";
import { createActorRouter } from "./actor-router.ts";
import type { Located } from "./placement.ts";
import { type RoutedNode, RoutedWorld } from "./routed-world.fixture.ts";
import { chance, endWithTest } from "./world.fixture.ts";

let world = new RoutedWorld();
endWithTest(() => world);

async function newWorld(count: number, regions?: readonly string[]): Promise<RoutedNode[]> {
  world = new RoutedWorld(regions);
  const nodes: RoutedNode[] = [];
  for (let index = 0; index < count; index += 1) nodes.push(await world.join());
  await world.time.advance(600);
  return nodes;
}

/** The node that has the party, and another one. */
function haver(party: string): { readonly has: RoutedNode; readonly other: RoutedNode } {
  const has = world.routed.find((each) => each.node.isRunning && each.node.has(party));
  const other = world.routed.find((each) => each !== has && each.node.isRunning);
  if (has === undefined || other === undefined) throw new Error("nobody has the party");
  return { has, other };
}

describe("routing", () => {
  it("J1: a call is done where the actor is, from wherever it comes", async () => {
    const nodes = await newWorld(3);
    for (const party of await world.parties(6, "east")) {
      const { has } = haver(party);
      for (const node of nodes) {
        expect(await world.time.run(node.ask(party, "x"))).toBe(`x by ${has.node.membership.address}`);
      }
    }
    expect(world.works).toHaveLength(18);
  });

  it("an unknown home is looked up on the way, and by a mere question whether an actor is here", async () => {
    const [node] = (await newWorld(1)) as [RoutedNode];
    await world.cluster.handle("east").casHome({ party: "p", region: "east", moving_to: null, version: 1 });
    expect(await world.time.run(node.ask("p", "x"))).toMatch(/^x by/);
    const ref = { kind: "business", id: "q" };
    await world.cluster.handle("east").casHome({ party: "q", region: "east", moving_to: null, version: 1 });
    expect(node.router.route(ref)).not.toBe("local");
    await world.time.advance(50);
    expect(node.router.route(ref)).toBe("local");
  });

  it("J6: what is not another node's to say is refused, and done by nobody", async () => {
    const nodes = await newWorld(2);
    const [party = ""] = await world.parties(1, "east");
    const { has, other } = haver(party);
    const to = { kind: "business", id: party };
    const inside = { type: "kept.inside" };
    const refused = { reason: "refused", effect: "not_applied" };
    const refusalOf = (call: Promise<unknown>) => world.time.run(call.catch((error: unknown) => error));
    expect(await refusalOf(has.router.handlers.ask(to, inside, 1_000))).toMatchObject(refused);
    expect(await refusalOf(other.ask(party, inside.type))).toMatchObject(refused);
    const messages = [{ type: "x" }, inside].map((message, at) => ({ seq: at + 1, message }));
    expect(await refusalOf(has.router.handlers.deliver(to, "push/p", messages))).toMatchObject(refused);
    expect(await refusalOf(has.router.handlers.deliver(to, "push/p", messages.slice(0, 1)))).toBe(7);
    // The name under which routers address each other does not bypass the rule.
    const look = { kind: "cluster", id: "view" };
    expect(await refusalOf(has.router.handlers.ask(look, inside, 1_000))).toMatchObject(refused);
    expect(await refusalOf(has.router.handlers.ask(look, { type: "view.look" }, 1_000))).toBeNull();
    expect(world.works).toEqual([]);
    // A node may send itself anything.
    expect(await world.time.run(has.ask(party, inside.type))).toMatch(/^kept.inside by/);
    expect(nodes).toHaveLength(2);
  });

  it("J4: what is in vain is said at once, with the time to wait and that nothing was done", async () => {
    const [node] = (await newWorld(1, ["east", "west"])) as [RoutedNode];
    await world.parties(1, "west");
    const store = world.cluster.handle("east");
    const failureOf = async (party: string): Promise<unknown> => {
      const beganMs = world.time.now();
      const failure = await world.time.run(node.ask(party, "x").catch((error: unknown) => error));
      expect(world.time.now() - beganMs).toBeLessThan(200);
      expect(failure).toBeInstanceOf(Unavailable);
      return failure;
    };
    expect(await failureOf("nobody")).toMatchObject({ reason: "not_here", effect: "not_applied" });
    expect(await failureOf("party-west-0")).toMatchObject({ retryAfterSeconds: 2, effect: "not_applied" });
    await store.casStanding({ region: "west", status: "dead", successor: null, version: 1 });
    await world.time.advance(600);
    expect(await failureOf("party-west-0")).toMatchObject({ retryAfterSeconds: 30, effect: "not_applied" });
    world.cluster.lose("west");
    expect(await failureOf("unheard-of")).toMatchObject({ reason: "store", effect: "not_applied" });
  });

  it("J4: a call for an actor that stays between two nodes is refused when patience or the caller's time ends", async () => {
    const [node] = (await newWorld(1)) as [RoutedNode];
    await world.parties(1, "east");
    await world.cluster.handle("east").casHome({
      party: "party-east-0",
      region: "east",
      moving_to: "west",
      version: 2,
    });
    await world.time.advance(600);
    for (const [timeoutMs, latestMs] of [
      [60_000, 4_200],
      [300, 500],
    ] as const) {
      const beganMs = world.time.now();
      const asked = node.ask("party-east-0", "x", timeoutMs);
      await expect(world.time.run(asked)).rejects.toMatchObject({
        reason: "not_here",
        effect: "not_applied",
      });
      expect(world.time.now() - beganMs).toBeLessThan(latestMs);
    }
    expect(world.works).toEqual([]);
  });

  it("J2: who is asked for an actor that is not there looks anew, and then refuses", async () => {
    await newWorld(2);
    const [party = ""] = await world.parties(1, "east");
    const { has, other } = haver(party);
    const refs = { kind: "business", id: party };
    const looks = other.node.store.callsOf("readView");
    const refused = other.router.handlers.ask(refs, { type: "x" }, 1_000);
    await expect(world.time.run(refused)).rejects.toMatchObject({
      reason: "not_here",
      effect: "not_applied",
    });
    expect(other.node.store.callsOf("readView")).toBeGreaterThan(looks);
    const delivered = other.router.handlers.deliver(refs, "a/b", []);
    await expect(world.time.run(delivered)).rejects.toMatchObject({ reason: "not_here" });
    expect(await world.time.run(has.router.handlers.deliver(refs, "a/b", []))).toBe(7);
    expect(has.arrived).toEqual([]);
  });

  it("J3: who asked the wrong node by an old view asks the right one, once more and no more", async () => {
    await newWorld(2);
    const [party = ""] = await world.parties(1, "east");
    const { has, other } = haver(party);
    const [right, wrong] = [has, other].map(({ node }) => node.membership.self()) as [Member, Member];
    for (const looksUntilRight of [1, 2]) {
      let looks = 0;
      // This is the placement of a third node whose knowledge is incomplete.
      const { placement, membership, timers, monotonic } = other.node;
      const locate = (): Located => ({
        at: "node",
        member: looks < looksUntilRight ? wrong : right,
        region: "east",
      });
      const refresh = async (): Promise<void> => {
        looks += 1;
      };
      const router = createActorRouter({
        mayCross: () => true,
        timers,
        monotonic,
        local: () => null,
        targetOf: (member) => world.targetOf(member, other),
        placement: { ...placement, locate },
        membership: { ...membership, refresh },
      });
      const target = router.route({ kind: "business", id: party }) as RemoteTarget;
      const asked = target.ask({ kind: "business", id: party }, { type: "x" }, 10_000);
      const answer = await world.time.run(asked.catch((error: unknown) => error));
      if (looksUntilRight === 1) expect(answer).toMatch(/^x by/);
      else expect(answer).toMatchObject({ reason: "not_here", effect: "not_applied" });
    }
    expect([other.arrived.length, has.arrived.length]).toEqual([3, 1]);
  });

  it("J3: nothing is repeated whose effect is unknown", async () => {
    await newWorld(2);
    const [party = ""] = await world.parties(1, "east");
    const { has, other } = haver(party);
    has.answersLost = 1;
    await expect(world.time.run(other.ask(party, "x"))).rejects.toMatchObject({ effect: "unknown" });
    expect(world.works).toHaveLength(1);
  });

  it("N3: nodes that cannot reach each other stay members; callers are told to try again", async () => {
    await newWorld(2);
    const [party = ""] = await world.parties(1, "east");
    const { has, other } = haver(party);
    has.isReachable = false;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(world.time.run(other.ask(party, "x"))).rejects.toMatchObject({
        reason: "unreachable",
        effect: "not_applied",
      });
      await world.time.advance(3_000);
    }
    expect(other.node.membership.view("east").members).toHaveLength(2);
    expect(await world.time.run(has.ask(party, "x"))).toMatch(/^x by/);
  });

  it("a name that no actor has is refused, from whomever it comes", async () => {
    const [node] = (await newWorld(1)) as [RoutedNode];
    const strange = { kind: "push", id: "no dot" };
    await expect(
      world.time.run(node.router.handlers.ask(strange, { type: "x" }, 1_000)),
    ).rejects.toMatchObject({
      reason: "refused",
      effect: "not_applied",
    });
  });

  it("a node between two lives does nothing", async () => {
    const [node] = (await newWorld(1)) as [RoutedNode];
    const [party = ""] = await world.parties(1, "east");
    node.isActing = false;
    const asked = node.router.handlers.ask({ kind: "business", id: party }, { type: "x" }, 1_000);
    await expect(world.time.run(asked)).rejects.toMatchObject({ reason: "draining", effect: "not_applied" });
  });

  it("what one node writes into the view the others look at when they are told", async () => {
    const [one, two] = (await newWorld(2)) as [RoutedNode, RoutedNode];
    void one.node.membership.leave(() => world.pass(60_000));
    await world.time.advance(80);
    expect(
      two.node.membership
        .view("east")
        .members.map((each) => each.state)
        .sort(),
    ).toEqual(["active", "leaving"]);
  });
});

/** Sends a request to each party in turn at randomly drawn nodes until `isOver`; returns the failures. */
async function load(
  parties: readonly string[],
  isOver: () => boolean,
): Promise<{ failures: unknown[]; asked: number }> {
  const random = chance(7);
  const failures: unknown[] = [];
  const open: Promise<unknown>[] = [];
  let asked = 0;
  while (!isOver()) {
    await world.pass(10);
    const serving = world.routed.filter(
      ({ node }) => !node.isKilled && node.membership.self()?.state === "active",
    );
    const node = serving[Math.floor(random() * serving.length)];
    if (node === undefined) continue;
    asked += 1;
    const command = `c${asked}`;
    open.push(
      node
        .ask(parties[asked % parties.length] ?? "", command)
        .catch((error: unknown) => failures.push(error)),
    );
  }
  await Promise.all(open);
  return { failures, asked };
}

describe("under load", () => {
  it("N4: a rolling restart fails no call, does each once, and never an actor's at two nodes", async () => {
    await newWorld(3);
    const parties = await world.parties(24, "east");
    let isOver = false;
    const loaded = load(parties, () => isOver);
    for (const node of [...world.routed]) {
      await world.time.advance(500);
      await world.time.run(node.leave());
      await world.join({ address: node.node.membership.address });
    }
    await world.time.advance(500);
    isOver = true;
    const { failures, asked } = await world.time.run(loaded);
    expect(failures).toEqual([]);
    expect(asked).toBeGreaterThan(200);
    const commands = world.works.map((work) => work.command);
    expect(new Set(commands).size).toBe(commands.length);
    expect(commands.length).toBe(asked);
    expect(clashes()).toEqual([]);
  });

  it("N1: after a kill every actor answers again within the stated time, and nothing was done twice", async () => {
    await newWorld(3);
    const parties = await world.parties(24, "east");
    const { has } = haver(parties[0] ?? "");
    let isOver = false;
    const loaded = load(parties, () => isOver);
    await world.time.advance(300);
    has.node.kill();
    const killedMs = world.time.now();
    const { other } = haver(parties.find((party) => world.havers(party).length > 0) ?? "");
    for (const party of parties) {
      const answered = async (): Promise<void> => {
        for (;;) {
          const answer = await other.ask(party, `after ${party}`).catch(() => null);
          if (answer !== null) return;
          await world.pass(100);
        }
      };
      await world.time.run(answered());
    }
    expect(world.time.now() - killedMs).toBeLessThan(5_000);
    isOver = true;
    const { failures } = await world.time.run(loaded);
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatchObject({ retryAfterSeconds: 1 });
    expect(clashes()).toEqual([]);
  });
});

/** Pieces of work for one actor that two nodes did at the same time. */
function clashes(): readonly unknown[] {
  return world.works.flatMap((one) =>
    world.works
      .filter(
        (two) =>
          one.actor === two.actor && one.node < two.node && one.fromMs < two.toMs && two.fromMs < one.toMs,
      )
      .map((two) => [one, two]),
  );
}
