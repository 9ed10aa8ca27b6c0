// Application: somebody asks for a business to be let in, and an operator decides once.
//   AP1. What was approved is not refused any more, unless another party has its uuid and it can never be opened; what was refused is not
//        approved. A further attempt is another application.
//   AP2. A decided application is kept for thirty days, and one that nobody decides ends after ninety. Its applicant takes back one that
//        waits.
//   AP3. An application that ends without a business is taken from its applicant's list.
//   AP4. What was sent with an application ends with it.
// The facts, with the applicant and the passkey, are a keyed row of the actor.

import { assign, setup } from "xstate";

export interface ApplicationContext {
  /** Who applied, by their id. */
  readonly applicant: string;
  readonly legalName: string;
  readonly country: string;
  readonly filedAtMs: number | null;
  readonly decided: { readonly by: string; readonly reason: string } | null;
}

export type ApplicationEvent =
  | {
      readonly type: "application.filed";
      readonly applicant: string;
      readonly legal_name: string;
      readonly country: string;
      readonly at_ms: number;
    }
  | {
      readonly type: "application.approved" | "application.refused";
      readonly by: string;
      readonly reason: string;
    }
  | { readonly type: "business.opened" }
  | { readonly type: "application.withdrawn" };

const dayMs = 86_400_000;
/** How long a decided application is kept. */
export const applicationKeptMs = 30 * dayMs;
const undecidedMs = 90 * dayMs;

export const applicationMachine = setup({
  types: { context: {} as ApplicationContext, events: {} as ApplicationEvent, input: {} as object },
  delays: { keep: applicationKeptMs, undecided: undecidedMs },
  actions: {
    leaveApplicant: () => {},
    forgetEvidence: () => {},
    noteFiled: assign(({ event }) =>
      event.type === "application.filed"
        ? {
            applicant: event.applicant,
            legalName: event.legal_name,
            country: event.country,
            filedAtMs: event.at_ms,
          }
        : {},
    ),
    noteDecided: assign(({ event }) =>
      "reason" in event ? { decided: { by: event.by, reason: event.reason } } : {},
    ),
  },
}).createMachine({
  id: "application",
  context: { applicant: "", legalName: "", country: "", filedAtMs: null, decided: null },
  initial: "unknown",
  states: {
    unknown: { on: { "application.filed": { target: "waiting", actions: "noteFiled" } } },
    waiting: {
      on: {
        "application.approved": { target: "approved", actions: "noteDecided" },
        "application.refused": { target: "refused", actions: "noteDecided" },
        "application.withdrawn": { target: "over", actions: "leaveApplicant" },
      },
      after: { undecided: { target: "over", actions: "leaveApplicant" } },
    },
    approved: {
      on: {
        "business.opened": "opened",
        "application.refused": { target: "refused", actions: "noteDecided" },
      },
    },
    opened: { after: { keep: "over" } },
    refused: { after: { keep: { target: "over", actions: "leaveApplicant" } } },
    over: { type: "final", entry: "forgetEvidence" },
  },
});
