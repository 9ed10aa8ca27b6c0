import { describe, expect, it } from "vitest";
import { raise, setup } from "xstate";
import { nextEra, rowTable, storeWith } from "../../storage/actor-store.ts";
import { ask, type CounterCommand, counter, counterActor, newWorld } from "./world.fixture.ts";

const read: CounterCommand = { type: "read" };
const minute = 60_000;

/** A counter that reminds itself of having been armed. */
const reminded = (initial: "idle" | "armed") => {
  const machine = setup({
    types: { context: {} as object, input: {} as { start: number } },
  }).createMachine({
    id: "reminded",
    context: {},
    initial,
    states: {
      idle: { on: { armed: "armed" } },
      armed: {
        entry: raise({ type: "reminder" }, { id: "reminder", delay: minute }),
        on: { greeted: "armed", disarmed: "idle", reminder: "idle" },
      },
    },
  });
  return { ...counterActor, machine, effects: {} };
};

describe("A4: time is data", () => {
  it("a delayed transition is a row, and its event goes through the journal", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", { type: "arm" });
    const rows = await store.readRows(counter("a"), [{ rt: rowTable.timer, limit: 9 }]);
    expect(rows.map((row) => row.k2)).toEqual(["xstate.after.alarm.counter.armed"]);
    expect((await node.inspect(counter("a")))?.timers).toEqual([
      {
        id: "xstate.after.alarm.counter.armed",
        dueMs: time.now() + minute,
        event: "xstate.after.alarm.counter.armed",
      },
    ]);
    await time.advance(minute - 1);
    expect(await ask(node, "a", read)).toMatchObject({ state: "armed" });
    await time.advance(1);
    expect(await ask(node, "a", read)).toMatchObject({ state: "idle", alarms: 1 });
    expect(await store.readRows(counter("a"), [{ rt: rowTable.timer, limit: 9 }])).toEqual([]);
    expect(await ask(system(), "a", read)).toMatchObject({ state: "idle", alarms: 1 });
  });

  it("is armed again by the next activation, for the same instant", async () => {
    const { system, time } = newWorld();
    await ask(system(), "a", { type: "arm" });
    await time.advance(40_000);
    const second = system();
    expect(await ask(second, "a", read)).toMatchObject({ state: "armed" });
    await time.advance(19_999);
    expect(await ask(second, "a", read)).toMatchObject({ alarms: 0 });
    await time.advance(1);
    expect(await ask(second, "a", read)).toMatchObject({ alarms: 1 });
  });

  it("wakes an actor that nobody calls, whose node is gone", async () => {
    const { system, store, time } = newWorld();
    await ask(system({ timers: { schedule: () => () => {} } }), "a", { type: "arm" });
    const second = system({ limits: { pollMs: 1_000 } });
    await second.start();
    await time.advance(minute + 1_000);
    expect(second.stats().active).toBe(1);
    expect(await ask(second, "a", read)).toMatchObject({ alarms: 1 });
    expect((await store.readHead(counter("a")))?.head).toBe(2);
  });

  it("that is late on a busy node is not written about by polls that find its actor due", async () => {
    const { system, store, time } = newWorld();
    const late = (delayMs: number, run: () => void) =>
      delayMs === minute ? () => {} : time.schedule(delayMs, run);
    const node = system({ timers: { schedule: late }, limits: { pollMs: 1_000 } });
    await node.start();
    await ask(node, "a", { type: "arm" });
    await time.advance(minute + 5_000);
    expect(await store.dueActors(time.now(), 9)).toHaveLength(1);
    expect(node.stats().active).toBe(1);
    expect((await store.readHead(counter("a")))?.head).toBe(1);
  });

  it("a timer that was overdue fires at once on activation", async () => {
    const { system, time } = newWorld();
    await ask(system({ timers: { schedule: () => () => {} } }), "a", { type: "arm" });
    await time.advance(10 * minute);
    const second = system();
    await ask(second, "a", read);
    await time.advance(0);
    expect(await ask(second, "a", read)).toMatchObject({ alarms: 1 });
  });

  it("a cancelled timer leaves the store and does not fire", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", { type: "arm" });
    await ask(node, "a", { type: "disarm" });
    expect(await store.readRows(counter("a"), [{ rt: rowTable.timer, limit: 9 }])).toEqual([]);
    expect(await store.dueActors(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
    await time.advance(2 * minute);
    expect(await ask(node, "a", read)).toMatchObject({ alarms: 0 });
  });

  it("set and cancelled in one turn, it never was; cancelled and set, it counts from then", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await Promise.all([ask(node, "a", { type: "arm" }), ask(node, "a", { type: "disarm" })]);
    expect(await store.readRows(counter("a"), [{ rt: rowTable.timer, limit: 9 }])).toEqual([]);
    await ask(node, "a", { type: "arm" });
    await time.advance(30_000);
    await Promise.all([ask(node, "a", { type: "disarm" }), ask(node, "a", { type: "arm" })]);
    await time.advance(30_000);
    expect(await ask(node, "a", read)).toMatchObject({ alarms: 0 });
    await time.advance(30_000);
    expect(await ask(node, "a", read)).toMatchObject({ alarms: 1 });
  });

  it("a timer that fell due while its cancellation was on the way to the store does nothing", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", { type: "arm" });
    await time.advance(minute - 1);
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit") await release.promise;
      return apply();
    };
    const disarmed = ask(node, "a", { type: "disarm" });
    await time.advance(1_000);
    expect(node.stats().mailboxed).toBe(2);
    release.resolve();
    await disarmed;
    await time.advance(minute);
    expect(await ask(node, "a", read)).toMatchObject({ state: "idle", alarms: 0 });
  });

  it("T2: a timer that ends when the machine takes its event no more is removed, and leaves no event", async () => {
    const { system, store, time } = newWorld();
    const node = system({ definitions: [reminded("idle")] });
    await ask(node, "a", { type: "arm" });
    await ask(node, "a", { type: "disarm" });
    await time.advance(minute);
    expect(node.stats().crashes).toBe(0);
    const left = await store.readRows(counter("a"), [
      { rt: rowTable.timer, limit: 9 },
      { rt: rowTable.event, limit: 9 },
    ]);
    expect(left.map(({ rt, k }) => [rt, k])).toEqual([
      [rowTable.event, 1],
      [rowTable.event, 2],
    ]);
    expect(await store.dueActors(Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
  });

  it("T1: what the initial state arms is part of the first commit, also where an actor that may be lost begins an era", async () => {
    const world = newWorld();
    const committed: number[] = [];
    const store = storeWith(world.store, {
      createsActors: false,
      claim: async (...asked) => {
        const claimed = await world.store.claim(...asked);
        return { ...claimed, head: { ...claimed.head, ...nextEra(claimed.head) } };
      },
      commit: async ({ puts }) => {
        committed.push(...puts.map((row) => row.rt));
        return { status: "applied" };
      },
    });
    await ask(world.system({ store, definitions: [reminded("armed")] }), "a", {
      type: "emit",
      event: "greeted",
    });
    expect(committed).toContain(rowTable.timer);
  });
});
