import { describe, expect, it } from "vitest";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import { watchedDomainsMax } from "../../protocol/limits.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { domainsInMemory } from "../../transport/domain-probe.fixture.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  endedPush,
  partyFacts,
  pushSeal,
  sealedRemoval,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { PartyFacts } from "../messages/business.ts";
import type { ProbeKind } from "../messages/domains.ts";
import type { ActivityContext } from "../system/definition.ts";
import { confirmDomains } from "./activities.ts";
import { businessActor } from "./definition.ts";

const day = 86_400_000;
const schedule = { interval_ms: day, grace_ms: 3 * day };
const file = (index: number): string => `bf_${"a".repeat(25)}${"abcdefghij"[index]}`;
const [shop, api] = ["shop.example", "api.shop.example"];

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

let pushes = 0;

function publish(business: Business, index: number, domains: readonly string[] | undefined): void {
  pushes += 1;
  const push_id = `p${pushes}`;
  const admit = { push_id, key_id: "k", records: 1, may_hold: false, plan: null };
  const admitted = business.send({ type: "push.admit", ...admit });
  const number = admitted.status === "admitted" ? admitted.number : 0;
  const claim = { leaf_index: 0, record_id: file(index), hash: push_id, business_product_id: "own" };
  business.send({
    type: "chunk.assign",
    push_id,
    number,
    chunk: 0,
    collection: "business_files",
    leaves: [{ ...claim, listings: {}, ...(domains === undefined ? {} : { domains }) }],
    refused: [],
    seal: pushSeal,
  });
  business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });
}

function remove(business: Business, index: number): void {
  const document_hash = `document ${index}`;
  business.send({
    type: "record.remove",
    record_id: file(index),
    action: "withdraw",
    at: "",
    document_hash,
    sealed: sealedRemoval,
  });
}

/** Looks at what is due, and tells the actor what was found. */
function look(business: Business, outcome: ProbeKind): readonly string[] {
  business.fireTimers();
  const { domains } = business.send({ type: "domains.due" });
  const at_ms = business.nowMs;
  const probed = domains.map((domain) => ({ domain, outcome, detail: "", at_ms }));
  business.send({ type: "domains.probed", probed, schedule });
  return domains;
}

/** What the register says of the domains. */
function published(business: Business): PartyFacts["domains"] {
  const row = business.rows(18).find(({ k2 }) => k2 === `party/${uuid}`);
  const { body } = JSON.parse(row?.body ?? "{}") as { readonly body: string };
  return (JSON.parse(body) as PartyFacts).domains;
}

const read = (business: Business) => business.send({ type: "domains.read" }).domains;
const statuses = (business: Business) =>
  Object.fromEntries(read(business).map(({ domain, status }) => [domain, status]));
const timer = (business: Business) => business.timers.get("xstate.after.nextLook.business.domains.scheduled");
const activities = (business: Business) =>
  business.effects.flatMap((effect) => (effect.kind === "activity" ? [effect.name] : []));

