// svc/ad_product/1: a published product that its business puts into a campaign, sealed alone like an ad (record type `ads`). Search
// rows of the product are then marked `sponsored`, and what a confirmed render costs are the terms of the campaign. The document is
// never served.

import { isObject } from "../std/is-object.ts";
import { campaignIdPattern } from "./ad-campaign.ts";
import { parseUtf8 } from "./bytes.ts";
import { recordType } from "./identifiers.ts";
import { countries } from "./records/vocabularies/countries.ts";
import { ok, type Result, refuse } from "./result.ts";
import { described, flag, list, literal, matching, type Of, object, optional, readShape } from "./shape.ts";
import { parseStrictJson } from "./strict-json.ts";

export const adProductSchema = "svc/ad_product/1";

export const adProductRecord = object({
  schema: literal(adProductSchema),
  campaign_id: described(
    matching(campaignIdPattern, "1 to 64 lower-case letters, digits and hyphens"),
    "The campaign that pays: its price for each confirmed render, its time and its budget.",
  ),
  record_id: described(
    matching((text) => recordType(text) === "products", "the record id of a product", {
      pattern: "^svc_[a-z2-7]{26}$",
    }),
    "A published product of the same business.",
  ),
  countries: described(
    list(
      matching((text) => countries.codes.has(text), "an ISO 3166-1 country code such as US", {
        pattern: "^[A-Z]{2}$",
      }),
      { min: 1, max: countries.codes.size },
    ),
    "Each once: in searches for these countries the product is sponsored, where it is published for them.",
  ),
  allow_repeats: optional(
    described(
      flag,
      "Whether one conversation may be offered it as sponsored again within the hour of a render.",
    ),
  ),
});
export type AdProductRecord = Of<typeof adProductRecord>;

/** Whether these bytes are meant as a sponsored product; nothing else of them is judged. */
export function isAdProduct(bytes: Uint8Array): boolean {
  const json = parseStrictJson(bytes);
  return json.ok && isObject(json.value) && json.value["schema"] === adProductSchema;
}

/** Reads the exact bytes of a sponsored product. The detail of a refusal begins with the pointer of the fault. */
export function parseAdProduct(bytes: Uint8Array): Result<AdProductRecord, "request_invalid"> {
  if (parseUtf8(bytes) === null) return refuse("request_invalid", "The document is not UTF-8.");
  const json = parseStrictJson(bytes);
  if (!json.ok) return refuse("request_invalid", `The document is not strict JSON: ${json.detail}`);
  const read = readShape(adProductRecord, json.value);
  if (!read.ok) return refuse("request_invalid", `${read.fault.pointer || "/"}: ${read.fault.detail}`);
  const record = read.value;
  const again = record.countries.findIndex((code, at) => record.countries.indexOf(code) < at);
  if (again >= 0)
    return refuse("request_invalid", `/countries/${again}: Must not repeat an earlier country.`);
  return ok(record);
}

/** The local id, from which the id of a sponsorship follows. No ad has it: a campaign's id has no space. */
export function adProductLocalId({
  campaign_id,
  record_id,
}: Pick<AdProductRecord, "campaign_id" | "record_id">): string {
  return `product ${campaign_id}/${record_id}`;
}
