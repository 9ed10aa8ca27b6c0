import { describe, expect, it } from "vitest";
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
import { businessActor } from "./definition.ts";
import { confirmedBrandsMax } from "./domains.ts";

type Business = ActorHarness<"business">;
interface Declared {
  readonly owned?: readonly string[];
  readonly sold?: readonly string[];
}

const act = { by: "Ada", reason: "Shown." };
const file = (index: number): string => `bf_${String.fromCharCode(97 + index).repeat(26)}`;
let pushes = 0;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

function publish(business: Business, index: number, { owned = [], sold = [] }: Declared): void {
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
    leaves: [{ ...claim, listings: {}, domains: ["shop.example"], brands: { owned, sold } }],
    refused: [],
    seal: pushSeal,
  });
  business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });
}

function entryOf(business: Business): PartyFacts {
  const { entries } = business.send({ type: "register.read", keys: [`party/${uuid}`] });
  return JSON.parse(entries[0]?.body ?? "{}");
}

const brandsOf = (business: Business) => entryOf(business).brands;

const change = (business: Business, record_id: string | null, type: "impose" | "lift") =>
  type === "impose"
    ? business.send({ type: "takedown.impose", record_id, statement_of_reasons: "Article 6", act })
    : business.send({ type: "takedown.lift", record_id, act });

describe("what a business file names that is taken down", () => {
  const declared = (business: Business) => {
    const { brands, domains = [] } = entryOf(business);
    return { owned: brands?.owned, sold: brands?.sold, domains: domains.map(({ domain }) => domain) };
  };
  const nothing = { owned: [], sold: [], domains: [] };
  const all = { owned: ["Fellside"], sold: ["Harrier"], domains: ["shop.example"] };

  it("is set aside until it comes back, also what was published meanwhile (SF1)", () => {
    const business = open();
    business.send({ type: "brand.confirm", name: "Rowe", confirmed: true });
    publish(business, 0, { owned: ["Fellside"], sold: ["Harrier"] });
    expect(declared(business)).toEqual(all);
    change(business, file(0), "impose");
    expect(declared(business)).toEqual(nothing);
    expect(brandsOf(business)?.confirmed).toEqual(["Rowe"]);
    change(business, file(0), "lift");
    expect(declared(business)).toEqual(all);
    change(business, file(0), "impose");
    publish(business, 0, { owned: ["Larkfield"] });
    expect(declared(business)).toEqual(nothing);
    publish(business, 1, { sold: ["Other"] });
    expect(declared(business)).toEqual({ owned: [], sold: ["Other"], domains: ["shop.example"] });
    change(business, file(0), "lift");
    expect(declared(business)).toMatchObject({ owned: ["Larkfield"], sold: ["Other"] });
  });

  it("is forgotten with its version (SF2)", () => {
    const business = open();
    publish(business, 0, { owned: ["Fellside"] });
    change(business, file(0), "impose");
    const removal = { action: "withdraw", at: "", document_hash: "d", sealed: sealedRemoval } as const;
    business.send({ type: "record.remove", record_id: file(0), ...removal });
    expect(business.rows(93)).toEqual([]);
    change(business, file(0), "lift");
    expect(declared(business)).toEqual(nothing);
  });

  it("is said by nothing of a business that is taken down, and is said again afterwards (SF1)", () => {
    const business = open();
    publish(business, 0, { owned: ["Fellside"] });
    change(business, null, "impose");
    expect(declared(business)).toEqual(nothing);
    publish(business, 1, { sold: ["Harrier"] });
    change(business, file(0), "impose");
    expect(declared(business)).toEqual(nothing);
    change(business, null, "lift");
    expect(declared(business)).toEqual({ ...all, owned: [] });
    change(business, file(0), "lift");
    expect(declared(business)).toEqual(all);
  });
});

describe("the brands of a business", () => {
  it("are in its register entry while a served file names them, each once, beside its domains (C1)", () => {
    const business = open();
    expect(brandsOf(business)).toBeUndefined();
    publish(business, 0, { owned: ["Fellside"], sold: ["Harrier"] });
    publish(business, 1, { owned: ["FELLSIDE", "Rowe"] });
    expect(brandsOf(business)).toEqual({ owned: ["Fellside", "Rowe"], sold: ["Harrier"], confirmed: [] });
    expect(entryOf(business).domains).toHaveLength(1);
    publish(business, 0, { sold: ["Harrier"] });
    expect(brandsOf(business)).toEqual({ owned: ["FELLSIDE", "Rowe"], sold: ["Harrier"], confirmed: [] });
    const removal = { action: "withdraw", at: "", document_hash: "d", sealed: sealedRemoval } as const;
    business.send({ type: "record.remove", record_id: file(1), ...removal });
    expect(brandsOf(business)).toEqual({ owned: [], sold: ["Harrier"], confirmed: [] });
    expect(JSON.stringify(business.snapshot.context)).not.toContain("Harrier");
  });

  it("are read of twenty files, and no more than every node can keep (C2)", () => {
    const business = open();
    for (let index = 0; index < 21; index += 1) publish(business, index, { owned: [`Brand${index}`] });
    expect(brandsOf(business)?.owned).toHaveLength(20);
    publish(business, 0, {});
    publish(business, 20, { owned: ["Brand20"] });
    expect(brandsOf(business)?.owned).toContain("Brand20");
    const many = Array.from({ length: 600 }, (_, index) => `Sold${index}`);
    publish(business, 1, { owned: many, sold: many });
    expect(brandsOf(business)?.owned).toHaveLength(100);
    expect(brandsOf(business)?.sold).toHaveLength(500);
  });

  it("are confirmed by operators, whatever its files name, and keep who did it", () => {
    const business = open();
    const confirm = (name: string, confirmed = true) =>
      business.send({ type: "brand.confirm", name, confirmed, act });
    expect(confirm("Fellside")).toEqual({ status: "done", changed: true });
    expect(confirm("FELLSIDE")).toEqual({ status: "done" });
    publish(business, 0, { owned: ["Fellside"] });
    business.send({ type: "group.block", group: "g" });
    expect(brandsOf(business)).toEqual({ owned: ["Fellside"], sold: [], confirmed: ["Fellside"] });
    const { acts } = business.send({ type: "acts.read", after: 0, limit: 10 });
    expect(acts).toMatchObject([{ act: "brand.confirm", ...act }]);
    expect(confirm("fellside", false)).toEqual({ status: "done", changed: true });
    expect(confirm("fellside", false)).toEqual({ status: "done" });
    expect(brandsOf(business)?.confirmed).toEqual([]);
  });

  it("are not confirmed if they are words that everybody uses, too many, or a company's", () => {
    const business = open();
    const code = (name: string) => {
      const reply = business.send({ type: "brand.confirm", name, confirmed: true });
      return reply.status === "refused" ? reply.code : reply.status;
    };
    for (const name of ["Organic", "Bakeries", "France", "Safety equipment", "Qx", "24/7"])
      expect([name, code(name)]).toEqual([name, "brand_not_protectable"]);
    for (let index = 0; index < confirmedBrandsMax; index += 1)
      expect(code(`Fellside ${index}`)).toBe("done");
    expect(code("Fellside more")).toBe("too_many_brands");
    const company = driveActor(businessActor, uuid);
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    expect(company.send({ type: "brand.confirm", name: "Fellside", confirmed: true })).toMatchObject({
      code: "role_not_allowed",
    });
  });
});