describe("the domains of a business", () => {
  it("are looked at as soon as a business file names them, and again when their time has come (K2)", () => {
    const business = open();
    expect(timer(business)).toBeUndefined();
    publish(business, 0, [api, shop]);
    expect(timer(business)).toBe(1);
    expect(activities(business)).not.toContain("confirmDomains");
    business.fireTimers();
    expect(activities(business)).toContain("confirmDomains");
    expect(business.snapshot.context.domainsAtMs).toBeNull();
    expect(look(business, "confirmed")).toEqual([api, shop]);
    expect(timer(business)).toBe(day);
    expect(look(business, "confirmed")).toEqual([]);
    business.nowMs += day;
    business.fireTimers();
    expect(look(business, "absent")).toEqual([api, shop]);
    expect(timer(business)).toBe(day / 24);
  });

  it("are looked at again when their people ask, a minute after the last look at the soonest", () => {
    const business = open();
    business.send({ type: "domains.look" });
    expect(timer(business)).toBeUndefined();
    publish(business, 0, [shop]);
    business.fireTimers();
    // While a look is under way, it decides.
    business.send({ type: "domains.look" });
    const { domains } = business.send({ type: "domains.due" });
    expect(domains).toEqual([shop]);
    const probed = [{ domain: shop, outcome: "confirmed", detail: "", at_ms: business.nowMs }] as const;
    business.send({ type: "domains.probed", probed, schedule });
    expect(timer(business)).toBe(day);
    business.nowMs += 10_000;
    business.send({ type: "domains.look" });
    expect(timer(business)).toBe(50_000);
    business.nowMs += 20_000;
    business.send({ type: "domains.look" });
    // Asked once more, nothing is set again.
    expect(timer(business)).toBe(50_000);
    business.nowMs += 40_000;
    expect(look(business, "absent")).toEqual([shop]);
    business.nowMs += 61_000;
    business.send({ type: "domains.look" });
    expect(timer(business)).toBe(1);
  });

  it("are told to the register with their status and its times (K3)", () => {
    const business = open();
    publish(business, 0, [shop]);
    const since = new Date(business.nowMs).toISOString();
    expect(published(business)).toEqual([{ domain: shop, status: "unconfirmed", since, confirmed_at: null }]);
    business.nowMs += 60_000;
    const confirmed_at = new Date(business.nowMs).toISOString();
    const { change } = business.snapshot.context;
    look(business, "confirmed");
    expect(published(business)).toEqual([
      { domain: shop, status: "confirmed", since: confirmed_at, confirmed_at },
    ]);
    expect(business.snapshot.context.change).toBe(change + 1);
    expect(activities(business).filter((name) => name === "projectRegister").length).toBeGreaterThan(2);
    for (const days of [1, 3]) {
      business.nowMs += days * day;
      look(business, "absent");
    }
    const lost = new Date(business.nowMs).toISOString();
    expect(published(business)).toEqual([{ domain: shop, status: "suspended", since: lost, confirmed_at }]);
    business.nowMs += day;
    look(business, "confirmed");
    expect(published(business)).toMatchObject([{ status: "confirmed" }]);
  });

  it("stay in the register beside the blocks of the party", () => {
    const business = open();
    publish(business, 0, [shop]);
    business.send({ type: "group.block", group: "g" });
    expect(published(business)).toMatchObject([{ domain: shop }]);
    look(business, "confirmed");
    business.send({ type: "group.unblock", group: "g" });
    expect(published(business)).toMatchObject([{ domain: shop, status: "confirmed" }]);
  });

  it("are watched while a served business file names them (K1)", () => {
    const business = open();
    publish(business, 0, [shop]);
    publish(business, 1, [shop, api]);
    look(business, "confirmed");
    publish(business, 1, [api]);
    expect(statuses(business)).toEqual({ [api]: "confirmed", [shop]: "confirmed" });
    remove(business, 0);
    expect(statuses(business)).toEqual({ [api]: "confirmed" });
    expect(published(business)).toMatchObject([{ domain: api }]);
    publish(business, 0, [shop]);
    expect(statuses(business)).toEqual({ [api]: "confirmed", [shop]: "unconfirmed" });
    remove(business, 1);
    publish(business, 0, []);
    expect([read(business), published(business), business.rows(90), business.rows(91)]).toEqual(
      Array.from({ length: 4 }, () => []),
    );
    business.fireTimers();
    look(business, "confirmed");
    expect(timer(business)).toBeUndefined();
  });

  it("stay suspended when they are left out and named again, until a look finds the challenge (K1)", () => {
    const business = open();
    publish(business, 0, [shop]);
    look(business, "confirmed");
    for (const days of [1, 3]) {
      business.nowMs += days * day;
      look(business, "absent");
    }
    publish(business, 0, []);
    expect(published(business)).toEqual([]);
    business.nowMs += day;
    business.fireTimers();
    look(business, "confirmed");
    publish(business, 0, [shop]);
    expect(published(business)).toMatchObject([{ domain: shop, status: "suspended" }]);
    expect(timer(business)).toBe(1);
    look(business, "confirmed");
    expect(statuses(business)).toEqual({ [shop]: "confirmed" });
  });

  it("are looked at within a minute after a publication, unless they are confirmed", () => {
    const business = open();
    publish(business, 0, [api, shop]);
    const at_ms = business.nowMs;
    const found = [shop, api].map((domain) => {
      const outcome = domain === shop ? ("confirmed" as const) : ("absent" as const);
      return { domain, outcome, detail: "", at_ms };
    });
    business.fireTimers();
    business.send({ type: "domains.probed", probed: found, schedule });
    expect(timer(business)).toBe(day / 24);
    publish(business, 0, [api, shop]);
    expect(timer(business)).toBe(60_000);
    business.nowMs += 60_000;
    business.fireTimers();
    expect(look(business, "confirmed")).toEqual([api]);
  });

  it("are no more than a business may have (K4), and make room for others", () => {
    const business = open();
    const many = Array.from(
      { length: watchedDomainsMax + 1 },
      (_, n) => `d${String(n).padStart(3, "0")}.example`,
    );
    publish(business, 0, many);
    expect(read(business).map(({ domain }) => domain)).toEqual(many.slice(0, watchedDomainsMax));
    publish(business, 1, many.slice(-1));
    expect(read(business)).toHaveLength(watchedDomainsMax);
    look(business, "confirmed");
    for (const days of [1, 3]) {
      business.nowMs += days * day;
      look(business, "absent");
    }
    // All are remembered as suspended; the one that is named takes the place of one of them.
    publish(business, 0, []);
    expect(business.rows(90)).toHaveLength(watchedDomainsMax);
    publish(business, 0, [shop]);
    expect(statuses(business)).toEqual({ [shop]: "unconfirmed" });
    expect(business.rows(90)).toHaveLength(watchedDomainsMax);
  });

  it("are named in no event, and in no row once a purge may be due", () => {
    const business = open();
    publish(business, 0, [shop]);
    look(business, "confirmed");
    remove(business, 0);
    const rows = Array.from({ length: 100 }, (_, rt) => business.rows(rt)).flat();
    expect(JSON.stringify(rows)).not.toContain(shop);
    expect(JSON.stringify(business.snapshot.context)).not.toContain(shop);
  });
});

