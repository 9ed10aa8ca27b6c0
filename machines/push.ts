// Push: the life of one sealed batch, or of one record sealed alone.
//   P1. Chunks are settled in order, each once; a chunk is 200 leaves (specification, «Limits»).
//   P2. `complete` is reached only when every chunk is settled and every region's index has confirmed it.
//   P3. A push that has work before it is `moving`, or `stalled` after ten minutes without a step, until the next one. That changes
//       nothing else, and operators are told every ten minutes.
//   P4. Once all chunks of a push are settled, or it has failed, its business is done with it and its staged bytes are dropped.
//       It keeps its facts and counts. Neither step waits for an index that is unavailable.
//   P5. A hold ends once: by a decision, or when its time is over. A decision that comes later changes nothing.
//   P6. A push whose records are in an uploaded file is accepted before its hold is decided: it is `preparing` until then.
//   P7. Before a push is held, all its records are judged (`judging`), however it came: what is rejected of it is rejected from then on,
//       whatever becomes of the hold.
//   P8. A chunk that was given up is settled like any other, so the chunks behind it, some of which may be published already,
//       are published all the same. The push then ends as failed instead of complete.

import { assign, setup } from "xstate";
import type { HeldReason } from "../actors/messages/business.ts";
import type { HoldDecided, PushFacts } from "../actors/messages/push.ts";

export const chunkSize = 200;

/** A chunk that a region's index has not confirmed yet. */
export type Unindexed = readonly [chunk: number, region: string];

export interface PushTally {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
}

/** How the leaves of a chunk ended, without names: a push may have 500 of them. */
export type ChunkTally = readonly [accepted: number, updated: number, rejected: number];

export interface PushContext {
  readonly facts: PushFacts | null;
  readonly heldReasons: readonly HeldReason[];
  readonly chunksSettled: number;
  readonly tally: PushTally;
  readonly unindexed: readonly Unindexed[];
  /**
   * The tallies of the settled chunks, in their order; absent while there are none, and where a push has so few chunks that all
   * of them are read anyway.
   */
  readonly chunkTallies?: readonly ChunkTally[];
  /** How many leaves of each chunk were rejected when the push was judged, up to the last chunk with any; absent if it never was. */
  readonly judgedRejected?: readonly number[];
  readonly updatedAtMs: number;
  readonly completedAtMs: number | null;
  readonly error: PushError | null;
  /** When the hold ends if nobody decides; absent unless the push was held. */
  readonly holdEndsAtMs?: number;
  readonly holdDecision?: HoldDecided;
  /** Why a chunk was given up, the first one if there are several; the push ends as failed then. */
  readonly failure?: PushError;
}

export interface PushError {
  readonly code: string;
  readonly detail: string;
}

export type PushEvent =
  | {
      readonly type: "push.accepted";
      readonly facts: PushFacts;
      readonly held_reasons: readonly HeldReason[];
      readonly hold_ms?: number;
      readonly at_ms: number;
    }
  | {
      readonly type: "push.prepared";
      readonly held_reasons: readonly HeldReason[];
      readonly hold_ms?: number;
      readonly at_ms: number;
    }
  /** All records of a push that is to be held were judged. */
  | { readonly type: "push.judged"; readonly rejected: readonly number[]; readonly at_ms: number }
  | {
      readonly type: "chunk.settled";
      readonly chunk: number;
      readonly tally: PushTally;
      readonly unindexed: readonly string[];
      /** Why the chunk was given up, if it was. */
      readonly failed?: PushError;
      readonly at_ms: number;
    }
  | {
      readonly type: "chunk.indexed";
      readonly chunk: number;
      readonly region: string;
      readonly at_ms: number;
    }
  | { readonly type: "push.failed"; readonly code: string; readonly detail: string; readonly at_ms: number }
  | { readonly type: "hold.confirmed"; readonly at_ms: number; readonly decision: HoldDecided }
  | {
      readonly type: "hold.rejected";
      readonly at_ms: number;
      readonly decision: HoldDecided;
      /** Why it is not published although it was confirmed; absent for a rejection. */
      readonly error?: { readonly code: string; readonly detail: string };
    };

type ChunkSettled = Extract<PushEvent, { type: "chunk.settled" }>;

/** How long a hold waits if the acceptance does not say: 30 days. */
const holdMsDefault = 30 * 86_400_000;

/** When a hold of a push that is accepted now ends, unless it is decided. */
export function holdEnds(
  acceptedAtMs: number,
  holdMs: number = holdMsDefault,
): Pick<PushContext, "holdEndsAtMs"> {
  return { holdEndsAtMs: acceptedAtMs + holdMs };
}

/** Number of chunks of a push with `records` leaves. */
export function chunkCount(records: number): number {
  return Math.ceil(records / chunkSize);
}

