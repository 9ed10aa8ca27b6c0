import { describe, expect, it } from "vitest";
import { Unavailable } from "../../std/unavailable.ts";
import { rowTable } from "../../storage/actor-store.ts";
import { ask, type CounterCommand, counter, counterActor, newWorld } from "./world.fixture.ts";

const add: CounterCommand = { type: "add", by: 1 };
const read: CounterCommand = { type: "read" };

describe("A7: everything is bounded", () => {
  it("a full mailbox refuses callers until there is room", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { mailboxMax: 3 } });
    const asked = await Promise.allSettled([1, 2, 3, 4].map(() => ask(node, "a", add)));
    expect(asked.map((each) => each.status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
    expect(asked[3]).toMatchObject({
      reason: { reason: "overloaded", effect: "not_applied", retryAfterSeconds: 1 },
    });
    await time.settle();
    expect(await ask(node, "a", add)).toBe(4);
  });

  it("an actor with too many unsettled effects refuses callers, not other actors", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { outboxMax: 2 }, activities: { work: () => new Promise(() => {}) } });
    await ask(node, "a", { type: "work", job: "1" });
    await ask(node, "a", { type: "work", job: "2" });
    await expect(ask(node, "a", add)).rejects.toMatchObject({ reason: "overloaded" });
    await ask(node, "b", { type: "forward", to: "a", by: 4 });
    await time.settle();
    expect((await node.inspect(counter("a")))?.context).toMatchObject({ n: 4 });
  });

  it("the journal is snapshotted and pruned in the commit, and rebuilds the same state", async () => {
    const { system, store } = newWorld();
    const node = system({ limits: { snapshotEveryEvents: 10 } });
    for (let i = 0; i < 35; i += 1) await ask(node, "a", add);
    const rows = await store.readRows(counter("a"), [{ rt: rowTable.event, limit: 100 }]);
    expect(rows.length).toBeLessThanOrEqual(11);
    expect((await store.readHead(counter("a")))?.snapshotSeq).toBe(30);
    expect(await ask(system(), "a", read)).toMatchObject({ n: 35 });
  });

  it("a context that outgrows its bound stops its actor before it is stored", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { snapshotEveryEvents: 2, contextBytesMax: 2_000, crashesMax: 2 } });
    const asked = [];
    for (let i = 0; i < 6; i += 1) {
      asked.push(
        await ask(node, "a", { type: "work.done", job: "é".repeat(400) }).catch((error: unknown) => error),
      );
      await time.advance(1_000);
    }
    expect(asked.filter((reply) => reply === "noted").length).toBeGreaterThan(2);
    expect(asked.at(-1)).toBeInstanceOf(Unavailable);
    expect(node.stats().quarantined).toEqual([counter("a")]);
    expect((await node.inspect(counter("a")))?.failure).toMatch(
      /snapshot of counter\/a has \d+ bytes, at most 2000/,
    );
    expect((await store.readHead(counter("a")))?.snapshot?.length ?? 0).toBeLessThan(2_000);
  });

  it("idle actors leave the memory and come back as they were", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { idleMs: 10_000, idleSweepMs: 1_000 } });
    await ask(node, "a", add);
    await time.advance(10_500);
    expect(node.stats().active).toBe(1);
    await time.advance(2_000);
    expect(node.stats().active).toBe(0);
    expect(await ask(node, "a", read)).toMatchObject({ n: 1, epoch: 2 });
  });

  it("an actor whose effects are on their way stays until their rows are gone, however long it is idle", async () => {
    const { system, time } = newWorld();
    const work = Promise.withResolvers<null>();
    const limits = { idleMs: 5_000, idleSweepMs: 1_000, ackFlushMs: 20_000 };
    const node = system({ limits, activities: { work: () => work.promise } });
    await ask(node, "a", { type: "work", job: "1" });
    await time.advance(30_000);
    expect(node.stats().active).toBe(1);
    work.resolve(null);
    await time.advance(19_000);
    expect(node.stats().active).toBe(1);
    await time.advance(20_000);
    expect(node.stats().active).toBe(0);
    // If it had left in the middle, it would have started its work again.
    expect(await ask(node, "a", read)).toMatchObject({ epoch: 2 });
  });

  it("an actor with a timer due soon stays; one with a far timer leaves and is woken", async () => {
    const { system, time } = newWorld();
    const node = system({
      limits: { idleMs: 5_000, idleSweepMs: 1_000, timerHorizonMs: 20_000, outboxWakeMs: 0 },
    });
    await node.start();
    await ask(node, "a", { type: "arm" });
    await time.advance(30_000);
    expect(node.stats().active).toBe(0);
    await time.advance(31_000);
    expect(await ask(node, "a", read)).toMatchObject({ alarms: 1 });
    const other = newWorld();
    const keeping = other.system({ limits: { idleMs: 5_000, idleSweepMs: 1_000, timerHorizonMs: 60_000 } });
    await ask(keeping, "a", { type: "arm" });
    await other.time.advance(30_000);
    expect(keeping.stats().active).toBe(1);
  });

  it("an actor without a journal stays as long as it has a timer", async () => {
    const { system, time } = newWorld();
    const definition = { ...counterActor, durability: "memory" } as const;
    const limits = { idleMs: 5_000, idleSweepMs: 1_000, timerHorizonMs: 1 };
    const node = system({ definitions: [{ ...definition, rows: () => [] }], limits });
    await ask(node, "a", { type: "arm" });
    await ask(node, "b", add);
    await time.advance(30_000);
    expect(node.stats().active).toBe(1);
    await time.advance(31_000);
    expect(await ask(node, "a", read)).toMatchObject({ alarms: 1 });
  });

  it("at the bound the longest unused actor makes room; if none can, callers are refused", async () => {
    const { system, store } = newWorld();
    const node = system({ limits: { activationsMax: 3 } });
    for (const id of ["a", "b", "c", "d", "e"]) await ask(node, id, add);
    expect(node.stats().active).toBe(3);
    expect(await ask(node, "a", read)).toMatchObject({ n: 1 });
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      await release.promise;
      return apply();
    };
    const held = ["x", "y", "z", "u"].map((id) => ask(node, id, add));
    await expect(held[3]).rejects.toMatchObject({ reason: "overloaded" });
    release.resolve();
    expect(await Promise.all(held.slice(0, 3))).toEqual([1, 1, 1]);
  });

  it("actors that fill the memory and all wait for one that is not in it make room for it", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { activationsMax: 3, idleMs: 1_000 } });
    // An actor that made room is woken by the store.
    await node.start();
    await Promise.all(["a", "b", "c"].map((id) => ask(node, id, { type: "forward", to: "sum", by: 1 })));
    await time.advance(60_000);
    expect(node.stats().outboxPending).toBe(0);
    expect(await ask(node, "sum", read)).toMatchObject({ n: 3 });
  });

  it("actors that fill the memory and only wait for their time make room for callers, and are woken in time", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { activationsMax: 3, timerHorizonMs: 60_000 } });
    await node.start();
    for (const id of ["a", "b", "c"]) await ask(node, id, { type: "arm" });
    const heads = async (): Promise<unknown[]> =>
      Promise.all(["a", "b", "c"].map(async (id) => (await store.readHead(counter(id)))?.head));
    expect(await heads()).toEqual([1, 1, 1]);
    await time.advance(10_000);
    expect(await ask(node, "d", add)).toBe(1);
    await time.advance(52_000);
    expect(await heads()).toEqual([2, 2, 2]);
  });

  it("actors that fill the memory and only wait for their time make room for one that is due now", async () => {
    const { system, store, time } = newWorld();
    const gone = system({ timers: { schedule: () => () => {} } });
    await ask(gone, "due", { type: "arm" });
    const head = (await store.readHead(counter("due")))?.head ?? 0;
    await time.advance(30_000);
    const node = system({ limits: { activationsMax: 3, timerHorizonMs: 60_000, outboxWakeMs: 0 } });
    await node.start();
    for (const id of ["a", "b", "c"]) await ask(node, id, { type: "arm" });
    await time.advance(32_000);
    expect((await store.readHead(counter("due")))?.head).toBe(head + 1);
  });

  it("a caller is told that its time is over: in the mailbox nothing happened, in a turn nobody knows", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { askTimeoutMs: 30_000, batchCommandsMax: 1 } });
    await ask(node, "a", add);
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      await release.promise;
      return apply();
    };
    const asked = Promise.allSettled([
      ask(node, "a", add),
      ask(node, "a", add, { timeoutMs: 1_000 }),
      ask(node, "a", add, { timeoutMs: 60_000 }),
    ]);
    await time.advance(40_000);
    release.resolve();
    const outcomes = await asked;
    expect(outcomes[0]).toMatchObject({ reason: { reason: "timeout", effect: "unknown" } });
    expect(outcomes[1]).toMatchObject({ reason: { reason: "timeout", effect: "not_applied" } });
    expect(outcomes[2]).toMatchObject({ status: "fulfilled", value: 3 });
  });

  it("a turn with many effects ends early and leaves the rest of its commands for the next", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { batchEffectsMax: 4 } });
    await ask(node, "a", add);
    const commits = store.callsOf("commit");
    store.intercept = async (call, apply) => apply();
    const forward: CounterCommand = { type: "forward", to: "b", by: 1 };
    await Promise.all(Array.from({ length: 10 }, () => ask(node, "a", forward)));
    expect(store.callsOf("commit") - commits).toBeGreaterThanOrEqual(3);
    await time.advance(1_000);
    expect(await ask(node, "b", read)).toMatchObject({ n: 10 });
  });

  it("a poll that finds only what others must wake looks further", async () => {
    const { system, time } = newWorld();
    const frozen = system({ timers: { schedule: () => () => {} } });
    for (let i = 0; i < 8; i += 1) await ask(frozen, `other-${i}`, { type: "arm" });
    await time.advance(1);
    await ask(frozen, "mine", { type: "arm" });
    const elsewhere = { ask: async () => null, deliver: async () => 0 };
    const node = system({
      route: (ref) => (ref.id === "mine" ? "local" : elsewhere),
      limits: { pollActorsMax: 2, pollMs: 1_000, outboxWakeMs: 0 },
    });
    await node.start();
    await time.advance(60_000);
    expect(node.stats().active).toBe(0);
    await time.advance(5_000);
    expect(await node.askHere(counter("mine"), read, 1_000)).toMatchObject({ alarms: 1 });
  });

  it("a report of a stored actor with more events than it reads has no state rather than an earlier one", async () => {
    const { system, store } = newWorld();
    const { head } = await store.claim(counter("a"), "node");
    const puts = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        rt: rowTable.event,
        k: at + 1,
        k2: "",
        body: JSON.stringify({ v: counterActor.schemaVersion, t: at, e: [{ type: "added", by: 1 }] }),
      }));
    const { epoch, op: expectedOp } = head;
    const commit = { ref: counter("a"), epoch, deletes: [], wakeAtMs: null };
    await store.commit({ ...commit, expectedHead: 0, expectedOp, op: "1", puts: puts(999) });
    expect(await system().inspect(counter("a"))).toMatchObject({ status: "passive", context: { n: 999 } });
    await store.commit({
      ...commit,
      expectedHead: 1,
      expectedOp: "1",
      op: "2",
      puts: puts(1_000).slice(999),
    });
    expect(await system().inspect(counter("a"))).toMatchObject({
      status: "passive",
      state: null,
      context: null,
      failure: null,
      head: 2,
      owner: "node",
    });
  });
});
