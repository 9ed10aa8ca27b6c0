import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOf } from "../bytes.ts";
import { type CollectionName, collectionNames } from "../identifiers.ts";
import { canonicalBytes, canonicalize, type JsonObject } from "../json/canonical-json.ts";
import { representUsNames } from "../records/business-files.ts";
import { sampleAd, sampleRecords } from "../records/records.fixture.ts";
import { rowSigningText, serveRow, signedRowText } from "../row.ts";
import {
  currentProjection,
  type ProjectedRow,
  project,
  projectAd,
  projectedRowText,
  projectionByName,
  projectionDocument,
  projectRecord,
} from "./project.ts";

const facts = {
  recordId: `svc_${"a".repeat(26)}`,
  businessUuid: "7f9c2a10-5b1e-4c3d-8e2f-0123456789ab",
  hash: `sha256:${"0".repeat(64)}`,
  certId: `sha256:${"1".repeat(64)}`,
  keyId: "k".repeat(43),
  publishedAt: 1_770_000_000,
  aiPolicyVersion: 3,
};

function rowOf(collection: CollectionName, changes: JsonObject = {}): ProjectedRow {
  return projectRecord({ collection, record: { ...sampleRecords[collection], ...changes }, ...facts });
}

describe("a projected row", () => {
  it("of a product carries its text and filter fields and a price a country it is published for", () => {
    expect(rowOf("products")).toEqual({
      record_id: facts.recordId,
      business_uuid: facts.businessUuid,
      type: "products",
      published_at: 1_770_000_000,
      adl_origin: facts.hash,
      adl_origin_cert: facts.certId,
      adl_proj: "products/1",
      adl_key_id: facts.keyId,
      ai_policy_version: 3,
      countries: ["US", "CA"],
      language: "en",
      product_name: "Trail Runner 3",
      short_description: "A light waterproof running shoe for muddy trails.",
      tags: ["running shoes", "waterproof"],
      brand: "Harrier",
      vertical: "sports_outdoors",
      category: "running",
      channel: "online",
      availability: "in_stock",
      on_sale: false,
      gtin: "4006381333931",
      price_US: 129.9,
      price_currency_US: "USD",
      price_CA: 175,
      price_currency_CA: "CAD",
    });
  });

  it("has no price for a country that the record is not published for, and no member for what is absent", () => {
    const { gtin: _, ...record } = sampleRecords.products;
    const row = projectRecord({
      collection: "products",
      record: { ...record, countries: ["CA", "FR"] },
      ...facts,
    });
    expect(Object.keys(row).filter((name) => name.startsWith("price_"))).toEqual([
      "price_CA",
      "price_currency_CA",
    ]);
    expect(row).not.toHaveProperty("gtin");
  });

  it("of a business file never has the texts that say how to represent it, nor its endpoints", () => {
    const text = projectedRowText(rowOf("business_files"));
    for (const name of [...representUsNames, "represent_us", "endpoints"]) expect(text).not.toContain(name);
    for (const words of Object.values(
      sampleRecords.business_files["represent_us"] as Record<string, string>,
    )) {
      expect(text).not.toContain(words.slice(0, 12));
    }
    expect(rowOf("business_files")).toMatchObject({
      "brands_sold.name": ["Fellside", "Moorland"],
      cities: ["Leeds", "Toronto"],
      location_geo: [
        { lat: 53.8, lng: -1.55 },
        { lat: 43.65, lng: -79.38 },
      ],
      "delivery.options": ["standard", "express"],
      has_locations: true,
      has_booking: false,
    });
    expect(rowOf("business_files", { locations: [] })).toMatchObject({ has_locations: false, cities: [] });
  });

  it("of a job says whether the salary is disclosed", () => {
    const { salary: _, ...undisclosed } = sampleRecords.jobs;
    const row = projectRecord({ collection: "jobs", record: undisclosed, ...facts });
    expect(row["salary_disclosed"]).toBe(false);
    expect(row).not.toHaveProperty("salary_min");
    expect(rowOf("jobs")).toMatchObject({
      salary_disclosed: true,
      salary_min: 31000,
      salary_max: 36000,
      salary_period: "year",
    });
  });

  it("of an ad carries what is shown, where it leads, a hash for each picture and the seal", () => {
    const seal = { signatures: [{ sig: "cw==", keyid: "k" }], payloadType: "t", payload: "e30=" };
    const row = projectAd({ record: sampleAd, ...facts, seal });
    expect(row).toEqual({
      record_id: facts.recordId,
      business_uuid: facts.businessUuid,
      type: "ads",
      published_at: 1_770_000_000,
      adl_origin: facts.hash,
      adl_origin_cert: facts.certId,
      adl_origin_seal: seal,
      adl_proj: "ads/1",
      adl_key_id: facts.keyId,
      ai_policy_version: 3,
      countries: ["US", "CA"],
      subdivisions: ["US-CA", "CA-ON"],
      language: "en",
      keywords: ["trail running", "running shoes"],
      headline: "Trail Runner 3 for muddy paths",
      body: "Light, waterproof and made in Leeds.\nReturns are free for 60 days.",
      call_to_action: "See the shoe",
      display_domain: "harrier.example",
      adl_dest: "https://harrier.example/shoes/trail-runner-3?from=ad",
      adl_creative: [`sha256:${"a".repeat(64)}`, `sha256:${"b".repeat(64)}`],
    });
    const text = projectedRowText(row);
    expect(text).toBe(canonicalize(row));
    const served = serveRow(signedRowText(text, "c2ln"), "{}");
    expect(JSON.parse(served)).toEqual({ ...row, adl_row_sig: "c2ln", ai_policy_bits: {} });
    expect(rowSigningText(JSON.parse(served))).toBe(text);
    const document = JSON.parse(JSON.stringify(projectionDocument("ads", 1)));
    expect(project({ ...document, record_schema: "" }, { record: sampleAd, ...facts, seal })).toEqual(row);
  });

  it("has its canonical text as it stands, whatever the order of the record's members", () => {
    const country = fc.constantFrom("US", "CA", "FR", "DE", "AE", "ZW");
    const price = fc.record({
      amount: fc.constantFrom("0", "0.1", "19.90", "123456789012.345678", "0.000001"),
      country,
      currency: fc.constant("USD"),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...collectionNames),
        fc.uniqueArray(country, { minLength: 1 }),
        fc.uniqueArray(price, { selector: (each) => each.country }),
        fc.string({ unit: "grapheme" }),
        (collection, countries, prices, text) => {
          const geo = { lng: 1.5, lat: -0 };
          const row = rowOf(collection, {
            countries,
            prices,
            geo,
            brand: text,
            description: text,
            headline: text,
          });
          expect(projectedRowText(row)).toBe(canonicalize(row));
          expect(projectedRowText(row)).toBe(
            rowSigningText({ ...row, adl_row_sig: "x", ai_policy_bits: {} }),
          );
        },
      ),
    );
  });
});

