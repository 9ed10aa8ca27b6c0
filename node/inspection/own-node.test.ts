import { expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createOwnNode } from "./own-node.ts";

const unseen = rubbish({ version: "0.0.0" });

function manyActors(count: number) {
  const told = { explained: 0 };
  const glances = function* () {
    for (let at = 0; at < count; at += 1) {
      const ref = { kind: "push", id: `b.p${String(at).padStart(4, "0")}` };
      const rest = { mailbox: 0, head: 1, timers: [], outbox: [], failure: null };
      yield {
        ref,
        status: at === 7 ? "quarantined" : "active",
        state: "complete",
        ...rest,
        // What explains a wait reads the context.
        get context() {
          told.explained += 1;
          return { error: null };
        },
      };
    }
  };
  const own = createOwnNode(
    rubbish({
      actors: { glances },
      clock: { now: () => 1_000 },
      config: { region: "r" },
      elapsedMs: () => 1_000,
    }),
    unseen,
  );
  return { told, own };
}

const every = { kind: null, state: null, part: null, attention: false, after: "", limit: 5 };

it("ON3: a list explains for those alone that are on its page why they wait", () => {
  const { told, own } = manyActors(1_000);
  const { rows, total } = own.answers["operators.actors"]({ ...every, after: "push/b.p0099" });
  expect([rows.map(({ id }) => id), total, told.explained]).toEqual([
    ["b.p0100", "b.p0101", "b.p0102", "b.p0103", "b.p0104"],
    1_000,
    5,
  ]);
  const some = own.answers["operators.actors"]({ ...every, kind: "push", part: "p099", state: "complete" });
  expect([some.rows.length, some.total, told.explained]).toEqual([5, 10, 10]);
  expect(own.answers["operators.actors"]({ ...every, state: "comp" }).total).toBe(0);
});
