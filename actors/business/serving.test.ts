import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { RecordHead, RecordStore } from "../../storage/record-store.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  partyFacts,
  pushSeal,
  sealedRemoval,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { ActorRef } from "../messages/refs.ts";
import type { RegionCommand } from "../messages/region.ts";
import type { ServedState, TakedownNotice } from "../messages/serving.ts";
import { restateServing } from "./activities.ts";
import { businessActor } from "./definition.ts";

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

function publish(business: Business, pushId: string, ...ids: readonly string[]): void {
  const admitted = business.send({
    type: "push.admit",
    push_id: pushId,
    key_id: "k",
    records: 1,
    may_hold: false,
    plan: null,
  });
  const number = admitted.status === "admitted" ? admitted.number : 0;
  business.send({
    type: "chunk.assign",
    push_id: pushId,
    number,
    chunk: 0,
    collection: "products",
    leaves: ids.map((record_id, leaf_index) => ({
      leaf_index,
      record_id,
      hash: `hash ${number}`,
      business_product_id: "own",
      listings: { US: ["10.00", "USD"] } as const,
    })),
    refused: [],
    seal: pushSeal,
  });
}

const act = { by: "Ada", reason: "Order 7" };
const impose = (business: Business, record_id: string | null) =>
  business.send({ type: "takedown.impose", record_id, statement_of_reasons: "Article 6", act });
const lift = (business: Business, record_id: string | null) =>
  business.send({ type: "takedown.lift", record_id, act });
const withdraw = (business: Business, record_id: string, document_hash = `of ${record_id}`) =>
  business.send({
    type: "record.remove",
    record_id,
    action: "withdraw",
    at: "",
    document_hash,
    sealed: sealedRemoval,
  });

/** What serving was told of each record by its newest change, and how often it was told anything by this mechanism. */
function told(business: Business): Readonly<Record<string, string>> {
  const newest = new Map<string, ServedState>();
  for (const effect of business.effects)
    if (effect.kind === "activity" && effect.name === "restateServing")
      for (const each of (effect.params as { readonly records: readonly ServedState[] }).records)
        if ((newest.get(each.record_id)?.change ?? 0) < each.change) newest.set(each.record_id, each);
  return Object.fromEntries(
    [...newest].map(([id, { live, change, generation }]) => [
      id,
      `${live ? "in" : "out"} ${generation}/${change}`,
    ]),
  );
}

const head = (business: Business, record_id: string) =>
  business.send({ type: "record.read", record_id }).head;
const restateAll = (business: Business, limit: number): number => {
  let pages = 0;
  for (let after: string | null = ""; after !== null; pages += 1)
    after = business.send({ type: "serving.restate", after, limit }).next;
  return pages;
};

describe("a record that operators take down", () => {
  it("leaves serving with a change of its own, and comes back with the next (SV1)", () => {
    const business = open();
    publish(business, "a", "svc_1", "svc_2");
    expect(impose(business, "svc_1")).toEqual({ status: "done", changed: true });
    expect(told(business)).toEqual({ svc_1: "out 1/2" });
    expect(head(business, "svc_1")).toMatchObject({ live: true, taken_down: true, unserved: true });
    expect(impose(business, "svc_1")).toEqual({ status: "done" });
    expect(lift(business, "svc_1")).toEqual({ status: "done", changed: true });
    expect(told(business)).toEqual({ svc_1: "in 1/3" });
    expect(head(business, "svc_1")).not.toHaveProperty("taken_down");
    expect(lift(business, "svc_1")).toEqual({ status: "done" });
  });

  it("stays out when it is published again, and returns with its newest version (SV2)", () => {
    const business = open();
    publish(business, "a", "svc_1");
    impose(business, "svc_1");
    publish(business, "b", "svc_1", "svc_2");
    expect(told(business)).toEqual({ svc_1: "out 2/4" });
    lift(business, "svc_1");
    expect(told(business)).toEqual({ svc_1: "in 2/5" });
  });

  it("is not brought back where its business withdrew it meanwhile, nor when it publishes before the lift (TD2)", () => {
    const business = open();
    publish(business, "a", "svc_1");
    impose(business, "svc_1");
    withdraw(business, "svc_1");
    publish(business, "b", "svc_1");
    expect(told(business)).toEqual({ svc_1: "out 2/5" });
    withdraw(business, "svc_1", "another");
    lift(business, "svc_1");
    expect(told(business)).toEqual({ svc_1: "out 2/5" });
    expect(head(business, "svc_1")).toMatchObject({ live: false });
  });

  it("is one of the business, or an ad, which only the register knows", () => {
    const business = open();
    expect(impose(business, "svc_1")).toMatchObject({ status: "refused", code: "record_unknown" });
    expect(impose(business, `ad_${"a".repeat(26)}`)).toEqual({ status: "done", changed: true });
  });

  it("is an entry of the register and an act, which say who did it, why, and what the business is told (TD1)", () => {
    const business = open();
    publish(business, "a", "svc_1");
    impose(business, "svc_1");
    lift(business, "svc_1");
    const { entries } = business.send({ type: "register.read", keys: ["takedown/svc_1"] });
    expect(JSON.parse(entries[0]?.body ?? "")).toMatchObject({
      business_uuid: uuid,
      record_id: "svc_1",
      statement_of_reasons: "Article 6",
      lifted_at: expect.any(String) as string,
    });
    const { acts } = business.send({ type: "acts.read", after: 0, limit: 9 });
    expect(acts.map((each) => [each.act, each.entry, each.by])).toEqual([
      ["takedown.impose", "takedown/svc_1", "Ada"],
      ["takedown.lift", "takedown/svc_1", "Ada"],
    ]);
  });
});

