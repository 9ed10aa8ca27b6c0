// Business: the standing of one party, and the order of what it publishes.
//   B1. `number` orders accepted pushes, withdrawals and deletions; it only grows.
//   B2. `change` orders the versions of the party's register entries; it only grows.
//   B3. A held push keeps its number; its hold is settled once.
//   B4. What the business is in, and what it waits for, are regions of the machine, and each of them takes only the events that
//       its state allows. A business publishes in `standing.active` only; it opens nothing in `standing.closed` (actors/business).
//   B5. Purges, looks at domains and reminders are under way once at a time. What becomes due meanwhile is found when they end.
// Record heads, register entries and chunk answers are keyed rows of the actor, and not part of the context.

import { assign, setup } from "xstate";
import type { HoldRelease } from "../actors/messages/push.ts";
import type { RemovedRecord } from "../actors/messages/removal.ts";
import type { ServedState } from "../actors/messages/serving.ts";
import type { CertificateStatus } from "../protocol/keys/certificate.ts";
import type { BusinessContext, BusinessEvent, NextWork } from "./events/business.ts";

export type { BusinessContext, BusinessEvent, NextWork };

function timerOf(event: BusinessEvent): NextWork | null {
  return "timer" in event ? (event.timer ?? null) : null;
}

function without(ids: readonly string[], event: BusinessEvent): readonly string[] {
  return "push_id" in event ? ids.filter((id) => id !== event.push_id) : ids;
}

function has(ids: readonly string[], event: BusinessEvent): boolean {
  return "push_id" in event && ids.includes(event.push_id);
}

/** Whether the event admits a push that is held, or is not; of a business that may not publish, none is admitted (B4). */
function admits({ certificate }: BusinessContext, event: BusinessEvent, held: boolean): boolean {
  return event.type === "push.admitted" && event.held === held && certificate?.status === "active";
}

const businessSetup = setup({
  types: { context: {} as BusinessContext, events: {} as BusinessEvent, input: {} as { uuid: string } },
  guards: {
    setsTimer: ({ event }) => timerOf(event) !== null,
    isQueued: ({ context, event }) => admits(context, event, false),
    isToBeHeld: ({ context, event }) => admits(context, event, true),
    isConfirmed: ({ context, event }) =>
      event.type === "hold.settled" && event.confirmed && has(context.held, event),
    isPending: ({ context, event }) => has(context.pending, event),
    isLastPending: ({ context: { pending }, event }) => pending.length === 1 && has(pending, event),
    isHeld: ({ context, event }) => has(context.held, event),
    isLastHeld: ({ context: { held }, event }) => held.length === 1 && has(held, event),
    isLastDeletion: ({ context }) => context.heldDeletions === 1,
    isTakenDown: ({ event }) => event.type === "business.taken_down" && event.taken_down,
    isLetBack: ({ event }) => event.type === "business.taken_down" && !event.taken_down,
    becomes: ({ event }, params: { standing: CertificateStatus }) =>
      event.type === "certificate.issued" && event.certificate.status === params.standing,
  },
  actions: {
    noteCertificate: assign(({ event }) =>
      event.type === "certificate.issued" ? { certificate: event.certificate } : {},
    ),
    addPending: assign(({ context: { pending }, event }) =>
      event.type === "push.admitted" ? { number: event.number, pending: [...pending, event.push_id] } : {},
    ),
    insertPending: assign(({ context: { pending }, event }) =>
      event.type === "hold.settled" ? { pending: pending.toSpliced(event.position, 0, event.push_id) } : {},
    ),
    removePending: assign(({ context, event }) => ({ pending: without(context.pending, event) })),
    addHeld: assign(({ context: { number, held }, event }) =>
      "push_id" in event
        ? { number: "number" in event ? event.number : number, held: [...held, event.push_id] }
        : {},
    ),
    removeHeld: assign(({ context, event }) => ({ held: without(context.held, event) })),
    noteCounts: assign(({ context: { listings, recordsLive }, event }) =>
      "listings" in event
        ? { listings: listings + event.listings, recordsLive: recordsLive + event.live }
        : {},
    ),
    notePurgesFrom: assign(({ context: { purgesFromMs }, event }) => ({
      purgesFromMs: Math.min(purgesFromMs, timerOf(event)?.at_ms ?? purgesFromMs),
    })),
    notePurgeTimer: assign(({ context, event }) => {
      const purgeAtMs = timerOf(event)?.at_ms ?? null;
      if (event.type === "records.purged") return { purgeAtMs, purgesFromMs: event.from_ms };
      // A timer that is set is not before `purgesFromMs`, so a purge that is due before that sets one.
      return { purgeAtMs, purgesFromMs: Math.min(context.purgesFromMs, purgeAtMs ?? context.purgesFromMs) };
    }),
    noteDomainsTimer: assign(({ event }) => ({ domainsAtMs: timerOf(event)?.at_ms ?? null })),
    noteReminder: assign(({ event }) => ({ remindAtMs: timerOf(event)?.at_ms ?? null })),
    // Effects: named here, performed by the actor system.
    projectRegister: (_, _params: { keys: readonly string[] }) => {},
    retireKey: (_, _params: { key_id: string }) => {},
    releaseHold: (_, _params: { push_id: string } & HoldRelease) => {},
    endCancelled: (_, _params: { push_id: string; by_operator?: true }) => {},
    removeRecord: (_, _params: RemovedRecord) => {},
    reviewStanding: () => {},
    restateServing: (_, _params: { records: readonly ServedState[] }) => {},
    restateAll: () => {},
    purgeRecords: () => {},
    confirmDomains: () => {},
    remindPeople: () => {},
  },
  delays: {
    nextPurge: ({ event }) => timerOf(event)?.in_ms ?? 0,
    nextLook: ({ event }) => timerOf(event)?.in_ms ?? 0,
    nextReminder: ({ event }) => timerOf(event)?.in_ms ?? 0,
  },
});

