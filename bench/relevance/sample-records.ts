// The records of the sample businesses and the sample catalogue, as they would be published: the same at every time.

import { sampleBusiness, sampleBusinesses, stoneShop } from "../../node/sandbox/businesses.ts";
import { diamondProduct } from "../../node/sandbox/diamonds.ts";
import { calendarFrom } from "../../node/sandbox/sample.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { type CollectionName, recordIdOf } from "../../protocol/identifiers.ts";
import { projectedRowText, projectRecord } from "../../protocol/projection/project.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { sampleStones } from "../catalogue.ts";

export interface PublishedRecord {
  readonly id: string;
  readonly collection: CollectionName;
  readonly businessUuid: string;
  readonly record: JsonObject;
}

const publishedAt = 1_770_000_000;

/** All records that a sandbox is filled with, except for those of its trials. */
export function sampleRecords(): readonly PublishedRecord[] {
  const day = calendarFrom(publishedAt * 1_000);
  const single = sampleBusinesses.flatMap((business) =>
    business.records(day).map((each) => ({ ...each, businessUuid: business.uuid })),
  );
  const stones = sampleStones().map((stone, index) => ({
    collection: "products" as const,
    record: diamondProduct(stone, index, stoneShop),
    businessUuid: sampleBusiness("diamond-merchant").uuid,
  }));
  return [...single, ...stones].map((each, n) => ({ ...each, id: recordIdOf(each.collection, seedOf(n)) }));
}

/** Spreads the ids, so that their order says nothing about the records. */
function seedOf(n: number): Uint8Array {
  const seed = new Uint8Array(20);
  new DataView(seed.buffer).setUint32(0, Math.imul(n + 1, 0x9e3779b1));
  new DataView(seed.buffer).setUint32(4, n);
  return seed;
}

export function putOf({ id, collection, businessUuid, record }: PublishedRecord): RowChange {
  const projected = projectRecord({
    ...{ collection, record, recordId: id, businessUuid, publishedAt, aiPolicyVersion: 1 },
    ...{ hash: `sha256:${"0".repeat(64)}`, certId: `sha256:${"1".repeat(64)}`, keyId: "k".repeat(43) },
  });
  return {
    ...{ kind: "put", collection, record_id: id, business_uuid: businessUuid, change: 1 },
    row: projectedRowText(projected),
  };
}
