// Recovery: somebody who lost all passkeys asks for the place that they had as an owner of a business, and two operators decide together.
//   RC1. Two operators approve it, each by another name, and both name the same owner as the one whose place it is.
//   RC2. From the second approval it goes on by itself: the people who bind the business are told, the wait that they are told of passes, and
//        the owner is replaced. Each of these steps is repeated until the business has committed it.
//   RC3. Until the business has committed the last one, operators refuse it, its applicant takes it back, and any owner or admin stops it;
//        except while a step is under way, which ends within moments.
//   RC4. What ended is kept for thirty days, and one that two operators do not approve ends after ninety. Where it did
//        not come about, its applicant may ask again, or forget it earlier.
// The facts, with the applicant and the passkey, are keyed rows of the actor.

import { assign, setup } from "xstate";

export interface RecoveryContext {
  /** Who asks, by their id. */
  readonly applicant: string;
  /** The business. */
  readonly uuid: string;
  readonly filedAtMs: number | null;
  /** Who approved, and whom each named as the owner who is replaced; two at most. */
  readonly approvals: readonly Approved[];
  /** When the owner is replaced; null before the business was told. */
  readonly dueAtMs: number | null;
}

interface Approved {
  readonly by: string;
  readonly reason: string;
  /** The person who is replaced. */
  readonly replaces: string;
}

export type RecoveryEvent =
  | {
      readonly type: "recovery.filed";
      readonly applicant: string;
      readonly uuid: string;
      readonly at_ms: number;
    }
  /** By the first operator, and by the second. */
  | ({ readonly type: "recovery.approved" | "recovery.agreed" } & Approved)
  | {
      readonly type: "recovery.announced";
      /** When the owner is replaced, and in how many milliseconds that is. */
      readonly due_at_ms: number;
      readonly in_ms: number;
    }
  | { readonly type: "owner.replaced" }
  | { readonly type: "recovery.refused"; readonly by: string; readonly reason: string }
  /** The business does not take the step. */
  | { readonly type: "recovery.failed" }
  /** Somebody who binds the business stopped it there. */
  | { readonly type: "recovery.stopped" }
  | { readonly type: "recovery.withdrawn" };

const dayMs = 86_400_000;
const keptMs = 30 * dayMs;
const undecidedMs = 90 * dayMs;

export const recoveryMachine = setup({
  types: { context: {} as RecoveryContext, events: {} as RecoveryEvent, input: {} as object },
  delays: {
    keep: keptMs,
    undecided: undecidedMs,
    wait: ({ event }) => (event.type === "recovery.announced" ? event.in_ms : 0),
  },
  actions: {
    announce: () => {},
    replaceOwner: () => {},
    // The business forgets what waits there.
    endAnnounced: () => {},
    enterBusiness: () => {},
    leaveApplicant: () => {},
    noteFiled: assign(({ event }) =>
      event.type === "recovery.filed"
        ? {
            applicant: event.applicant,
            uuid: event.uuid,
            filedAtMs: event.at_ms,
            approvals: [],
            dueAtMs: null,
          }
        : {},
    ),
    noteApproval: assign(({ context: { approvals }, event }) =>
      "replaces" in event
        ? { approvals: [...approvals, { by: event.by, reason: event.reason, replaces: event.replaces }] }
        : {},
    ),
    noteDue: assign(({ event }) => ("due_at_ms" in event ? { dueAtMs: event.due_at_ms } : {})),
  },
}).createMachine({
  id: "recovery",
  context: { applicant: "", uuid: "", filedAtMs: null, approvals: [], dueAtMs: null },
  initial: "unknown",
  states: {
    unknown: { on: { "recovery.filed": { target: "undecided", actions: "noteFiled" } } },
    undecided: {
      initial: "waiting",
      states: {
        waiting: { on: { "recovery.approved": { target: "approved", actions: "noteApproval" } } },
        approved: {
          on: {
            "recovery.agreed": { target: "#recovery.announcing", actions: ["noteApproval", "announce"] },
          },
        },
      },
      on: {
        "recovery.refused": "refused",
        "recovery.withdrawn": { target: "over", actions: "leaveApplicant" },
      },
      after: { undecided: { target: "over", actions: "leaveApplicant" } },
    },
    announcing: {
      on: {
        "recovery.announced": { target: "announced", actions: "noteDue" },
        // The business may have it although it could not say so.
        "recovery.failed": { target: "refused", actions: "endAnnounced" },
        "recovery.stopped": "stopped",
      },
    },
    announced: {
      on: {
        "recovery.refused": { target: "refused", actions: "endAnnounced" },
        "recovery.withdrawn": { target: "over", actions: ["endAnnounced", "leaveApplicant"] },
        "recovery.stopped": "stopped",
      },
      after: { wait: { target: "replacing", actions: "replaceOwner" } },
    },
    replacing: {
      on: {
        "owner.replaced": { target: "done", actions: ["enterBusiness", "leaveApplicant"] },
        "recovery.failed": { target: "refused", actions: "endAnnounced" },
        "recovery.stopped": "stopped",
      },
    },
    done: { after: { keep: "over" } },
    refused: {
      on: {
        "recovery.filed": { target: "undecided", actions: "noteFiled" },
        "recovery.withdrawn": { target: "over", actions: "leaveApplicant" },
      },
      after: { keep: { target: "over", actions: "leaveApplicant" } },
    },
    stopped: {
      on: {
        "recovery.filed": { target: "undecided", actions: "noteFiled" },
        "recovery.withdrawn": { target: "over", actions: "leaveApplicant" },
      },
      after: { keep: { target: "over", actions: "leaveApplicant" } },
    },
    over: { type: "final" },
  },
});
