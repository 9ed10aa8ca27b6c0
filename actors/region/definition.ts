// The region actor: the only writer of its region's index. It has no journal: callers retry (R1, R2 of the machine).

import { type RegionEvent, regionMachine } from "../../machines/region.ts";
import type { RowsReply } from "../messages/region.ts";
import { type Decision, defineActor, type Effect, type ViewOf } from "../system/definition.ts";

/** Maximum number of pieces of work under way at once; above it, callers wait. */
export const workMax = 64;

type View = ViewOf<typeof regionMachine>;

export const regionActor = defineActor<"region", typeof regionMachine>({
  kind: "region",
  schemaVersion: 1,
  machine: regionMachine,
  durability: "memory",
  input: (id) => ({ region: id }),
  decide: {
    "region.open": () => ({ reply: { status: "done" } }),
    "rows.apply": ({ work_id, changes }, view) =>
      work(work_id, view, { kind: "activity", name: "applyRows", params: { work_id, changes } }),
    "rows.index": ({ work_id, collection, references }, view) =>
      work(work_id, view, {
        kind: "activity",
        name: "indexRows",
        params: { work_id, collection, references, asked_at_ms: view.nowMs },
      }),
    "rows.applied": note,
    "rows.failed": note,
    "receipts.closed": note,
    "receipts.forgotten": note,
  },
  effects: {
    closeReceipts: (_params, view) => [
      { kind: "activity", name: "closeReceipts", params: { region: view.id } },
    ],
    forgetReceipts: (_params, view) => [
      { kind: "activity", name: "forgetReceipts", params: { region: view.id } },
    ],
  },
});

/** The result of an activity becomes an event. */
function note<E extends RegionEvent>(
  answer: E,
): { readonly reply: { readonly status: "done" }; readonly events: readonly E[] } {
  return { reply: { status: "done" }, events: [answer] };
}

/** Starts a piece of work, or returns its result. */
function work(workId: string, view: View, activity: Effect): Decision<RowsReply, RegionEvent> {
  const { work: known } = view.snapshot.context;
  const result = known[workId];
  if (result) {
    const answered: RegionEvent = { type: "rows.answered", work_id: workId };
    return result.status === "applied"
      ? { reply: { status: "applied", stale: result.stale }, events: [answered] }
      : { reply: { status: "unavailable", retry_after_seconds: 1 }, events: [answered] };
  }
  if (result === null) return { wait: true };
  if (Object.values(known).filter((each) => each === null).length >= workMax)
    return { reply: { status: "unavailable", retry_after_seconds: 1 } };
  return { wait: true, events: [{ type: "rows.queued", work_id: workId }], effects: [activity] };
}