const holdRejected = {
  code: "hold_rejected",
  detail: "An owner or admin of the business rejected the held push.",
};
const holdExpired = {
  code: "hold_expired",
  detail: "No owner or admin of the business confirmed the held push in time.",
};

const nothing: PushTally = { accepted: 0, updated: 0, rejected: 0 };

function settle(context: PushContext, event: ChunkSettled): Partial<PushContext> {
  return {
    chunksSettled: event.chunk + 1,
    tally: {
      accepted: context.tally.accepted + event.tally.accepted,
      updated: context.tally.updated + event.tally.updated,
      rejected: context.tally.rejected + event.tally.rejected,
    },
    ...withTally(context, event),
    ...(event.failed === undefined || context.failure !== undefined ? {} : { failure: event.failed }),
    unindexed: [...context.unindexed, ...event.unindexed.map((region): Unindexed => [event.chunk, region])],
    updatedAtMs: event.at_ms,
  };
}

/** Maximum number of chunks that a page of outcomes reads; the tallies of a push with more are kept one by one. */
export const chunksPerPage = 20;

function withTally(
  { facts, chunkTallies = [] }: PushContext,
  { tally }: ChunkSettled,
): Pick<PushContext, "chunkTallies"> {
  if (facts === null || chunkCount(facts.records) <= chunksPerPage) return {};
  return { chunkTallies: [...chunkTallies, [tally.accepted, tally.updated, tally.rejected]] };
}

const pushSetup = setup({
  types: {
    context: {} as PushContext,
    events: {} as PushEvent,
    input: {} as { pushId: string },
    tags: {} as "stalled",
  },
  delays: {
    stall: 600_000,
    // Judging may have taken longer than the hold would last.
    holdEnds: ({ context }) => Math.max(0, (context.holdEndsAtMs ?? 0) - context.updatedAtMs),
  },
  guards: {
    isNextChunk: ({ context, event }) =>
      event.type === "chunk.settled" && event.chunk === context.chunksSettled,
    isLastChunk: ({ context, event }) =>
      event.type === "chunk.settled" &&
      event.chunk === context.chunksSettled &&
      context.facts !== null &&
      event.chunk + 1 === chunkCount(context.facts.records),
    isHeld: ({ event }) =>
      (event.type === "push.accepted" || event.type === "push.prepared") && event.held_reasons.length > 0,
    hasFile: ({ event }) => event.type === "push.accepted" && event.facts.file !== undefined,
    isFailing: ({ context }) => context.unindexed.length === 0 && context.failure !== undefined,
    isUnindexed: ({ context: { unindexed }, event }) =>
      event.type === "chunk.indexed" &&
      unindexed.some(([chunk, region]) => chunk === event.chunk && region === event.region),
    nothingUnindexed: ({ context }) => context.unindexed.length === 0,
  },
  actions: {
    remember: assign(({ event }) =>
      event.type === "push.accepted"
        ? {
            facts: event.facts,
            heldReasons: event.held_reasons,
            updatedAtMs: event.at_ms,
            ...(event.held_reasons.length === 0 ? {} : holdEnds(event.at_ms, event.hold_ms)),
          }
        : {},
    ),
    settleChunk: assign(({ context, event }) =>
      event.type === "chunk.settled" ? settle(context, event) : {},
    ),
    markIndexed: assign(({ context, event }) =>
      event.type === "chunk.indexed"
        ? {
            unindexed: context.unindexed.filter(
              ([chunk, region]) => chunk !== event.chunk || region !== event.region,
            ),
            updatedAtMs: event.at_ms,
          }
        : {},
    ),
    noteDecision: assign(({ event }) =>
      event.type === "hold.confirmed" || event.type === "hold.rejected"
        ? { updatedAtMs: event.at_ms, holdDecision: event.decision }
        : {},
    ),
    noteExpiry: assign(({ context }) => {
      const { holdEndsAtMs: endedAtMs = context.updatedAtMs } = context;
      return { error: holdExpired, completedAtMs: endedAtMs, updatedAtMs: endedAtMs };
    }),
    noteFailure: assign(({ event }) =>
      event.type === "push.failed"
        ? {
            error: { code: event.code, detail: event.detail },
            completedAtMs: event.at_ms,
            updatedAtMs: event.at_ms,
          }
        : event.type === "hold.rejected"
          ? {
              error: event.error ?? holdRejected,
              completedAtMs: event.at_ms,
              updatedAtMs: event.at_ms,
            }
          : {},
    ),
    noteGivenUp: assign(({ context }) => ({
      error: context.failure ?? null,
      completedAtMs: context.updatedAtMs,
    })),
    noteCompletion: assign(({ context }) => ({ completedAtMs: context.updatedAtMs })),
    noteReasons: assign(({ event }) =>
      event.type === "push.prepared"
        ? {
            heldReasons: event.held_reasons,
            updatedAtMs: event.at_ms,
            ...(event.held_reasons.length === 0 ? {} : holdEnds(event.at_ms, event.hold_ms)),
          }
        : {},
    ),
    noteJudged: assign(({ event }) =>
      event.type === "push.judged" ? { judgedRejected: event.rejected, updatedAtMs: event.at_ms } : {},
    ),
    // Effects: named here, performed by the actor system.
    useFile: () => {},
    prepare: () => {},
    judge: () => {},
    processChunk: (_, _params: { chunk: number }) => {},
    indexChunk: (_, _params: { chunk: number; regions: readonly string[] }) => {},
    finish: () => {},
    notify: () => {},
    reportStalled: () => {},
  },
});

