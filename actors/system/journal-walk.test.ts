import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { rowTable } from "../../storage/actor-store.ts";
import {
  activationsKept,
  readActivations,
  type WalkedEvent,
  type WalkOptions,
  walkJournal,
} from "./journal.ts";
import { MachineDriver } from "./machine-driver.ts";
import { ask, counter, counterActor, newWorld, type World } from "./world.fixture.ts";

const driver = (changes: Partial<typeof counterActor> = {}) =>
  new MachineDriver({ ...counterActor, ...changes });

async function walk(world: World, options: Partial<WalkOptions> = {}) {
  const events: WalkedEvent[] = [];
  let pauses = 0;
  const found = await walkJournal(counter("a"), {
    store: world.store,
    driver: driver(),
    pause: async () => {
      pauses += 1;
    },
    visit: (event) => events.push(event) > 0,
    again: () => void events.splice(0),
    ...options,
  });
  return { walk: found, events, pauses: () => pauses };
}

async function add(world: World, count: number, options: Parameters<World["system"]>[0] = {}): Promise<void> {
  const system = world.system(options);
  for (let at = 0; at < count; at += 1) await world.time.run(ask(system, "a", { type: "add", by: 1 }));
  await world.time.run(system.drain(1_000));
}

describe("a walk of a journal", () => {
  it("shows each event with its commit, its epoch and the states around it, and changes nothing", async () => {
    const world = newWorld();
    await add(world, 2);
    await add(world, 1);
    const claims = world.store.callsOf("claim");
    const { walk: found, events } = await walk(world);
    expect(events.map(({ seq, commit, epoch }) => [seq, commit, epoch])).toEqual([
      [1, 1, 1],
      [2, 2, 1],
      [3, 3, 2],
    ]);
    expect(events.map(({ before, after }) => [before?.context.n, after?.context.n])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
    expect(found).toMatchObject({ prunedUpTo: 0, endSeq: 3, unreadable: null });
    expect(world.store.callsOf("claim")).toBe(claims);
    expect(
      await walkJournal(counter("never"), {
        ...events,
        store: world.store,
        driver: driver(),
        pause: async () => {},
        visit: () => true,
      }),
    ).toBeNull();
  });

  it("begins after the events that the snapshot contains (JW2)", async () => {
    const world = newWorld();
    await add(world, 9, { limits: { snapshotEveryEvents: 4 } });
    const { walk: found, events } = await walk(world);
    expect(found?.prunedUpTo).toBeGreaterThan(0);
    expect(events[0]?.seq).toBe((found?.prunedUpTo ?? 0) + 1);
    expect(events[0]?.before?.context.n).toBe(found?.prunedUpTo);
    expect(found?.end?.context.n).toBe(9);
  });

  it("of a hundred thousand events reads in pages, lets others run, and stops where it is told (JW1)", async () => {
    const world = newWorld();
    await add(world, 1);
    const [row] = await world.store.readRows(counter("a"), [{ rt: rowTable.event, limit: 1 }]);
    const reads: number[] = [];
    const length = 100_000;
    const store: WalkOptions["store"] = part({
      readHead: (ref) => world.store.readHead(ref),
      readRows: async (_ref, [selection]) => {
        const { after, limit } = selection as {
          readonly after: { readonly k: number };
          readonly limit: number;
        };
        reads.push(limit);
        const left = Math.max(0, Math.min(limit, length - after.k));
        return Array.from({ length: left }, (_, at) => ({
          rt: 1,
          k2: "",
          body: row?.body ?? "",
          k: after.k + 1 + at,
        }));
      },
    });
    const { walk: found, pauses, events } = await walk(world, { store, visit: () => true });
    expect([found?.endSeq, found?.end?.context.n, events]).toEqual([length, length, []]);
    expect(Math.max(...reads)).toBeLessThanOrEqual(500);
    expect(pauses()).toBeGreaterThanOrEqual(length / 500 - 1);
    reads.length = 0;
    await walk(world, { store, visit: ({ seq }) => seq < 700 });
    expect(reads).toHaveLength(2);
  });

  it("of what a later release wrote shows the events, and says why states are unknown (JW3)", async () => {
    const world = newWorld();
    await add(world, 2, {
      definitions: [{ ...counterActor, schemaVersion: counterActor.schemaVersion + 1 }],
    });
    const { walk: found, events } = await walk(world);
    expect(found?.unreadable).toContain("are not known here");
    expect(events.map(({ seq, after }) => [seq, after])).toEqual([
      [1, null],
      [2, null],
    ]);
  });
});

describe("the activations of an actor (J5)", () => {
  it("are remembered with their owners, the newest only", async () => {
    const world = newWorld();
    for (let life = 0; life < activationsKept + 3; life += 1) await add(world, 1);
    const kept = await readActivations(world.store, counter("a"));
    expect(kept).toHaveLength(activationsKept);
    expect(kept[0]).toMatchObject({ p: activationsKept + 3, o: `node-${activationsKept + 3}` });
    expect(kept.at(-1)?.p).toBe(4);
  });
});