describe("a projection specification", () => {
  it("is found by its version, and an unknown one is not guessed", () => {
    expect(projectionByName("products/1")).toBe(currentProjection("products"));
    expect(projectionByName("products/2")).toBeNull();
    expect(projectionByName("ads/1")).toBe(currentProjection("ads"));
    expect(projectionByName("reviews/1")).toBeNull();
    expect(projectionDocument("products", 2)).toBeNull();
  });

  it.each(collectionNames)("of %s names its own hash and the source of every member", (collection) => {
    const { sha256, ...rest } = projectionDocument(collection, 1) as JsonObject;
    expect(sha256).toBe(hashOf(canonicalBytes(rest)));
    expect(Object.keys(rest).sort()).toEqual([
      "definition",
      "field_map",
      "record_type",
      "rules",
      "serve_time_fields",
      "spec_version",
      "unsigned_fields",
      "version",
    ]);
    const members = Object.keys(rest["field_map"] as JsonObject).map((name) => name.replace("<CC>", ""));
    for (const name of Object.keys(rowOf(collection))) {
      expect(
        members.some((member) => name === member || (member.endsWith("_") && name.startsWith(member))),
      ).toBe(true);
    }
  });

  it("can be run from its published document alone", () => {
    for (const collection of collectionNames) {
      const document = JSON.parse(JSON.stringify(projectionDocument(collection, 1)));
      const row = project(
        { ...document, record_schema: "" },
        { record: sampleRecords[collection], ...facts },
      );
      expect(row).toEqual(rowOf(collection));
    }
  });

  // Signed rows name these versions: a specification that must change becomes a new version.
  it.each([
    ["products/1", "sha256:aa903a13cb76a9ceadeeb93de13933b846feccbe858d55ce61501094badfa9cd"],
    ["business_files/1", "sha256:cdfc5ae255a73f6e7f11cd84f08a6a42ff3d0744fdffd23e4b8567fa9d630c7d"],
    ["events/1", "sha256:a51114a907c0aa95b8a3ad412905131d051e7a04aab766b58bd29545e9d758c4"],
    ["jobs/1", "sha256:2c9a0dfdfc505c2c59b582726fb54edff7cafc52cee046082d8451e397ed5043"],
    ["ads/1", "sha256:159c028bb10f0088cde29433dfe6e793ae0d971d65693afe0ba442ddbfc40d71"],
    ["updates/1", "sha256:be4f68708f09f83616bdae298780b837a3a50e017f9cd17042e302a58609a445"],
  ])("%s never changes", (version, hash) => {
    const [type, number] = version.split("/");
    expect(projectionDocument(type as string, Number(number))?.["sha256"]).toBe(hash);
  });
});
