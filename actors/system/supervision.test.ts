import { describe, expect, it } from "vitest";
import { setup } from "xstate";
import type { ActorDefinition } from "./definition.ts";
import { ask, Bench, type CounterCommand, counter, counterActor, newWorld } from "./world.fixture.ts";

const add: CounterCommand = { type: "add", by: 1 };
const read: CounterCommand = { type: "read" };

describe("A6: supervision", () => {
  it.each(["fail", "explode"] as const)(
    "a command that throws (%s) undoes its turn and gets the error",
    async (type) => {
      const { system, time } = newWorld();
      const node = system({ limits: { restartMs: 200 } });
      await ask(node, "a", add);
      const asked = await Promise.allSettled([
        ask(node, "a", add),
        ask(node, "a", { type }),
        ask(node, "a", add),
      ]);
      expect(asked.map((each) => each.status)).toEqual(["rejected", "rejected", "rejected"]);
      for (const each of asked)
        expect(each).toMatchObject({ reason: { reason: "restarting", effect: "not_applied" } });
      const causes = asked.map((each) => (each.status === "rejected" ? each.reason.cause?.message : null));
      expect(causes).toEqual([
        undefined,
        type === "fail" ? "a decision failed" : "the machine exploded",
        undefined,
      ]);
      await time.advance(200);
      expect(await ask(node, "a", read)).toMatchObject({ n: 1 });
    },
  );

  it("rests longer after every crash, refusing callers, and comes back by itself", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { restartMs: 1_000, crashesMax: 9 } });
    const rests = [];
    for (let i = 0; i < 3; i += 1) {
      await ask(node, "a", { type: "fail" }).catch(() => {});
      const refusal = await ask(node, "a", add).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ reason: "restarting", effect: "not_applied" });
      rests.push((refusal as { retryAfterSeconds: number }).retryAfterSeconds);
      await time.advance((rests.at(-1) ?? 0) * 1_000 - 1);
      expect(node.stats().active).toBe(0);
      await time.advance(1);
      expect(node.stats().active).toBe(1);
    }
    expect(rests).toEqual([1, 2, 4]);
    expect(await ask(node, "a", add)).toBe(1);
  });

  it("an actor that keeps crashing is quarantined, visible with its last events, and released by hand", async () => {
    const { system, time, logged } = newWorld();
    const node = system({ limits: { restartMs: 10, crashesMax: 3 } });
    await ask(node, "a", { type: "add", by: 7 });
    for (let i = 0; i < 3; i += 1) {
      await ask(node, "a", { type: "explode" }).catch(() => {});
      await time.advance(1_000);
    }
    await expect(ask(node, "a", read)).rejects.toMatchObject({
      reason: "quarantined",
      effect: "not_applied",
    });
    expect(node.stats()).toMatchObject({ quarantined: [counter("a")], crashes: 3, active: 0 });
    expect(await node.inspect(counter("a"))).toMatchObject({
      status: "quarantined",
      failure: "the machine exploded",
      crash: {
        atMs: expect.any(Number),
        command: "explode",
        stack: expect.stringContaining("exploded\n    at "),
      },
      context: { n: 7 },
      lastEvents: [{ type: "added", by: 7 }, { type: "exploded" }, { while_handling: { type: "explode" } }],
    });
    expect(logged.map((entry) => entry.event)).toEqual([
      "actor.crashed",
      "actor.crashed",
      "actor.quarantined",
    ]);
    expect(await ask(node, "b", add)).toBe(1);
    expect(node.release(counter("a"))).toBe(true);
    expect(await ask(node, "a", read)).toMatchObject({ n: 7 });
    expect(node.release(counter("a"))).toBe(false);
  });

  it("an actor without a journal begins anew by itself: its timers run although nobody asks it anything", async () => {
    const { system, time } = newWorld();
    const ticks: number[] = [];
    const machine = setup({ delays: { tick: 60_000 }, actions: { tick: () => {} } }).createMachine({
      id: "ticker",
      initial: "open",
      states: { open: { after: { tick: { target: "open", reenter: true, actions: "tick" } } } },
    });
    const ticker: ActorDefinition = {
      ...counterActor,
      machine,
      durability: "memory",
      rows: () => [],
      effects: { tick: () => [{ kind: "activity", name: "tick", params: null }] },
    };
    const tick = async (): Promise<null> => {
      ticks.push(time.now());
      return null;
    };
    const node = system({ definitions: [ticker], activities: { tick }, limits: { restartMs: 200 } });
    await expect(ask(node, "a", { type: "fail" })).rejects.toMatchObject({ reason: "restarting" });
    const restartedMs = time.now() + 200;
    await time.advance(200 + 120_000);
    expect(ticks).toEqual([restartedMs + 60_000, restartedMs + 120_000]);
  });

  it("crashes far apart do not add up", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { restartMs: 10, crashesMax: 2, crashWindowMs: 60_000 } });
    for (let i = 0; i < 4; i += 1) {
      await ask(node, "a", { type: "fail" }).catch(() => {});
      await time.advance(60_000);
    }
    expect(await ask(node, "a", add)).toBe(1);
  });

  it("a message that crashes its receiver quarantines the receiver, and its sender goes on", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { restartMs: 10, crashesMax: 3 } });
    expect(await node.deliver(counter("b"), "x/y", [{ seq: 1, message: { type: "explode" } }])).toBe(0);
    for (let i = 0; i < 2; i += 1) {
      await time.advance(1_000);
      await node.deliver(counter("b"), "x/y", [{ seq: 1, message: { type: "explode" } }]);
    }
    expect(node.stats().quarantined).toEqual([counter("b")]);
    await ask(node, "a", { type: "forward", to: "b", by: 1 });
    await time.settle();
    expect((await node.inspect(counter("a")))?.outbox).toMatchObject([
      { attempts: 1, lastError: "actor unavailable: quarantined" },
    ]);
    expect(await ask(node, "a", add)).toBe(1);
  });

  it("a journal that cannot be replayed quarantines its actor, which is still shown", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { restartMs: 10, crashesMax: 2 } });
    const { head } = await store.claim(counter("a"), "someone");
    const puts = [{ rt: 1, k: 1, k2: "", body: '{"v":1,"t":0,"e":[{"type":"exploded"}]}' }];
    const fence = { epoch: head.epoch, expectedHead: 0, expectedOp: "" };
    await store.commit({ ref: counter("a"), ...fence, op: "x", puts, deletes: [], wakeAtMs: null });
    await expect(ask(node, "a", read)).rejects.toMatchObject({ reason: "restarting" });
    await time.advance(1_000);
    expect(node.stats().quarantined).toEqual([counter("a")]);
    expect(await node.inspect(counter("a"))).toMatchObject({
      status: "quarantined",
      failure: "the machine exploded",
      head: 1,
    });
  });

  it("one sick actor does not stall another", async () => {
    const { system, time } = newWorld();
    const bench = new Bench();
    const node = system({ activities: { work: bench.activity }, limits: { restartMs: 10, crashesMax: 100 } });
    for (let i = 0; i < 10; i += 1) {
      const sick = ask(node, "sick", { type: "fail" }).catch(() => null);
      expect(await ask(node, "well", add)).toBe(i + 1);
      await sick;
    }
    await time.advance(1_000);
    expect(await ask(node, "sick", read)).toMatchObject({ n: 0 });
  });
});
