// The machines of accounts, ads and people: the system runs them exactly as XState does, and every resting state is reached.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { initialTransition, transition } from "xstate";
import type { AdCampaignEvent } from "../machines/ad-campaign.ts";
import { type AdItemEvent, adItemMachine, itemAfter, itemTakes, servedItem } from "../machines/ad-item.ts";
import type { AdPoolEvent } from "../machines/ad-pool.ts";
import type { AdSessionEvent } from "../machines/ad-session.ts";
import type { ApplicationEvent } from "../machines/application.ts";
import type { LedgerEvent } from "../machines/ledger.ts";
import type { PersonEvent } from "../machines/person.ts";
import type { RecoveryEvent } from "../machines/recovery.ts";
import { adClickMs } from "../protocol/limits.ts";
import { adCampaignActor } from "./ad-campaign/definition.ts";
import { adPoolActor } from "./ad-pool/definition.ts";
import { adSessionActor } from "./ad-session/definition.ts";
import { applicationActor } from "./application/definition.ts";
import { ledgerActor } from "./ledger/definition.ts";
import { compare, restingStates, timer } from "./machines.fixture.ts";
import { personActor } from "./person/definition.ts";
import { recoveryActor } from "./recovery/definition.ts";
import type { ActorDefinition, Message } from "./system/definition.ts";

const id = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 3 });
const at_ms = fc.integer({ min: 0, max: 10 ** 12 });
const constant = <const T>(value: T) => fc.constant(value);
const holder = fc.constantFrom("eu/a", "eu/b", "us/a");
const state = fc.constantFrom("running" as const, "paused" as const, "spent" as const, "stopped" as const);

const ledgerEvents: fc.Arbitrary<LedgerEvent> = fc.oneof(
  fc.record({
    type: constant("money.entered"),
    entry_id: id,
    kind: fc.constantFrom("top_up", "correction"),
    amount: fc.integer({ min: -5, max: 5 }),
    currency: constant("EUR"),
    by: id,
    reason: id,
    at_ms,
  }),
  fc.record({
    type: constant("slice.leased"),
    holder,
    n: small,
    amount: small,
    returned: small,
    until_ms: small,
    from: id,
  }),
  fc.record({
    type: constant("charges.booked"),
    region: fc.constantFrom("eu", "us"),
    up_to: id,
    settled_ms: fc.integer({ min: 0, max: 9 }),
    more: fc.boolean(),
    count: small,
    amount: small,
    at_ms,
    used: fc.dictionary(holder, small),
  }),
);

const campaignEvents: fc.Arbitrary<AdCampaignEvent> = fc.oneof(
  fc.record({ type: constant("campaign.accepted"), seal_id: id, sealed_at_ms: at_ms, state }),
  fc.record({ type: constant("ad.assigned"), ad_id: id, generation: small, first: fc.boolean() }),
  fc.record({ type: constant("ad.published"), ad_id: id, generation: small }),
  fc.record({
    type: constant("ad.removed"),
    ad_id: id,
    state: fc.constantFrom("withdrawn", "deleted"),
    purged: fc.array(fc.record({ generation: small, hash: id })),
  }),
  fc.record({ type: constant("render.charged"), ad_id: id, state, ends_day: fc.boolean() }),
  fc.record({ type: fc.constantFrom("campaign.stopped", "campaign.resumed"), state }),
  fc.record({ type: constant("renders.reversed"), company: id, renders: small, state }),
);

const item = fc.record({ ad_id: id, business_uuid: id, campaign_id: id, allow_repeats: fc.boolean() });
const items = fc.array(item, { minLength: 1, maxLength: 4 });
const soon = fc.integer({ min: 0, max: 2 * adClickMs });
const [rendered, refused, clicked] = [
  fc.record({ type: constant("item.rendered"), format: fc.option(id), at_ms: soon }),
  fc.record({ type: constant("item.refused"), refusal: constant("budget_spent") }),
  fc.record({ type: constant("item.clicked"), at_ms: soon }),
] as const;
const itemEvents: fc.Arbitrary<AdItemEvent> = fc.oneof(
  rendered,
  refused,
  clicked,
  constant({ type: "item.expired" } as const),
);
const poolEvents: fc.Arbitrary<AdPoolEvent> = fc.oneof(
  fc.record({
    type: constant("pool.served"),
    company: id,
    session: fc.option(id),
    served_at_ms: at_ms,
    items,
  }),
  fc.tuple(fc.oneof(rendered, refused, clicked), small).map(([event, index]) => ({ ...event, index })),
);

