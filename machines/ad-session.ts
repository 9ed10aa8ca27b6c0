// Ad session: which ads a conversation was shown within the last hour. They are keyed rows of the actor, and end by themselves; with the
// last of them the session is over, and is forgotten.

import { setup } from "xstate";
import { adRepeatMs } from "../protocol/limits.ts";

export interface AdSessionEvent {
  readonly type: "shown.noted";
  readonly ad_id: string;
}

/** Something was noted a moment before its hour began to count, or later. */
const spareMs = 30_000;

export const adSessionMachine = setup({
  types: { context: {} as object, events: {} as AdSessionEvent, input: {} as object },
  delays: { repeatable: adRepeatMs + spareMs },
}).createMachine({
  id: "ad-session",
  context: {},
  initial: "empty",
  states: {
    empty: { on: { "shown.noted": "shown" } },
    shown: {
      on: { "shown.noted": { target: "shown", reenter: true } },
      after: { repeatable: "over" },
    },
    over: { type: "final" },
  },
});
