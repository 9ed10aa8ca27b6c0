import { expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createOwnNode } from "./own-node.ts";

const unseen = rubbish({ version: "0.0.0" });

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
    unseen,
  );
  const first = own.counts();
  expect(first.pushes).toEqual([]);
  expect(first.kinds).toEqual([{ kind: "push", active: 1, states: [{ state: "complete", count: 1 }] }]);
  nowMs += 999;
  expect([own.counts(), looks]).toEqual([first, 1]);
  nowMs += 1;
  own.counts();
  expect(looks).toBe(2);
});

function manyActors(count: number) {
  const told = { made: 0, explained: 0, nowMs: 1_000, elapsedMs: 1_000 };
  const glances = function* () {
    told.made += 1;
    told.elapsedMs += 20;
    for (let at = 0; at < count; at += 1) {
      const ref = { kind: "push", id: `b.p${String(at).padStart(4, "0")}` };
      const rest = { mailbox: 0, head: 1, timers: [], outbox: [], failure: null };
      yield {
        ...{ ref, status: at === 7 ? "quarantined" : "active", state: "complete", ...rest },
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
      ...{ actors: { glances }, clock: { now: () => told.nowMs }, config: { region: "r" } },
      elapsedMs: () => told.elapsedMs,
    }),
    unseen,
  );
  return { told, own };
}

const every = { kind: null, state: null, part: null, attention: false, after: "", limit: 5 };

it("ON4: a list explains for those alone that are on its page why they wait", () => {
  const { told, own } = manyActors(1_000);
  const { rows, total } = own.actors({ ...every, after: "push/b.p0099" });
  expect([rows.map(({ id }) => id), total, told.explained]).toEqual([
    ["b.p0100", "b.p0101", "b.p0102", "b.p0103", "b.p0104"],
    1_000,
    5,
  ]);
  const some = own.actors({ ...every, kind: "push", part: "p099", state: "complete" });
  expect([some.rows.length, some.total, told.explained]).toEqual([5, 10, 10]);
  expect(own.actors({ ...every, state: "comp" }).total).toBe(0);
});

it("ON3: the actors that need a look are kept where it took a while to find them", () => {
  const { told, own } = manyActors(10);
  const question = { ...every, attention: true };
  const first = own.actors(question);
  expect([first.rows.map(({ id }) => id), first.total]).toEqual([["b.p0007"], 1]);
  told.elapsedMs += 999;
  expect([own.actors(question), told.made]).toEqual([first, 1]);
  expect(own.actors({ ...question, part: "p0001" })).toEqual({ rows: [], total: 0 });
  told.elapsedMs += 1;
  own.actors(question);
  expect(told.made).toBe(2);
});