const sessionEvents: fc.Arbitrary<AdSessionEvent> = fc.record({ type: constant("shown.noted"), ad_id: id });

const personEvents: fc.Arbitrary<PersonEvent> = fc.oneof(
  fc.record({ type: constant("person.joined"), at_ms }),
  fc.record({
    type: fc.constantFrom(
      "passkey.added",
      "passkey.removed",
      "person.seen",
      "business.noted",
      "businesses.left",
      "person.left",
    ),
  }),
);

const applicationEvents: fc.Arbitrary<ApplicationEvent> = fc.oneof(
  fc.record({ type: constant("application.filed"), applicant: id, legal_name: id, country: id, at_ms }),
  fc.record({ type: fc.constantFrom("application.approved", "application.refused"), by: id, reason: id }),
  fc.record({ type: fc.constantFrom("business.opened", "application.withdrawn") }),
);

const approval = { by: id, reason: id, replaces: id };
/** How a recovery comes about; where something else comes between, most of it is refused. */
const recoveryStory = [
  fc.record({ type: constant("recovery.filed"), applicant: id, uuid: id, at_ms }),
  fc.record({ type: constant("recovery.approved"), ...approval }),
  fc.record({ type: constant("recovery.agreed"), ...approval }),
  fc.record({
    type: constant("recovery.announced"),
    due_at_ms: at_ms,
    in_ms: fc.integer({ min: 1, max: 9 }),
  }),
  constant(timer),
  fc.record({ type: constant("owner.replaced") }),
] as const;
const recoveryEvents: fc.Arbitrary<RecoveryEvent | typeof timer> = fc.oneof(
  ...recoveryStory,
  fc.record({ type: constant("recovery.refused"), by: id, reason: id }),
  fc.record({
    type: fc.constantFrom("recovery.failed", "recovery.stopped", "recovery.withdrawn"),
  }),
);

/** A kind, its events, and the beginning of a story that chance alone seldom tells. */
const kinds: readonly [
  string,
  ActorDefinition,
  fc.Arbitrary<Message>,
  (readonly fc.Arbitrary<Message>[])?,
][] = [
  ["ad-campaign", adCampaignActor, campaignEvents],
  ["ad-pool", adPoolActor, poolEvents],
  // It is run by a pool for each of its items.
  ["ad-item", { ...adPoolActor, machine: adItemMachine, input: () => ({ ad_id: "a" }) }, itemEvents],
  ["ad-session", adSessionActor, sessionEvents],
  ["ledger", ledgerActor, ledgerEvents],
  ["application", applicationActor, applicationEvents],
  ["person", personActor, personEvents],
  ["recovery", recoveryActor, recoveryEvents, recoveryStory],
];

describe("the driver of the machines", () => {
  it.each(kinds)(
    "runs the machine of %s as XState's transition() does (property)",
    (_kind, definition, event, story = []) => {
      const passed = new Set<string>();
      const begun = fc.nat(story.length).chain((length) => fc.tuple(...story.slice(0, length)));
      const events = fc.array(fc.oneof({ weight: 6, arbitrary: event }, constant(timer)), {
        minLength: 1,
        maxLength: 40,
        size: "max",
      });
      fc.assert(
        fc.property(begun, events, (first, then) => {
          for (const visited of compare(definition, [...first, ...then])) passed.add(visited);
        }),
        { numRuns: 500 },
      );
      expect([...passed]).toEqual(expect.arrayContaining([...restingStates(definition)]));
    },
  );
});

describe("a pool", () => {
  it("steps its items as their machine does (AI5, property)", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(itemEvents, { minLength: 1, maxLength: 12 }), (events) => {
        const input = { ad_id: "a", business_uuid: "b", campaign_id: "c", allow_repeats: false };
        let [snapshot] = initialTransition(adItemMachine, input);
        let item = servedItem(input);
        for (const event of events) {
          expect(itemTakes(item, event)).toBe(snapshot.can(event));
          [snapshot] = transition(adItemMachine, snapshot, event);
          item = itemAfter(item, event);
          const { value: state, context } = snapshot;
          expect(item).toEqual({ ...context, state });
          seen.add(state);
        }
      }),
      { numRuns: 500 },
    );
    expect([...seen].sort()).toEqual(Object.keys(adItemMachine.states).sort());
  });
});
