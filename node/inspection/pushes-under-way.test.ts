import { expect, it } from "vitest";
import type { ActorGlance } from "../../actors/system/definition.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createPushTally, sumOfPushes } from "./own-node.ts";

const push = (key_id: string, records: number, state: unknown = { working: "queued" }): ActorGlance =>
  rubbish({
    ref: { kind: "push", id: "b.p" },
    state,
    context: { facts: { business_uuid: "b", key_id, records } },
  });

const tallied = (glances: readonly ActorGlance[]) => {
  const tally = createPushTally();
  expect([...tally.look(glances)]).toEqual(glances);
  return tally.most();
};

it("pushes under way are counted by key, the one with the most first", () => {
  const others: readonly ActorGlance[] = [
    push("over", 5, "complete"),
    push("waiting", 5, { held: "undecided" }),
    rubbish({ ref: { kind: "push", id: "b.q" }, state: { working: "queued" }, context: null }),
    rubbish({ ref: { kind: "business", id: "b" }, state: { working: "x" }, context: {} }),
  ];
  expect(tallied([push("few", 9_000), push("many", 5), push("many", 7), ...others])).toEqual([
    { business_uuid: "b", key_id: "many", pushes: 2, records: 12 },
    { business_uuid: "b", key_id: "few", pushes: 1, records: 9_000 },
  ]);
});

it("PU1: the answer is bounded, however many keys push, and has those with the most", () => {
  const all = Array.from({ length: 1_000 }, (_, at) => push(`k${at}`, at));
  const one = tallied([...all, push("k3", 1)]);
  expect(one).toHaveLength(200);
  const sum = sumOfPushes([one, tallied([push("k3", 1), push("else", 1), push("else", 1)])]);
  expect(sum).toHaveLength(20);
  expect(sum.slice(0, 2)).toMatchObject([
    { key_id: "k3", pushes: 3 },
    { key_id: "else", pushes: 2 },
  ]);
});
