// The endpoints of a business: who sets them, and what they are told.

import { beforeEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { firstFault } from "../../protocol/shape.ts";
import { webhookBody } from "../../protocol/wire/webhook.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { keyFacts, partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import type { MemberRole } from "../messages/members.ts";
import { chosenKinds, type NoticeFacts } from "../messages/notices.ts";
import type { Delivery } from "../messages/webhooks.ts";
import { businessActor } from "./definition.ts";
import { type DomainRow, newDomain } from "./domains.ts";

const act = { by: "Ada", reason: "She founded it." };
const url = "https://hooks.shop.example/in";
const endpoint_id = "whk_0000000000000001";
const since_ms = Date.UTC(2025, 0, 1);

let business: ActorHarness<"business">;
const setRole = (person_id: string, role: MemberRole) =>
  business.send({ type: "member.set", person_id, role, act });
const layDomain = (domain: string, status: DomainRow["status"]) => {
  const row: DomainRow = { ...newDomain(business.nowMs), files: 1, status };
  business.lay({ rt: 90, k: 0, k2: domain, body: JSON.stringify(row) });
};
const set = (changes: Partial<{ person_id: string; endpoint_id: string; url: string }> = {}) =>
  business.send({ type: "webhook.set", person_id: "ada", endpoint_id, url, kinds: chosenKinds, ...changes });
const read = (person_id = "ada") => business.send({ type: "webhooks.read", person_id });
const target = () => business.send({ type: "webhook.target", endpoint_id });

const begin = () => {
  business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  setRole("ada", "owner");
  layDomain("shop.example", "confirmed");
  business.effects.splice(0);
};
beforeEach(begin);

/** What endpoints were told since the last look, by the name of their actor. */
function told(): readonly { readonly to: string; readonly delivery: Delivery }[] {
  return business.effects.splice(0).flatMap((each) => {
    if (each.kind !== "tell" || each.message.type !== "delivery.owe") return [];
    const { delivery } = each.message as unknown as { readonly delivery: Delivery };
    return [{ to: `${each.to.kind}/${each.to.id}`, delivery }];
  });
}

const give = (facts: NoticeFacts, notice_id = "n") => {
  business.nowMs += 1;
  business.send({ type: "notice.give", notice_id, facts });
};
const ended = { kind: "push.ended", push_id: "p", state: "complete", published: 1, rejected: 0 } as const;

describe("an endpoint is set (WB2)", () => {
  it.each(["developer", "viewer", null] as const)("by nobody who is %s", (role) => {
    set();
    if (role !== null) setRole("bob", role);
    const person_id = "bob";
    for (const reply of [
      set({ person_id, endpoint_id: "whk_0000000000000002" }),
      business.send({ type: "webhook.remove", person_id, endpoint_id }),
      business.send({ type: "webhook.test", person_id, endpoint_id }),
    ])
      expect(reply).toMatchObject({ status: "refused", code: "role_too_low" });
    expect([read(person_id), read()?.endpoints.length]).toEqual([null, 1]);
  });

  it.each([
    ["https://shop.example/", true],
    ["https://a.b.shop.example/in", true],
    ["https://shop.example.evil.example/", false],
    ["https://myshop.example/", false],
    ["https://example/", false],
    ["https://lost.example/", false],
    ["https://never.example/", false],
  ])("at %s: %s, since its domain or one above it is confirmed or not", (at, isTaken) => {
    layDomain("lost.example", "suspended");
    layDomain("never.example", "unconfirmed");
    expect(set({ url: at })).toMatchObject(
      isTaken ? { status: "done" } : { status: "refused", code: "domain_unconfirmed" },
    );
  });

  it("three times at most", () => {
    for (const id of [1, 2, 3]) expect(set({ endpoint_id: `whk_${id}` }).status).toBe("done");
    expect(set({ endpoint_id: "whk_4" })).toMatchObject({ code: "too_many_endpoints" });
    expect(set({ endpoint_id: "whk_1" }).status).toBe("done");
  });

  it("and shown with what its domain is by then", () => {
    set();
    expect(target()).toEqual({ url, is_confirmed: true });
    layDomain("shop.example", "suspended");
    expect(read()).toMatchObject({ endpoints: [{ endpoint_id, url, is_confirmed: false, off_at_ms: null }] });
    expect(target()).toEqual({ url, is_confirmed: false });
  });

  it("until it is removed, with all that waits for it", () => {
    set();
    const remove = () => business.send({ type: "webhook.remove", person_id: "ada", endpoint_id });
    expect([remove().status, remove().status, target()]).toEqual(["done", "done", null]);
    const to = { kind: "webhook", id: `${uuid}.${endpoint_id}` };
    expect(business.effects).toEqual([{ kind: "tell", to, message: { type: "webhook.end" } }]);
    give(ended);
    expect(told()).toEqual([]);
  });
});

describe("an endpoint is told (WB1)", () => {
  it("of what it was set for, once, by an id that no notice shares", () => {
    set();
    business.send({
      type: "webhook.set",
      person_id: "ada",
      endpoint_id: "whk_2",
      url,
      kinds: ["push.held"],
    });
    give(ended);
    give(ended);
    give({ kind: "push.held", push_id: "q", records: 1 }, "m");
    const all = told();
    expect(all.map(({ to, delivery }) => [to.slice(-21), delivery.kind, delivery.ids])).toEqual([
      [`.${endpoint_id}`.slice(-21), "push.ended", { push_id: "p" }],
      [`.${endpoint_id}`.slice(-21), "push.held", { push_id: "q" }],
      [`${uuid}.whk_2`.slice(-21), "push.held", { push_id: "q" }],
    ]);
    const ids = all.map(({ delivery }) => delivery.id);
    expect([ids[0] === ids[1], ids[1] === ids[2]]).toEqual([false, true]);
  });

  it("nothing but ids, none of which names a person or a network, as the schema of the body says (WB3)", () => {
    set();
    const { key_id } = keyFacts({ key_id: "A".repeat(43) });
    const facts: readonly NoticeFacts[] = [
      { ...ended, push_id: `bat_${"0".repeat(24)}` },
      { kind: "push.held", push_id: `bat_${"0".repeat(24)}`, records: 7 },
      { kind: "mandate.ends", mandate_id: "m-1", key_id, until: "secret" },
      { kind: "certificate.ends", status: "closed", from: "secret" },
      { kind: "key.network", key_id, network: "secret" },
      { kind: "takedown", record_id: null, state: "taken_down" },
      { kind: "takedown", record_id: `svc_${"a".repeat(26)}`, state: "lifted" },
      { kind: "sealer.added", key_id, by: "secret" },
      { kind: "role.changed", person_id: "secret", role: "owner", by: "secret" },
      { kind: "webhook.off", endpoint_id, host: "secret", since: "secret" },
    ];
    expect(new Set(facts.map(({ kind }) => kind))).toEqual(new Set(chosenKinds));
    for (const [at, each] of facts.entries()) give(each, `secret ${at}`);
    const deliveries = told().map(({ delivery }) => delivery);
    expect(deliveries.length).toBe(facts.length);
    expect(JSON.stringify(deliveries)).not.toContain("secret");
    for (const { at_ms: _, ids, ...rest } of deliveries) {
      const body = { v: 1, ...rest, ...ids, business_uuid: uuid, at: "2026-01-01T00:00:00.000Z" };
      expect(firstFault(webhookBody, body as JsonValue)).toBeNull();
    }
  });

  it("no id that follows from a network, which could be found by trying all of them (WB3)", () => {
    const [first, second] = ["192.0.2.0/24", "198.51.100.0/24"].map((other) => {
      begin();
      set();
      for (const network of ["203.0.113.0/24", other])
        business.send({ type: "network.seen", key_id: "k", network });
      return told().map(({ delivery }) => delivery.id);
    });
    expect([first?.length, second]).toEqual([1, first]);
  });

  it("of a test, at most once a minute, at a confirmed domain", () => {
    set();
    const test = () => business.send({ type: "webhook.test", person_id: "ada", endpoint_id });
    expect([test().status, test()]).toMatchObject(["done", { code: "tested_before" }]);
    expect(told()).toMatchObject([{ delivery: { kind: "test", ids: { endpoint_id } } }]);
    business.nowMs += 60_000;
    expect([test().status, told().length]).toEqual(["done", 1]);
    business.nowMs += 60_000;
    layDomain("shop.example", "suspended");
    expect([test(), told()]).toMatchObject([{ code: "domain_unconfirmed" }, []]);
  });

  it("nothing once it failed for too long, of which people are told once, until it is set again", () => {
    set();
    const fail = () => business.send({ type: "webhook.fail", endpoint_id, since_ms });
    fail();
    fail();
    const notices = business.send({ type: "notices.read", person_id: "ada" })?.notices ?? [];
    expect(notices.filter(({ kind }) => kind === "webhook.off")).toMatchObject([
      { endpoint_id, host: "hooks.shop.example", since: "2025-01-01T00:00:00.000Z" },
    ]);
    told();
    give(ended);
    expect([told(), target(), read()?.endpoints[0]?.off_at_ms]).toEqual([[], null, business.nowMs - 1]);
    const test = business.send({ type: "webhook.test", person_id: "ada", endpoint_id });
    expect(test).toMatchObject({ code: "endpoint_unknown" });
    set();
    give(ended, "later");
    expect([told().length, target()]).toEqual([1, { url, is_confirmed: true }]);
  });
});
