// Region: applies row changes to its index and closes its receipt batches. No journal: whoever asked asks again.
//   R1. A piece of work is applied at most once at a time; its result is kept until the asker has it. An asker that gave
//       up meanwhile may never ask again, so of results that nobody took only the newest are kept.
//   R2. Receipt batches are closed once a minute, and a batch of a dead incarnation like any other.
//   R3. Once a minute receipts are forgotten that were kept for as long as they have to be; what was closed over them stays.

import { assign, setup } from "xstate";

export interface RegionContext {
  readonly region: string;
  /** Work under way or answered: null while it is under way. */
  readonly work: Readonly<Record<string, WorkResult | null>>;
  readonly rowsApplied: number;
  readonly batchesClosed: number;
  readonly batchesForgotten: number;
  readonly lastFailure: string | null;
}

export type WorkResult =
  | { readonly status: "applied"; readonly stale: number }
  | { readonly status: "failed" };

export type RegionEvent =
  | { readonly type: "rows.queued"; readonly work_id: string }
  | { readonly type: "rows.applied"; readonly work_id: string; readonly stale: number; readonly rows: number }
  | { readonly type: "rows.failed"; readonly work_id: string; readonly detail: string }
  | { readonly type: "rows.answered"; readonly work_id: string }
  | { readonly type: "receipts.closed"; readonly batches: number }
  | { readonly type: "receipts.forgotten"; readonly batches: number };

/** Results kept for askers that have not taken them. */
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
