// The sequencer of the transparency log: what waits to be appended, and the tree head.
//   LS1. One batch is under way at a time, and its leaves and their order are committed before any tile of it is written: every
//        repetition, by whatever process, writes the same bytes.
//   LS2. The tree head is committed after the tiles that it needs are durable, and published after it is committed.
//   LS3. The tree only grows; leaves that wait are neither lost nor reordered.
//   LS4. Publishing goes beside sequencing, one head at a time: witnesses that are slow or away delay what is published, and
//        never what is appended. After a delay it is the newest head that is published.
//   LS5. Where the head may not be the newest (the home was lost, or somebody published a tree that it does not know), nothing is
//        written or signed until it was compared with what was published. What is appended waits meanwhile.

import { assign, setup } from "xstate";
import type { HeadFault, SignedHead, TreeHead } from "../actors/messages/log-sequencer.ts";

export interface LogSequencerContext {
  readonly head: TreeHead;
  /** The newest head whose checkpoint anybody can read. */
  readonly published: TreeHead | null;
  /** The head whose checkpoint is being published. */
  readonly publishing: TreeHead | null;
  /** Since when, how often and why witnesses did not cosign what is to be published; null where none is missing. */
  readonly unwitnessed: {
    readonly sinceMs: number;
    readonly attempts: number;
    readonly detail: string;
  } | null;
  /** The losses of the home (`eraOf`) with which the head was compared last. */
  readonly era: number;
  /** The policy of witnesses that the published checkpoint has; null if unknown. */
  readonly policy: string | null;
  /** Why, since when and how often the head was not confirmed; null where it is. */
  readonly held: {
    readonly sinceMs: number;
    readonly attempts: number;
    readonly reason: HeadFault;
    readonly detail: string;
  } | null;
  /** What an operator handed over while it was held. */
  readonly supplied: SignedHead | null;
  /** Hash of the newest checkpoint's text, until it is a leaf itself. */
  readonly checkpointLeaf: string | null;
  /** The place of the next leaf that is appended: it counts all of them. */
  readonly nextPlace: number;
  /** No leaf at this place or before it waits any more: what is read begins behind it, and passes over none that was sequenced. */
  readonly goneUpTo: number;
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
      readonly policy: string;
      readonly at_ms: number;
    }
  | { readonly type: "log.doubted"; readonly at_ms: number }
  | {
      readonly type: "log.head_kept";
      readonly era: number;
      readonly published: TreeHead | null;
      readonly at_ms: number;
    }
  | {
      readonly type: "log.head_adopted";
      readonly era: number;
      readonly head: TreeHead;
      readonly published: TreeHead | null;
      readonly at_ms: number;
    }
  | {
      readonly type: "log.head_refused";
      readonly reason: HeadFault;
      readonly detail: string;
      readonly at_ms: number;
    }
  | { readonly type: "log.supplied"; readonly checkpoint: SignedHead; readonly at_ms: number }
  | {
      readonly type: "log.unwitnessed";
      readonly head: TreeHead;
      readonly detail: string;
      readonly at_ms: number;
    };

/** SHA-256 of nothing: the root of a tree without leaves (RFC 6962 §2.1). */
export const emptyRoot = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** How long after the first failure something is tried again, and at most after any. */
const [retryMs, retryMsMax] = [1_000, 60_000];

function retryAfter(failed: { readonly attempts: number } | null): number {
  return Math.min(retryMsMax, retryMs * 2 ** Math.min(10, (failed?.attempts ?? 1) - 1));
}

/** How long it is until what waits has to be sequenced. */
function waitFrom({ dueMs }: LogSequencerContext, at_ms: number): number {
  return Math.max(0, (dueMs ?? at_ms) - at_ms);
}

