import { expect, it } from "vitest";
import { ok, refuse } from "../../protocol/result.ts";
import type { Inspection } from "../inspection.ts";
import type { ActorDetail, JournalPage } from "../inspection-shapes.ts";
import { noInspection } from "../ops.fixture.ts";
import { timelineOf } from "./timeline.ts";

type Event = JournalPage["events"][number];
type Ref = ActorDetail["ref"];

const startMs = Date.parse("2026-11-25T12:00:00.000Z");
const event = (seq: number, afterMs: number, type: string, more: object = {}): Event => ({
  ...{ seq, at: new Date(startMs + afterMs).toISOString(), commit: seq, epoch: 1, type },
  ...{ event: { type, ...more }, from: null, to: null },
});

const push = { kind: "push", id: "u.bat_1" };
const journals: Readonly<Record<string, readonly Event[]>> = {
  "push/u.bat_1": [
    event(1, 20, "push.accepted"),
    event(2, 50, "chunk.settled", { chunk: 0, unindexed: ["eu"] }),
    event(3, 90, "chunk.indexed", { chunk: 0, region: "eu" }),
  ],
  "business/u": [
    event(1, -600_000, "push.admitted", { push_id: "bat_0" }),
    ...Array.from({ length: 300 }, (_, at) => event(2 + at, 1, "register.changed")),
    event(302, 10, "push.admitted", { push_id: "bat_1" }),
    event(303, 95, "push.finished", { push_id: "bat_1" }),
    event(304, 99, "push.admitted", { push_id: "bat_2" }),
  ],
  "integration-key/u.k": [event(1, 5, "push.charged", { push_id: "bat_1" })],
};

const detailOf = (ref: Ref): ActorDetail =>
  ({
    ref,
    context: ref.kind === "push" ? { facts: { key_id: "k" } } : {},
    activations: [{ epoch: 1, owner: `eu/${ref.kind}`, since: "" }],
  }) as unknown as ActorDetail;

function inspectionOf(changes: { readonly pruned?: number } = {}): Inspection {
  return {
    ...noInspection,
    detail: async (ref) => detailOf(ref),
    past: {
      ...noInspection.past,
      journal: async ({ kind, id }, { before, limit }) => {
        const all = journals[`${kind}/${id}`];
        if (all === undefined) return refuse("unknown", "There is none.");
        const events = all.filter(({ seq }) => seq < before).slice(-limit);
        const first = events[0]?.seq ?? 1;
        return ok({
          ...{ kind, id, head: 1, last_seq: all.length, events, unreadable: null },
          ...{ next_before: first > 1 ? first : null, pruned_up_to: changes.pruned ?? 0 },
        });
      },
    },
  };
}

it("TL1: has every step of the push over its actors in the order of their times, and no step of another", async () => {
  const { steps, isPruned, isComplete } = await timelineOf(inspectionOf(), detailOf(push));
  expect(steps.map(({ type, owner }) => [type, owner])).toEqual([
    ["push.charged", "eu/integration-key"],
    ["push.admitted", "eu/business"],
    ["push.accepted", "eu/push"],
    ["chunk.settled", "eu/push"],
    ["chunk.indexed", "eu/push"],
    ["push.finished", "eu/business"],
  ]);
  expect(steps[3]).toMatchObject({ chunk: 0, region: null, unindexed: ["eu"] });
  expect(steps[4]).toMatchObject({ chunk: 0, region: "eu", unindexed: null });
  expect([isPruned, isComplete]).toEqual([false, true]);
});

it("TL2: says that steps are missing", async () => {
  expect(await timelineOf(inspectionOf({ pruned: 7 }), detailOf(push))).toMatchObject({ isPruned: true });
  const endless: Inspection = {
    ...inspectionOf(),
    past: {
      ...noInspection.past,
      journal: async ({ kind, id }, { before }) => {
        const seq = Math.min(before, 1_000_000) - 1;
        const events = [event(seq, 1, "register.changed")];
        return ok({
          ...{ kind, id, head: 1, last_seq: 1, events, unreadable: null, next_before: seq, pruned_up_to: 0 },
        });
      },
    },
  };
  expect(await timelineOf(endless, detailOf(push))).toMatchObject({ isComplete: false });
});
