// What an operator may ask of an actor's past, over a machine of which a test sees what it is given.

import { describe, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import { ask, counter, counterActor, newWorld } from "../../actors/system/world.fixture.ts";
import { createJournalReads } from "./journal-reads.ts";

/** The types of all events of which the machine is asked what they would do. */
function watched(machine: AnyStateMachine): readonly string[] {
  const seen: string[] = [];
  const { getTransitionData } = machine;
  machine.getTransitionData = (snapshot, event) => {
    seen.push(event.type);
    return getTransitionData.call(machine, snapshot, event);
  };
  return seen;
}

describe("what an event would do", () => {
  it("is asked of a machine only for types that it takes, which it remembers for ever (JR1)", async () => {
    const world = newWorld();
    const system = world.system();
    await world.time.run(ask(system, "a", { type: "add", by: 1 }));
    const seen = watched(counterActor.machine);
    const { whatIf } = createJournalReads({
      store: world.store,
      definitions: [counterActor],
      pause: async () => {},
    });
    const taken = await whatIf(counter("a"), { type: "added", by: 4 }, null);
    expect(taken).toMatchObject({ ok: true, value: { taken: true, after: { context: { n: 5 } } } });
    expect(seen).toContain("added");
    const names = ["__proto__", "constructor", "x".repeat(8_000), "xstate.after.nothing"];
    for (const type of names) {
      const tried = await whatIf(counter("a"), { type, by: 4 }, null);
      expect(tried).toMatchObject({
        ok: true,
        value: { taken: false, fault: null, changes: [], after: { context: { n: 1 } } },
      });
      expect(seen).not.toContain(type);
    }
    // An event that this machine never gets: it would count to no number.
    const lacking = await whatIf(counter("a"), { type: "added" }, null);
    expect(lacking).toMatchObject({
      ok: true,
      value: {
        ...{ taken: false, changes: [], after: { context: { n: 1 } } },
        fault: "The event lacks a member: after it, n would have no value.",
      },
    });
    await world.time.run(system.drain(1_000));
  });
});
