// The region actor: the only writer of its region's index. It has no journal: callers retry (R1, R2 of the machine).

import { type RegionEvent, regionMachine, type WorkResult } from "../../machines/region.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { BillableReply, FindReply, RegionProtocol, RowsReply } from "../messages/region.ts";
import { type Decision, defineActor, type Effect, type ViewOf } from "../system/definition.ts";

/** Maximum number of pieces of work under way at once; above it, callers wait. */
export const workMax = 64;
/** Of them, purges: they take as long as an index is large, and everything else must not wait for them. */
export const purgesMax = 16;
const purgeMark = "purge ";

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
    "rows.find": find,
    "rows.found": note,
    "receipts.billable": readBillable,
    "billable.read": note,
    "rows.purge": purge,
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
  const { result, ...waiting } = workOf(workId, view, activity);
  if (result === null) return waiting;
  const reply =
    result.status === "applied" ? ({ status: "applied", stale: result.stale } as const) : unavailable;
  return { ...waiting, reply };
}

function purge(
  { work_id, collections }: CommandOf<RegionProtocol, "rows.purge">,
  view: View,
): Decision<RowsReply, RegionEvent> {
  const id = `${purgeMark}${work_id}`;
  const { work: known } = view.snapshot.context;
  const underWay = Object.entries(known).filter(([each, of]) => of === null && each.startsWith(purgeMark));
  if (known[id] === undefined && underWay.length >= purgesMax) return { reply: unavailable };
  return work(id, view, { kind: "activity", name: "purgeRows", params: { work_id: id, collections } });
}

function find(
  { work_id, collection, record_id }: CommandOf<RegionProtocol, "rows.find">,
  view: View,
): Decision<FindReply, RegionEvent> {
  const params = { work_id, collection, record_id };
  const { result, ...waiting } = workOf(work_id, view, { kind: "activity", name: "findRow", params });
  if (result === null) return waiting;
  if (result.status !== "found" || result.found === null) return { ...waiting, reply: unavailable };
  return { ...waiting, reply: { status: "found", found: result.found } };
}

function readBillable(
  { type: _type, ...params }: CommandOf<RegionProtocol, "receipts.billable">,
  view: View,
): Decision<BillableReply, RegionEvent> {
  const activity = {
    kind: "activity",
    name: "readBillable",
    params: { ...params, region: view.id },
  } as const;
  const { result, ...waiting } = workOf(params.work_id, view, activity);
  if (result === null) return waiting;
  if (result.status !== "billable") return { ...waiting, reply: unavailable };
  return { ...waiting, reply: { status: "read", ...result.page } };
}

const unavailable = { status: "unavailable", retry_after_seconds: 1 } as const;

interface Work extends Omit<Decision<never, RegionEvent>, "reply"> {
  /** Null while it is under way. */
  readonly result: WorkResult | null;
}

function workOf(workId: string, view: View, activity: Effect): Work {
  const { work: known } = view.snapshot.context;
  const result = known[workId];
  if (result) return { result, events: [{ type: "rows.answered", work_id: workId }] };
  if (result === null) return { result, wait: true };
  if (Object.values(known).filter((each) => each === null).length >= workMax)
    return { result: { status: "failed" } };
  return {
    result: null,
    wait: true,
    events: [{ type: "rows.queued", work_id: workId }],
    effects: [activity],
  };
}