it("the business gets a notice of each takedown and each lift, once, with the statement of reasons (TD3)", () => {
  const business = open();
  publish(business, "a", "svc_1");
  const ad = `ad_${"a".repeat(26)}`;
  for (const subject of ["svc_1", null, ad]) {
    for (let again = 0; again < 2; again += 1) impose(business, subject);
    for (let again = 0; again < 2; again += 1) lift(business, subject);
  }
  const notices = (channel: string) =>
    business.effects.flatMap((each) =>
      each.kind === "activity" && each.name === channel ? [each.params as TakedownNotice] : [],
    );
  const told = notices("recordNotice");
  expect(told.map(({ record_id, state }) => [record_id, state])).toEqual(
    ["svc_1", null, ad].flatMap((each) => [
      [each, "taken_down"],
      [each, "lifted"],
    ]),
  );
  expect(told[2]).toMatchObject({ business_uuid: uuid, statement_of_reasons: "Article 6", v: 1 });
  expect(told[2]?.notice_id).toMatch(new RegExp(`^${uuid}\\.taken_down\\.[0-9]+$`));
  expect(new Set(told.map(({ notice_id }) => notice_id)).size).toBe(6);
  expect(notices("mailNotice")).toEqual(told);
});

describe("a business that operators take down", () => {
  it("leaves serving page by page, with what it publishes meanwhile, and comes back likewise (SV1, SV2)", () => {
    const business = open();
    publish(business, "a", "svc_1", "svc_2", "svc_3");
    withdraw(business, "svc_3");
    impose(business, null);
    expect(business.effects).toContainEqual({ kind: "activity", name: "restateAll", params: {} });
    publish(business, "b", "svc_4", "svc_2");
    expect(told(business)).toEqual({ svc_4: "out 1/2", svc_2: "out 2/3" });
    expect(restateAll(business, 2)).toBe(3);
    const out = { svc_1: "out 1/2", svc_2: "out 2/3", svc_4: "out 1/2" };
    expect(told(business)).toEqual(out);
    // Repeated, it tells nothing again.
    const { length } = business.effects;
    restateAll(business, 200);
    expect(business.effects).toHaveLength(length);
    impose(business, "svc_1");
    lift(business, null);
    restateAll(business, 200);
    expect(told(business)).toEqual({ ...out, svc_2: "in 2/4", svc_4: "in 1/3" });
  });
});

describe("telling the regions", () => {
  const records: readonly ServedState[] = [
    { record_id: "a", collection: "products", change: 4, generation: 2, hash: "h", live: false },
    { record_id: "b", collection: "jobs", change: 5, generation: 1, hash: "i", live: true },
  ];

  it("is done once every region has confirmed, and a region that is away does not delay the others", async () => {
    const heads: RecordHead[] = [];
    const asked: string[] = [];
    const away = new Set(["there"]);
    const ports = {
      records: part<RecordStore>({
        putHeads: async (given: readonly RecordHead[]) => {
          heads.push(...given);
        },
      }),
      regions: () => ["there", "here"],
    };
    const context = part<Parameters<typeof restateServing>[2]>({
      actor: { kind: "business", id: uuid },
      ask: rubbish(async ({ id }: ActorRef, { type }: RegionCommand) => {
        asked.push(`${id} ${type}`);
        return away.has(id) ? { status: "unavailable" } : { status: "applied", stale: 0 };
      }),
    });
    await expect(restateServing(ports, records, context)).rejects.toThrow("region there");
    expect(asked).toEqual(["there rows.apply", "there rows.index", "here rows.apply", "here rows.index"]);
    expect(heads.map(({ record_id, live, change }) => [record_id, live, change])).toEqual([
      ["a", false, 4],
      ["b", true, 5],
    ]);
    away.clear();
    await expect(restateServing(ports, records, context)).resolves.toBeNull();
  });
});
