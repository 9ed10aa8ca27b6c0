import { expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createOwnNode } from "./own-node.ts";

it("ON3: counts are kept for fifty times as long as it took to make them", () => {
  let nowMs = 1_000;
  let looks = 0;
  const glances = function* () {
    looks += 1;
    nowMs += 20;
    const ref = { kind: "push", id: "b.p" };
    const rest = { mailbox: 0, head: 1, timers: [], outbox: [], failure: null };
    yield { ref, status: "active", state: "complete", context: { error: null }, ...rest };
  };
  const own = createOwnNode(
    rubbish({
      actors: { glances },
      clock: { now: () => nowMs },
      config: { region: "r" },
      elapsedMs: () => nowMs,
    }),
    "0.0.0",
  );
  const first = own.counts();
  expect(first.kinds).toEqual([{ kind: "push", active: 1, states: [{ state: "complete", count: 1 }] }]);
  nowMs += 999;
  expect([own.counts(), looks]).toEqual([first, 1]);
  nowMs += 1;
  own.counts();
  expect(looks).toBe(2);
});
