import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aiPolicyBytes, parseAiPolicy } from "../../protocol/ai-policy.ts";
import { collectionNames, isUuidV4 } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { companyWords, ownNames } from "../../protocol/records/company-name-rule.ts";
import { contentFaults } from "../../protocol/records/judge-record.ts";
import { createNameIndex, noBrands } from "../../protocol/records/name-index.ts";
import { parseRecord } from "../../protocol/records/parse-record.ts";
import {
  sampleBusiness,
  sampleBusinesses,
  sampleCompanies,
  stoneShop,
  trialBusinesses,
  trialCompanies,
} from "./businesses.ts";
import { diamondProduct, parseStones } from "./diamonds.ts";
import { calendarFrom, type SampleRecord } from "./sample.ts";

const stones = parseStones(readFileSync(join(import.meta.dirname, "data/diamonds-slice.csv"), "utf8"));
const calendar = calendarFrom(Date.UTC(2026, 0, 31, 23, 59));
const catalogue = stones.map((stone, index) => ({
  collection: "products" as const,
  record: diamondProduct(stone, index, stoneShop),
  legalName: sampleBusiness("diamond-merchant").legalName,
}));
const businesses = [...sampleBusinesses, ...trialBusinesses];
const companies = [...sampleCompanies, ...trialCompanies];
const records = businesses.flatMap((business) =>
  business
    .records(calendar)
    .map((sample) => ({ ...sample, business: business.name, legalName: business.legalName })),
);

/** The faults that the service finds in a record; it has certified all other companies. */
function faultsOf({ collection, record }: SampleRecord, legalName: string): readonly unknown[] {
  const parsed = parseRecord(collection, canonicalBytes(record));
  if (!parsed.ok) return parsed.faults;
  const others = [...businesses, ...companies].filter((each) => each.legalName !== legalName);
  const index = createNameIndex(others.map((each) => companyWords(each.legalName)));
  const certified = { index, legalNameOf: () => null, changes: () => 0, brandsOf: () => noBrands };
  const lists = { protectedNames: [], exemptNames: [], blockedHosts: [], certified };
  return contentFaults(collection, parsed.record, lists, ownNames([legalName], []));
}

describe("the samples", () => {
  it("are valid records that the service publishes", () => {
    const faulty = [...records, ...catalogue].flatMap((sample) => {
      const faults = faultsOf(sample, sample.legalName);
      return faults.length === 0 ? [] : [{ id: sample.record["business_product_id"], faults }];
    });
    expect(faulty).toEqual([]);
  });

  it("have a catalogue of several hundred stones, some sold in two or three countries", () => {
    expect(catalogue.length).toBeGreaterThanOrEqual(600);
    expect(new Set(catalogue.map(({ record }) => record["business_product_id"])).size).toBe(catalogue.length);
    const countries = catalogue.map(({ record }) => (record["countries"] as readonly string[]).join());
    expect(new Set(countries)).toEqual(new Set(["US", "US,GB", "US,CA", "US,GB,CA"]));
  });

  it("have records of all five types, with an id of their own each", () => {
    expect(new Set(records.map(({ collection }) => collection))).toEqual(new Set(collectionNames));
    const ids = records.map(
      ({ business, collection, record }) =>
        `${business} ${collection} ${String(record["business_product_id"])}`,
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("have a valid AI policy each, keys of both algorithms, and one block", () => {
    for (const business of sampleBusinesses) {
      expect(business.policies.length).toBeGreaterThan(0);
      for (const policy of business.policies) expect(parseAiPolicy(aiPolicyBytes(policy)).ok).toBe(true);
    }
    for (const keys of [
      sampleBusinesses.flatMap((each) => each.integrationKeys),
      sampleCompanies.flatMap((each) => each.keys),
      [...trialBusinesses, ...trialCompanies]
        .flatMap((each) => ("keys" in each ? each.keys : each.integrationKeys))
        .filter(({ fate }) => fate === "unregistered"),
    ]) {
      expect(new Set(keys.map(({ algorithm }) => algorithm))).toEqual(new Set(["Ed25519", "ES256"]));
    }
    expect(sampleBusinesses.flatMap((each) => each.blocks)).toEqual([sampleCompanies[1]?.uuid]);
    const uuids = [...businesses, ...companies].map((each) => each.uuid);
    expect(uuids.every(isUuidV4)).toBe(true);
    expect(new Set(uuids).size).toBe(uuids.length);
  });

  it("are the same bytes whenever the same sandbox is filled again", () => {
    const again = businesses.flatMap((business) => business.records(calendarFrom(Date.UTC(2026, 0, 31, 3))));
    expect(again.map(({ record }) => record)).toEqual(records.map(({ record }) => record));
  });
});