/** See P3. */
const pace = pushSetup.createStateConfig({
  initial: "moving",
  states: {
    moving: { after: { stall: "stalled" } },
    stalled: {
      tags: "stalled",
      entry: "reportStalled",
      after: { stall: { target: "stalled", reenter: true } },
    },
  },
});

/** Tells the regions that could not be told when the chunk was settled. */
const indexesChunk = {
  type: "indexChunk",
  params: ({ event }: { event: ChunkSettled }) => ({ chunk: event.chunk, regions: event.unindexed }),
} as const;

export const pushMachine = pushSetup.createMachine({
  id: "push",
  context: {
    facts: null,
    heldReasons: [],
    chunksSettled: 0,
    tally: nothing,
    unindexed: [],
    updatedAtMs: 0,
    completedAtMs: null,
    error: null,
  },
  initial: "received",
  states: {
    received: {
      on: {
        "push.accepted": [
          { guard: "hasFile", target: "working.step.preparing", actions: ["remember", "useFile", "prepare"] },
          { guard: "isHeld", target: "working.step.judging", actions: ["remember", "judge"] },
          { target: "working", actions: ["remember", { type: "processChunk", params: { chunk: 0 } }] },
        ],
      },
    },
    working: {
      type: "parallel",
      states: {
        step: {
          initial: "queued",
          states: {
            queued: {},
            // Whether it is held is decided over the whole file, before anything of it is published (P6).
            preparing: {
              on: {
                "push.prepared": [
                  {
                    guard: "isHeld",
                    target: ["#push.working.step.judging", "#push.working.pace.moving"],
                    reenter: true,
                    actions: ["noteReasons", "judge"],
                  },
                  {
                    target: "#push.working",
                    reenter: true,
                    actions: ["noteReasons", { type: "processChunk", params: { chunk: 0 } }],
                  },
                ],
              },
            },
            // It is to be held, and which of its records are rejected is being found out (P7).
            judging: { on: { "push.judged": { target: "#push.held", actions: "noteJudged" } } },
            processing: {},
          },
        },
        pace,
      },
      on: {
        "chunk.settled": [
          {
            guard: "isLastChunk",
            target: "settled",
            actions: ["settleChunk", indexesChunk],
          },
          {
            guard: "isNextChunk",
            target: "working.step.processing",
            reenter: true,
            actions: [
              "settleChunk",
              indexesChunk,
              { type: "processChunk", params: ({ event }) => ({ chunk: event.chunk + 1 }) },
            ],
          },
        ],
        "chunk.indexed": {
          guard: "isUnindexed",
          target: "working.step.processing",
          reenter: true,
          actions: "markIndexed",
        },
        "push.failed": { target: "failed", actions: "noteFailure" },
      },
    },
    settled: {
      always: [
        { guard: "isFailing", target: "failed", actions: "noteGivenUp" },
        { guard: "nothingUnindexed", target: "complete", actions: ["noteCompletion", "finish"] },
        { target: "indexing", actions: "finish" },
      ],
    },
    indexing: {
      ...pace,
      always: [
        { guard: "isFailing", target: "failed", actions: "noteGivenUp" },
        { guard: "nothingUnindexed", target: "complete", actions: "noteCompletion" },
      ],
      on: {
        "chunk.indexed": { guard: "isUnindexed", target: "indexing", reenter: true, actions: "markIndexed" },
      },
    },
    held: {
      entry: "notify",
      after: { holdEnds: { target: "failed", actions: "noteExpiry" } },
      on: {
        "hold.confirmed": {
          target: "working",
          actions: ["noteDecision", { type: "processChunk", params: { chunk: 0 } }],
        },
        "hold.rejected": { target: "failed", actions: ["noteDecision", "noteFailure"] },
        "push.failed": { target: "failed", actions: "noteFailure" },
      },
    },
    complete: { entry: "notify" },
    failed: {
      entry: ["finish", "notify"],
      // Of what it published before, a region may confirm a chunk only now.
      on: { "chunk.indexed": { guard: "isUnindexed", actions: "markIndexed" } },
    },
  },
});
