import { describe, expect, it } from "vitest";
import { ask, type CounterCommand, counter, newWorld } from "./world.fixture.ts";

const add: CounterCommand = { type: "add", by: 1 };
const read: CounterCommand = { type: "read" };

describe("A8: stop cleanly, die safely", () => {
  it("drain finishes what was accepted, refuses what comes, and leaves nothing in memory", async () => {
    const { system, store } = newWorld();
    const node = system({ limits: { batchCommandsMax: 2 } });
    await ask(node, "a", { type: "forward", to: "b", by: 5 });
    const accepted = [ask(node, "a", add), ask(node, "a", add), ask(node, "a", add), ask(node, "new", add)];
    const drained = node.drain(10_000);
    await expect(ask(node, "a", add)).rejects.toMatchObject({ reason: "draining", effect: "not_applied" });
    expect(await Promise.all(accepted)).toEqual([1, 2, 3, 1]);
    await drained;
    expect(node.stats()).toMatchObject({ active: 0, mailboxed: 0 });
    const other = system();
    expect(await ask(other, "a", read)).toMatchObject({ n: 3 });
    expect((await store.readHead(counter("new")))?.head).toBe(1);
  });

  it("drain tells those who wait for something else, and gives up at its time", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    const waiting = ask(node, "a", { type: "await", n: 9 });
    const told = expect(waiting).rejects.toMatchObject({ reason: "draining", effect: "unknown" });
    await time.settle();
    store.intercept = () => new Promise(() => {});
    const stuck = expect(ask(node, "b", add)).rejects.toMatchObject({ reason: "draining" });
    let isDrained = false;
    const drained = node.drain(5_000).then(() => {
      isDrained = true;
    });
    await time.advance(4_999);
    await told;
    expect(isDrained).toBe(false);
    await time.advance(1);
    await drained;
    await stuck;
  });

  it("a drained node does no more work: no timers, no messages, no polls", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await node.start();
    await ask(node, "a", { type: "arm" });
    await node.drain(1_000);
    const calls = () => store.callsOf("claim") + store.callsOf("commit") + store.callsOf("dueActors");
    const before = calls();
    await time.advance(300_000);
    expect(calls()).toBe(before);
    const other = system();
    await other.start();
    await time.advance(1_000);
    expect(await ask(other, "a", read)).toMatchObject({ alarms: 1 });
  });

  it("drain ends after the poll that is under way, whose store may be closed then", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await node.start();
    let answer = (): void => {};
    store.intercept = async (call, apply) => {
      const asked = Promise.withResolvers<void>();
      answer = asked.resolve;
      if (call.operation === "dueActors") await asked.promise;
      return apply();
    };
    await time.advance(1_000);
    let isDrained = false;
    const drained = node.drain(5_000).then(() => {
      isDrained = true;
    });
    await time.settle();
    expect(isDrained).toBe(false);
    answer();
    await drained;

    const other = system();
    const started = other.start();
    await time.settle();
    const gaveUp = other.drain(5_000);
    await time.advance(5_000);
    await gaveUp;
    answer();
    await started;
  });

  it("actors that belong elsewhere by now are handed over after finishing", async () => {
    const { system, time } = newWorld();
    let isMine = true;
    const other = system();
    const link = { ask: other.askHere.bind(other), deliver: other.deliver.bind(other) };
    const node = system({ route: () => (isMine ? "local" : link) });
    await ask(node, "a", { type: "forward", to: "b", by: 2 });
    const accepted = [ask(node, "a", add), ask(node, "a", add)];
    isMine = false;
    node.handOver();
    expect(await Promise.all(accepted)).toEqual([1, 2]);
    await time.settle();
    expect(node.stats().active).toBe(0);
    expect(await ask(node, "a", add)).toBe(3);
    await other.adopt();
    await time.advance(1_000);
    expect(await ask(other, "b", read)).toMatchObject({ n: 2 });
  });

  it("halt stops at once: callers learn that nobody knows, and nothing more is written", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await node.start();
    await ask(node, "a", { type: "arm" });
    store.intercept = async (call, apply) => {
      await new Promise<void>((resolve) => time.schedule(10, resolve));
      return apply();
    };
    const inTurn = expect(ask(node, "a", add)).rejects.toMatchObject({
      reason: "draining",
      effect: "unknown",
    });
    await time.settle();
    const inMailbox = expect(ask(node, "a", add)).rejects.toMatchObject({ effect: "not_applied" });
    node.halt();
    await Promise.all([inTurn, inMailbox]);
    await expect(ask(node, "b", add)).rejects.toMatchObject({ reason: "draining", effect: "not_applied" });
    const calls = store.callsOf("commit") + store.callsOf("claim") + store.callsOf("dueActors");
    await time.advance(300_000);
    expect(store.callsOf("commit") + store.callsOf("claim") + store.callsOf("dueActors")).toBe(calls);
  });

  it("what was acknowledged before a crash is there after it", async () => {
    const { system } = newWorld();
    const first = system();
    for (let i = 0; i < 5; i += 1) await ask(first, "a", add);
    const second = system();
    expect(await ask(second, "a", read)).toMatchObject({ n: 5, epoch: 2 });
  });
});

describe("A10: the machine is the documentation", () => {
  it("shows an actor's own state, why it waits and what happened last, without waking it", async () => {
    const { system, store, time } = newWorld();
    const activities = { work: () => new Promise<never>(() => {}) };
    const node = system({ activities });
    await ask(node, "a", { type: "add", by: 3 });
    await ask(node, "a", { type: "arm" });
    await ask(node, "a", { type: "work", job: "j" });
    const expected = {
      ref: counter("a"),
      state: "armed",
      context: { n: 3, alarms: 0, done: [] },
      epoch: 1,
      head: 3,
      timers: [{ id: "xstate.after.alarm.counter.armed", dueMs: time.now() + 60_000 }],
      outbox: [{ seq: 3 * 4_096, to: "work", attempts: 0, lastError: null }],
      lastEvents: [{ type: "added", by: 3 }, { type: "armed" }, { type: "work.begun", job: "j" }],
      failure: null,
    };
    expect(await node.inspect(counter("a"))).toMatchObject({ ...expected, status: "active" });
    const other = system();
    expect(await other.inspect(counter("a"))).toMatchObject({ ...expected, status: "passive" });
    expect(store.callsOf("claim")).toBe(1);
    expect(await other.inspect(counter("never"))).toBeNull();
    expect(await other.inspect({ kind: "nothing", id: "a" })).toBeNull();
  });
});

describe("a question about an actor that never existed", () => {
  it("is answered without making it, in memory or in the store", async () => {
    const { system, store } = newWorld();
    const node = system();
    for (let index = 0; index < 20; index += 1)
      expect(await ask(node, `no-${index}`, { type: "glance" })).toBeNull();
    expect(node.stats().active).toBe(0);
    expect(store.callsOf("claim")).toBe(0);
    expect(await store.listActors("counter", "", 10)).toEqual([]);
  });

  it("is asked of the actor once there is one, wherever it is", async () => {
    const { system } = newWorld();
    const node = system();
    await ask(node, "a", add);
    expect(await ask(node, "a", { type: "glance" })).toBe(1);
    expect(await ask(system(), "a", { type: "glance" })).toBe(1);
  });
});