type Of<T extends BusinessEvent["type"]> = { readonly event: Extract<BusinessEvent, { type: T }> };

const releasesHold = {
  type: "releaseHold",
  params: ({ event: { push_id, confirmed, decision, error } }: Of<"hold.settled">) => ({
    push_id,
    confirmed,
    decision,
    ...(error === undefined ? {} : { error }),
  }),
} as const;

const endsCancelled = {
  type: "endCancelled",
  params: ({ event: { push_id, act } }: Of<"push.cancelled">) =>
    act === undefined ? { push_id } : ({ push_id, by_operator: true } as const),
} as const;

/** The push of the event is not pending, or not held, any more. */
function leaving<const W extends "Pending" | "Held", const A extends readonly unknown[]>(
  which: W,
  ...more: A
) {
  const actions = [`remove${which}`, ...more] as const;
  return [
    { guard: `isLast${which}`, target: "none", actions },
    { guard: `is${which}`, actions },
  ] as const;
}

/** The timer runs until the purge that is due first, or the look: setting it again replaces it. */
const setsPurge = {
  guard: "setsTimer",
  target: "#business.purges.scheduled",
  reenter: true,
  actions: "notePurgeTimer",
} as const;
const setsLook = {
  guard: "setsTimer",
  target: "#business.domains.scheduled",
  reenter: true,
  actions: "noteDomainsTimer",
} as const;

const setsReminder = {
  guard: "setsTimer",
  target: "#business.reminders.scheduled",
  reenter: true,
  actions: "noteReminder",
} as const;

