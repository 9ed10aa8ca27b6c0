import { expect, it } from "vitest";
import type { ActorGlance } from "../../actors/system/definition.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createSurvey } from "./own-node.ts";

/** A look that a test changes, and how often it was explained why its actor waits, which reads the context. */
interface Actor {
  readonly glance: ActorGlance;
  change(state: string, status?: string): void;
}

/** As many pushes, and a clock that a walk over them moves on by `walkMs`. */
function pushes(count: number, walkMs = 0) {
  const told = { explained: 0, walks: 0, elapsedMs: 1_000 };
  const actors = Array.from({ length: count }, (_, at): Actor => {
    const now = { revision: 0, state: "complete", status: "active" };
    const rest = { mailbox: at, head: 1, timers: [], outbox: [], failure: null, crash: null };
    return {
      change: (state, status = "active") => Object.assign(now, { revision: now.revision + 1, state, status }),
      glance: rubbish({
        ref: { kind: "push", id: `b.p${at}` },
        ...rest,
        get revision() {
          return now.revision;
        },
        get state() {
          return now.state;
        },
        get status() {
          return now.status;
        },
        get context() {
          told.explained += 1;
          return { error: null };
        },
      }),
    };
  });
  const survey = createSurvey({
    glances: () => {
      told.walks += 1;
      told.elapsedMs += walkMs;
      return actors.map(({ glance }) => glance);
    },
    where: () => ({ region: "r", node: "n" }),
    elapsedMs: () => told.elapsedMs,
  });
  return { actors, survey, told };
}

const complete = (count: number) => ({ state: "complete", count });

it("SV1: an actor that has not changed is not explained again, and one that has is counted as it is", () => {
  const { actors, survey, told } = pushes(1_000);
  const all = {
    kinds: [{ kind: "push", active: 1_000, states: [complete(1_000)] }],
    attention: [],
    pushes: [],
  };
  expect(survey.counts()).toEqual(all);
  expect(told.explained).toBe(1_000);
  told.elapsedMs += 1;
  expect(survey.counts()).toEqual(all);
  expect([told.walks, told.explained]).toEqual([2, 1_000]);
  actors[7]?.change("failed");
  actors[9]?.change("complete", "quarantined");
  told.elapsedMs += 1;
  expect(survey.counts()).toEqual({
    kinds: [{ kind: "push", active: 1_000, states: [complete(999), { state: "failed", count: 1 }] }],
    attention: [{ reason: "quarantined", count: 1 }],
    pushes: [],
  });
  expect(told.explained).toBe(1_002);
  actors[9]?.change("complete");
  actors.splice(0, 8);
  told.elapsedMs += 1;
  expect(survey.counts()).toEqual({
    kinds: [{ kind: "push", active: 992, states: [complete(992)] }],
    attention: [],
    pushes: [],
  });
  expect(told.explained).toBe(1_003);
});

it("SV1: nothing is found while nobody asks", () => {
  const { told } = pushes(10);
  expect(told).toMatchObject({ walks: 0, explained: 0 });
});

it("SV2: a survey is kept for a hundred times as long as it took, and answers every question", () => {
  const { actors, survey, told } = pushes(10, 20);
  actors[3]?.change("complete", "quarantined");
  expect(survey.counts().attention).toEqual([{ reason: "quarantined", count: 1 }]);
  const [urgent] = survey.urgent();
  expect(urgent).toMatchObject({ id: "b.p3", region: "r", node: "n", mailbox: 3 });
  actors[3]?.change("complete");
  told.elapsedMs += 1_999;
  expect([survey.urgent().length, survey.counts().attention.length, told.walks]).toEqual([1, 1, 1]);
  told.elapsedMs += 1;
  expect([survey.urgent().length, survey.counts().attention.length, told.walks]).toEqual([0, 0, 2]);
});

it("SV2: a survey is kept for a minute at most, even if the node stood still for an hour while it looked", () => {
  const { survey, told } = pushes(10, 3_600_000);
  survey.counts();
  told.elapsedMs += 59_999;
  survey.counts();
  expect(told.walks).toBe(1);
  told.elapsedMs += 1;
  survey.counts();
  expect(told.walks).toBe(2);
});

it("a row that needs a look says where its actor is now, and how much waits for it now", () => {
  let mailbox = 1;
  let node = "first";
  let elapsedMs = 0;
  const rest = { head: 1, timers: [], outbox: [], failure: "it fell", crash: null, revision: 0 };
  const glance: ActorGlance = rubbish({
    ref: { kind: "push", id: "b.p" },
    status: "backing_off",
    state: null,
    context: null,
    ...rest,
    get mailbox() {
      return mailbox;
    },
  });
  const survey = createSurvey({
    glances: () => [glance],
    where: () => ({ region: "r", node }),
    elapsedMs: () => elapsedMs,
  });
  expect(survey.urgent()).toMatchObject([{ mailbox: 1, node: "first" }]);
  [mailbox, node, elapsedMs] = [5, "second", 1];
  expect(survey.urgent()).toMatchObject([{ mailbox: 5, node: "second" }]);
});
