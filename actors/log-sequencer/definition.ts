// The log's sequencer: what is appended, once each, and the tree head.
//   Q1. A leaf that was acknowledged is in the log before its interval has passed, or as soon as the log can be written again.
//   Q2. A leaf is in the log once, however often it waits: a batch takes the first that waits, and none that the log's own index
//       has already.
//   Q3. Each commit names what the next step does: after a crash at any point the log goes on from there.

import { type LogSequencerEvent, logSequencerMachine } from "../../machines/log-sequencer.ts";
import type { LogEntry } from "../../protocol/log/leaves.ts";
import { eraOf, type PartitionRow, type RowKey, type RowSelection } from "../../storage/actor-store.ts";
import {
  appendedMax,
  batchMax,
  type HeadStanding,
  type LogSequencerProtocol,
  type PendingEntry,
} from "../messages/log-sequencer.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import {
  type ActorDefinition,
  type Decision,
  defineActor,
  takenOf,
  type ViewOf,
} from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";

/** How long leaves may wait until they are sequenced, in milliseconds. */
export interface LogIntervals {
  readonly leafMs: number;
  readonly receiptsMs: number;
}

export interface LogSequencerOptions {
  readonly origin: string;
  readonly intervals: LogIntervals;
}

interface Waiting {
  readonly entry: LogEntry;
  readonly at_ms: number;
}

type View = ViewOf<typeof logSequencerMachine>;
type Asked<T extends keyof LogSequencerProtocol> = CommandOf<LogSequencerProtocol, T>;
type Decided<R> = Decision<R, LogSequencerEvent>;

export const waitingLeaves = defineJsonTable<Waiting>("leaves that wait, by place", 16);

const done: DoneReply = { status: "done" };

/** Appends are small, and all of them wait for the same commit. */
const turnCommandsMax = 256;

/** The actor of a log, by its origin. */
export function logSequencerActor({
  origin,
  intervals,
}: LogSequencerOptions): ActorDefinition<"log-sequencer"> {
  return defineActor<"log-sequencer", typeof logSequencerMachine>({
    kind: "log-sequencer",
    schemaVersion: 1,
    machine: logSequencerMachine,
    durability: "journal",
    turnCommandsMax,
    endsTraces: true,
    input: () => ({}),
    rows: (command, _id, snapshot) => {
      const { batch, goneUpTo } = snapshot.context;
      const after = { k: goneUpTo, k2: "~" };
      if (command.type === "log.pending") return [pendingPage(command, goneUpTo)];
      if (command.type === "log.choose") return [waitingLeaves.selectPage(batchMax + 1, after)];
      if (command.type === "log.written") return [waitingLeaves.selectPage((batch?.count ?? 0) + 1, after)];
      return [];
    },
    decide: {
      "log.append": (command, view) => append(command, view, { origin, intervals }),
      "log.pending": ({ after, limit }, view) => ({ reply: readPending(view, after, limit) }),
      "log.choose": choose,
      "log.written": written,
      "log.published": published,
      "log.unwitnessed": ({ head, detail }, view) => ({
        reply: done,
        events: takenOf(view, { type: "log.unwitnessed", head, detail, at_ms: view.nowMs }),
      }),
      "log.open": open,
      "log.standing": (_command, view) => ({ reply: standingOf(view) }),
      "log.doubt": (_command, view) => ({
        reply: done,
        events: takenOf(view, { type: "log.doubted", at_ms: view.nowMs }),
      }),
      "log.judge": judge,
      "log.supply": ({ checkpoint }, view) => {
        const events = takenOf(view, { type: "log.supplied", checkpoint, at_ms: view.nowMs });
        return { reply: { status: events.length === 0 ? "not_held" : "taken" }, events };
      },
    },
    // Who opens a log that has nothing yet does not create it.
    absent: { "log.pending": { reply: [] }, "log.open": { reply: done } },
    effects: {
      chooseLeaves: () => [{ kind: "activity", name: "chooseLeaves", params: {} }],
      writeTiles: (_params, view: View) => {
        const { head, batch } = view.snapshot.context;
        return [{ kind: "activity", name: "writeTiles", params: { from: head.size, batch } }];
      },
      publishHead: (_params, view: View) => [
        { kind: "activity", name: "publishHead", params: { head: view.snapshot.context.publishing } },
      ],
      checkHead: () => [{ kind: "activity", name: "checkHead", params: {} }],
    },
  });
}

function standingOf({ snapshot, epoch }: View): HeadStanding {
  const { era: compared, head, published, publishing, supplied } = snapshot.context;
  const era = eraOf(epoch);
  const isTakenOver = era !== compared;
  const isConfirmed = !isTakenOver && snapshot.matches({ head: "known" });
  return { isConfirmed, era, isTakenOver, head, published, publishing, supplied };
}

/** See `log.open`. While a head is published, it will have the policy of today anyway. */
function open({ policy }: Asked<"log.open">, view: View): Decided<DoneReply> {
  const { published, policy: last } = view.snapshot.context;
  const isOther = published !== null && policy !== last && view.snapshot.matches({ publication: "current" });
  const isDoubted = view.snapshot.matches({ head: "known" }) && (standingOf(view).isTakenOver || isOther);
  return { reply: done, events: isDoubted ? [{ type: "log.doubted", at_ms: view.nowMs }] : [] };
}

