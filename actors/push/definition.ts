// The push actor: one accepted batch until every record is settled and searchable.
// Keyed rows, one of each for every chunk: 16 outcomes, 17 row references, and 18 what is known of an open one. 19 is one row
// with the reasons of the hold. 20 to 22 say when each step was made (ports.ts).
//   U1. Accepting a push again, with any key, changes nothing and answers with the state.
//   U2. A chunk is settled once; a repeated settlement is ignored.
//   U3. Outcomes are in leaf order and complete: before a chunk is settled, its leaves are `pending` (or `held`).
//   U4. Nothing is accepted after the instant until which its staged leaves are guaranteed to exist.
//   U5. An awaiting caller is answered once every chunk is settled: its versions are stored and its outcomes committed.
//       Only `complete` says whether the indexes have confirmed them, and no caller waits for that.
//   U6. An event that the machine does not take in its state leaves neither an event nor a row.
//   U7. No event and no context has a text of a record, such as a price or the business's own id. The listings in the reasons of a hold
//       have both: they are a row, from which a purge removes those of its record.

import { chunkCount, chunkSize, type PushEvent, pushMachine } from "../../machines/push.ts";
import { pushPageMax } from "../../protocol/limits.ts";
import { sealEntry } from "../../protocol/log/leaves.ts";
import { withoutRecord } from "../../protocol/price-shock.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import type {
  AcceptReply,
  ForgottenReply,
  PublishOutcome,
  PushCommand,
  PushFacts,
  PushProtocol,
  SettledOutcome,
} from "../messages/push.ts";
import { bulkUploadRef, logRef } from "../messages/refs.ts";
import { noticeEffects, type PushNotice } from "../messages/serving.ts";
import { type Decision, defineActor, type Effect, takenOf, tell } from "../system/definition.ts";
import type { FinishedPush } from "./activities.ts";
import type { StalledPush } from "./ports.ts";
import {
  chunksOfPage,
  findings,
  heldReasonRows,
  heldReasons,
  journaled,
  type KeptOutcome,
  outcomes,
  type PushView,
  references,
  reportAccepted,
  reportedState,
  reportPush,
  selectHeldReasons,
} from "./report.ts";

const noCounts = { accepted: 0, updated: 0, rejected: 0, held: 0 };

/** The page shown in the answer to a queued push. */
const firstPage = { outcome: null, from_leaf: 0, limit: pushPageMax } as const;

/** Maximum number of open chunks whose leaves are judged for their publication: the current one and those that are prefetched. */
const judgedAhead = 16;

type Asked<T extends keyof PushProtocol> = CommandOf<PushProtocol, T>;
type Decided<R> = Decision<R, PushEvent>;