export const logSequencerMachine = setup({
  types: { context: {} as LogSequencerContext, events: {} as LogSequencerEvent, input: {} as object },
  delays: {
    due: ({ context }) => context.waitMs,
    retry: ({ context }) => retryAfter(context.unwitnessed),
    retryHead: ({ context }) => retryAfter(context.held),
  },
  guards: {
    isSooner: ({ context, event }) =>
      event.type === "log.appended" && (context.dueMs === null || event.due_ms < context.dueMs),
    hasBatch: ({ event }) => event.type === "log.chosen" && event.count > 0,
    isWaiting: ({ context }) => context.pending > 0,
    isOfBatch: ({ context, event }) =>
      event.type === "log.written" &&
      context.batch !== null &&
      event.head.size === context.head.size + context.batch.count,
    isPublished: ({ context, event }) =>
      event.type === "log.published" && event.head.size === context.publishing?.size,
    isNewest: ({ context, event }) =>
      event.type === "log.published" &&
      event.head.size === context.publishing?.size &&
      event.head.size === context.head.size,
    hasOwnBatch: ({ context }) => context.batch !== null,
    hasHead: ({ context }) => context.head.size > 0,
    isUnwitnessed: ({ context, event }) =>
      event.type === "log.unwitnessed" && event.head.size === context.publishing?.size,
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
        goneUpTo: event.count > 0 ? context.goneUpTo : Math.max(context.goneUpTo, event.up_to),
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
        goneUpTo: Math.max(context.goneUpTo, context.batch?.up_to ?? -1),
        pending: context.pending - (context.batch?.count ?? 0),
        oldestMs: event.oldest_ms,
        sequencedAtMs: event.at_ms,
        waitMs: waitFrom(context, event.at_ms),
      };
    }),
    notePublishing: assign(({ context }) => ({ publishing: context.head })),
    notePublished: assign(({ event }) => {
      if (event.type !== "log.published") return {};
      const { head: published, leaf: checkpointLeaf, policy } = event;
      return { published, checkpointLeaf, policy, publishing: null, unwitnessed: null };
    }),
    noteUnwitnessed: assign(({ context, event }) => {
      if (event.type !== "log.unwitnessed") return {};
      const { sinceMs, attempts } = context.unwitnessed ?? { sinceMs: event.at_ms, attempts: 0 };
      return { unwitnessed: { sinceMs, attempts: attempts + 1, detail: event.detail } };
    }),
    noteKept: assign(({ context, event }) => {
      if (event.type !== "log.head_kept") return {};
      const { era, published, at_ms } = event;
      return { era, published, held: null, supplied: null, waitMs: waitFrom(context, at_ms) };
    }),
    // The batch was not part of what was published: its leaves wait again, and those that are in the tree are found there.
    noteAdopted: assign(({ context, event }) => {
      if (event.type !== "log.head_adopted") return {};
      const { era, head, published, at_ms } = event;
      const waitMs = waitFrom(context, at_ms);
      return { era, head, published, batch: null, held: null, supplied: null, waitMs };
    }),
    noteHeld: assign(({ context, event }) => {
      if (event.type !== "log.head_refused") return {};
      const { sinceMs, attempts } = context.held ?? { sinceMs: event.at_ms, attempts: 0 };
      const { reason, detail } = event;
      return { held: { sinceMs, attempts: attempts + 1, reason, detail } };
    }),
    noteSupplied: assign(({ event }) =>
      event.type === "log.supplied" ? { supplied: event.checkpoint } : {},
    ),
    // Effects: named here, performed by the actor system.
    chooseLeaves: () => {},
    writeTiles: () => {},
    publishHead: () => {},
    checkHead: () => {},
  },
}).createMachine({
  id: "log-sequencer",
  context: {
    head: { size: 0, root: emptyRoot },
    published: null,
    publishing: null,
    unwitnessed: null,
    era: 0,
    policy: null,
    held: null,
    supplied: null,
    checkpointLeaf: null,
    nextPlace: 0,
    goneUpTo: -1,
    pending: 0,
    oldestMs: null,
    batch: null,
    sequencedAtMs: null,
    dueMs: null,
    waitMs: 0,
  },
  on: { "log.appended": { actions: "noteAppended" } },
  type: "parallel",
  states: {
    sequencing: {
      initial: "idle",
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
            "log.doubted": "stopped",
            "log.chosen": [
              { guard: "hasBatch", target: "writing", actions: "noteChosen" },
              { target: "resting", actions: "noteChosen" },
            ],
          },
        },
        writing: {
          entry: "writeTiles",
          on: {
            "log.doubted": "stopped",
            "log.written": { guard: "isOfBatch", target: "resting", actions: "noteWritten" },
          },
        },
        stopped: {
          on: {
            "log.head_kept": [{ guard: "hasOwnBatch", target: "writing" }, { target: "resting" }],
            "log.head_adopted": "resting",
          },
        },
        resting: { always: [{ guard: "isWaiting", target: "waiting" }, { target: "idle" }] },
      },
    },
    publication: {
      initial: "current",
      states: {
        current: {
          on: {
            "log.doubted": "stopped",
            "log.written": { guard: "isOfBatch", target: "publishing" },
          },
        },
        publishing: {
          entry: ["notePublishing", "publishHead"],
          on: {
            "log.doubted": "stopped",
            "log.published": [
              { guard: "isNewest", target: "current", actions: "notePublished" },
              { guard: "isPublished", target: "publishing", reenter: true, actions: "notePublished" },
            ],
            "log.unwitnessed": { guard: "isUnwitnessed", target: "unwitnessed", actions: "noteUnwitnessed" },
          },
        },
        unwitnessed: { on: { "log.doubted": "stopped" }, after: { retry: "publishing" } },
        // What was published is published again: under the policy of today, and with the signature of the node that has the log now.
        stopped: {
          on: {
            "log.head_kept": [{ guard: "hasHead", target: "publishing" }, { target: "current" }],
            "log.head_adopted": "publishing",
          },
        },
      },
    },
    head: {
      initial: "known",
      states: {
        known: { on: { "log.doubted": "checking" } },
        checking: {
          entry: "checkHead",
          on: {
            "log.head_kept": { target: "known", actions: "noteKept" },
            "log.head_adopted": { target: "known", actions: "noteAdopted" },
            "log.head_refused": { target: "held", actions: "noteHeld" },
          },
        },
        held: {
          on: { "log.supplied": { target: "checking", actions: "noteSupplied" } },
          after: { retryHead: "checking" },
        },
      },
    },
  },
});
