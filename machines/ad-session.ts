// Ad session: which ads a conversation was shown within the last hour. They are keyed rows of the actor, and end by themselves.

import { setup } from "xstate";

export interface AdSessionEvent {
  readonly type: "shown.noted";
  readonly ad_id: string;
}

export const adSessionMachine = setup({
  types: { context: {} as object, events: {} as AdSessionEvent, input: {} as object },
}).createMachine({
  id: "ad-session",
  context: {},
  initial: "empty",
  states: { empty: { on: { "shown.noted": "shown" } }, shown: { on: { "shown.noted": {} } } },
});
