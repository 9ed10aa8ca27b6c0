// What operators keep of a look at an actor is right for as long as its revision is the same.

import { expect, it } from "vitest";
import { ask, Bench, type CounterCommand, counterActor, newWorld } from "./world.fixture.ts";

/** Everything that a look shows, except its mailbox. */
function shownBy(
  system: ReturnType<ReturnType<typeof newWorld>["system"]>,
): ReadonlyMap<string, [number, string]> {
  return new Map(
    [...system.glances()].map(({ ref, status, state, context, timers, outbox, head, failure, revision }) => [
      ref.id,
      [revision, JSON.stringify({ status, state, context, timers, outbox, head, failure })],
    ]),
  );
}

it.each([
  ["journal", 14],
  ["memory", 5],
] as const)("%s: a look's revision changes with whatever it shows", async (durability, changesMin) => {
  const { system: start, time } = newWorld();
  const bench = new Bench();
  bench.failures = 12;
  const { absent: _, rows: __, ...kind } = counterActor;
  const definition = durability === "journal" ? counterActor : { ...kind, durability };
  const limits = { idleMs: 3_600_000 };
  const system = start({ definitions: [definition], activities: { work: bench.activity }, limits });
  const commands: readonly CounterCommand[] = [
    { type: "add", by: 2 },
    { type: "arm" },
    { type: "read" },
    { type: "disarm" },
    { type: "arm" },
    { type: "forward", to: "b", by: 3 },
    { type: "work", job: "one" },
  ];
  let changes = 0;
  let before = shownBy(system);
  const look = (): void => {
    const after = shownBy(system);
    for (const [id, [revision, shown]] of after) {
      const known = before.get(id);
      if (known === undefined || known[1] === shown) continue;
      changes += 1;
      expect(revision, `${known[1]} and ${shown}`).not.toBe(known[0]);
    }
    before = after;
  };
  for (const command of commands) {
    await ask(system, "a", command);
    look();
    // Timers end, effects are retried, and their rows are removed.
    for (let step = 0; step < 80; step += 1) {
      await time.advance(1_000);
      look();
    }
  }
  expect(before.get("a")?.[1]).toContain('"alarms":2');
  expect(changes).toBeGreaterThan(changesMin);
});

it("an actor that is left alone keeps its revision, and its look is the same object", async () => {
  const { system: start } = newWorld();
  const system = start();
  await ask(system, "a", { type: "add", by: 1 });
  const [look] = [...system.glances()];
  const revision = look?.revision;
  await ask(system, "a", { type: "read" });
  const [again] = [...system.glances()];
  expect(again).toBe(look);
  expect(again?.revision).toBe(revision);
  await ask(system, "a", { type: "add", by: 1 });
  expect([again?.revision === revision, again?.context]).toMatchObject([false, { n: 2 }]);
});
