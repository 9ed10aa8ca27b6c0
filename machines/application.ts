// Application: somebody asks for a business to be let in, and an operator decides once.
//   AP1. What was approved is not refused any more, unless another party has its uuid and it can never be opened; what was refused is not
//        approved. A further attempt is another application.
//   AP2. A decided application is kept for thirty days.
// The facts, with the applicant and the passkey, are a keyed row of the actor.

import { assign, setup } from "xstate";

export interface ApplicationContext {
  readonly legalName: string;
  readonly country: string;
  readonly filedAtMs: number | null;
  readonly decided: { readonly by: string; readonly reason: string } | null;
}

export type ApplicationEvent =
  | {
      readonly type: "application.filed";
      readonly legal_name: string;
      readonly country: string;
      readonly at_ms: number;
    }
  | {
      readonly type: "application.approved" | "application.refused";
      readonly by: string;
      readonly reason: string;
    }
  | { readonly type: "business.opened" };

const keptMs = 30 * 86_400_000;

export const applicationMachine = setup({
  types: { context: {} as ApplicationContext, events: {} as ApplicationEvent, input: {} as object },
  delays: { keep: keptMs },
  actions: {
    noteFiled: assign(({ event }) =>
      event.type === "application.filed"
        ? { legalName: event.legal_name, country: event.country, filedAtMs: event.at_ms }
        : {},
    ),
    noteDecided: assign(({ event }) =>
      "reason" in event ? { decided: { by: event.by, reason: event.reason } } : {},
    ),
  },
}).createMachine({
  id: "application",
  context: { legalName: "", country: "", filedAtMs: null, decided: null },
  initial: "unknown",
  states: {
    unknown: { on: { "application.filed": { target: "waiting", actions: "noteFiled" } } },
    waiting: {
      on: {
        "application.approved": { target: "approved", actions: "noteDecided" },
        "application.refused": { target: "refused", actions: "noteDecided" },
      },
    },
    approved: {
      on: {
        "business.opened": "opened",
        "application.refused": { target: "refused", actions: "noteDecided" },
      },
    },
    opened: { after: { keep: "over" } },
    refused: { after: { keep: "over" } },
    over: { type: "final" },
  },
});
