// What a push says of itself: PushStatus and its pages of outcomes (specification, «Push, outcome, status»).

import { chunkSize, type PushContext } from "../../machines/push.ts";
import type {
  PublishOutcome,
  PushCounts,
  PushFacts,
  PushReport,
  PushState,
  RecordFault,
  RecordOutcome,
} from "../messages/push.ts";
import type { ActorView } from "../system/definition.ts";

export const rt = { outcomes: 16, references: 17 } as const;

interface Page {
  readonly outcome: RecordOutcome | null;
  readonly from_leaf: number;
  readonly limit: number;
}

type Packed = readonly [number, RecordOutcome, string | null, number | null, (readonly RecordFault[])?];

/** Null when no such push was accepted. */
export function reportPush(view: ActorView, page: Page): PushReport | null {
  const context = view.snapshot.context as PushContext<PushFacts>;
  const { facts } = context;
  if (!facts) return null;
  const state = reportedState(view);
  const settled = Math.min(context.chunksSettled * chunkSize, facts.records);
  const { results, nextLeaf } = pageOf(view, page, settled);
  return {
    facts,
    state,
    held_reasons: context.heldReasons as PushReport["held_reasons"],
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

export function reportedState(view: ActorView): PushState {
  const { value } = view.snapshot;
  if (typeof value === "object" && "working" in value) return value["working"] as PushState;
  return value === "indexing" ? "processing" : (value as PushState);
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

function countsOf(
  context: PushContext<PushFacts>,
  facts: PushFacts,
  settled: number,
  state: PushState,
): PushCounts {
  const open = facts.records - settled;
  const { rejected } = context.tally;
  return {
    ...context.tally,
    rejected: state === "failed" ? rejected + open : rejected,
    held: state === "held" ? open : 0,
    pending: state === "held" || state === "failed" ? 0 : open,
  };
}

function pageOf(view: ActorView, page: Page, settled: number) {
  const { facts, error } = view.snapshot.context as PushContext<PushFacts>;
  const records = facts?.records ?? 0;
  const state = reportedState(view);
  const results: PublishOutcome[] = [];
  const bodies = new Map(view.rowsOf(rt.outcomes).map((row) => [row.k, row.body]));
  let leaf = page.from_leaf;
  let chunk = -1;
  let packed: readonly Packed[] = [];
  for (; leaf < records && results.length < page.limit; leaf += 1) {
    if (leaf >= settled) {
      const outcome = openOutcome(leaf, state, error);
      if (page.outcome === null || page.outcome === outcome.outcome) results.push(outcome);
      continue;
    }
    if (Math.floor(leaf / chunkSize) !== chunk) {
      chunk = Math.floor(leaf / chunkSize);
      const body = bodies.get(chunk);
      if (body === undefined) break;
      packed = JSON.parse(body) as Packed[];
    }
    const entry = packed[leaf % chunkSize];
    if (entry && (page.outcome === null || page.outcome === entry[1])) results.push(unpack(entry));
  }
  return { results, nextLeaf: leaf < records ? leaf : null };
}

/** A leaf that is not settled: it waits, or will never be published because the push failed. */
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

function unpack([leaf_index, outcome, record_id, version, errors]: Packed): PublishOutcome {
  return { leaf_index, outcome, record_id, version, errors: errors ?? [] };
}
