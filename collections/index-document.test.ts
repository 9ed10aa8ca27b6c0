import { describe, expect, it } from "vitest";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { projectedRowText, projectRecord } from "../protocol/projection/project.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { collections } from "./collections.ts";
import { indexDocument } from "./row-change.ts";

function rowOf(collection: CollectionName, changes: JsonObject = {}): JsonObject {
  return projected(collection, { ...sampleRecords[collection], ...changes });
}

function projected(collection: CollectionName, record: JsonObject): JsonObject {
  return projectRecord({
    collection,
    record,
    recordId: `svc_${"a".repeat(26)}`,
    businessUuid: "7f9c2a10-5b1e-4c3d-8e2f-0123456789ab",
    hash: `sha256:${"0".repeat(64)}`,
    certId: `sha256:${"1".repeat(64)}`,
    keyId: "k".repeat(43),
    publishedAt: 1_770_000_000,
    aiPolicyVersion: 3,
  });
}

describe("an index document", () => {
  it("of a product has its values, its price by country, and its terms", () => {
    expect(indexDocument("products", rowOf("products"))).toEqual({
      countries: ["US", "CA"],
      fields: {
        language: "en",
        tags: ["running shoes", "waterproof"],
        brand: "Harrier",
        vertical: "sports_outdoors",
        category: "running",
        channel: "online",
        availability: "in_stock",
        on_sale: false,
        price_US: 129.9,
        price_CA: 175,
        price_currency_US: "USD",
        price_currency_CA: "CAD",
        gtin: "4006381333931",
        published_at: 1_770_000_000_000,
      },
      points: {},
      texts: {
        product_name: "trail runner 3",
        short_description: "a light waterproof running shoe for muddy trails",
        tags: "running shoes waterproof",
        brand: "harrier",
      },
    });
  });

  it("has times in milliseconds, places, and several values", () => {
    const event = indexDocument("events", rowOf("events"));
    expect(event.fields).toMatchObject({
      start_at: Date.UTC(2026, 11, 5, 18),
      price_min: 20,
      ticketed: true,
    });
    expect(event.points).toEqual({ geo: [{ lat: 43.6465, lng: -79.4637 }] });
    const file = indexDocument("business_files", rowOf("business_files"));
    expect(file.fields).toMatchObject({
      cities: ["Leeds", "Toronto"],
      has_booking: false,
      year_established: 1987,
    });
    expect(file.points["location_geo"]).toHaveLength(2);
  });

  it("lacks what the row lacks", () => {
    const { salary: _, ...undisclosed } = sampleRecords.jobs;
    const { fields } = indexDocument("jobs", projected("jobs", undisclosed));
    expect(fields).not.toHaveProperty("salary_min");
    expect(fields["salary_disclosed"]).toBe(false);
    const bare = indexDocument("products", rowOf("products", { tags: [], prices: [] }));
    for (const name of ["tags", "price_US", "price_currency_US"])
      expect(bare.fields).not.toHaveProperty(name);
    expect(bare.texts).not.toHaveProperty("tags");
  });

  it.each(collectionNames)(
    "of %s has every field of the collection, and is the same from the row's text",
    (collection) => {
      const row = rowOf(collection);
      const document = indexDocument(collection, row);
      for (const { name, type, countryStem, isOnRows } of collections[collection].fields) {
        if (type === "country" || !isOnRows) continue;
        const index = countryStem === null ? name : `${countryStem}US`;
        expect([name, index in document.fields || index in document.points]).toEqual([name, true]);
      }
      expect(Object.keys(document.texts)).toEqual(collections[collection].textFields);
      expect(indexDocument(collection, JSON.parse(projectedRowText(row)))).toEqual(document);
    },
  );
});