export const pushActor = defineActor<"push", typeof pushMachine>({
  kind: "push",
  schemaVersion: 1,
  machine: pushMachine,
  durability: "journal",
  regionWaits: ["indexChunk"],
  input: (id) => ({ pushId: id }),
  rows: rowsFor,
  decide: {
    "push.accept": accept,
    "push.prepared": prepared,
    "push.forget": forget,
    "chunk.settle": settleChunk,
    "chunk.judge": judgeChunk,
    "push.judged": ({ rejected }, view) => takeUp(view, { type: "push.judged", rejected, at_ms: view.nowMs }),
    "chunk.findings": ({ chunk }, view) => ({
      reply: { status: "done", outcomes: (findings.read(view, "j", chunk) ?? []).map(unstamped) },
    }),
    "chunk.reject": rejectLeaves,
    "chunk.indexed": noteIndexed,
    "push.references": (command, view) => ({
      reply: { status: "done", references: references.read(view, "r", command.chunk) ?? [] },
    }),
    "push.cancelled": ({ by_operator = false }, view) =>
      takeUp(view, {
        type: "push.failed",
        code: cancelled.code,
        at_ms: view.nowMs,
        detail: by_operator ? cancelledByOperator : cancelled.detail,
      }),
    "push.fail": ({ code, detail }, view) =>
      takeUp(view, { type: "push.failed", code, detail, at_ms: view.nowMs }),
    "hold.release": ({ confirmed, decision, error }, view) => {
      const decided = { at_ms: view.nowMs, decision };
      const why = error === undefined ? {} : { error };
      return takeUp(
        view,
        confirmed ? { type: "hold.confirmed", ...decided } : { type: "hold.rejected", ...decided, ...why },
      );
    },
    "push.status": (command, view) => ({ reply: reportPush(view, command) }),
    "push.await": ({ until }, view) =>
      (until === "over" ? isUnknown(view) || isOver(view) : isAnswered(view))
        ? { reply: reportPush(view, { outcome: null, from_leaf: 0, limit: 500 }) }
        : { wait: true },
    "hold.await": (_command, view) =>
      view.snapshot.matches("held") ? { wait: true } : { reply: reportPush(view, firstPage) },
  },
  // Any key of a business may ask about any push_id.
  absent: { "push.status": { reply: null }, "push.forget": { reply: { status: "early" } } },
  effects: {
    useFile: (_params, view: PushView) => useFile(factsOf(view)),
    prepare: (_params, view: PushView) => [
      { kind: "activity", name: "preparePush", params: { facts: factsOf(view) } },
    ],
    judge: (_params, view: PushView) => {
      const facts = factsOf(view);
      const name = facts.mode === "inline" ? "judgeInlineHeld" : "judgeHeld";
      return [{ kind: "activity", name, params: { facts } }];
    },
    processChunk: ({ chunk }: { chunk: number }, view: PushView) => {
      const facts = factsOf(view);
      const name = facts.mode === "inline" ? "processInlineChunk" : "processChunk";
      const judged = view.snapshot.context.judgedRejected?.length ? { judged: true } : {};
      return [{ kind: "activity", name, params: { facts, chunk, ...judged } }];
    },
    indexChunk: (params: { chunk: number; regions: readonly string[] }, view: PushView) =>
      params.regions.map((region) => ({
        kind: "activity",
        name: "indexChunk",
        params: { collection: factsOf(view).collection, chunk: params.chunk, region },
      })),
    finish: (_params, view: PushView) => finishEffects(view),
    notify: (_params, view: PushView) => noticesOf(view),
    reportStalled: (_params, view: PushView) => stalledEffects(view),
  },
});

function factsOf(view: PushView): PushFacts {
  const { facts } = view.snapshot.context;
  if (!facts) throw new Error("A push without facts has no effects.");
  return facts;
}

/** The upload keeps its file until this push is over. */
function useFile({ push_id, business_uuid, file }: PushFacts): readonly Effect[] {
  if (file === undefined) return [];
  return [tell(bulkUploadRef(business_uuid, file.upload_id), { type: "import.begin", push_id })];
}

function finishEffects(view: PushView): readonly Effect[] {
  const { push_id, business_uuid, records, number, received_at, file } = factsOf(view);
  const { accepted, updated } = view.snapshot.context.tally;
  // Whatever was not published will not be.
  const counts = { accepted, updated, rejected: records - accepted - updated };
  const ended = { received_at_ms: Date.parse(received_at), number, counts };
  const upload = file === undefined ? {} : { upload_id: file.upload_id };
  const params: FinishedPush = { push_id, business_uuid, chunks: chunkCount(records), ended, ...upload };
  return [{ kind: "activity", name: "finishPush", params }];
}

function stalledEffects(view: PushView): readonly Effect[] {
  const { push_id, business_uuid, records } = factsOf(view);
  const { chunksSettled, updatedAtMs, unindexed } = view.snapshot.context;
  const since = new Date(updatedAtMs).toISOString();
  const regions = [...new Set(unindexed.map(([, region]) => region))];
  const settled = Math.min(chunksSettled * chunkSize, records);
  const params: StalledPush = { push_id, business_uuid, records, settled, regions, since };
  return [{ kind: "activity", name: "reportStalled", params }];
}

function rowsFor(
  command: PushCommand,
  _id: string,
  { context }: PushView["snapshot"],
): readonly RowSelection[] {
  switch (command.type) {
    case "push.status":
      return [
        ...chunksOfPage(context, command).flatMap(({ first, chunks }) => [
          outcomes.selectPage(chunks, beforeChunk(first)),
          ...(context.judgedRejected === undefined ? [] : [findings.selectPage(chunks, beforeChunk(first))]),
        ]),
        findings.selectPage(judgedAhead, beforeChunk(context.chunksSettled)),
        ...selectHeldReasons(context),
      ];
    case "chunk.settle":
    case "chunk.reject":
    case "chunk.findings":
      return [findings.selectPage(1, beforeChunk(command.chunk))];
    case "push.await":
    case "hold.await":
      return [outcomes.selectPage(3), findings.selectPage(judgedAhead), ...selectHeldReasons(context)];
    case "push.forget":
      return [heldReasons.selectPage(1)];
    case "push.references":
      return [references.selectPage(1, beforeChunk(command.chunk))];
    default:
      return [];
  }
}

