// Business: the standing of one party, and the order of what it publishes.
//   B1. `number` orders accepted pushes, withdrawals and deletions; it only grows.
//   B2. `change` orders the versions of the party's register entries; it only grows.
//   B3. A held push keeps its number; its hold is settled once.
//   B4. The state determines what may happen (actors/business): a business publishes in `active` only, and opens nothing
//       in `closed`. Events are applied in every state.
// Record heads, register entries and chunk answers are keyed rows of the actor, and not part of the context.

import { assign, raise, setup } from "xstate";
import type { TermsAgreement } from "../actors/messages/company.ts";
import type { CertificateInForce, Party, PolicyInForce, Standing } from "../actors/messages/party.ts";
import type { HoldDecided, HoldRelease } from "../actors/messages/push.ts";
import type { Purged, RemovedRecord } from "../actors/messages/removal.ts";
import type { ServedState } from "../actors/messages/serving.ts";
import type { CollectionName } from "../protocol/identifiers.ts";

export interface BusinessContext {
  readonly uuid: string;
  readonly party: Party | null;
  readonly certificate: CertificateInForce | null;
  readonly policy: PolicyInForce;
  /** Number of AI policy versions accepted so far, in force or not. */
  readonly policyVersions: number;
  /** How often something ended that a seal of the business depends on: a key, a mandate, or a certificate that another one follows. */
  readonly endings: number;
  readonly blockedGroups: readonly string[];
  readonly number: number;
  readonly change: number;
  /** The pushes that are numbered, not held and not finished, oldest first. */
  readonly pending: readonly string[];
  readonly held: readonly string[];
  /** Number of deletions that wait for an operator. */
  readonly heldDeletions: number;
  /** Whether operators took everything of the business out of serving. */
  readonly takenDown: boolean;
  /** Number of listings of live records: a listing is (record, country). */
  readonly listings: number;
  readonly recordsLive: number;
  /** When the timer of purges ends, in Unix milliseconds; null while none is set. */
  readonly purgeAtMs: number | null;
  /** No purge that is owed is due before this, in Unix milliseconds. */
  readonly purgesFromMs: number;
  /** When the timer of looks at domains ends, likewise. */
  readonly domainsAtMs: number | null;
}

/** When the next work of a kind is due, and how long that is. */
export interface NextWork {
  readonly at_ms: number;
  readonly in_ms: number;
}

export type BusinessEvent =
  | { readonly type: "party.opened"; readonly party: Party }
  | { readonly type: "certificate.issued"; readonly certificate: CertificateInForce }
  | { readonly type: "policy.accepted"; readonly policy: PolicyInForce }
  /** The AI policy in force does not stand any more; given is what is in force instead. */
  | { readonly type: "policy.fell"; readonly policy: PolicyInForce }
  /** Something ended that seals of the business depend on. */
  | { readonly type: "standing.ended" }
  /** Records do not stand any more and left serving: how many, and by how much the counts change. */
  | {
      readonly type: "records.fell";
      readonly records: number;
      readonly listings: number;
      readonly live: number;
    }
  | {
      readonly type: "register.changed";
      readonly keys: readonly string[];
      readonly change: number;
      /** Who requested the change, and why; absent if no name was given. */
      readonly act?: { readonly by: string; readonly reason: string };
    }
  /** An integration key that was in force was revoked. */
  | { readonly type: "key.revoked"; readonly key_id: string }
  | { readonly type: "directory.chosen"; readonly listed: boolean }
  /** With every agreement that the company has since. */
  | { readonly type: "terms.agreed"; readonly agreements: readonly TermsAgreement[] }
  | { readonly type: "group.blocked"; readonly group: string }
  | { readonly type: "group.unblocked"; readonly group: string }
  | { readonly type: "group.joined"; readonly group: string; readonly former_groups: readonly string[] }
  | {
      readonly type: "push.admitted";
      readonly push_id: string;
      readonly number: number;
      readonly held: boolean;
    }
  /** A push that was admitted without a plan is held. */
  | { readonly type: "push.held"; readonly push_id: string }
  | {
      readonly type: "hold.settled";
      readonly push_id: string;
      /** Whether the push is published. */
      readonly confirmed: boolean;
      /** Who decided what, and when. */
      readonly decision: HoldDecided;
      /** Why a confirmed push is not published. */
      readonly error?: { readonly code: string; readonly detail: string };
      /** The position among the pending pushes that follows from the number of the confirmed push. */
      readonly position: number;
    }
  | { readonly type: "chunk.assigned"; readonly listings: number; readonly live: number }
  | { readonly type: "push.finished"; readonly push_id: string }
  | {
      readonly type: "push.cancelled";
      readonly push_id: string;
      /** The operator who cancelled it, and why; absent where the business did. */
      readonly act?: { readonly by: string; readonly reason: string };
    }
  | {
      readonly type: "record.removed";
      readonly number: number;
      readonly record_id: string;
      readonly collection: CollectionName;
      readonly change: number;
      /** The generation of the version that was served last. */
      readonly generation: number;
      readonly hash: string;
      readonly listings: number;
      readonly live: number;
      /** Given if the timer of purges has to be set for this deletion. */
      readonly timer?: NextWork;
    }
  /** A deletion waits for an operator, or one was decided. */
  | { readonly type: "deletion.held"; readonly document_hash: string }
  | { readonly type: "deletion.decided"; readonly document_hash: string; readonly released: boolean }
  /** Operators took everything of the business out of serving, or undid that. */
  | { readonly type: "business.taken_down"; readonly taken_down: boolean }
  /** These records are served from now on, or not any more. */
  | { readonly type: "serving.changed"; readonly records: readonly ServedState[] }
  /** The timer of purges ended. */
  | { readonly type: "purges.due" }
  /** What is proved of purges, and when the next one is due. */
  | {
      readonly type: "records.purged";
      readonly purged: readonly Purged[];
      /** No purge that is owed is due before this. */
      readonly from_ms: number;
      readonly timer: NextWork | null;
    }
  /** Served business files name other domains than before, one of which is to be looked at sooner than any was. */
  | { readonly type: "domains.named"; readonly timer: NextWork }
  /** The timer of looks at domains ended. */
  | { readonly type: "domains.due" }
  /** Domains were looked at; given are how many, how many of them became confirmed or suspended, and when the next look is due. */
  | {
      readonly type: "domains.probed";
      readonly probed: number;
      readonly confirmed: number;
      readonly suspended: number;
      readonly timer: NextWork | null;
    };

