import { describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { rowTable } from "../../storage/actor-store.ts";
import type { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import { ask, Bench, type CounterCommand, counter, counterActor, newWorld } from "./world.fixture.ts";

const read: CounterCommand = { type: "read" };

async function outboxRows(store: MemoryActorStore, id: string): Promise<number> {
  return (await store.readRows(counter(id), [{ rt: rowTable.outbox, limit: 100 }])).length;
}

describe("A3: messages are repeated until acknowledged, and count once", () => {
  it("reach their actor, and leave the journal by a later commit", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", { type: "forward", to: "b", by: 5 });
    await time.settle();
    expect(await ask(node, "b", read)).toMatchObject({ n: 5 });
    expect(await outboxRows(store, "a")).toBe(1);
    await ask(node, "a", { type: "add", by: 1 });
    expect(await outboxRows(store, "a")).toBe(0);
    expect(node.stats().outboxPending).toBe(0);
  });

  it("an acknowledgement with no other commit to ride on gets its own after a while", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { ackFlushMs: 200 } });
    await ask(node, "a", { type: "forward", to: "b", by: 5 });
    await time.advance(199);
    expect(await outboxRows(store, "a")).toBe(1);
    await time.advance(1);
    expect(await outboxRows(store, "a")).toBe(0);
    expect(await store.dueActors(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
  });

  it("an acknowledgement that rode on another commit gets none of its own", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { ackFlushMs: 200 } });
    await ask(node, "a", { type: "forward", to: "b", by: 5 });
    await time.settle();
    await ask(node, "a", { type: "add", by: 1 });
    expect(await outboxRows(store, "a")).toBe(0);
    await time.advance(1_000);
    expect((await store.readHead(counter("a")))?.head).toBe(2);
  });

  it("sent before a crash and after it, a message counts once", async () => {
    const { system, store, time } = newWorld();
    const first = system();
    await ask(first, "a", { type: "forward", to: "b", by: 5 });
    await time.settle();
    expect(await outboxRows(store, "a")).toBe(1);
    // The node is gone before it could note the acknowledgement; another one finds the row and sends it again.
    const second = system();
    await second.start();
    await time.advance(1_000);
    expect(await outboxRows(store, "a")).toBe(0);
    expect(await ask(second, "b", read)).toMatchObject({ n: 5 });
  });

  it("a message that a crash kept from leaving is sent by the next activation", async () => {
    const { system, time } = newWorld();
    const away = { ask: async () => null, deliver: () => new Promise<number>(() => {}) };
    const first = system({ route: (ref) => (ref.id === "b" ? away : "local") });
    await ask(first, "a", { type: "forward", to: "b", by: 5 });
    const second = system();
    await second.adopt();
    await time.settle();
    expect(await ask(second, "b", read)).toMatchObject({ n: 5 });
  });

  it("keeps order to one target through failures, and repeats with back-off", async () => {
    const { system, time } = newWorld();
    const heard: number[][] = [];
    let failures = 3;
    const remote = {
      ask: async () => null,
      deliver: async (_to: unknown, _from: string, messages: readonly { message: unknown }[]) => {
        heard.push(messages.map((each) => (each.message as { by: number }).by));
        failures -= 1;
        if (failures >= 0) throw new Error("the link is down");
        return 0;
      },
    };
    const node = system({
      route: (ref) => (ref.id === "b" ? remote : "local"),
      limits: { effectRetryMs: 100, deliveryWindow: 2 },
    });
    for (const by of [1, 2, 3]) await ask(node, "a", { type: "forward", to: "b", by });
    expect(heard).toEqual([[1]]);
    const report = await node.inspect(counter("a"));
    expect(report?.outbox.map((each) => [each.to, each.attempts, each.lastError])).toEqual([
      ["counter/b", 1, "the link is down"],
      ["counter/b", 0, null],
      ["counter/b", 0, null],
    ]);
    await time.advance(100);
    await time.advance(199);
    expect(heard).toEqual([[1], [1, 2]]);
    await time.advance(1);
    expect(heard).toEqual([[1], [1, 2], [1, 2]]);
  });

  it("a receiver that takes a part is sent the rest", async () => {
    const { system, time } = newWorld();
    const receiver = newWorld().system({ limits: { mailboxMax: 2 } });
    const link = { ask: async () => null, deliver: receiver.deliver.bind(receiver) };
    const node = system({ route: (ref) => (ref.id === "b" ? link : "local") });
    const forwards = [1, 2, 3, 4, 5].map((by) => ask(node, "a", { type: "forward", to: "b", by }));
    await Promise.all(forwards);
    await time.advance(10_000);
    expect(await ask(receiver, "b", read)).toMatchObject({ n: 15 });
    expect(node.stats().outboxPending).toBe(0);
  });

  it("a duplicate delivery is acknowledged and changes nothing, across activations of the receiver", async () => {
    const { system, store } = newWorld();
    const messages = [
      { seq: 10, message: { type: "add", by: 1 } },
      { seq: 12, message: { type: "add", by: 2 } },
    ];
    expect(await system().deliver(counter("b"), "x/y", messages)).toBe(12);
    const later = system();
    const head = (await store.readHead(counter("b")))?.head;
    expect(await later.deliver(counter("b"), "x/y", messages)).toBe(12);
    expect((await store.readHead(counter("b")))?.head).toBe(head);
    expect(await later.deliver(counter("b"), "x/z", messages.slice(0, 1))).toBe(10);
    expect(await ask(later, "b", read)).toMatchObject({ n: 4 });
  });

  it("of a repeatable message the receiver keeps no note, and decides on it again", async () => {
    const definitions = [{ ...counterActor, repeatable: ["add.once"] }];
    const { system, store } = newWorld();
    const once = { type: "add.once", id: "x", by: 3 };
    const messages = [{ seq: 10, message: once }];
    const node = system({ definitions });
    expect(await node.deliver(counter("b"), "x/y", messages)).toBe(10);
    const { head } = (await store.readHead(counter("b"))) ?? {};
    expect(await node.deliver(counter("b"), "x/y", messages)).toBe(10);
    expect(await node.deliver(counter("b"), "x/z", messages)).toBe(10);
    expect(await ask(node, "b", read)).toMatchObject({ n: 3 });
    expect((await store.readHead(counter("b")))?.head).toBe(head);
    expect((await store.claim(counter("b"), "c")).inbox).toEqual([]);
  });

  it("sequences grow although rows were deleted and the actor moved", async () => {
    const { system, time } = newWorld();
    for (const by of [1, 2, 3]) {
      const node = system();
      await ask(node, "a", { type: "forward", to: "b", by });
      await time.advance(1_000);
    }
    expect(await ask(system(), "b", read)).toMatchObject({ n: 6 });
  });

  it("an actor that tells itself hears itself once", async () => {
    const { system, time } = newWorld();
    const node = system();
    await ask(node, "a", { type: "forward", to: "a", by: 5 });
    await time.advance(1_000);
    expect(await ask(node, "a", read)).toMatchObject({ n: 5 });
  });
});

