// Integration key: what one registered key has used up.
//   IK1. `lastSeq` is the greatest seq of the pushes that are charged, and names the push that used it. It falls only when a charge is
//        taken back, to the one before it, as far back as `earlierMax` charges are remembered.
//   IK2. A window's usage is charged once for each push and removal, and given back once; an older window never changes again.
//   IK3. A key is retired when it is revoked, and is not charged again.
// Nonces, idempotency answers and charged pushes are keyed rows of the actor, and not part of the context.

import { assign, setup } from "xstate";

export interface UsageWindow {
  /** Start of the window in Unix milliseconds. */
  readonly startMs: number;
  readonly used: number;
}

export interface IntegrationKeyContext {
  readonly keyId: string;
  readonly lastSeq: number;
  readonly lastPushId: string | null;
  /** The charges before that, oldest first; the very first one follows on none, which is seq 0 of no push. */
  readonly earlier: readonly ChargedSeq[];
  readonly recordsThisHour: UsageWindow;
  readonly bytesToday: UsageWindow;
}

export interface ChargedSeq {
  readonly seq: number;
  readonly push_id: string | null;
}

export type IntegrationKeyEvent =
  | {
      readonly type: "push.charged";
      readonly seq: number;
      readonly push_id: string;
      readonly records: number;
      readonly bytes: number;
      readonly at_ms: number;
    }
  /** The push was not admitted; `at_ms` is when it was charged. */
  | {
      readonly type: "push.uncharged";
      readonly push_id: string;
      readonly records: number;
      readonly bytes: number;
      readonly at_ms: number;
    }
  | {
      readonly type: "removal.charged";
      readonly document_hash: string;
      readonly bytes: number;
      readonly at_ms: number;
    }
  | { readonly type: "key.retired"; readonly at_ms: number };

export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** The usage in force at `nowMs`: that of the window, or none once a later window has started. */
export function usageAt(window: UsageWindow, nowMs: number, lengthMs: number): UsageWindow {
  const startMs = Math.floor(nowMs / lengthMs) * lengthMs;
  return startMs > window.startMs ? { startMs, used: 0 } : window;
}

function charge(window: UsageWindow, nowMs: number, lengthMs: number, amount: number): UsageWindow {
  const current = usageAt(window, nowMs, lengthMs);
  return { startMs: current.startMs, used: current.used + amount };
}

/** What was charged at `atMs` is given back to its window, unless a later one has started. */
function giveBack(window: UsageWindow, atMs: number, lengthMs: number, amount: number): UsageWindow {
  const startMs = Math.floor(atMs / lengthMs) * lengthMs;
  return startMs < window.startMs ? window : { ...window, used: Math.max(0, window.used - amount) };
}

/** As many batches of one key may be under way before their admissions, so that each of them can be taken back. */
const earlierMax = 8;

type Seqs = Pick<IntegrationKeyContext, "lastSeq" | "lastPushId" | "earlier">;

function without({ lastSeq, lastPushId, earlier }: Seqs, pushId: string): Seqs {
  if (lastPushId !== pushId)
    return { lastSeq, lastPushId, earlier: earlier.filter(({ push_id }) => push_id !== pushId) };
  const before = earlier.at(-1);
  return before === undefined
    ? { lastSeq, lastPushId, earlier }
    : { lastSeq: before.seq, lastPushId: before.push_id, earlier: earlier.slice(0, -1) };
}

export const integrationKeyMachine = setup({
  types: {
    context: {} as IntegrationKeyContext,
    events: {} as IntegrationKeyEvent,
    input: {} as { keyId: string },
  },
  actions: {
    takeBack: assign(({ context, event }) =>
      event.type === "push.uncharged"
        ? {
            ...without(context, event.push_id),
            recordsThisHour: giveBack(context.recordsThisHour, event.at_ms, hourMs, event.records),
            bytesToday: giveBack(context.bytesToday, event.at_ms, dayMs, event.bytes),
          }
        : {},
    ),
  },
}).createMachine({
  id: "integration-key",
  context: ({ input }) => ({
    keyId: input.keyId,
    lastSeq: 0,
    lastPushId: null,
    earlier: [],
    recordsThisHour: { startMs: 0, used: 0 },
    bytesToday: { startMs: 0, used: 0 },
  }),
  initial: "live",
  states: {
    live: {
      on: {
        "push.charged": {
          actions: assign(({ context, event }) => ({
            lastSeq: event.seq,
            lastPushId: event.push_id,
            earlier: [...context.earlier, { seq: context.lastSeq, push_id: context.lastPushId }].slice(
              -earlierMax,
            ),
            recordsThisHour: charge(context.recordsThisHour, event.at_ms, hourMs, event.records),
            bytesToday: charge(context.bytesToday, event.at_ms, dayMs, event.bytes),
          })),
        },
        "push.uncharged": { actions: "takeBack" },
        "removal.charged": {
          actions: assign(({ context, event }) => ({
            recordsThisHour: charge(context.recordsThisHour, event.at_ms, hourMs, 1),
            bytesToday: charge(context.bytesToday, event.at_ms, dayMs, event.bytes),
          })),
        },
        "key.retired": "retired",
      },
    },
    retired: { on: { "push.uncharged": { actions: "takeBack" } } },
  },
});
