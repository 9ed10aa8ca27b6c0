// The catalogue reads over HTTP: what is listed, in pages, and one record by either id.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealedRemoval } from "../actors/facts.fixture.ts";
import { businessRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { publishRecord } from "../service/publishing/publish-record.ts";
import {
  openBusiness,
  product,
  seal,
  sealHosted,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import { type CatalogueEvidence, verifyCatalogueAnswer } from "../verifier/fetch-answer.ts";
import { contractFetch } from "./contract.fixture.ts";
import {
  freshNonce,
  openSurfaces,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let other: TestBusiness;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  other = await openBusiness(surfaces.services, "00000000-0000-4000-8000-000000000002", "Kettles Ltd");
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const callerOf = (of: TestBusiness): TestCaller => ({ key: of.signingKey, grant: "" });

const read = (path: string, by: TestBusiness = business): Promise<ReceivedAnswer> =>
  send(surfaces.businessUrl, callerOf(by), { path, tag: "svc-business-read" });

const readOne = (id: string, by: TestBusiness = business): Promise<ReceivedAnswer> =>
  read(`/v1/catalogue/${encodeURIComponent(id)}`, by);

async function push(records: readonly Uint8Array[], of: TestBusiness = business): Promise<void> {
  seq += 1;
  const { batch_seal } = await seal(of, records, { seq });
  const answer = await send(surfaces.businessUrl, callerOf(of), {
    path: "/v1/publish/products",
    body: publishBody(batch_seal, records),
    tag: "svc-push",
    headers: { "idempotency-key": freshNonce() },
  });
  const { results } = answer.json as { results: { outcome: string }[] };
  expect(results.map(({ outcome }) => outcome)).not.toContain("rejected");
}

/** Publishes a record that the key held for the business sealed alone. */
async function publishOne(collection: CollectionName, members: object): Promise<void> {
  const { services } = surfaces;
  const { uuid } = business.party;
  const record = canonicalBytes(members as JsonObject);
  const sealed = { record, record_type: collection, ai_policy_version: 0 };
  const envelope = await sealHosted(services, { uuid, certId: business.certId }, sealed);
  const request = { businessUuid: uuid, collection, record, seal: envelope };
  const published = await publishRecord({ ...services, trust: services.trust }, request);
  expect(published).toMatchObject({ ok: true, value: { outcome: "accepted" } });
}

interface Entry {
  readonly record_id: string;
  readonly business_product_id: string;
  readonly last_updated: string;
  readonly source: string;
  readonly sha256: string;
  readonly sealed_by_key_id: string;
}

async function entries(query = "", by: TestBusiness = business): Promise<readonly Entry[]> {
  const all: Entry[] = [];
  for (let cursor: string | null = null; ; ) {
    const parameters = [query, cursor === null ? "" : `cursor=${cursor}`].filter((each) => each !== "");
    const search = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
    const { status, json, text } = await read(`/v1/catalogue${search}`, by);
    expect(status, text).toBe(200);
    all.push(...(json["entries"] as Entry[]));
    cursor = json["next_cursor"] as string | null;
    if (cursor === null) return all;
    expect(cursor.length).toBeLessThanOrEqual(512);
  }
}

const ownIds = async (query = "", by = business): Promise<readonly string[]> =>
  (await entries(query, by)).map((each) => each.business_product_id).toSorted();

const recordIdOf = (of: TestBusiness, id: string): string =>
  surfaces.services.recordIdOf(of.party.uuid, "products", id);

const remove = (of: TestBusiness, id: string, action: "withdraw" | "delete") =>
  surfaces.services.actors.ask(businessRef(of.party.uuid), {
    type: "record.remove",
    record_id: recordIdOf(of, id),
    action,
    at: new Date().toISOString(),
    document_hash: `${action} ${id}`,
    sealed: sealedRemoval,
  });

describe("the catalogue", () => {
  it("of a business that published nothing is empty", async () => {
    expect((await read("/v1/catalogue", other)).json).toEqual({ entries: [], next_cursor: null });
  });

  it("lists what is published, each record once with exactly these members, and nothing of others", async () => {
    const before = Date.now();
    await push([product("a"), product("b")]);
    await push([product("theirs")], other);
    const all = await entries();
    expect(all.map((each) => Object.keys(each))).toEqual(
      Array(2).fill([
        "record_id",
        "business_product_id",
        "last_updated",
        "source",
        "sha256",
        "sealed_by_key_id",
      ]),
    );
    const [a] = all.filter((each) => each.business_product_id === "a");
    expect(a).toMatchObject({ record_id: recordIdOf(business, "a"), source: "api" });
    expect(a).toMatchObject({
      sha256: hashOf(product("a")),
      sealed_by_key_id: business.signingKey.keyId,
    });
    expect(Date.parse(a?.last_updated ?? "")).toBeGreaterThanOrEqual(before);
    expect(await ownIds("", other)).toEqual(["theirs"]);
  });

  it("tells when a record was published last, and by whom", async () => {
    const [first] = await entries();
    await push([
      product("a", { short_description: "Changed." }),
      product("b", { short_description: "Too." }),
    ]);
    const again = (await entries()).find((each) => each.record_id === first?.record_id);
    expect(again?.last_updated).not.toBe(first?.last_updated);
    const event = { ...sampleRecords.events, business_product_id: "fair" };
    await publishOne("events", event);
    expect((await entries("type=events")).map(({ source }) => source)).toEqual(["manual"]);
  });

  it("is limited to one type, and to those that there are", async () => {
    expect(await ownIds("type=events")).toEqual(["fair"]);
    expect(await ownIds("type=products")).toEqual(["a", "b"]);
    expect(await ownIds("type=jobs")).toEqual([]);
    expect(await ownIds()).toEqual(["a", "b", "fair"]);
    expect(await read("/v1/catalogue?type=ads")).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/query/type" },
    });
  });

  it("is read in pages, whose cursors belong to the business, the type and this service", async () => {
    const records = Array.from({ length: 600 }, (_, index) => product(`many-${index}`));
    for (let from = 0; from < records.length; from += 50) await push(records.slice(from, from + 50), other);
    const first = await read("/v1/catalogue?type=products", other);
    expect(first.json["entries"]).toHaveLength(250);
    const cursor = String(first.json["next_cursor"]);
    const ids = await ownIds("type=products", other);
    expect(ids).toHaveLength(601);
    expect(new Set(ids).size).toBe(601);
    const foreign = [
      ["/v1/catalogue?type=products&cursor=", business],
      ["/v1/catalogue?cursor=", other],
      ["/v1/catalogue?type=jobs&cursor=", other],
      ["/v1/catalogue?type=products&cursor=x", other],
    ] as const;
    for (const [path, by] of foreign)
      expect(await read(`${path}${cursor}`, by)).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/query/cursor" },
      });
    for (const forged of ["", "x", "leaf-3", "ä".repeat(300), `${cursor.slice(0, -2)}AA`])
      expect((await read(`/v1/catalogue?cursor=${encodeURIComponent(forged)}`, other)).status).toBe(400);
  });

  it("no longer lists what was withdrawn or deleted, and lists it again once it is published again", async () => {
    await push([product("w"), product("d")]);
    await remove(business, "w", "withdraw");
    await remove(business, "d", "delete");
    await expect.poll(() => ownIds("type=products")).toEqual(["a", "b"]);
    expect((await readOne("w")).status).toBe(404);
    expect((await readOne(recordIdOf(business, "d"))).status).toBe(404);
    await push([product("w")]);
    expect(await ownIds("type=products")).toEqual(["a", "b", "w"]);
  });

  it("has nothing of a held push: neither the records that it would add, nor the versions that it would change", async () => {
    const { services } = surfaces;
    const shop = await openBusiness(services, "00000000-0000-4000-8000-000000000003", "Shocks Ltd");
    const priced = (id: string, amount: string) =>
      product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });
    const before = Array.from({ length: 20 }, (_, index) => priced(`item-${index}`, "10.00"));
    await push(before, shop);
    const listed = await entries("", shop);
    await push([priced("item-0", "99.00"), priced("more", "10.00")], shop);
    expect(await entries("", shop)).toEqual(listed);
    expect((await readOne("item-0", shop)).json["record"]).toMatchObject({ prices: [{ amount: "10.00" }] });
    expect((await readOne("more", shop)).status).toBe(404);
  });

  it("of more than 1,000 records is read on 12 times an hour, in pages as many as it has", async () => {
    const records = Array.from({ length: 500 }, (_, index) => product(`more-${index}`));
    for (let from = 0; from < records.length; from += 50) await push(records.slice(from, from + 50), other);
    for (let reading = 0; reading < 12; reading += 1) expect(await ownIds("", other)).toHaveLength(1_101);
    let page = await read("/v1/catalogue", other);
    while (page.status === 200) page = await read(`/v1/catalogue?cursor=${page.json["next_cursor"]}`, other);
    expect(page).toMatchObject({ status: 429, json: { code: "rate_limited", reason: "catalogue_reads" } });
    expect(Number(page.headers.get("retry-after"))).toBe(page.json["retry_after_seconds"]);
    expect(Number(page.headers.get("retry-after"))).toBeGreaterThan(3_000);
    // Its first entries, and other businesses, are not concerned.
    expect((await read("/v1/catalogue", other)).status).toBe(200);
    expect((await read("/v1/catalogue")).status).toBe(200);
  });
});

