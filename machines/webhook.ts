// Webhook: one endpoint of a business, and the deliveries that wait for it.
//   WM1. Calls are under way once at a time. What is owed meanwhile is found when they end.
//   WM2. One durable timer ends when the first delivery is due; an earlier one replaces it.
//   WM3. An endpoint that its business removed is forgotten with everything that waits for it: the machine ends.
// Deliveries are keyed rows of the actor.

import { assign, setup } from "xstate";
import type { NextWork } from "./events/business.ts";

export interface WebhookContext {
  /** When the next delivery is due, in Unix milliseconds; null while none is, and while calls are under way. */
  readonly callAtMs: number | null;
  readonly waiting: number;
  /** Since when no attempt succeeded; null if the last one did. */
  readonly failingSinceMs: number | null;
}

export type WebhookEvent =
  | { readonly type: "delivery.owed"; readonly timer: NextWork }
  | {
      readonly type: "deliveries.tried";
      /** How many of them wait no longer. */
      readonly settled: number;
      readonly failing_since_ms: number | null;
      /** Null if nothing waits. */
      readonly timer: NextWork | null;
    }
  | { readonly type: "webhook.ended" };

export const webhookMachine = setup({
  types: { context: {} as WebhookContext, events: {} as WebhookEvent, input: {} as object },
  guards: {
    hasMore: ({ event }) => event.type === "deliveries.tried" && event.timer !== null,
    isSooner: ({ context, event }) =>
      event.type === "delivery.owed" && event.timer.at_ms < (context.callAtMs ?? Number.POSITIVE_INFINITY),
  },
  actions: {
    countOwed: assign({ waiting: ({ context }) => context.waiting + 1 }),
    noteTimer: assign(({ event }) => ({ callAtMs: timerOf(event)?.at_ms ?? null })),
    noteTried: assign(({ context, event }) =>
      event.type === "deliveries.tried"
        ? { waiting: context.waiting - event.settled, failingSinceMs: event.failing_since_ms }
        : {},
    ),
    // Effect: named here, performed by the actor system.
    callEndpoint: () => {},
  },
  delays: { nextCall: ({ event }) => timerOf(event)?.in_ms ?? 0 },
}).createMachine({
  id: "webhook",
  context: { callAtMs: null, waiting: 0, failingSinceMs: null },
  initial: "idle",
  on: { "webhook.ended": ".ended" },
  states: {
    idle: { on: { "delivery.owed": { target: "scheduled", actions: ["countOwed", "noteTimer"] } } },
    scheduled: {
      after: { nextCall: { target: "calling", actions: [assign({ callAtMs: null }), "callEndpoint"] } },
      on: {
        "delivery.owed": [
          { guard: "isSooner", target: "scheduled", reenter: true, actions: ["countOwed", "noteTimer"] },
          { actions: "countOwed" },
        ],
      },
    },
    calling: {
      on: {
        "delivery.owed": { actions: "countOwed" },
        "deliveries.tried": [
          { guard: "hasMore", target: "scheduled", actions: ["noteTried", "noteTimer"] },
          { target: "idle", actions: "noteTried" },
        ],
      },
    },
    ended: { type: "final" },
  },
});

function timerOf(event: WebhookEvent): NextWork | null {
  return "timer" in event ? event.timer : null;
}
