// Names of companies that the service certified, without any configured lists.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { createBrands } from "../../service/register/blocks.ts";
import { createTakedowns } from "../../service/register/takedowns.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  sealAndPublish,
  sealHosted,
  type TestBusiness,
} from "./publishing.fixture.ts";

const since = "2026-01-01T00:00:00.000Z";
const traders = "00000000-0000-4000-8000-00000000000a";
/** The own id of the seller's file. */
const soldIn = "file-of-saltmarsh";
const patience = { timeout: 15_000 };
let node: PublishingNode;
let owner: TestBusiness;
let other: TestBusiness;
let seller: TestBusiness;
let seq = 0;

beforeAll(async () => {
  node = await openPublishingNode();
  owner = await openBusiness(node.services, traders, "Northwind Traders Ltd");
  seller = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000c", "Saltmarsh Shops Ltd");
  other = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000b", "Harrier Sports Ltd");
});

afterAll(() => node.close());

async function errorsOf(
  business: TestBusiness,
  changes: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  seq += 1;
  const answer = jsonOf(
    await sealAndPublish(node.services, business, [product(`p${seq}`, changes)], { seq }),
  );
  const [result] = answer["results"] as readonly {
    outcome: string;
    errors: readonly { code: string; pointer: string }[];
  }[];
  return [result?.outcome ?? "", ...(result?.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`)];
}

/** The outcome of a business file sealed by the key that the service holds for the business. */
async function publishFile(business: TestBusiness, changes: Readonly<Record<string, unknown>>) {
  seq += 1;
  const record = canonicalBytes(
    rubbish({
      ...sampleRecords.business_files,
      business_product_id: `file-${seq}`,
      ...changes,
    }),
  );
  const { uuid } = business.party;
  const sealed = { record, record_type: "business_files", ai_policy_version: 0 } as const;
  const published = await publishRecord(node.services, {
    businessUuid: uuid,
    collection: "business_files",
    record,
    seal: await sealHosted(node.services, { uuid, certId: business.certId }, sealed),
  });
  if (!published.ok) throw new Error(published.detail);
  const { outcome, errors } = published.value;
  return [outcome, ...errors.map(({ code, pointer }) => `${code} ${pointer}`)];
}

describe("a company that the service certified, with nothing configured", () => {
  const naming = { product_name: "Better than Northwind Traders" };

  it("is named by nobody else", async () => {
    expect(await errorsOf(other, naming)).toEqual(["rejected", "scope_violation /product_name"]);
    expect(await errorsOf(other, { short_description: "Unlike those of northwind traders ltd." })).toEqual([
      "rejected",
      "scope_violation /short_description",
    ]);
    expect(await errorsOf(owner, { product_name: "Original shoe of Northwind Traders" })).toEqual([
      "accepted",
    ]);
    expect(await errorsOf(other, {})).toEqual(["accepted"]);
  });

  it("is freed by no declaration, of the record or of a business file", async () => {
    expect(await errorsOf(other, { ...naming, brand: "Northwind Traders" })).toEqual([
      "rejected",
      "scope_violation /product_name",
      "scope_violation /brand",
    ]);
    expect(
      await publishFile(other, {
        business_name: "Northwind Traders",
        brands_owned: [{ name: "Harrier" }, { name: "NORTHWIND TRADERS" }],
      }),
    ).toEqual(["rejected", "scope_violation /business_name", "scope_violation /brands_owned/1/name"]);
    expect(await publishFile(other, { brands_sold: [{ name: "Harriers of old" }] })).toEqual(["accepted"]);
    expect(await errorsOf(other, naming)).toEqual(["rejected", "scope_violation /product_name"]);
  });

  it("may be named as the brand of what a business sells that says so in its own served file", async () => {
    const offer = { ...naming, brand: "Northwind Traders" };
    const file = await publishFile(seller, {
      business_name: "Saltmarsh",
      business_product_id: soldIn,
      brands_sold: [{ name: "Northwind Traders" }],
    });
    expect(file).toEqual(["accepted"]);
    await expect.poll(() => errorsOf(seller, offer), patience).toEqual(["accepted"]);
    expect(await errorsOf(other, offer)).toContain("scope_violation /brand");
  });

  it("is named by no business whose file was taken down, or which was, and again once that is undone", async () => {
    const { services } = node;
    const offer = { ...naming, brand: "Northwind Traders" };
    const { uuid } = seller.party;
    const file = services.recordIdOf(uuid, "business_files", soldIn);
    await expect.poll(() => errorsOf(seller, offer), patience).toEqual(["accepted"]);
    const takedowns = createTakedowns(services);
    const act = { by: "Ada", reason: "Complaint 4713" };
    const sold = async () => {
      await services.register.refresh();
      return (await services.register.party(uuid))?.brands?.sold;
    };
    for (const subject of [file, uuid]) {
      await takedowns.impose({ subject, statement_of_reasons: "Article 6 of the terms", act });
      await expect.poll(() => errorsOf(seller, offer), patience).toContain("scope_violation /brand");
      expect(await sold()).toEqual([]);
      await takedowns.lift({ subject, act });
      await expect.poll(() => errorsOf(seller, offer), patience).toEqual(["accepted"]);
      expect(await sold()).toEqual(["Northwind Traders"]);
    }
  });

  it("has a brand that nobody else names once an operator confirmed it, while a served file names it", async () => {
    const fraud = { short_description: "Lindqvist & Rowe is a fraud. Buy from us." };
    expect(
      await publishFile(owner, { business_name: "Northwind", brands_owned: [{ name: "Lindqvist & Rowe" }] }),
    ).toEqual(["accepted"]);
    expect(await errorsOf(other, fraud)).toEqual(["accepted"]);
    const brands = createBrands(node.services);
    const act = { by: "Ada", reason: "The entry in the register of trade marks was shown." };
    const asked = { business_uuid: traders, act };
    const name = "LINDQVIST & ROWE";
    await expect(brands.confirm({ ...asked, name: "Organic", confirmed: true })).rejects.toMatchObject({
      code: "brand_not_protectable",
    });
    expect(await brands.confirm({ ...asked, name, confirmed: true })).toMatchObject({
      value: { changed: true, subject: { owned: ["Lindqvist & Rowe"], confirmed: [name] } },
    });
    await expect
      .poll(() => errorsOf(other, fraud), patience)
      .toEqual(["rejected", "scope_violation /short_description"]);
    expect(await errorsOf(owner, { brand: "Lindqvist & Rowe" })).toEqual(["accepted"]);
    await brands.confirm({ ...asked, name, confirmed: false });
    await expect.poll(() => errorsOf(other, fraud), patience).toEqual(["accepted"]);
  });

  it("is protected after a restart of the node, and no longer once it is closed", async () => {
    await node.restart();
    expect(await errorsOf(other, naming)).toEqual(["rejected", "scope_violation /product_name"]);
    await node.services.parties.issueCertificate({
      uuid: traders,
      kind: "business",
      legal_name: "Northwind Traders Ltd",
      country: "GB",
      verified_since: since,
      status: "closed",
      status_effective_from: since,
      status_reason: "ceased_trading",
    });
    await expect.poll(() => errorsOf(other, naming), patience).toEqual(["accepted"]);
  });
});
