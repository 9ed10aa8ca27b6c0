// Turns that become true with the commit of another actor, and what becomes of them when that cannot be.

import { describe, expect, it } from "vitest";
import { type ActorCommit, rowTable, StoreError } from "../../storage/actor-store.ts";
import type { ActorDefinition, ActorRef } from "./definition.ts";
import type { ActorSystemOptions, RemoteTarget } from "./ports.ts";
import { ask, counter, counterActor, newWorld, type World } from "./world.fixture.ts";

const joinable: ActorDefinition = { ...counterActor, joinable: ["add"] };

/** A system in which both actors are in memory, and the commits that its store gets. */
async function newPair(world: World, definition = joinable, options: Partial<ActorSystemOptions> = {}) {
  const commits: ActorCommit[] = [];
  world.store.intercept = async ({ commit }, apply) => {
    if (commit !== null) commits.push(commit);
    return apply();
  };
  const system = world.system({ definitions: [definition], ...options });
  for (const id of ["from", "to"]) await ask(system, id, { type: "add", by: 0 });
  commits.length = 0;
  return { system, commits };
}

const forward = { type: "forward", to: "to", by: 5 } as const;
const tablesOf = ({ puts }: ActorCommit) => puts.map(({ rt }) => rt);

describe("a receiver on the same node", () => {
  it("takes the message within its sender's commit, which writes no row about it", async () => {
    const world = newWorld();
    const { system, commits } = await newPair(world);
    expect(await ask(system, "from", forward)).toBe("forwarded");
    expect(commits).toMatchObject([{ ref: counter("from"), with: [{ ref: counter("to") }] }]);
    expect(commits.flatMap((each) => [each, ...(each.with ?? [])]).map(tablesOf)).toEqual([
      [rowTable.event],
      [rowTable.event],
    ]);
    expect(await ask(system, "to", { type: "read" })).toMatchObject({ n: 5 });
    expect(system.stats()).toMatchObject({ outboxPending: 0, mailboxed: 0, commandsHandled: 5 });
    await world.time.advance(60_000);
    expect(commits).toHaveLength(1);
  });

  it("keeps its state when another node claims it (J1)", async () => {
    const world = newWorld();
    const { system } = await newPair(world);
    await ask(system, "from", forward);
    system.halt();
    expect(await ask(world.system(), "to", { type: "read" })).toMatchObject({ n: 5 });
  });

  it("is told of two messages in one turn, in order", async () => {
    const world = newWorld();
    const { system, commits } = await newPair(world);
    await Promise.all([ask(system, "from", forward), ask(system, "from", { ...forward, by: 7 })]);
    expect(commits).toHaveLength(1);
    expect(JSON.parse(commits[0]?.with?.[0]?.puts[0]?.body ?? "")).toMatchObject({
      e: [{ by: 5 }, { by: 7 }],
    });
  });
});

/** What a sender does where its receiver does not join. */
async function expectDelivered(
  world: World,
  { system, commits }: Awaited<ReturnType<typeof newPair>>,
  n = 5,
) {
  await world.time.advance(1_000);
  expect(commits.every((each) => each.with === undefined)).toBe(true);
  expect(tablesOf(commits.find(({ ref }) => ref.id === "from") as ActorCommit)).toContain(rowTable.outbox);
  expect(await ask(system, "to", { type: "read" })).toMatchObject({ n });
}