/** The position just before the rows of a chunk: their text keys are never empty. */
function beforeChunk(chunk: number): { k: number; k2: string } {
  return { k: chunk, k2: "" };
}

export const cancelled = {
  code: "cancelled",
  detail: "The business cancelled the push before anything of it was published.",
} as const;

/** What the business is told, which did not ask for it. */
export const cancelledByOperator =
  "An operator of the service cancelled the push before anything of it was published.";

/** U6. An event that the machine would not take in its state does not happen. */
function takeUp(view: PushView, event: PushEvent): Decided<DoneReply> {
  return { reply: { status: "done" }, events: takenOf(view, event) };
}

function noteIndexed({ chunk, region }: Asked<"chunk.indexed">, view: PushView): Decided<DoneReply> {
  return takeUp(view, { type: "chunk.indexed", chunk, region, at_ms: view.nowMs });
}

/** Whether nothing more of the push will be published. */
function isOver({ snapshot }: PushView): boolean {
  return snapshot.matches("indexing") || snapshot.matches("complete") || snapshot.matches("failed");
}

/** Whether no such push was ever accepted. */
function isUnknown({ snapshot }: PushView): boolean {
  return snapshot.context.facts === null;
}

/** U5. A held push is answered as held, and one that was never accepted as unknown. */
function isAnswered(view: PushView): boolean {
  return isUnknown(view) || view.snapshot.matches("held") || isOver(view);
}

function accept(command: Asked<"push.accept">, view: PushView): Decided<AcceptReply> {
  if (view.snapshot.context.facts) {
    const reply = { status: "known", state: reportedState(view) } as const;
    // A caller that accepts a push which is over has staged its leaves and admitted it again: that is undone.
    return isOver(view) ? { reply, effects: finishEffects(view) } : { reply };
  }
  if (view.nowMs > command.accept_by_ms) return { reply: { status: "late" } };
  // The caller that has a queued push accepted answers with its status, so it need not ask for it; one that is to be held has no
  // status to answer with until it was judged.
  const isReported = command.facts.mode === "queued" && command.held_reasons.length === 0;
  const report = isReported ? { report: reportAccepted(view, command, firstPage) } : {};
  return {
    reply: { status: "accepted", state: "queued", ...report },
    events: [
      {
        type: "push.accepted",
        facts: command.facts,
        held_reasons: journaled(command.held_reasons),
        ...(command.hold_ms === undefined ? {} : { hold_ms: command.hold_ms }),
        at_ms: view.nowMs,
      },
    ],
    puts: heldReasonRows(command.held_reasons),
    effects: [logSeal(command.facts, command.seal_leaf)],
  };
}

/** A push's seal is a leaf of the log once, however often it is sent: this is decided with its acceptance. */
function logSeal({ business_uuid }: PushFacts, leaf: string): Effect {
  return tell(logRef(), { type: "log.append", entries: [sealEntry(business_uuid, leaf)] });
}

function prepared(command: Asked<"push.prepared">, view: PushView): Decided<DoneReply> {
  const held_reasons = journaled(command.held_reasons);
  const decided = takeUp(view, { ...command, held_reasons, at_ms: view.nowMs });
  return decided.events?.length === 0 ? decided : { ...decided, puts: heldReasonRows(command.held_reasons) };
}

/** See U7. A hold that came after the deletion is about what was published since. */
function forget({ record_id, number }: Asked<"push.forget">, view: PushView): Decided<ForgottenReply> {
  const { snapshot } = view;
  const isLater = (snapshot.context.facts?.number ?? 0) > number;
  const isEarly = snapshot.matches("received") || snapshot.matches({ working: { step: "preparing" } });
  if (isEarly && !isLater) return { reply: { status: "early" } };
  const [kept] = heldReasons.readAll(view);
  if (kept === undefined || isLater) return { reply: { status: "done" } };
  return { reply: { status: "done" }, puts: heldReasonRows(withoutRecord(kept.value, record_id)) };
}