const standings = {
  active: "#business.active",
  revoked: "#business.revoked",
  closed: "#business.closed",
  withdrawn: "#business.withdrawn",
} as const;

function removedBy(event: Extract<BusinessEvent, { type: "record.removed" }>): RemovedRecord {
  const { record_id, collection, change, generation, hash } = event;
  return { record_id, collection, change, generation, hash };
}

function timerOf(event: BusinessEvent): NextWork | null {
  return "timer" in event ? (event.timer ?? null) : null;
}

export const businessMachine = setup({
  types: { context: {} as BusinessContext, events: {} as BusinessEvent, input: {} as { uuid: string } },
  guards: {
    setsTimer: ({ event }) => timerOf(event) !== null,
    becomes: ({ event }, params: { standing: Standing }) =>
      event.type === "certificate.issued" && event.certificate.status === params.standing,
  },
  actions: {
    noteCertificate: assign(({ event }) =>
      event.type === "certificate.issued" ? { certificate: event.certificate } : {},
    ),
    noteRemoval: assign(({ context, event }) =>
      event.type === "record.removed"
        ? {
            number: event.number,
            listings: context.listings + event.listings,
            recordsLive: context.recordsLive + event.live,
          }
        : {},
    ),
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
    // One timer, for the purge that is due first; setting it again replaces it.
    setPurgeTimer: raise(
      { type: "purges.due" },
      { id: "purges", delay: ({ event }) => timerOf(event)?.in_ms ?? 0 },
    ),
    notePurgeTimer: assign(({ context, event }) => {
      const purgeAtMs = timerOf(event)?.at_ms ?? null;
      if (event.type === "records.purged") return { purgeAtMs, purgesFromMs: event.from_ms };
      // A timer that is set is not before `purgesFromMs`, so a purge that is due before that sets one.
      return { purgeAtMs, purgesFromMs: Math.min(context.purgesFromMs, purgeAtMs ?? context.purgesFromMs) };
    }),
    setDomainsTimer: raise(
      { type: "domains.due" },
      { id: "domains", delay: ({ event }) => timerOf(event)?.in_ms ?? 0 },
    ),
    noteDomainsTimer: assign(({ event }) => ({ domainsAtMs: timerOf(event)?.at_ms ?? null })),
  },
}).createMachine({
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
    takenDown: false,
    listings: 0,
    recordsLive: 0,
    purgeAtMs: null,
    purgesFromMs: 0,
    domainsAtMs: null,
  }),
  initial: "unverified",
  on: {
    "party.opened": { actions: assign({ party: ({ event }) => event.party }) },
    "certificate.issued": (["active", "revoked", "closed", "withdrawn"] as const).map((standing) => ({
      guard: { type: "becomes" as const, params: { standing } },
      target: standings[standing],
      actions: "noteCertificate" as const,
    })),
    "policy.accepted": {
      actions: assign(({ event: { policy } }) => ({ policy, policyVersions: policy.version })),
    },
    "policy.fell": { actions: assign({ policy: ({ event }) => event.policy }) },
    "standing.ended": {
      actions: [assign({ endings: ({ context }) => context.endings + 1 }), "reviewStanding"],
    },
    "records.fell": {
      actions: assign(({ context, event }) => ({
        listings: context.listings + event.listings,
        recordsLive: context.recordsLive + event.live,
      })),
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
        party: ({ context, event }) => context.party && { ...context.party, agreements: event.agreements },
      }),
    },
    "group.blocked": {
      actions: assign({ blockedGroups: ({ context, event }) => [...context.blockedGroups, event.group] }),
    },
    "group.unblocked": {
      actions: assign({
        blockedGroups: ({ context, event }) => context.blockedGroups.filter((group) => group !== event.group),
      }),
    },
    "group.joined": {
      actions: assign({
        party: ({ context, event: { group, former_groups } }) =>
          context.party && { ...context.party, group, former_groups },
      }),
    },
    "push.admitted": {
      actions: assign(({ context, event }) => ({
        number: event.number,
        pending: event.held ? context.pending : [...context.pending, event.push_id],
        held: event.held ? [...context.held, event.push_id] : context.held,
      })),
    },
    "push.held": {
      actions: assign(({ context, event }) => ({
        pending: context.pending.filter((id) => id !== event.push_id),
        held: [...context.held, event.push_id],
      })),
    },
    "hold.settled": {
      actions: [
        assign(({ context, event }) => ({
          held: context.held.filter((id) => id !== event.push_id),
          pending: event.confirmed
            ? context.pending.toSpliced(event.position, 0, event.push_id)
            : context.pending,
        })),
        {
          type: "releaseHold",
          params: ({ event }) => ({
            push_id: event.push_id,
            confirmed: event.confirmed,
            decision: event.decision,
            ...(event.error === undefined ? {} : { error: event.error }),
          }),
        },
      ],
    },
    "chunk.assigned": {
      actions: assign(({ context, event }) => ({
        listings: context.listings + event.listings,
        recordsLive: context.recordsLive + event.live,
      })),
    },
    "push.finished": {
      actions: assign({
        pending: ({ context, event }) => context.pending.filter((id) => id !== event.push_id),
        held: ({ context, event }) => context.held.filter((id) => id !== event.push_id),
      }),
    },
    "push.cancelled": {
      actions: [
        assign(({ context, event }) => ({
          pending: context.pending.filter((id) => id !== event.push_id),
          held: context.held.filter((id) => id !== event.push_id),
        })),
        {
          type: "endCancelled",
          params: ({ event: { push_id, act } }) =>
            act === undefined ? { push_id } : { push_id, by_operator: true },
        },
      ],
    },
    "record.removed": [
      {
        guard: "setsTimer",
        actions: [
          "noteRemoval",
          { type: "removeRecord", params: ({ event }) => removedBy(event) },
          "notePurgeTimer",
          "setPurgeTimer",
        ],
      },
      { actions: ["noteRemoval", { type: "removeRecord", params: ({ event }) => removedBy(event) }] },
    ],
    "deletion.held": { actions: assign({ heldDeletions: ({ context }) => context.heldDeletions + 1 }) },
    "deletion.decided": { actions: assign({ heldDeletions: ({ context }) => context.heldDeletions - 1 }) },
    "business.taken_down": {
      actions: [assign({ takenDown: ({ event }) => event.taken_down }), "restateAll"],
    },
    "serving.changed": {
      actions: { type: "restateServing", params: ({ event }) => ({ records: event.records }) },
    },
    "purges.due": { actions: [assign({ purgeAtMs: null }), "purgeRecords"] },
    "records.purged": [
      { guard: "setsTimer", actions: ["notePurgeTimer", "setPurgeTimer"] },
      { actions: ["notePurgeTimer"] },
    ],
    "domains.named": { actions: ["noteDomainsTimer", "setDomainsTimer"] },
    "domains.due": { actions: [assign({ domainsAtMs: null }), "confirmDomains"] },
    "domains.probed": [
      { guard: "setsTimer", actions: ["noteDomainsTimer", "setDomainsTimer"] },
      { actions: ["noteDomainsTimer"] },
    ],
  },
  states: {
    unverified: {},
    active: {},
    revoked: {},
    closed: {},
    withdrawn: {},
  },
});
