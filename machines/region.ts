// Region: applies row changes to its index and closes its receipt batches. It has no journal: callers without an answer retry.
//   R1. A piece of work runs at most once at a time; its result is kept until the caller has it. A caller that gave
//       up may never return, so only the newest of the uncollected results are kept.
//   R2. Receipt batches are closed once a minute, and a batch of a dead incarnation is closed like any other.
//   R3. Once a minute, receipts whose retention period is over are removed; the closed batches over them stay.

import { assign, setup } from "xstate";
import type { BillablePage } from "../actors/messages/region.ts";

export interface RegionContext {
  readonly region: string;
  /** The work that is under way (null) or has a result. */
  readonly work: Readonly<Record<string, WorkResult | null>>;
  readonly rowsApplied: number;
  readonly batchesClosed: number;
  readonly batchesForgotten: number;
  readonly lastFailure: string | null;
}

export type WorkResult =
  | { readonly status: "applied"; readonly stale: number }
  | { readonly status: "found"; readonly found: boolean | null }
  | { readonly status: "billable"; readonly page: BillablePage }
  | { readonly status: "failed" };

export type RegionEvent =
  | { readonly type: "rows.queued"; readonly work_id: string }
  | { readonly type: "rows.applied"; readonly work_id: string; readonly stale: number; readonly rows: number }
  | { readonly type: "rows.found"; readonly work_id: string; readonly found: boolean | null }
  | { readonly type: "billable.read"; readonly work_id: string; readonly page: BillablePage | null }
  | { readonly type: "rows.failed"; readonly work_id: string; readonly detail: string }
  | { readonly type: "rows.answered"; readonly work_id: string }
  | { readonly type: "receipts.closed"; readonly batches: number }
  | { readonly type: "receipts.forgotten"; readonly batches: number };

/** Maximum number of results kept for callers that have not collected them. */
const resultsMax = 64;

function withWork(context: RegionContext, workId: string, result: WorkResult | null): Partial<RegionContext> {
  const { [workId]: _known, ...others } = context.work;
  const results = Object.keys(others).filter((id) => others[id] !== null);
  const forgotten = new Set(results.slice(0, Math.max(0, results.length + 1 - resultsMax)));
  const kept = Object.entries(others).filter(([id]) => !forgotten.has(id));
  return { work: { ...Object.fromEntries(kept), [workId]: result } };
}

function withoutWork(context: RegionContext, workId: string): Partial<RegionContext> {
  const { [workId]: _answered, ...work } = context.work;
  return { work };
}

export const regionMachine = setup({
  types: { context: {} as RegionContext, events: {} as RegionEvent, input: {} as { region: string } },
  delays: { receiptBatch: 60_000 },
  actions: { closeReceipts: () => {}, forgetReceipts: () => {} },
}).createMachine({
  id: "region",
  context: ({ input }) => ({
    region: input.region,
    work: {},
    rowsApplied: 0,
    batchesClosed: 0,
    batchesForgotten: 0,
    lastFailure: null,
  }),
  type: "parallel",
  on: {
    "rows.queued": { actions: assign(({ context, event }) => withWork(context, event.work_id, null)) },
    "rows.found": {
      actions: assign(({ context, event }) =>
        withWork(context, event.work_id, { status: "found", found: event.found }),
      ),
    },
    "billable.read": {
      actions: assign(({ context, event: { work_id, page } }) =>
        withWork(context, work_id, page === null ? { status: "failed" } : { status: "billable", page }),
      ),
    },
    "rows.answered": { actions: assign(({ context, event }) => withoutWork(context, event.work_id)) },
    "receipts.closed": {
      actions: assign(({ context, event }) => ({ batchesClosed: context.batchesClosed + event.batches })),
    },
    "receipts.forgotten": {
      actions: assign(({ context, event }) => ({
        batchesForgotten: context.batchesForgotten + event.batches,
      })),
    },
    "rows.applied": {
      target: ".index.serving",
      actions: assign(({ context, event }) => ({
        ...withWork(context, event.work_id, { status: "applied", stale: event.stale }),
        rowsApplied: context.rowsApplied + event.rows,
        lastFailure: null,
      })),
    },
    "rows.failed": {
      target: ".index.catching_up",
      actions: assign(({ context, event }) => ({
        ...withWork(context, event.work_id, { status: "failed" }),
        lastFailure: event.detail,
      })),
    },
  },
  states: {
    index: {
      initial: "serving",
      states: { serving: {}, catching_up: {} },
    },
    receipts: {
      initial: "open",
      states: {
        open: {
          after: {
            receiptBatch: { target: "open", reenter: true, actions: ["closeReceipts", "forgetReceipts"] },
          },
        },
      },
    },
  },
});