function settleChunk(command: Asked<"chunk.settle">, view: PushView): Decided<DoneReply> {
  const decided = takeUp(view, {
    type: "chunk.settled",
    chunk: command.chunk,
    tally: tallyOf(command.outcomes),
    unindexed: command.unindexed,
    ...(command.failed === undefined ? {} : { failed: command.failed }),
    at_ms: view.nowMs,
  });
  if (decided.events?.length === 0) return decided;
  const found = findings.read(view, "j", command.chunk);
  const settled = found === undefined ? command.outcomes : withReasons(command.outcomes, found);
  const told = references.write("r", command.references, { k: command.chunk });
  return {
    ...decided,
    puts: [
      outcomes.write("o", stamped(settled, view.nowMs), { k: command.chunk }),
      ...(command.unindexed.length > 0 ? [told] : []),
    ],
    ...(found === undefined ? {} : { deletes: [findings.key("j", command.chunk)] }),
  };
}

/** A leaf that was rejected keeps the reasons that were given first. */
function withReasons(
  settled: readonly SettledOutcome[],
  found: readonly SettledOutcome[],
): readonly SettledOutcome[] {
  const first = new Map(found.map((each) => [each.leaf_index, each]));
  return settled.map((each) => {
    const known = first.get(each.leaf_index);
    return each.outcome === "rejected" && known?.outcome === "rejected" ? known : each;
  });
}

/** All leaves of a chunk of a push that is to be held; judging it again replaces what was found. */
function judgeChunk({ chunk, outcomes: found }: Asked<"chunk.judge">, view: PushView): Decided<DoneReply> {
  const isJudging = view.snapshot.matches({ working: { step: "judging" } });
  const puts = isJudging ? [findings.write("j", stamped(found, view.nowMs), { k: chunk })] : [];
  return { reply: { status: "done" }, puts };
}

/** Only for a chunk that is still to be settled; the first reasons stay. */
function rejectLeaves(
  { chunk, outcomes: rejected }: Asked<"chunk.reject">,
  view: PushView,
): Decided<DoneReply> {
  const { snapshot } = view;
  const isOpen = snapshot.matches("working") && chunk >= snapshot.context.chunksSettled;
  const found = findings.read(view, "j", chunk) ?? [];
  const known = new Set(found.flatMap((each) => (each.outcome === "rejected" ? [each.leaf_index] : [])));
  const further = rejected.filter(({ leaf_index }) => !known.has(leaf_index));
  if (!isOpen || further.length === 0) return { reply: { status: "done" } };
  const replaced = new Set(further.map(({ leaf_index }) => leaf_index));
  const all = [...found.filter(({ leaf_index }) => !replaced.has(leaf_index)), ...further];
  const inOrder = all.map(unstamped).sort((a, b) => a.leaf_index - b.leaf_index);
  const [{ settled_at_ms: at_ms = view.nowMs } = {}] = found;
  return { reply: { status: "done" }, puts: [findings.write("j", stamped(inOrder, at_ms), { k: chunk })] };
}

/** The instant is stored once for all of them. */
function stamped([first, ...others]: readonly SettledOutcome[], at_ms: number): readonly KeptOutcome[] {
  return first === undefined ? [] : [{ ...first, settled_at_ms: at_ms }, ...others];
}

function unstamped({ settled_at_ms: _, ...outcome }: KeptOutcome): SettledOutcome {
  return outcome;
}

function tallyOf(outcomes: readonly PublishOutcome[]) {
  const tally = { accepted: 0, updated: 0, rejected: 0 };
  for (const { outcome } of outcomes) if (outcome in tally) tally[outcome as keyof typeof tally] += 1;
  return tally;
}

// The notice of a push that ended or is held: for every queued push once, and for a held push of any size.

function noticesOf(view: PushView): readonly Effect[] {
  const notice = noticeOf(view);
  return notice === null ? [] : noticeEffects(notice);
}

function noticeOf(view: PushView): PushNotice | null {
  const { facts, heldReasons, error, completedAtMs, updatedAtMs } = view.snapshot.context;
  const state = reportedState(view);
  if (facts === null || facts.path === "B") return null;
  if (state !== "complete" && state !== "failed" && state !== "held") return null;
  if (facts.mode === "inline" && state !== "held") return null;
  const report = reportPush(view, { outcome: null, from_leaf: 0, limit: 0 });
  const { accepted, updated, rejected, held } = report?.counts ?? noCounts;
  return {
    v: 1,
    notice_id: `${facts.push_id}.${state}`,
    business_uuid: facts.business_uuid,
    push_id: facts.push_id,
    state,
    records: facts.records,
    counts: { accepted, updated, rejected, held },
    error,
    held_reasons: state === "held" ? heldReasons.map(({ code }) => code) : [],
    status_url: `/v1/pushes/${facts.push_id}`,
    at: new Date(completedAtMs ?? updatedAtMs).toISOString(),
  };
}
