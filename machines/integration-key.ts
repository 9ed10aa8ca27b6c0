// Integration key: what one registered key has used up.
//   IK1. `lastSeq` only grows, and names the push that used it.
//   IK2. A window's usage is charged once for each push and removal; an older window never changes again.
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
  readonly recordsThisHour: UsageWindow;
  readonly bytesToday: UsageWindow;
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

export const integrationKeyMachine = setup({
  types: {
    context: {} as IntegrationKeyContext,
    events: {} as IntegrationKeyEvent,
    input: {} as { keyId: string },
  },
}).createMachine({
  id: "integration-key",
  context: ({ input }) => ({
    keyId: input.keyId,
    lastSeq: 0,
    lastPushId: null,
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
            recordsThisHour: charge(context.recordsThisHour, event.at_ms, hourMs, event.records),
            bytesToday: charge(context.bytesToday, event.at_ms, dayMs, event.bytes),
          })),
        },
        "removal.charged": {
          actions: assign(({ context, event }) => ({
            recordsThisHour: charge(context.recordsThisHour, event.at_ms, hourMs, 1),
            bytesToday: charge(context.bytesToday, event.at_ms, dayMs, event.bytes),
          })),
        },
        "key.retired": "retired",
      },
    },
    retired: {},
  },
});