describe("one record of the catalogue", () => {
  const awkward = ["a/b", "a%2Fb", "100 %", "%", "ä—日本 😀", "a?b#c&d=e", "+", '"\\', " ."];

  it.each(awkward)("is found by the business's own id %j, exactly as it was sealed", async (id) => {
    const record = product(id, { short_description: "Größe 4 – exactly." });
    await push([record]);
    const answer = await readOne(id);
    expect(answer).toMatchObject({
      status: 200,
      json: {
        record_id: recordIdOf(business, id),
        business_product_id: id,
        type: "products",
        live_in: [surfaces.services.config.region],
        source: "api",
      },
    });
    expect(exactMember(answer.text, "record")).toBe(new TextDecoder().decode(record));
    expect(Object.keys(answer.json)).toEqual(
      "record_id business_product_id type record seal live_in last_updated source".split(" "),
    );
    expect((await readOne(recordIdOf(business, id))).text).toBe(answer.text);
    const { uuid } = business.party;
    const published = async (path: string) =>
      (await contractFetch(`${surfaces.verifyUrl}/v1/certificates/${uuid}${path}`)).json();
    const evidence = { certificate: await published(""), businessKeys: await published("/keys") };
    const [mandate] = await surfaces.services.register.mandates(uuid);
    const verify = (given: Partial<CatalogueEvidence>) =>
      verifyCatalogueAnswer(surfaces.services.trust(), utf8(answer.text), { businessUuid: uuid, ...given });
    const report = verify({ ...evidence, mandate: JSON.parse(mandate?.envelope ?? "null") });
    expect(report, JSON.stringify(report)).toMatchObject({ valid: true, complete: false });
    const states = Object.fromEntries(report.checks.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({
      certificate: "ok",
      business_keys: "ok",
      seal: "ok",
      mandate: "ok",
      ai_policy: "not_checked",
      "unsigned/live_in": "unsigned",
      "unsigned/source": "unsigned",
    });
    // Of a certificate and keys that are not at hand, nothing is claimed; those of another business verify nothing.
    expect(verify({})).toMatchObject({ valid: false, complete: false });
    expect(verify({ ...evidence, businessUuid: other.party.uuid })).toMatchObject({ valid: false });
  });

  it("is found by an own id of 256 characters, of whatever script; a longer one is refused", async () => {
    for (const character of ["x", "ß", "😀"]) {
      const id = character.repeat(256);
      await push([product(id)]);
      expect((await readOne(id)).json["business_product_id"]).toBe(id);
      expect(await readOne(`${id}${character}`)).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/path/record_id" },
      });
    }
  });

  it("means the service's id before an own id, and a product before other types", async () => {
    const id = recordIdOf(business, "a");
    await push([product(id, { product_name: "Named like another's id" })]);
    expect((await readOne(id)).json["business_product_id"]).toBe("a");
    const theirs = recordIdOf(other, "theirs");
    await push([product(theirs)]);
    expect((await readOne(theirs)).json["record_id"]).toBe(recordIdOf(business, theirs));
    for (const type of collectionNames.toReversed()) {
      if (type !== "products")
        await publishOne(type, { ...sampleRecords[type], business_product_id: "same" });
      else await push([product("same")]);
      expect((await readOne("same")).json["type"]).toBe(type);
    }
  });

  it("of another business, and one that never was, are the same 404", async () => {
    const answers = [
      await readOne(recordIdOf(other, "theirs")),
      await readOne(recordIdOf(business, "never")),
      await readOne("never"),
    ];
    // The first is the business's own product by now: see the test above.
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
    const unknown = await readOne(recordIdOf(other, "many-1"));
    expect([unknown.status, unknown.json["detail"]]).toEqual([404, answers[1]?.json["detail"]]);
  });

  it("is not read under a path that cannot be decoded", async () => {
    expect(await read("/v1/catalogue/%zz")).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    expect((await read("/v1/catalogue/")).status).toBe(400);
  });

  it("is not live where the index lost it", async () => {
    const { services } = surfaces;
    const id = recordIdOf(business, "a");
    await services.index.apply([{ kind: "remove", collection: "products", record_id: id, change: 1_000 }]);
    expect((await readOne("a")).json["live_in"]).toEqual([]);
  });

  it("needs the tag of reads", async () => {
    const answer = await send(surfaces.businessUrl, callerOf(business), {
      path: "/v1/catalogue/a",
      tag: "svc-push",
    });
    expect(answer.status).toBe(401);
  });
});
