// svc/ad_campaign/1: what an advertiser pays, sealed like a record (record type `ads`). It is never served: the gross price is in
// no answer, and only people of the business see it at the portal.

import { isObject } from "../std/json-pointer.ts";
import { parseUtf8 } from "./bytes.ts";
import { recordType } from "./identifiers.ts";
import { parseStrictJson } from "./json/strict-json.ts";
import { millionthsOf } from "./price-list.ts";
import { foldText } from "./records/fold-text.ts";
import { countries } from "./records/vocabularies/countries.ts";
import { currencies } from "./records/vocabularies/currencies.ts";
import { ok, type Result, refuse } from "./result.ts";
import {
  described,
  flag,
  list,
  literal,
  matching,
  type Of,
  object,
  optional,
  readShape,
  timestamp,
} from "./shape.ts";

export const campaignSchema = "svc/ad_campaign/1";
const campaignIdPattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

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

// svc/ad_product/1: a published product that its business puts into a campaign, sealed alone like an ad (record type `ads`). Search
// rows of the product are then marked `sponsored`, and what a confirmed render costs are the terms of the campaign. The document is
// never served.

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
  allow_repeats: described(
    optional(flag),
    "Whether one conversation may be offered it as sponsored again within the hour of a render.",
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

// Keywords of ads, which an advertiser seals and an AI company asks for: the same rule for both, so that no ad is sealed for a
// subject that nobody may ask for. A keyword is refused only if it is plainly no subject: names of brands and shops, people's
// names among them, are subjects, and so is a text in any language that is not recognised as a question.

/** What a keyword must not be; the reader is told in these words. */
type KeywordFault = "an address" | "a number of a person" | "an id" | "a question";

/** Keywords are compared whole. Two are the same if this is: case and the encoding of accents make no difference. */
export function foldKeyword(keyword: string): string {
  return keyword.normalize("NFC").toLowerCase();
}

/** What the keyword plainly is instead of a subject; null if it may be a subject. */
export function keywordFault(keyword: string): KeywordFault | null {
  const text = keyword.normalize("NFKC");
  if (/@|:\/\/|\bwww\.|\b\p{Nd}{1,3}(\.\p{Nd}{1,3}){3}\b/u.test(text)) return "an address";
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.some(isId)) return "an id";
  if (hasPersonsNumber(text)) return "a number of a person";
  return isQuestion(text) ? "a question" : null;
}

/** Telephone numbers, cards and accounts, however grouped; years, sizes and numbers of models are shorter. */
function hasPersonsNumber(text: string): boolean {
  const runs = text.match(/\p{Nd}[\p{Nd} ()./-]*/gu) ?? [];
  return /\p{Nd}{8}/u.test(text) || runs.some((run) => (run.match(/\p{Nd}/gu)?.length ?? 0) >= 9);
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const hexadecimal = /^(?=.*[0-9])(?=.*[a-f])[0-9a-f]{12,}$/i;
/** Such as `conv_01a2b3c4d5`. */
const prefixed = /^[a-z]{2,}[_-](?=.*[0-9])(?=.*[a-z])[a-z0-9]{10,}$/i;
/** Letters and digits that take turns, and long words that mix them with capitals: no name of a model is like that. */
const alternating = /^[a-z0-9_-]*([0-9][a-z]+){4}[a-z0-9_-]*$/i;
const token = /^(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_+/=-]{20,}$/;

function isId(word: string): boolean {
  return [uuid, hexadecimal, prefixed, alternating, token].some((form) => form.test(word));
}

const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const interrogatives = wordSet(
  "what which who whom whose where when why how welche welcher welches welchen wer wo wann warum wieso wie quel quelle quels quelles pourquoi comment quand cual cuales quien donde",
);
const askingVerbs = wordSet(
  "is are was were do does did can could should would must have has ist sind soll sollte kann konnte muss darf est sont dois peux puis faut es son debo puedo hay",
);
/** `can i`, `soll ich`, `puedo`: who asks for oneself says so at the beginning. */
const askingForOneself = wordSet("can could should do am must may kann soll sollte darf muss dois peux puis");
const oneself = wordSet("i we ich wir je nous");
/** An interrogative and, before the end, a verb make a question of this many words; shorter ones are titles and brands. */
const questionWordsMin = 5;

function isQuestion(text: string): boolean {
  if (/[?¿؟]/.test(text) || /(ですか|ますか|吗|嗎)$/.test(text.trim())) return true;
  const [first = "", second = "", ...others] = foldText(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  if (askingForOneself.has(first) && oneself.has(second)) return true;
  const isLong = others.length + 2 >= questionWordsMin;
  return (
    isLong &&
    interrogatives.has(first) &&
    [second, ...others].slice(0, -1).some((word) => askingVerbs.has(word))
  );
}
