// svc/ad_campaign/1: what an advertiser pays, sealed like a record (record type `ads`). It is never served: the gross price leaves
// the service with no answer.

import { isObject } from "../std/is-object.ts";
import { parseUtf8 } from "./bytes.ts";
import { millionthsOf } from "./money.ts";
import { currencies } from "./records/vocabularies/currencies.ts";
import { ok, type Result, refuse } from "./result.ts";
import { described, flag, literal, matching, type Of, object, readShape, timestamp } from "./shape.ts";
import { parseStrictJson } from "./strict-json.ts";

export const campaignSchema = "svc/ad_campaign/1";
export const campaignIdPattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

const amount = matching(/^(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?$/, 'a decimal string such as "0.25"');

export const campaignRecord = object({
  schema: literal(campaignSchema),
  campaign_id: described(
    matching(campaignIdPattern, "1 to 64 lower-case letters, digits and hyphens"),
    "The business's own id of the campaign; its ads name it.",
  ),
  currency: described(
    matching((text) => currencies.codes.has(text), "an ISO 4217 code"),
    "That in which the deployment pays for ads.",
  ),
  price: described(amount, "What one confirmed render costs, before the caller's share: the gross price."),
  budget: described(amount, "What all renders may cost together; never exceeded."),
  starts_at: timestamp,
  ends_at: described(timestamp, "Later than `starts_at`."),
  paused: described(flag, "Whether its ads are left out now."),
});
export type CampaignRecord = Of<typeof campaignRecord>;

export interface ParsedCampaign {
  readonly record: CampaignRecord;
  /** Millionths. */
  readonly price: number;
  readonly budget: number;
}

/** Whether these bytes are meant as a campaign and not as an ad; nothing else of them is judged. */
export function isCampaign(bytes: Uint8Array): boolean {
  const json = parseStrictJson(bytes);
  return json.ok && isObject(json.value) && json.value["schema"] === campaignSchema;
}

/** Reads the exact bytes of a campaign. The detail of a refusal begins with the pointer of the fault. */
export function parseCampaign(bytes: Uint8Array): Result<ParsedCampaign, "request_invalid"> {
  if (parseUtf8(bytes) === null) return refuse("request_invalid", "The campaign is not UTF-8.");
  const json = parseStrictJson(bytes);
  if (!json.ok) return refuse("request_invalid", `The campaign is not strict JSON: ${json.detail}`);
  const read = readShape(campaignRecord, json.value);
  if (!read.ok) return refuse("request_invalid", `${read.fault.pointer || "/"}: ${read.fault.detail}`);
  const record = read.value;
  const [price, budget] = [record.price, record.budget].map((text) => Number(millionthsOf(text)));
  if (price === undefined || budget === undefined || price === 0)
    return refuse("request_invalid", "/price: A render costs more than 0.");
  if (record.starts_at >= record.ends_at)
    return refuse("request_invalid", "/ends_at: A campaign ends after it starts.");
  return ok({ record, price, budget });
}
