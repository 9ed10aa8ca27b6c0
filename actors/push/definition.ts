// The push actor: one accepted batch until every record is settled and searchable.
// Keyed rows: 16 outcomes and 17 row references, both one a chunk.
//   U1. Accepting again, under whatever key, changes nothing and answers with the state.
//   U2. A chunk is settled once; a repeated settlement is ignored.
//   U3. Outcomes are in leaf order and complete: before a chunk is settled its leaves are `pending` (or `held`).
//   U4. Nothing is accepted after the instant up to which its leaves are sure to be there.
//   U5. An awaiting caller is answered once every chunk is settled: its versions are stored and its outcomes committed.
//       Whether an index has confirmed them is what `complete` says, and no caller waits for that.

import { chunkCount, chunkSize, type PushContext, pushMachine } from "../../machines/push.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type {
  AcceptReply,
  PublishOutcome,
  PushCommand,
  PushFacts,
  PushReport,
  RowReference,
} from "../messages/push.ts";
import type { ActorDefinition, ActorView, Decision, Effect, Message } from "../system/definition.ts";
import { reportedState, reportPush, rt } from "./report.ts";

export type PushReply =
  | AcceptReply
  | PushReport
  | null
  | { readonly status: "done" }
  | { readonly status: "done"; readonly references: readonly RowReference[] };

export const pushActor: ActorDefinition<PushCommand, PushReply> = {
  kind: "push",
  schemaVersion: 1,
  machine: pushMachine,
  durability: "journal",
  input: (id) => ({ pushId: id }),
  rows: rowsFor,
  decide,
  // Any key of a business may ask about any push_id.
  absent: (command) => (command.type === "push.status" ? { reply: null } : null),
  effects: {
    processChunk: (params: { chunk: number }, view: ActorView): readonly Effect[] => [
      { kind: "activity", name: "processChunk", params: { facts: factsOf(view), chunk: params.chunk } },
    ],
    indexChunk: (params: { chunk: number; regions: readonly string[] }, view: ActorView): readonly Effect[] =>
      params.regions.map((region) => ({
        kind: "activity",
        name: "indexChunk",
        params: { collection: factsOf(view).collection, chunk: params.chunk, region },
      })),
    finish: (_params: unknown, view: ActorView): readonly Effect[] => finishEffects(view),
  },
};

export function contextOf(view: ActorView): PushContext<PushFacts> {
  return view.snapshot.context as PushContext<PushFacts>;
}

function factsOf(view: ActorView): PushFacts {
  const { facts } = contextOf(view);
  if (!facts) throw new Error("A push without facts has no effects.");
  return facts;
}

function finishEffects(view: ActorView): readonly Effect[] {
  const { push_id, business_uuid, records } = factsOf(view);
  const params = { push_id, business_uuid, chunks: chunkCount(records) };
  return [{ kind: "activity", name: "finishPush", params }];
}

function rowsFor(command: PushCommand): readonly RowSelection[] {
  switch (command.type) {
    case "push.status":
      // A filter may have to look at every chunk; a page without one lies in at most two.
      return command.outcome === null
        ? [{ rt: rt.outcomes, after: beforeChunk(Math.floor(command.from_leaf / chunkSize)), limit: 2 }]
        : [
            {
              rt: rt.outcomes,
              after: beforeChunk(Math.floor(command.from_leaf / chunkSize)),
              limit: chunkCount(100_000),
            },
          ];
    case "push.await":
      return [{ rt: rt.outcomes, limit: 3 }];
    case "push.references":
      return [{ rt: rt.references, after: beforeChunk(command.chunk), limit: 1 }];
    default:
      return [];
  }
}

/** The position just before the rows of a chunk: text keys are never empty there. */
function beforeChunk(chunk: number): { k: number; k2: string } {
  return { k: chunk, k2: "" };
}