describe("a message is delivered as any other", () => {
  it.each([undefined, ["arm"]])("where its receiver's kind does not name it (%j)", async (names) => {
    const world = newWorld();
    const pair = await newPair(
      world,
      names === undefined ? counterActor : { ...counterActor, joinable: names },
    );
    await ask(pair.system, "from", forward);
    await expectDelivered(world, pair);
  });

  it("where the same turn tells its receiver something that its kind does not name (JC2)", async () => {
    const world = newWorld();
    const tells = ["add", "arm"].map(
      (type) => ({ kind: "tell", to: counter("to"), message: { type, by: 5 } }) as const,
    );
    const pair = await newPair(world, {
      ...joinable,
      decide: (command, view) =>
        command.type === "forward" ? { reply: "forwarded", effects: tells } : joinable.decide(command, view),
    });
    await ask(pair.system, "from", forward);
    await expectDelivered(world, pair);
  });

  it("where its receiver belongs on another node by now", async () => {
    const world = newWorld();
    const there = world.system();
    const away: RemoteTarget = {
      ask: () => Promise.reject(new Error("nobody asks")),
      deliver: (...given) => there.deliver(...given),
    };
    let isAway = false;
    const route = ({ id }: ActorRef) => (isAway && id === "to" ? away : "local");
    const pair = await newPair(world, joinable, { route });
    isAway = true;
    await ask(pair.system, "from", forward);
    await world.time.advance(1_000);
    expect(pair.commits[0]).not.toHaveProperty("with");
    expect(await ask(there, "to", { type: "read" })).toMatchObject({ n: 5 });
  });

  it("where the caller hears of the decision ahead of the commit", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    await pair.system.askSpeculative(counter("from"), forward).reply;
    await expectDelivered(world, pair);
  });

  it("where the commit creates its sender, or would have to create its receiver", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    await pair.system.ask(counter("new"), forward, { isNew: true });
    await world.time.advance(1);
    await pair.system.ask(counter("new-too"), { type: "read" }, { isNew: true });
    await ask(pair.system, "from", { ...forward, to: "new-too" });
    await world.time.advance(1_000);
    expect(pair.commits.every((each) => each.with === undefined)).toBe(true);
    for (const id of ["to", "new-too"])
      expect(await ask(pair.system, id, { type: "read" })).toMatchObject({ n: 5 });
  });

  it("where an earlier one of its sender is not settled (JC2)", async () => {
    const world = newWorld();
    let failures = 2;
    const pair = await newPair(world, {
      ...joinable,
      decide: (command, view) => {
        if (command.type === "add" && "by" in command && command.by === 5 && failures-- > 0)
          throw new Error("a decision failed");
        return joinable.decide(command, view);
      },
    });
    await ask(pair.system, "from", forward);
    // The receiver is back, and the sender waits before it tries again.
    await world.time.advance(250);
    pair.commits.length = 0;
    await ask(pair.system, "from", { ...forward, by: 7 });
    await expectDelivered(world, pair, 12);
  });

  it("where its receiver is not in memory", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    pair.system.passivate(counter("to"));
    await world.time.advance(0);
    await ask(pair.system, "from", forward);
    await expectDelivered(world, pair);
  });

  it("where the store joins no commits", async () => {
    const world = newWorld();
    Object.assign(world.store, { joinsCommits: false });
    const pair = await newPair(world);
    await ask(pair.system, "from", forward);
    await expectDelivered(world, pair);
  });

  it("where something waits in the receiver's mailbox (JC2)", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    const forwarded = ask(pair.system, "from", forward);
    await Promise.all([forwarded, ask(pair.system, "to", { type: "add", by: 1 })]);
    await expectDelivered(world, pair, 6);
  });

  it("where its turn would change nothing (JC3)", async () => {
    const world = newWorld();
    const pair = await newPair(world, {
      ...joinable,
      decide: (command, view) =>
        command.type === "add" &&
        view.id === "to" &&
        view.snapshot.context.n === 0 &&
        "by" in command &&
        command.by === 5
          ? { reply: null }
          : joinable.decide(command, view),
    });
    await ask(pair.system, "from", forward);
    await expectDelivered(world, pair, 0);
  });

  it("where its decision fails, and then the receiver alone crashes", async () => {
    const world = newWorld();
    const pair = await newPair(world, {
      ...joinable,
      decide: (command, view) => {
        if ("by" in command && command.by === 5 && command.type === "add")
          throw new Error("a decision failed");
        return joinable.decide(command, view);
      },
    });
    expect(await ask(pair.system, "from", forward)).toBe("forwarded");
    await world.time.advance(100);
    expect(pair.system.stats().crashes).toBeGreaterThan(0);
    expect(await ask(pair.system, "from", { type: "read" })).toMatchObject({ epoch: 1 });
  });
});

