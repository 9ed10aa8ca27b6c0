// A9: what an older version wrote can be read. The golden texts below were written by version 1 and must never change.

import { describe, expect, it } from "vitest";
import { assign, setup } from "xstate";
import type { ActorDefinition, Message } from "./definition.ts";
import { MachineDriver } from "./machine-driver.ts";
import { counterActor, newWorld } from "./world.fixture.ts";

const ref = { kind: "till", id: "t" } as const;

function tillMachine(version: 1 | 2) {
  const total = version === 1 ? "sum" : "cents";
  return setup({
    types: {
      context: {} as Record<string, number>,
      events: {} as { type: string; [member: string]: unknown },
    },
    delays: { closing: 60_000 },
  }).createMachine({
    id: "till",
    context: { [total]: 0 },
    initial: "open",
    states: {
      open: {
        initial: "quiet",
        after: { closing: "closed" },
        on: {
          [version === 1 ? "paid" : "payment.taken"]: {
            actions: assign(({ context, event }) => ({
              [total]: (context[total] ?? 0) + Number(version === 1 ? event["amount"] : event["cents"]),
            })),
          },
        },
        states: { quiet: { on: { rush: "busy" } }, busy: {} },
      },
      closed: {},
    },
  });
}

const tillOne: ActorDefinition = {
  kind: "till",
  schemaVersion: 1,
  machine: tillMachine(1),
  durability: "journal",
  input: () => ({}),
  decide: (command, view) => ({
    reply: view.snapshot.context,
    events: command.type === "read" ? [] : [command],
  }),
  effects: {},
};

const tillTwo: ActorDefinition = {
  ...tillOne,
  schemaVersion: 2,
  machine: tillMachine(2),
  upgrade: {
    1: (snapshot) => {
      const { context, ...rest } = snapshot as { context: { sum: number } };
      return { ...rest, context: { cents: context.sum * 100 } };
    },
  },
  upgradeEvent: {
    1: (event) => {
      if (event.type === "joked") return null;
      const paid = event as Message & { amount?: number };
      const taken = { type: "payment.taken", cents: (paid.amount ?? 0) * 100 };
      return paid.type === "paid" ? taken : event;
    },
  },
};

const goldenSnapshot =
  '{"status":"active","context":{"sum":12},"value":{"open":"busy"},"children":{},"historyValue":{}}';
const goldenEvents =
  '{"v":1,"t":1000000,"e":[{"type":"paid","amount":3},{"type":"joked"},{"type":"paid","amount":4}]}';

describe("A9: old state is readable", () => {
  it("version 1 still writes its golden snapshot", () => {
    const driver = new MachineDriver(tillOne);
    let snapshot = driver.initial("t");
    const events: (Message & { amount?: number })[] = [{ type: "rush" }, { type: "paid", amount: 12 }];
    for (const event of events) snapshot = driver.next(snapshot, event);
    expect(JSON.parse(driver.persist(snapshot))).toEqual(JSON.parse(goldenSnapshot));
  });

  it("version 2 restores the golden snapshot of version 1, in its state", () => {
    const restored = new MachineDriver(tillTwo).restore(goldenSnapshot, 1);
    expect(restored.value).toEqual({ open: "busy" });
    expect(restored.context).toEqual({ cents: 1_200 });
    expect(restored.matches({ open: "busy" })).toBe(true);
  });

  it("a whole journal of version 1 goes on under version 2, and is written anew as such", async () => {
    const { system, store, time } = newWorld();
    const { head } = await store.claim(ref, "old");
    const commit = { ref, epoch: head.epoch, deletes: [], wakeAtMs: null };
    const snapshot = { seq: 5, body: goldenSnapshot, schemaVersion: 1 };
    const timer = {
      rt: 3,
      k: 0,
      k2: "xstate.after.closing.till.open",
      body: '{"d":1060000,"e":{"type":"xstate.after.closing.till.open"}}',
    };
    const puts = [{ rt: 1, k: 8, k2: "", body: goldenEvents }, timer];
    await store.commit({ ...commit, expectedHead: 0, expectedOp: "", op: "one", puts, snapshot });
    const node = system({ definitions: [tillTwo], limits: { snapshotEveryEvents: 4 } });
    expect(await node.ask(ref, { type: "read" })).toEqual({ cents: 1_900 });
    for (const cents of [1, 2]) await node.ask(ref, { type: "payment.taken", cents });
    expect(await store.readHead(ref)).toMatchObject({ schemaVersion: 2, snapshotSeq: 9 });
    const again = system({ definitions: [tillTwo] });
    expect(await again.ask(ref, { type: "read" })).toEqual({ cents: 1_903 });
    await time.advance(60_000);
    expect(await again.inspect(ref)).toMatchObject({ state: "closed" });
  });

  it("a snapshot of a later version is refused, and its actor is kept from harm", async () => {
    const { system, time } = newWorld();
    const newer = system({ definitions: [tillTwo], limits: { snapshotEveryEvents: 1 } });
    for (const cents of [1, 2]) await newer.ask(ref, { type: "payment.taken", cents });
    const older = system({ definitions: [tillOne], limits: { crashesMax: 1 } });
    await expect(older.ask(ref, { type: "read" })).rejects.toMatchObject({ reason: "quarantined" });
    expect((await older.inspect(ref))?.failure).toMatch(/snapshot of version 2, known are up to 1/);
    await time.settle();
    expect(await system({ definitions: [tillTwo] }).ask(ref, { type: "read" })).toEqual({ cents: 3 });
  });

  it("a missing step is said, not guessed", () => {
    const { upgrade: _upgrade, ...gap } = tillTwo;
    expect(() => new MachineDriver(gap).restore(goldenSnapshot, 1)).toThrow("no upgrade from version 1");
  });

  it("the golden snapshot of the test kind itself is restored with its context and history", () => {
    const golden =
      '{"status":"active","context":{"n":4,"alarms":1,"done":["x"]},"value":"armed","children":{},"historyValue":{}}';
    const driver = new MachineDriver(counterActor);
    const restored = driver.restore(golden, 1);
    expect(JSON.parse(driver.persist(restored))).toEqual(JSON.parse(golden));
    expect(driver.next(restored, { type: "disarmed" }).value).toBe("idle");
  });
});