describe("A3: activities are repeated until their answer is committed", () => {
  it("the answer removes the effect in the commit that it brings about", async () => {
    const { system, store, time } = newWorld();
    const bench = new Bench();
    const node = system({ activities: { work: bench.activity } });
    await ask(node, "a", { type: "work", job: "j" });
    const commits = store.callsOf("commit");
    await time.settle();
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
    expect(store.callsOf("commit")).toBe(commits + 1);
    expect(await outboxRows(store, "a")).toBe(0);
  });

  it("fails, is repeated with back-off, and keeps its work id", async () => {
    const { system, time } = newWorld();
    const bench = new Bench();
    bench.failures = 2;
    const node = system({ activities: { work: bench.activity }, limits: { effectRetryMs: 100 } });
    await ask(node, "a", { type: "work", job: "j" });
    await time.advance(99);
    expect(bench.runs).toHaveLength(1);
    expect((await node.inspect(counter("a")))?.outbox).toMatchObject([
      { to: "work", attempts: 1, lastError: "the outside is away" },
    ]);
    await time.advance(1);
    await time.advance(200);
    expect(bench.runs).toHaveLength(3);
    expect(new Set(bench.runs).size).toBe(1);
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
  });

  it("is tried at once when the membership changed, and so are messages", async () => {
    const { system } = newWorld();
    const bench = new Bench();
    bench.failures = 1;
    let isDown = true;
    const deliver = async (
      _to: unknown,
      _from: string,
      messages: readonly { seq: number }[],
    ): Promise<number> => {
      if (isDown) throw new Error("the link is down");
      return messages.at(-1)?.seq ?? 0;
    };
    const node = system({
      activities: { work: bench.activity },
      route: (ref) => (ref.id === "b" ? { ask: async () => null, deliver } : "local"),
      limits: { effectRetryMs: 60_000, effectRetryMaxMs: 60_000 },
    });
    await ask(node, "a", { type: "work", job: "j" });
    await ask(node, "a", { type: "forward", to: "b", by: 1 });
    expect((await node.inspect(counter("a")))?.outbox).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
    isDown = false;
    // No time passes.
    await node.adopt();
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
    expect(node.stats().outboxPending).toBe(0);
    expect(bench.runs).toHaveLength(2);
  });

  it("that fails for ever because it is done elsewhere ends, without anybody asking (E4)", async () => {
    const { system, time, logged } = newWorld();
    const vain = new Bench();
    vain.failures = Number.POSITIVE_INFINITY;
    const limits = { effectRetryMs: 100, effectRetryMaxMs: 1_000 };
    const zombie = system({ activities: { work: vain.activity }, limits });
    await ask(zombie, "a", { type: "work", job: "j" });
    const bench = new Bench();
    const node = system({ activities: { work: bench.activity } });
    await node.adopt();
    await time.settle();
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
    await time.advance(20_000);
    expect(vain.runs).toHaveLength(8);
    expect(logged.map(({ event }) => event)).toEqual(["actor.lost"]);
    expect(await ask(zombie, "a", read)).toMatchObject({ done: ["j"] });
  });

  it("that fails for long where the actor is goes on (E4)", async () => {
    const { system, time, logged } = newWorld();
    const bench = new Bench();
    bench.failures = 20;
    const limits = { effectRetryMs: 100, effectRetryMaxMs: 1_000 };
    const node = system({ activities: { work: bench.activity }, limits });
    await ask(node, "a", { type: "work", job: "j" });
    await time.advance(60_000);
    expect([bench.runs.length, new Set(bench.runs).size, logged]).toEqual([21, 1, []]);
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
  });

  it("is done again after a crash, and its answer counts once", async () => {
    const { system, store, time } = newWorld();
    const bench = new Bench();
    const hanging = system({ activities: { work: () => new Promise(() => {}) } });
    await ask(hanging, "a", { type: "work", job: "j" });
    const node = system({ activities: { work: bench.activity } });
    await node.adopt();
    await time.settle();
    expect(bench.runs).toEqual([`counter/a#${4_096} j`]);
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
    expect(await outboxRows(store, "a")).toBe(0);
  });

  it("an answer that a lost activation still brings is thrown away", async () => {
    const { system, time } = newWorld();
    const answer = Promise.withResolvers<{ type: string }>();
    const signals: { aborted: boolean }[] = [];
    const zombie = system({
      activities: {
        work: (_params: unknown, context) => {
          signals.push(context.signal);
          return answer.promise;
        },
      },
    });
    await ask(zombie, "a", { type: "work", job: "j" });
    const bench = new Bench();
    const node = system({ activities: { work: bench.activity } });
    await node.adopt();
    await time.settle();
    const done: CounterCommand = { type: "work.done", job: "j" };
    answer.resolve(done);
    await time.settle();
    expect(await ask(node, "a", read)).toMatchObject({ done: ["j"] });
    expect(zombie.stats().refusedCommits).toBe(1);
    expect(signals[0]?.aborted).toBe(true);
  });

  it("may answer nothing", async () => {
    const { system, store, time } = newWorld();
    const node = system({ activities: { work: async () => null } });
    await ask(node, "a", { type: "work", job: "j" });
    await time.advance(1_000);
    expect(await outboxRows(store, "a")).toBe(0);
    expect(node.stats().outboxPending).toBe(0);
  });

  it("may ask actors, its own too", async () => {
    const { system, time } = newWorld();
    const node = system({
      activities: {
        work: async (_params: unknown, context) => {
          const command: CounterCommand = { type: "add", by: 3 };
          await context.ask(rubbish(context.actor), rubbish(command));
          await context.ask(rubbish(counter("b")), rubbish(command));
          return null;
        },
      },
    });
    await ask(node, "a", { type: "work", job: "j" });
    await time.settle();
    expect(await ask(node, "a", read)).toMatchObject({ n: 3 });
    expect(await ask(node, "b", read)).toMatchObject({ n: 3 });
  });

  it("no more than the named number run at once, of one actor and of all", async () => {
    const { system, time } = newWorld();
    let running = 0;
    let most = 0;
    const releases: (() => void)[] = [];
    const activities = {
      work: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => releases.push(resolve));
        running -= 1;
        return null;
      },
    };
    const node = system({ activities, limits: { actorActivitiesMax: 2, activitiesMax: 3 } });
    for (const id of ["a", "b"]) {
      for (const job of ["1", "2", "3"]) await ask(node, id, { type: "work", job });
    }
    expect([running, most]).toEqual([3, 3]);
    while (releases.length > 0) {
      releases.shift()?.();
      await time.settle();
    }
    expect([running, most]).toEqual([0, 3]);
    expect(node.stats().outboxPending).toBe(0);
  });
});