export const businessMachine = businessSetup.createMachine({
  id: "business",
  context: ({ input }) => ({
    uuid: input.uuid,
    party: null,
    certificate: null,
    policy: { version: 0, record_id: null, live_from: null },
    policyVersions: 0,
    endings: 0,
    blockedGroups: [],
    number: 0,
    change: 0,
    pending: [],
    held: [],
    heldDeletions: 0,
    listings: 0,
    recordsLive: 0,
    purgeAtMs: null,
    purgesFromMs: 0,
    domainsAtMs: null,
    remindAtMs: null,
  }),
  type: "parallel",
  states: {
    standing: {
      initial: "unverified",
      on: {
        "certificate.issued": (["active", "revoked", "closed", "withdrawn"] as const).map((standing) => ({
          guard: { type: "becomes" as const, params: { standing } },
          target: `.${standing}` as const,
          actions: "noteCertificate" as const,
        })),
        "policy.accepted": {
          actions: assign(({ event: { policy } }) => ({ policy, policyVersions: policy.version })),
        },
        "policy.fell": { actions: assign({ policy: ({ event }) => event.policy }) },
        "standing.ended": {
          actions: [assign({ endings: ({ context }) => context.endings + 1 }), "reviewStanding"],
        },
        "register.changed": {
          actions: [
            assign({ change: ({ event }) => event.change }),
            { type: "projectRegister", params: ({ event }) => ({ keys: event.keys }) },
          ],
        },
        "key.revoked": {
          actions: { type: "retireKey", params: ({ event }) => ({ key_id: event.key_id }) },
        },
        "directory.chosen": {
          actions: assign({
            party: ({ context, event }) => context.party && { ...context.party, listed: event.listed },
          }),
        },
        "terms.agreed": {
          actions: assign({
            party: ({ context, event }) =>
              context.party && { ...context.party, agreements: event.agreements },
          }),
        },
        "group.blocked": {
          actions: assign({
            blockedGroups: ({ context, event }) => [...context.blockedGroups, event.group],
          }),
        },
        "group.unblocked": {
          actions: assign({
            blockedGroups: ({ context, event }) =>
              context.blockedGroups.filter((group) => group !== event.group),
          }),
        },
        "group.joined": {
          actions: assign({
            party: ({ context, event: { group, former_groups } }) =>
              context.party && { ...context.party, group, former_groups },
          }),
        },
      },
      states: {
        unverified: { on: { "party.opened": { actions: assign({ party: ({ event }) => event.party }) } } },
        active: {},
        revoked: {},
        closed: {},
        withdrawn: {},
      },
    },
    pushes: {
      initial: "none",
      on: {
        "push.admitted": { guard: "isQueued", target: ".under_way", actions: "addPending" },
        "hold.settled": { guard: "isConfirmed", target: ".under_way", actions: "insertPending" },
      },
      states: {
        none: {},
        under_way: {
          on: {
            "push.held": leaving("Pending"),
            "push.finished": leaving("Pending"),
            "push.cancelled": leaving("Pending", endsCancelled),
          },
        },
      },
    },
    holds: {
      initial: "none",
      on: {
        "push.admitted": { guard: "isToBeHeld", target: ".waiting", actions: "addHeld" },
        "push.held": { guard: "isPending", target: ".waiting", actions: "addHeld" },
      },
      states: {
        none: {},
        waiting: {
          on: {
            "hold.settled": leaving("Held", releasesHold),
            "push.finished": leaving("Held"),
            "push.cancelled": leaving("Held", endsCancelled),
          },
        },
      },
    },
    deletions: {
      initial: "none",
      on: {
        "deletion.held": {
          target: ".waiting",
          actions: assign({ heldDeletions: ({ context }) => context.heldDeletions + 1 }),
        },
      },
      states: {
        none: {},
        waiting: {
          on: {
            "deletion.decided": [
              { guard: "isLastDeletion", target: "none", actions: assign({ heldDeletions: 0 }) },
              { actions: assign({ heldDeletions: ({ context }) => context.heldDeletions - 1 }) },
            ],
          },
        },
      },
    },
    serving: {
      initial: "served",
      on: {
        "record.removed": {
          actions: [
            assign({ number: ({ event }) => event.number }),
            "noteCounts",
            {
              type: "removeRecord",
              params: ({ event: { record_id, collection, change, generation, hash } }) => ({
                record_id,
                collection,
                change,
                generation,
                hash,
              }),
            },
          ],
        },
        "records.fell": { actions: "noteCounts" },
        "chunk.assigned": { actions: "noteCounts" },
        "serving.changed": {
          actions: { type: "restateServing", params: ({ event }) => ({ records: event.records }) },
        },
      },
      states: {
        served: {
          on: {
            "business.taken_down": { guard: "isTakenDown", target: "taken_down", actions: "restateAll" },
          },
        },
        taken_down: {
          on: { "business.taken_down": { guard: "isLetBack", target: "served", actions: "restateAll" } },
        },
      },
    },
    purges: {
      initial: "none",
      states: {
        none: { on: { "record.removed": setsPurge } },
        scheduled: {
          after: {
            nextPurge: { target: "purging", actions: [assign({ purgeAtMs: null }), "purgeRecords"] },
          },
          on: { "record.removed": setsPurge },
        },
        purging: {
          on: {
            "record.removed": { guard: "setsTimer", actions: "notePurgesFrom" },
            "records.purged": [setsPurge, { target: "none", actions: "notePurgeTimer" }],
          },
        },
      },
    },
    reminders: {
      initial: "none",
      states: {
        none: { on: { "reminder.owed": setsReminder } },
        scheduled: {
          after: {
            nextReminder: { target: "giving", actions: [assign({ remindAtMs: null }), "remindPeople"] },
          },
          on: { "reminder.owed": setsReminder },
        },
        giving: {
          on: { "reminders.given": [setsReminder, { target: "none", actions: "noteReminder" }] },
        },
      },
    },
    domains: {
      initial: "none",
      states: {
        none: { on: { "domains.named": setsLook } },
        scheduled: {
          after: {
            nextLook: { target: "probing", actions: [assign({ domainsAtMs: null }), "confirmDomains"] },
          },
          on: { "domains.named": setsLook },
        },
        probing: {
          on: { "domains.probed": [setsLook, { target: "none", actions: "noteDomainsTimer" }] },
        },
      },
    },
  },
});
