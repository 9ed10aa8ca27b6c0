import { describe, expect, it } from "vitest";
import { ask, counterActor, newWorld } from "./world.fixture.ts";

const fails = {
  work: async () => {
    throw new Error("The region is away.");
  },
};

describe("what the actors of a system hold", () => {
  it("is counted for every kind, and nothing where there is nothing", async () => {
    const { system } = newWorld();
    const node = system();
    const empty = { active: 0, mailboxed: 0, mailboxLongest: 0, outboxPending: 0, outboxOldestMs: 0 };
    expect(node.loads()).toEqual({ kinds: { counter: { ...empty, quarantined: 0 } }, regions: [] });
    const answers = [ask(node, "a", { type: "add", by: 1 }), ask(node, "a", { type: "add", by: 1 })];
    expect(node.loads().kinds["counter"]).toMatchObject({ active: 1, mailboxed: 2, mailboxLongest: 2 });
    await Promise.all(answers);
    expect(node.loads().kinds["counter"]).toMatchObject({ active: 1, mailboxed: 0, mailboxLongest: 0 });
  });

  it("dates an effect by its decision, also after a restart", async () => {
    const { system, time } = newWorld();
    const first = system({ activities: fails });
    await ask(first, "a", { type: "work", job: "j" });
    await time.advance(40_000);
    expect(first.loads().kinds["counter"]).toMatchObject({ outboxPending: 1, outboxOldestMs: 40_000 });
    first.halt();
    const second = system({ activities: fails });
    await ask(second, "a", { type: "read" });
    await time.advance(2_000);
    expect(second.loads().kinds["counter"]).toMatchObject({ outboxPending: 1, outboxOldestMs: 42_000 });
  });

  it("names the regions that an activity waits for, where its kind says that it waits for one", async () => {
    const { system, time } = newWorld();
    const definition = {
      ...counterActor,
      regionWaits: ["indexChunk"],
      effects: {
        ...counterActor.effects,
        doWork: () => [
          { kind: "activity", name: "indexChunk", params: { region: "eu" } } as const,
          { kind: "activity", name: "indexChunk", params: {} } as const,
          { kind: "activity", name: "other", params: { region: "us" } } as const,
        ],
      },
    };
    const activities = { indexChunk: fails.work, other: fails.work };
    const node = system({ definitions: [definition], activities });
    await ask(node, "a", { type: "work", job: "j" });
    await ask(node, "b", { type: "work", job: "j" });
    await time.advance(5_000);
    expect(node.loads().regions).toEqual([{ region: "eu", waiting: 2, oldestMs: 5_000 }]);
  });

  it("counts what is quarantined", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { crashesMax: 1 } });
    await ask(node, "a", { type: "fail" }).catch(() => {});
    await time.settle();
    expect(node.loads().kinds["counter"]).toMatchObject({ active: 0, quarantined: 1 });
  });
});