function decide(command: PushCommand, view: ActorView): Decision<PushReply> {
  switch (command.type) {
    case "push.accept":
      return accept(command, view);
    case "chunk.settle":
      return settleChunk(command, view);
    case "chunk.indexed":
      return {
        reply: { status: "done" },
        events: contextOf(view).unindexed.some(
          ([chunk, region]) => chunk === command.chunk && region === command.region,
        )
          ? [fact({ type: "chunk.indexed", chunk: command.chunk, region: command.region, at_ms: view.nowMs })]
          : [],
      };
    case "push.references": {
      const row = view.row(rt.references, command.chunk, "r");
      return { reply: { status: "done", references: row ? JSON.parse(row.body) : [] } };
    }
    case "push.fail":
      return {
        reply: { status: "done" },
        events: [
          fact({ type: "push.failed", code: command.code, detail: command.detail, at_ms: view.nowMs }),
        ],
      };
    case "hold.release":
      return {
        reply: { status: "done" },
        events: [fact({ type: command.confirmed ? "hold.confirmed" : "hold.rejected", at_ms: view.nowMs })],
      };
    case "push.status":
      return { reply: reportPush(view, command) };
    case "push.await":
      return isAnswered(view)
        ? { reply: reportPush(view, { outcome: null, from_leaf: 0, limit: 500 }) }
        : { wait: true };
  }
}

function fact(event: Message & Record<string, unknown>): Message {
  return event;
}

/** Nothing of it is published any more. */
function isOver({ snapshot }: ActorView): boolean {
  return snapshot.matches("indexing") || snapshot.matches("complete") || snapshot.matches("failed");
}

/** U5. A held push is answered as held, and one that was never accepted as unknown. */
function isAnswered(view: ActorView): boolean {
  return contextOf(view).facts === null || view.snapshot.matches("held") || isOver(view);
}

function accept(
  command: Extract<PushCommand, { type: "push.accept" }>,
  view: ActorView,
): Decision<PushReply> {
  if (contextOf(view).facts) {
    const reply = { status: "known", state: reportedState(view) } as const;
    // Whoever accepts a push that is over staged its leaves and admitted it once more: that is undone.
    return isOver(view) ? { reply, effects: finishEffects(view) } : { reply };
  }
  if (view.nowMs > command.accept_by_ms) return { reply: { status: "late" } };
  return {
    reply: { status: "accepted", state: command.held_reasons.length > 0 ? "held" : "queued" },
    events: [
      fact({
        type: "push.accepted",
        facts: command.facts,
        held_reasons: command.held_reasons,
        at_ms: view.nowMs,
      }),
    ],
  };
}

function settleChunk(
  command: Extract<PushCommand, { type: "chunk.settle" }>,
  view: ActorView,
): Decision<PushReply> {
  if (command.chunk !== contextOf(view).chunksSettled) return { reply: { status: "done" } };
  const puts: PartitionRow[] = [
    { rt: rt.outcomes, k: command.chunk, k2: "o", body: JSON.stringify(command.outcomes.map(packOutcome)) },
  ];
  if (command.unindexed.length > 0) {
    puts.push({ rt: rt.references, k: command.chunk, k2: "r", body: JSON.stringify(command.references) });
  }
  return {
    reply: { status: "done" },
    events: [
      fact({
        type: "chunk.settled",
        chunk: command.chunk,
        tally: tallyOf(command.outcomes),
        unindexed: command.unindexed,
        at_ms: view.nowMs,
      }),
    ],
    puts,
  };
}

/** Outcomes are kept without the empty members that most of them have. */
function packOutcome(outcome: PublishOutcome): unknown {
  return [
    outcome.leaf_index,
    outcome.outcome,
    outcome.record_id,
    outcome.version,
    ...(outcome.errors.length > 0 ? [outcome.errors] : []),
  ];
}

function tallyOf(outcomes: readonly PublishOutcome[]) {
  const tally = { accepted: 0, updated: 0, rejected: 0 };
  for (const { outcome } of outcomes) if (outcome in tally) tally[outcome as keyof typeof tally] += 1;
  return tally;
}
