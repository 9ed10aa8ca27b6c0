// What a push reports about itself: PushStatus and its pages of outcomes (specification, «Push, outcome, status»).

import { chunkSize, type PushContext, type pushMachine } from "../../machines/push.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { HeldReason } from "../messages/business.ts";
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
  ResultDetails,
  RowReference,
} from "../messages/push.ts";
import type { ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, type RowCodec } from "../system/row-table.ts";
import { type Found, type KeptOutcome, type Page, pageOf, rejectedAhead } from "./pages.ts";

export type PushView = ViewOf<typeof pushMachine>;

/** The stored form of an outcome, without the members that are usually empty. */
type Packed = readonly [
  leafIndex: number,
  outcome: RecordOutcome,
  recordId: string | null,
  version: number | null,
  errors?: readonly RecordFault[],
  names?: string | null,
  /** When the chunk was settled, with its first leaf only. */
  settledAtMs?: number,
];

/** The outcomes of a settled chunk, in leaf order; the key is the chunk's number. */
const outcomesCodec: RowCodec<readonly KeptOutcome[]> = {
  name: "outcomes",
  rt: 16,
  encode: (chunk) => JSON.stringify(chunk.map(pack)),
  decode: (text) => {
    const packed = JSON.parse(text) as Packed[];
    const settledAtMs = packed[0]?.[6];
    return packed.map((each) => unpack(each, settledAtMs));
  },
};
export const outcomes = defineTable(outcomesCodec);
/** What is known of the leaves of a chunk that is not settled yet (G2 in pages.ts); the key is the chunk's number. */
export const findings: typeof outcomes = defineTable({ ...outcomesCodec, name: "findings", rt: 18 });
/** The rows of a settled chunk about which an index must be notified again. */
export const references = defineJsonTable<readonly RowReference[]>("row references", 17);

/** The listings that a held push would change, with its reasons: apart from the journal, because a purge removes some of them. */
export const heldReasons = defineJsonTable<readonly HeldReason[]>("reasons of the hold", 19);

/** The reasons as the journal keeps them: without a text of any record. */
export function journaled(reasons: readonly HeldReason[]): readonly HeldReason[] {
  return reasons.map(({ largest: _, ...reason }) => reason);
}

/** The row of the reasons; none for reasons that name no listing. */
export function heldReasonRows(reasons: readonly HeldReason[]): readonly PartitionRow[] {
  return reasons.some(({ largest }) => largest !== undefined) ? [heldReasons.write("h", reasons)] : [];
}

/** What the answer about a push reads, if it is or may be held. */
export function selectHeldReasons({ facts, heldReasons: known }: PushContext): readonly RowSelection[] {
  // A push that is being accepted or prepared may be held by the time of the answer.
  const isOpen = facts === null || facts.file !== undefined;
  return known.length > 0 || isOpen ? [heldReasons.selectPage(1)] : [];
}

/** The data from which a report is made. */
interface Reported {
  readonly context: PushContext;
  readonly facts: PushFacts;
  readonly state: PushState;
  readonly stalled: boolean;
  /** The outcomes of the settled chunks that were read. */
  readonly chunks: ReadonlyMap<number, readonly KeptOutcome[]>;
  /** What is known of the open chunks. */
  readonly found: ReadonlyMap<number, Found>;
}

/** Returns null if no such push was accepted. */
export function reportPush(view: PushView, page: Page): PushReport | null {
  const { context } = view.snapshot;
  if (!context.facts) return null;
  const chunks = new Map(outcomes.readAll(view).map(({ k, value }) => [k, value]));
  // While the push is being judged, what was found may be found again otherwise.
  const open = view.snapshot.matches({ working: { step: "judging" } })
    ? []
    : findings.readAll(view).filter(({ k }) => k >= context.chunksSettled);
  const found = new Map(
    open.map(({ k, value }) => [k, new Map(value.map((each) => [each.leaf_index, each]))]),
  );
  // The context has the reasons without what they name.
  const [kept] = heldReasons.readAll(view);
  const reported = kept === undefined ? context : { ...context, heldReasons: kept.value };
  const stalled = view.snapshot.hasTag("stalled");
  return reportOf(
    { context: reported, facts: context.facts, state: reportedState(view), stalled, chunks, found },
    page,
  );
}

/** The report of a push that has just been accepted and is not held: nothing of it is settled. */
export function reportAccepted(
  view: PushView,
  { facts }: CommandOf<PushProtocol, "push.accept">,
  page: Page,
): PushReport {
  const context = { ...view.snapshot.context, facts, updatedAtMs: view.nowMs };
  const nothing = { stalled: false, chunks: new Map(), found: new Map() };
  return reportOf({ context, facts, state: "queued", ...nothing }, page);
}

function reportOf(reported: Reported, page: Page): PushReport {
  const { context, facts, state, stalled } = reported;
  const settled = Math.min(context.chunksSettled * chunkSize, facts.records);
  const paged = { ...reported, records: facts.records };
  const { results, nextLeaf } = pageOf(paged, page);
  return {
    facts,
    state,
    held_reasons: context.heldReasons,
    hold_expires_at:
      state === "held" && context.holdEndsAtMs !== undefined ? timestamp(context.holdEndsAtMs) : null,
    hold_decision: context.holdDecision ?? null,
    counts: countsOf(reported, facts.records - settled, rejectedAhead(paged)),
    settled,
    stalled,
    updated_at: timestamp(context.updatedAtMs),
    completed_at: context.completedAtMs === null ? null : timestamp(context.completedAtMs),
    error: context.error,
    results: results.map(shown),
    ...(page.details === true ? { details: results.map(detailsOf) } : {}),
    next_leaf: nextLeaf,
  };
}

export function reportedState(view: PushView): PushState {
  const { value } = view.snapshot;
  // `settled` is a transient state, left as soon as it is entered.
  if (typeof value === "string") return value === "settled" ? "processing" : value;
  return "indexing" in value || value.working.step === "processing" ? "processing" : "queued";
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

function countsOf({ context, state }: Reported, open: number, early: number): PushCounts {
  const { rejected } = context.tally;
  return {
    ...context.tally,
    rejected: rejected + (state === "failed" ? open : early),
    held: state === "held" ? open - early : 0,
    pending: state === "held" || state === "failed" ? 0 : open - early,
  };
}

function pack(kept: KeptOutcome, place: number): Packed {
  const { leaf_index, outcome, record_id, version, errors, names, settled_at_ms } = kept;
  const packed = [leaf_index, outcome, record_id, version] as const;
  if (place === 0 && settled_at_ms !== undefined) return [...packed, errors, names ?? null, settled_at_ms];
  if (names !== undefined) return [...packed, errors, names];
  return errors.length > 0 ? [...packed, errors] : packed;
}

function unpack(packed: Packed, settledAtMs: number | undefined): KeptOutcome {
  const [leaf_index, outcome, record_id, version, errors, names] = packed;
  return {
    ...{ leaf_index, outcome, record_id, version, errors: errors ?? [] },
    ...(typeof names === "string" ? { names } : {}),
    ...(settledAtMs === undefined ? {} : { settled_at_ms: settledAtMs }),
  };
}

/** The outcome as the wire shows it. */
function shown({ leaf_index, outcome, record_id, version, errors }: KeptOutcome): PublishOutcome {
  return { leaf_index, outcome, record_id, version, errors };
}

function detailsOf({ names, settled_at_ms }: KeptOutcome): ResultDetails {
  return { names: names ?? null, settled_at_ms: settled_at_ms ?? null };
}