describe("a commit in which a receiver joins", () => {
  it("is made alone where another node has the receiver, which is told once (JC1)", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    expect(await ask(world.system(), "to", { type: "add", by: 1 })).toBe(1);
    pair.commits.length = 0;
    expect(await ask(pair.system, "from", forward)).toBe("forwarded");
    const [joint, alone] = pair.commits;
    expect([joint?.with?.length, alone?.with]).toEqual([1, undefined]);
    expect(alone?.op).not.toBe(joint?.op);
    expect(pair.system.stats().refusedCommits).toBe(1);
    expect(world.logged).toMatchObject([{ event: "actor.lost", actor: "counter/to" }]);
    await world.time.advance(1_000);
    expect(await ask(world.system(), "to", { type: "read" })).toMatchObject({ n: 6 });
  });

  it("still removes the rows of earlier effects when it is made alone", async () => {
    const world = newWorld();
    const pair = await newPair(world);
    await ask(pair.system, "from", { ...forward, to: "elsewhere" });
    await world.time.advance(1);
    await ask(world.system(), "to", { type: "add", by: 1 });
    pair.commits.length = 0;
    await ask(pair.system, "from", forward);
    expect(pair.commits[1]?.deletes).toMatchObject([{ rt: rowTable.outbox }]);
    await world.time.advance(1_000);
    expect((await world.store.claim(counter("from"), "x")).outbox).toEqual([]);
  });

  it("changes neither where another node has the sender", async () => {
    const world = newWorld();
    const { system } = await newPair(world);
    expect(await ask(world.system(), "from", { type: "add", by: 1 })).toBe(1);
    // The command is decided again by an activation that claims the actor.
    expect(await ask(system, "from", forward)).toBe("forwarded");
    await world.time.advance(1_000);
    expect(await ask(system, "to", { type: "read" })).toMatchObject({ n: 5 });
    expect(await ask(system, "from", { type: "read" })).toMatchObject({ n: 1 });
  });

  it.each(["before", "unknown_applied", "unknown_not_applied"] as const)(
    "is sent again after a failure (%s), and its receiver finds out by a claim (JC4)",
    async (fault) => {
      const world = newWorld();
      const { system } = await newPair(world);
      world.store.failNext("commit", fault);
      const forwarded = ask(system, "from", forward);
      await world.time.advance(0);
      const meanwhile = ask(system, "to", { type: "add", by: 1 });
      await world.time.advance(5_000);
      await Promise.all([forwarded, meanwhile]);
      expect(await ask(system, "to", { type: "read" })).toMatchObject({ n: 6, epoch: 2 });
      expect(system.stats()).toMatchObject({ outboxPending: 0, mailboxed: 0, crashes: 0 });
    },
  );

  it("that fails lets a receiver without messages come back for its timers", async () => {
    const world = newWorld();
    const { system } = await newPair(world);
    await ask(system, "to", { type: "arm" });
    world.store.failNext("commit", "before");
    const forwarded = ask(system, "from", forward);
    await world.time.advance(60_000);
    await forwarded;
    expect(await ask(system, "to", { type: "read" })).toMatchObject({ n: 5, alarms: 1 });
  });

  it("that fails leaves a receiver to another node, where it belongs by then", async () => {
    const world = newWorld();
    const elsewhere: RemoteTarget = { ask: async () => null, deliver: async () => 0 };
    let isAway = false;
    const route = ({ id }: ActorRef) => (isAway && id === "to" ? elsewhere : "local");
    const { system } = await newPair(world, joinable, { route });
    const failing = Promise.withResolvers<never>();
    world.store.intercept = () => failing.promise;
    ask(system, "from", forward).catch(() => {});
    await world.time.settle();
    const meanwhile = ask(system, "to", { type: "add", by: 1 });
    isAway = true;
    failing.reject(new StoreError("not_applied", "the disk is full"));
    await expect(meanwhile).rejects.toMatchObject({ reason: "restarting", effect: "not_applied" });
    expect([...system.glances()].map(({ ref }) => ref.id)).toEqual(["from"]);
  });

  it("that cannot be made lets its receivers go, and they are not told", async () => {
    const world = newWorld();
    const { system } = await newPair(world, {
      ...joinable,
      decide: (command, view) => {
        const decision = joinable.decide(command, view);
        // No row can have it.
        const effects = [{ kind: "activity", name: "work", params: 1n } as const];
        return command.type === "forward" ? { ...decision, effects } : decision;
      },
    });
    expect(await ask(system, "from", forward).catch((error: unknown) => error)).toBeInstanceOf(Error);
    await world.time.advance(1_000);
    expect(await ask(system, "to", { type: "add", by: 1 })).toBe(1);
  });
});

describe("an actor that keeps rows in memory", () => {
  const keeping: ActorDefinition = { ...counterActor, keeps: [16] };
  const once = { type: "add.once", id: "a", by: 5 } as const;

  it("asks the store for each once, and decides by what it wrote since", async () => {
    const world = newWorld();
    const system = world.system({ definitions: [keeping] });
    for (let times = 0; times < 3; times += 1) expect(await ask(system, "to", once)).toBe(5);
    expect(world.store.callsOf("readRows")).toBe(1);
    system.halt();
    const next = world.system({ definitions: [keeping] });
    for (let times = 0; times < 2; times += 1) expect(await ask(next, "to", once)).toBe(5);
    expect(world.store.callsOf("readRows")).toBe(2);
  });

  it("joins with a message whose rows it keeps, and not before", async () => {
    const world = newWorld();
    const effects = [{ kind: "tell", to: counter("to"), message: once } as const];
    const puts = [{ rt: 16, k: 0, k2: "a", body: "1" }];
    const { system, commits } = await newPair(world, {
      ...keeping,
      joinable: ["add.once"],
      decide: (command, view) => {
        if (command.type === "forward") return { reply: "forwarded", effects };
        return command.type === "add.once"
          ? { reply: 0, puts, events: [{ type: "added", by: 5 }] }
          : keeping.decide(command, view);
      },
    });
    for (let times = 0; times < 2; times += 1) {
      await ask(system, "from", forward);
      await world.time.advance(1_000);
    }
    expect(commits.map((each) => each.with?.length ?? 0).filter((count) => count > 0)).toEqual([1]);
    expect(commits.at(-1)?.with).toHaveLength(1);
    expect(await ask(system, "to", { type: "read" })).toMatchObject({ n: 10 });
  });
});
