// svc/ads/1: what an advertiser seals (specification, «Ad pool item»). An ad is not a record of a collection: it is sealed alone,
// shown in pools only, and no search or fetch finds it.

import { isObject } from "../../std/json-pointer.ts";
import { noteWork } from "../../std/work.ts";
import { keywordFault } from "../ad-campaign.ts";
import type { JsonObject } from "../json/canonical-json.ts";
import { imageSideMax, keywordLengthMax, ownIdLengthMax } from "../limits.ts";
import {
  array,
  boolean,
  campaignIdForm,
  code,
  countryCodes,
  displayDomainIsDestination,
  type FaultList,
  form,
  hashForm,
  hostForm,
  httpsUrlForm,
  imageTypeForm,
  integer,
  longTextOrNone,
  object,
  optional,
  type RecordType,
  subdivisionForm,
  text,
} from "./fields.ts";
import { isArray } from "./record-validator.ts";
import { languages } from "./vocabularies/languages.ts";

export interface AdRecord {
  readonly schema: "svc/ads/1";
  readonly language: string;
  readonly business_ad_id: string;
  readonly campaign_id: string;
  readonly countries: readonly string[];
  /** Absent: everywhere in the countries. */
  readonly subdivisions?: readonly string[];
  readonly keywords: readonly string[];
  readonly headline: string;
  /** May be empty. */
  readonly body: string;
  readonly call_to_action?: string;
  readonly display_domain: string;
  readonly destination_url: string;
  readonly images: readonly AdImage[];
  /** Whether one conversation may be shown the ad again within the hour. */
  readonly allow_repeats?: boolean;
}

/** A type and not an interface, so that it is a JSON value. */
export type AdImage = {
  /** Hash of the exact bytes of the picture. */
  readonly sha256: string;
  readonly media_type: string;
  readonly width: number;
  readonly height: number;
  readonly alt: string;
};

/** Maximum number of keywords of one ad. */
const keywordsMax = 50;
/** Maximum number of pictures of one ad. */
const imagesMax = 4;
const subdivisionsMax = 1_000;
const pixels = { min: 1, max: imageSideMax };

const image = object(
  {
    sha256: form(hashForm, "Hash of the picture's exact bytes."),
    media_type: form(imageTypeForm, "Media type of the picture."),
    width: integer(pixels, "Width in pixels."),
    height: integer(pixels, "Height in pixels."),
    alt: text(200, "What the picture shows, for readers who do not see it."),
  },
  "One picture.",
);

export const ads = {
  collection: "ads",
  version: 1,
  title: "Ad",
  members: {
    schema: { kind: "schema", value: "svc/ads/1", description: "Record type and version." },
    language: code(languages, "Language of the ad's texts."),
    business_ad_id: text(
      ownIdLengthMax,
      "The business's own id of this ad, unique within its campaign; the ad's id follows from both.",
      "identifier",
    ),
    campaign_id: form(campaignIdForm, "The business's own name of the campaign that the ad belongs to."),
    countries: countryCodes("Countries in which the ad is shown."),
    subdivisions: optional(
      array(
        form(subdivisionForm, "Subdivision code of one of the countries."),
        { min: 1, max: subdivisionsMax },
        "Where in the countries the ad is shown; without it, everywhere in them.",
      ),
    ),
    keywords: array(
      text(keywordLengthMax, "One subject term."),
      { min: 1, max: keywordsMax },
      "Subjects that the ad fits.",
    ),
    headline: text(90, "The headline."),
    body: longTextOrNone(300, "The text below the headline; it may be empty."),
    call_to_action: optional(text(30, "What the reader is invited to do.")),
    display_domain: form(hostForm, "Host that readers are shown; the host of destination_url."),
    destination_url: form(httpsUrlForm, "Address that a reader is sent to."),
    images: array(image, { min: 0, max: imagesMax }, "Pictures, in the order in which they are shown."),
    allow_repeats: optional(boolean("Whether one conversation may be shown the ad again within the hour.")),
  },
  rules: [subdivisionOfCountry, keywordsAreSubjects, eachImageOnce, displayDomainIsDestination],
} satisfies RecordType;

function subdivisionOfCountry({ countries, subdivisions }: JsonObject, faults: FaultList): void {
  if (!isArray(countries) || !isArray(subdivisions)) return;
  noteWork("comparison", countries.length + subdivisions.length);
  const shownIn = new Set(countries);
  for (let index = 0; index < subdivisions.length && index < subdivisionsMax; index += 1) {
    const code = subdivisions[index];
    if (typeof code !== "string" || !subdivisionForm.accepts(code)) continue;
    const country = code.slice(0, code.indexOf("-"));
    if (!shownIn.has(country))
      faults.add("value_invalid", `/subdivisions/${index}`, `The ad is not shown in ${country}.`);
  }
}

/** Pools refuse what is plainly no subject, so an ad with such a keyword would never be found by it. */
function keywordsAreSubjects({ keywords }: JsonObject, faults: FaultList): void {
  if (!isArray(keywords)) return;
  for (const [index, keyword] of keywords.slice(0, keywordsMax).entries()) {
    const fault = typeof keyword === "string" ? keywordFault(keyword) : null;
    if (fault !== null) faults.add("value_invalid", `/keywords/${index}`, `A keyword must not be ${fault}.`);
  }
}

/** A row lists each picture by its hash, so the same picture twice could not be told apart. */
function eachImageOnce({ images }: JsonObject, faults: FaultList): void {
  if (!isArray(images)) return;
  const seen = new Set<string>();
  for (let index = 0; index < images.length && index < imagesMax; index += 1) {
    const image = images[index];
    const hash = isObject(image) ? image["sha256"] : undefined;
    if (typeof hash !== "string") continue;
    if (seen.has(hash))
      faults.add("value_invalid", `/images/${index}/sha256`, "Must not repeat an earlier picture.");
    seen.add(hash);
  }
}