describe("the looks at a business's domains", () => {
  const contextOf = (business: Business) =>
    part<ActivityContext<"business">>({
      actor: { kind: "business", id: uuid },
      nowMs: () => business.nowMs,
      ask: async (_ref, command) => rubbish(business.send(rubbish(command))),
    });

  it("look for the challenge of this business at each domain that is due", async () => {
    const business = open();
    publish(business, 0, [api, shop]);
    const domains = domainsInMemory();
    domains.txt(shop, [domainChallenge(uuid, shop)]);
    domains.file(api, domainChallenge(uuid, shop));
    business.fireTimers();
    const told = await confirmDomains({ domains: { probe: domains, schedule } }, contextOf(business));
    business.send(told);
    expect(domains.asked).toEqual([api, shop]);
    expect(statuses(business)).toEqual({ [api]: "unconfirmed", [shop]: "confirmed" });
    expect(read(business)).toMatchObject([
      { domain: api, probed: { outcome: "absent", detail: "nothing is published" } },
      { domain: shop, probed: { outcome: "confirmed", detail: "txt" } },
    ]);
    // A repetition whose result comes late changes nothing.
    const before = read(business);
    business.send(told);
    expect(read(business)).toEqual(before);
  });

  it("are none where nobody looks, and are tried again after the interval", async () => {
    const business = open();
    publish(business, 0, [shop]);
    business.fireTimers();
    business.send(await confirmDomains({ domains: { probe: null, schedule } }, contextOf(business)));
    expect(timer(business)).toBe(day);
    expect(read(business)).toMatchObject([{ domain: shop, status: "unconfirmed", probed: null }]);
  });
});
