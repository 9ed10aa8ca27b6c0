import { beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../actors/system/definition.ts";
import { MachineDriver } from "../../actors/system/machine-driver.ts";
import { counter, counterActor, newWorld } from "../../actors/system/world.fixture.ts";
import { rowTable } from "../../storage/actor-store.ts";
import type { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import { createJournalStates, type WalkJournal } from "./journal-reads.ts";

const limits = { every: 10, statesMax: 4, journalsMax: 2 };
let store: MemoryActorStore;
let walkJournal: WalkJournal;
beforeEach(() => {
  store = newWorld().store;
  walkJournal = createJournalStates(limits);
});

/** Makes the counter again, with so many events that add this much. */
async function write(id: string, { events, by }: { readonly events: number; readonly by: number }) {
  const ref = counter(id);
  const { head } = await store.claim(ref, "node");
  const puts = Array.from({ length: events }, (_, at) => ({
    rt: rowTable.event,
    k: at + 1,
    k2: "",
    body: JSON.stringify({ v: counterActor.schemaVersion, t: at, e: [{ type: "added", by }] }),
  }));
  const { epoch, head: expectedHead, op: expectedOp } = head;
  const first = { ref, epoch, expectedHead, expectedOp, deletes: [], wakeAtMs: null };
  await store.commit({ ...first, op: `${id}-${epoch}`, puts });
  return { ...first, expectedHead: expectedHead + 1, expectedOp: `${id}-${epoch}` };
}

/** The number of the counter after an event, or after the last, and how many events were run through for it. */
async function look(id: string, seq: number | null) {
  let [visits, n] = [0, -1];
  await walkJournal(counter(id), {
    store,
    driver: new MachineDriver(counterActor),
    pause: async () => {},
    before: seq,
    visit: (event) => {
      visits += 1;
      n = event.after?.context.n;
      return event.seq !== seq;
    },
  });
  return { visits, n };
}

describe("a journal that was walked once", () => {
  it("JS1: is walked from a state nearby", async () => {
    await write("a", { events: 45, by: 2 });
    expect(await look("a", null)).toEqual({ visits: 45, n: 90 });
    expect(await look("a", 40)).toEqual({ visits: 10, n: 80 });
    expect(await look("a", 41)).toEqual({ visits: 1, n: 82 });
    expect(await look("a", 9)).toEqual({ visits: 9, n: 18 });
    // The last states but one: the table of the newest events needs some of them.
    expect(await look("a", null)).toEqual({ visits: 15, n: 90 });
  });

  it("JS1: has a bounded number of states, and so has a bounded number of journals", async () => {
    await write("a", { events: 95, by: 1 });
    await look("a", null);
    // Every tenth would be nine states: every other was dropped once, and again.
    expect(await look("a", 50)).toEqual({ visits: 10, n: 50 });
    expect(await look("a", 60)).toEqual({ visits: 20, n: 60 });
    for (const id of ["b", "c"]) {
      await write(id, { events: 20, by: 1 });
      await look(id, null);
    }
    expect((await look("a", 95)).visits).toBe(95);
  });

  it("JS2: is walked again from its snapshot if it was pruned beyond what is known, or is another actor by now", async () => {
    const kept = await write("a", { events: 45, by: 2 });
    await look("a", null);
    const snapshot = { seq: 43, body: "", schemaVersion: counterActor.schemaVersion };
    const driver = new MachineDriver(counterActor);
    const added: Message & { readonly by: number } = { type: "added", by: 100 };
    let at43 = driver.initial("a");
    for (let seq = 0; seq < 43; seq += 1) at43 = driver.next(at43, added);
    const body = driver.persist(at43);
    await store.commit({ ...kept, op: "pruned", puts: [], snapshot: { ...snapshot, body } });
    expect(await look("a", null)).toEqual({ visits: 2, n: 4_304 });

    const written = await write("b", { events: 45, by: 2 });
    await store.commit({ ...written, op: "second", puts: [] });
    await look("b", null);
    const second = { ...written, expectedHead: written.expectedHead + 1, expectedOp: "second" };
    await store.commit({ ...second, op: "forgotten", puts: [], forget: true });
    await write("b", { events: 45, by: 3 });
    expect(await look("b", 45)).toEqual({ visits: 45, n: 135 });
  });

  it("JS3: serves whoever asked while it was walked", async () => {
    await write("a", { events: 45, by: 2 });
    const [one, other] = await Promise.all([look("a", null), look("a", 31)]);
    expect([one, other]).toEqual([
      { visits: 45, n: 90 },
      { visits: 1, n: 62 },
    ]);
  });
});
