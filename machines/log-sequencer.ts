// The sequencer of the transparency log: what waits to be appended, and the tree head.
//   LS1. One batch is under way at a time, and its leaves and their order are committed before any tile of it is written: every
//        repetition, by whatever process, writes the same bytes.
//   LS2. The tree head is committed after the tiles that it needs are durable, and published after it is committed.
//   LS3. The tree only grows; leaves that wait are neither lost nor reordered.

import { assign, setup } from "xstate";
import type { TreeHead } from "../actors/messages/log-sequencer.ts";

export interface LogSequencerContext {
  readonly head: TreeHead;
  /** The newest head whose checkpoint anybody can read. */
  readonly published: TreeHead | null;
  /** Hash of the newest checkpoint's text, until it is a leaf itself. */
  readonly checkpointLeaf: string | null;
  /** The place of the next leaf that is appended: it counts all of them. */
  readonly nextPlace: number;
  /** Leaves that wait, with those of the batch. */
  readonly pending: number;
  /** When the oldest of them was appended, in Unix milliseconds. */
  readonly oldestMs: number | null;
  /** The batch that is being sequenced: how many leaves, and the place of the last. */
  readonly batch: { readonly count: number; readonly up_to: number } | null;
  /** When leaves were sequenced last. */
  readonly sequencedAtMs: number | null;
  /** When what waits and is in no batch has to be sequenced; null where nothing does. */
  readonly dueMs: number | null;
  /** How long that was away when the state was entered. */
  readonly waitMs: number;
}

export type LogSequencerEvent =
  | {
      readonly type: "log.appended";
      readonly count: number;
      /** Whether a checkpoint is the first of them. */
      readonly has_checkpoint: boolean;
      readonly at_ms: number;
      readonly due_ms: number;
    }
  | {
      readonly type: "log.chosen";
      readonly count: number;
      readonly up_to: number;
      /** Those that the log has already; they wait no longer. */
      readonly known: number;
      /** Whether others wait behind the batch. */
      readonly more: boolean;
      readonly at_ms: number;
      readonly oldest_ms: number | null;
    }
  | {
      readonly type: "log.written";
      readonly head: TreeHead;
      readonly at_ms: number;
      readonly oldest_ms: number | null;
    }
  | {
      readonly type: "log.published";
      readonly head: TreeHead;
      readonly leaf: string;
      readonly at_ms: number;
    };

/** SHA-256 of nothing: the root of a tree without leaves (RFC 6962 §2.1). */
export const emptyRoot = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export const logSequencerMachine = setup({
  types: { context: {} as LogSequencerContext, events: {} as LogSequencerEvent, input: {} as object },
  delays: { due: ({ context }) => context.waitMs },
  guards: {
    isSooner: ({ context, event }) =>
      event.type === "log.appended" && (context.dueMs === null || event.due_ms < context.dueMs),
    hasBatch: ({ event }) => event.type === "log.chosen" && event.count > 0,
    isWaiting: ({ context }) => context.pending > 0,
    isOfBatch: ({ context, event }) =>
      event.type === "log.written" &&
      context.batch !== null &&
      event.head.size === context.head.size + context.batch.count,
    isOfHead: ({ context, event }) => event.type === "log.published" && event.head.size === context.head.size,
  },
  actions: {
    noteAppended: assign(({ context, event }) => {
      if (event.type !== "log.appended") return {};
      const dueMs = Math.min(context.dueMs ?? event.due_ms, event.due_ms);
      return {
        nextPlace: context.nextPlace + event.count,
        pending: context.pending + event.count,
        oldestMs: context.oldestMs ?? event.at_ms,
        checkpointLeaf: event.has_checkpoint ? null : context.checkpointLeaf,
        dueMs,
        waitMs: Math.max(0, dueMs - event.at_ms),
      };
    }),
    noteChosen: assign(({ context, event }) => {
      if (event.type !== "log.chosen") return {};
      return {
        batch: event.count > 0 ? { count: event.count, up_to: event.up_to } : null,
        pending: context.pending - event.known,
        oldestMs: event.oldest_ms,
        dueMs: event.more ? event.at_ms : null,
        waitMs: 0,
      };
    }),
    noteWritten: assign(({ context, event }) => {
      if (event.type !== "log.written") return {};
      return {
        head: event.head,
        batch: null,
        pending: context.pending - (context.batch?.count ?? 0),
        oldestMs: event.oldest_ms,
        sequencedAtMs: event.at_ms,
      };
    }),
    notePublished: assign(({ context, event }) => {
      if (event.type !== "log.published") return {};
      const waitMs = Math.max(0, (context.dueMs ?? event.at_ms) - event.at_ms);
      return { published: event.head, checkpointLeaf: event.leaf, waitMs };
    }),
    // Effects: named here, performed by the actor system.
    chooseLeaves: () => {},
    writeTiles: () => {},
    publishHead: () => {},
  },
}).createMachine({
  id: "log-sequencer",
  context: {
    head: { size: 0, root: emptyRoot },
    published: null,
    checkpointLeaf: null,
    nextPlace: 0,
    pending: 0,
    oldestMs: null,
    batch: null,
    sequencedAtMs: null,
    dueMs: null,
    waitMs: 0,
  },
  initial: "idle",
  on: { "log.appended": { actions: "noteAppended" } },
  states: {
    idle: { on: { "log.appended": { target: "waiting", actions: "noteAppended" } } },
    waiting: {
      after: { due: "choosing" },
      on: {
        "log.appended": [
          { guard: "isSooner", target: "waiting", reenter: true, actions: "noteAppended" },
          { actions: "noteAppended" },
        ],
      },
    },
    choosing: {
      entry: "chooseLeaves",
      on: {
        "log.chosen": [
          { guard: "hasBatch", target: "writing", actions: "noteChosen" },
          { target: "resting", actions: "noteChosen" },
        ],
      },
    },
    writing: {
      entry: "writeTiles",
      on: { "log.written": { guard: "isOfBatch", target: "publishing", actions: "noteWritten" } },
    },
    publishing: {
      entry: "publishHead",
      on: { "log.published": { guard: "isOfHead", target: "resting", actions: "notePublished" } },
    },
    resting: { always: [{ guard: "isWaiting", target: "waiting" }, { target: "idle" }] },
  },
});
