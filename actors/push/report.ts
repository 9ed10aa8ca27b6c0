// What a push reports about itself: PushStatus and its pages of outcomes (specification, «Push, outcome, status»).

import { chunkSize, holdEnds, type PushContext, type pushMachine } from "../../machines/push.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type {
  PublishOutcome,
  PushCounts,
  PushFacts,
  PushProtocol,
  PushReport,
  PushState,
  RecordFault,
  RecordOutcome,
  RowReference,
} from "../messages/push.ts";
import type { ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable } from "../system/row-table.ts";

export type PushView = ViewOf<typeof pushMachine>;

interface Page {
  readonly outcome: RecordOutcome | null;
  readonly from_leaf: number;
  readonly limit: number;
}

/** The stored form of an outcome, without the members that are usually empty. */
type Packed = readonly [number, RecordOutcome, string | null, number | null, (readonly RecordFault[])?];

/** The outcomes of a settled chunk, in leaf order; the key is the chunk's number. */
export const outcomes = defineTable<readonly PublishOutcome[]>({
  name: "outcomes",
  rt: 16,
  encode: (chunk) => JSON.stringify(chunk.map(pack)),
  decode: (text) => (JSON.parse(text) as Packed[]).map(unpack),
});
/** The rows of a settled chunk about which an index must be notified again. */
export const references = defineJsonTable<readonly RowReference[]>("row references", 17);

/** The data from which a report is made. */
interface Reported {
  readonly context: PushContext;
  readonly facts: PushFacts;
  readonly state: PushState;
  /** The outcomes of the settled chunks that were read. */
  readonly chunks: ReadonlyMap<number, readonly PublishOutcome[]>;
}

/** Returns null if no such push was accepted. */
export function reportPush(view: PushView, page: Page): PushReport | null {
  const { context } = view.snapshot;
  if (!context.facts) return null;
  const chunks = new Map(outcomes.readAll(view).map(({ k, value }) => [k, value]));
  return reportOf({ context, facts: context.facts, state: reportedState(view), chunks }, page);
}

/** The report of a push that has just been accepted, of which nothing is settled. */
export function reportAccepted(
  view: PushView,
  { facts, held_reasons, hold_ms }: CommandOf<PushProtocol, "push.accept">,
  page: Page,
): PushReport {
  const heldReasons = held_reasons;
  const state = held_reasons.length > 0 ? "held" : "queued";
  const times = { updatedAtMs: view.nowMs, ...(state === "held" ? holdEnds(view.nowMs, hold_ms) : {}) };
  const context = { ...view.snapshot.context, facts, heldReasons, ...times };
  return reportOf({ context, facts, state, chunks: new Map() }, page);
}

function reportOf(reported: Reported, page: Page): PushReport {
  const { context, facts, state } = reported;
  const settled = Math.min(context.chunksSettled * chunkSize, facts.records);
  const { results, nextLeaf } = pageOf(reported, page, settled);
  return {
    facts,
    state,
    held_reasons: context.heldReasons,
    hold_expires_at:
      state === "held" && context.holdEndsAtMs !== undefined ? timestamp(context.holdEndsAtMs) : null,
    hold_decision: context.holdDecision ?? null,
    counts: countsOf(context, facts, settled, state),
    settled,
    stalled: context.stalled,
    updated_at: timestamp(context.updatedAtMs),
    completed_at: context.completedAtMs === null ? null : timestamp(context.completedAtMs),
    error: context.error,
    results,
    next_leaf: nextLeaf,
  };
}

export function reportedState(view: PushView): PushState {
  const { value } = view.snapshot;
  if (typeof value === "object") return value.working;
  // `settled` is a transient state, left as soon as it is entered.
  return value === "indexing" || value === "settled" ? "processing" : value;
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

function countsOf(context: PushContext, facts: PushFacts, settled: number, state: PushState): PushCounts {
  const open = facts.records - settled;
  const { rejected } = context.tally;
  return {
    ...context.tally,
    rejected: state === "failed" ? rejected + open : rejected,
    held: state === "held" ? open : 0,
    pending: state === "held" || state === "failed" ? 0 : open,
  };
}

function pageOf(
  { context: { error }, facts: { records }, state, chunks }: Reported,
  page: Page,
  settled: number,
) {
  const results: PublishOutcome[] = [];
  let leaf = page.from_leaf;
  let chunk = -1;
  let settledOnes: readonly PublishOutcome[] = [];
  for (; leaf < records && results.length < page.limit; leaf += 1) {
    if (leaf >= settled) {
      const outcome = openOutcome(leaf, state, error);
      if (page.outcome === null || page.outcome === outcome.outcome) results.push(outcome);
      continue;
    }
    if (Math.floor(leaf / chunkSize) !== chunk) {
      chunk = Math.floor(leaf / chunkSize);
      const known = chunks.get(chunk);
      if (known === undefined) break;
      settledOnes = known;
    }
    const entry = settledOnes[leaf % chunkSize];
    if (entry && (page.outcome === null || page.outcome === entry.outcome)) results.push(entry);
  }
  return { results, nextLeaf: leaf < records ? leaf : null };
}

/** The outcome of a leaf that is not settled: it waits, or will never be published because the push failed. */
function openOutcome(leafIndex: number, state: PushState, error: PushContext["error"]): PublishOutcome {
  const failed = state === "failed" && error !== null;
  return {
    leaf_index: leafIndex,
    outcome: failed ? "rejected" : state === "held" ? "held" : "pending",
    record_id: null,
    version: null,
    errors: failed ? [{ code: error.code, pointer: "", detail: error.detail }] : [],
  };
}

function pack({ leaf_index, outcome, record_id, version, errors }: PublishOutcome): Packed {
  const packed = [leaf_index, outcome, record_id, version] as const;
  return errors.length > 0 ? [...packed, errors] : packed;
}

function unpack([leaf_index, outcome, record_id, version, errors]: Packed): PublishOutcome {
  return { leaf_index, outcome, record_id, version, errors: errors ?? [] };
}