function judge({ era, finding, published }: Asked<"log.judge">, view: View): Decided<DoneReply> {
  if (!view.snapshot.matches({ head: "checking" })) return { reply: done };
  const at_ms = view.nowMs;
  if (finding.kind === "refused") {
    const { reason, detail } = finding;
    return { reply: done, events: [{ type: "log.head_refused", reason, detail, at_ms }] };
  }
  if (era !== eraOf(view.epoch)) {
    const detail = "the log's home was lost again meanwhile";
    return { reply: done, events: [{ type: "log.head_refused", reason: "head_unconfirmed", detail, at_ms }] };
  }
  if (finding.kind === "kept")
    return { reply: done, events: [{ type: "log.head_kept", era, published, at_ms }] };
  return {
    reply: done,
    events: [{ type: "log.head_adopted", era, head: finding.head, published, at_ms }],
  };
}

function pendingPage({ after, limit }: Asked<"log.pending">, goneUpTo: number): RowSelection {
  const bounded = Math.min(Math.max(1, limit), batchMax);
  return waitingLeaves.selectPage(bounded, { k: Math.max(after, goneUpTo), k2: "~" });
}

function readPending(view: View, after: number, limit: number): readonly PendingEntry[] {
  const rows = waitingLeaves.readAll(view).filter(({ k }) => k > after);
  return rows.slice(0, limit).map(({ k, value }) => ({ place: k, entry: value.entry }));
}

function append(
  { entries }: Asked<"log.append">,
  view: View,
  { origin, intervals }: LogSequencerOptions,
): Decided<DoneReply> {
  if (entries.length > appendedMax)
    throw new RangeError(`At most ${appendedMax} entries are appended at once.`);
  const { checkpointLeaf, nextPlace } = view.snapshot.context;
  if (entries.length === 0) return { reply: done };
  // A checkpoint becomes a leaf with what is appended after it: by itself it would make the log grow for ever.
  const checkpoint: readonly LogEntry[] =
    checkpointLeaf === null ? [] : [{ leaf: checkpointLeaf, leaf_type: "checkpoint", subject: origin }];
  const added = [...checkpoint, ...entries];
  const isUrgent = added.some(({ leaf_type }) => leaf_type === "receipt_batch");
  return {
    reply: done,
    puts: added.map((entry, at) =>
      waitingLeaves.write(entry.leaf, { entry, at_ms: view.nowMs }, { k: nextPlace + at }),
    ),
    events: [
      {
        type: "log.appended",
        count: added.length,
        has_checkpoint: checkpoint.length > 0,
        at_ms: view.nowMs,
        due_ms: view.nowMs + (isUrgent ? intervals.receiptsMs : intervals.leafMs),
      },
    ],
  };
}

function keysOf(rows: readonly PartitionRow[]): readonly RowKey[] {
  return rows.map(({ rt, k, k2 }) => ({ rt, k, k2 }));
}

/** Commits the batch: the oldest leaves that wait, without those that the log has already (LS1). */
function choose({ up_to, known }: Asked<"log.choose">, view: View): Decided<DoneReply> {
  const rows = view.rowsOf(waitingLeaves.rt);
  const knownPlaces = new Set(known.map(({ place }) => place));
  const gone = rows.filter(({ k }) => k <= up_to && knownPlaces.has(k));
  const chosen = rows.filter(({ k }) => k <= up_to && !knownPlaces.has(k));
  const behind = rows.find(({ k }) => k > up_to);
  const events = takenOf(view, {
    type: "log.chosen",
    count: chosen.length,
    up_to,
    known: gone.length,
    more: behind !== undefined,
    at_ms: view.nowMs,
    oldest_ms: appendedAt(chosen[0] ?? behind),
  });
  return events.length === 0 ? { reply: done } : { reply: done, deletes: keysOf(gone), events };
}

/** Commits the tree head over tiles that are durable (LS2). */
function written({ head }: Asked<"log.written">, view: View): Decided<DoneReply> {
  const { batch } = view.snapshot.context;
  const rows = view.rowsOf(waitingLeaves.rt);
  const oldest_ms = appendedAt(rows[batch?.count ?? 0]);
  const events = takenOf(view, { type: "log.written", head, at_ms: view.nowMs, oldest_ms });
  if (events.length === 0 || batch === null) return { reply: done };
  return {
    reply: done,
    deletes: keysOf(rows.slice(0, batch.count)),
    events,
  };
}

function published({ head, leaf, policy }: Asked<"log.published">, view: View): Decided<DoneReply> {
  const events = takenOf(view, { type: "log.published", head, leaf, policy, at_ms: view.nowMs });
  return events.length === 0 ? { reply: done } : { reply: done, events };
}

/** When this leaf was appended; null for none. */
function appendedAt(row: PartitionRow | undefined): number | null {
  return row === undefined ? null : waitingLeaves.decode(row.body, row).at_ms;
}
