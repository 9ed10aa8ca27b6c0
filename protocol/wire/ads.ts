// An ad as a pool serves it (specification, «Ad pool item»). Everything that it takes to verify the ad is in the item; what is
// the service's own (the label, the price, the token) is not.

import { aiPolicyRecord } from "../ai-policy.ts";
import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { isDecimal } from "../identifiers.ts";
import { recordCharactersMax } from "../limits.ts";
import { ads } from "../records/ads.ts";
import type { Field } from "../records/fields.ts";
import { fieldShape } from "../records/json-schema.ts";
import {
  described,
  hash,
  integer,
  list,
  literal,
  matching,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  versionNumber,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { recordId } from "./push.ts";
import { adRow } from "./search-row.ts";

/** Maximum number of earlier issuances of the advertiser's certificate in an item. */
const earlierCertificatesMax = 100;

/** The exact bytes of a record, in base64. */
export const recordBase64 = matching(
  (value) => value.length <= recordCharactersMax && parseBase64(value) !== null,
  `base64 of the record's exact bytes, of at most ${recordCharactersMax} characters`,
  { contentEncoding: "base64", maxLength: recordCharactersMax },
);

const pixels = integer({ min: 1, max: 4_096 });
const shownImage = object({
  sha256: hash,
  media_type: oneOf(["image/png", "image/jpeg", "image/webp"]),
  width: pixels,
  height: pixels,
  alt: text(200),
  url: unsigned("ad_item", "/creative/images/*/url", {
    shape: text(2_048),
    says: "Where a server can fetch the picture for 15 minutes. It is not to be given to readers.",
  }),
});

const creative = described(
  object({
    headline: of("headline"),
    body: of("body"),
    call_to_action: described(
      nullable(fieldShape(required("call_to_action"))),
      "Null where the ad has none.",
    ),
    display_domain: of("display_domain"),
    destination_url: of("destination_url"),
    images: list(shownImage, { min: 0, max: 4 }),
  }),
  "What is shown: every text and link is the sealed one.",
);

export const adItem = named(
  "AdItem",
  object({
    ad_id: recordId,
    creative,
    label: described(
      object({ text: literal("Sponsored"), advertiser: text(256) }),
      "What is shown beside the ad; `advertiser` is the legal name.",
    ),
    net_price: unsigned("ad_item", "/net_price", {
      shape: object({
        amount: matching(isDecimal, "a decimal string such as 0.25"),
        currency: matching(/^[A-Z]{3}$/, "an ISO 4217 code"),
      }),
      says: "What showing the ad earns.",
    }),
    keyword_matches: unsigned("ad_item", "/keyword_matches", {
      shape: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      says: "How many of the keywords asked for are the ad's.",
    }),
    render_token: unsigned("ad_item", "/render_token", {
      shape: text(2_048),
      says: "Confirms within ten minutes that the ad was shown.",
    }),
    row: described(adRow, "The signed row, with the advertiser's seal."),
    record_base64: described(recordBase64, "The exact bytes that the advertiser sealed."),
    sidecar: described(envelopeShape, "What the service states about this version of the ad."),
    ai_policy: described(
      object({
        version: described(
          versionNumber,
          "0 while no AI policy has been sealed; record and seal are then null.",
        ),
        record: nullable(aiPolicyRecord),
        seal: nullable(envelopeShape),
      }),
      "The advertiser's AI policy in force.",
    ),
    certificate: described(envelopeShape, "The advertiser's certificate in force."),
    certificate_history: optional(
      described(
        list(envelopeShape, { min: 1, max: earlierCertificatesMax }),
        "Earlier issuances, newest first, back to the oldest that a seal in the item names; absent where all of them name the one in force.",
      ),
    ),
    keys: described(envelopeShape, "The advertiser's published keys: `signed` of their read."),
  }),
);
export type AdItem = Of<typeof adItem>;

function of(name: string) {
  return fieldShape(required(name));
}

function required(name: string): Field {
  const field = ads.members[name];
  if (field === undefined) throw new Error(`An ad has no ${name}.`);
  const { optional: _, ...always } = field;
  return always;
}
