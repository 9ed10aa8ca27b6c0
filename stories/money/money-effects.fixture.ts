// Test support: which test shows the effect of each member of the requests about accounts, statements and ads.

import type { Proof } from "../contract/request-effects.fixture.ts";

const ad = (title: string): Proof => ({ shownBy: `stories/ads/ads.test.ts: ${title}` });
const money = (title: string): Proof => ({ shownBy: `stories/money/allowance.test.ts: ${title}` });

function each(prefix: string, names: readonly string[], proof: Proof): Readonly<Record<string, Proof>> {
  return Object.fromEntries(names.map((name) => [`${prefix} ${name}`, proof]));
}

const envelope = ["", "/payload", "/payloadType", "/signatures"].concat(
  ["authenticatorData", "clientDataJSON", "keyid", "sig"].map((name) => `/signatures/*/${name}`),
);
const inSeal = envelope.map((name) => `body /seal${name}`);
const statements = money("is read month by month, as JSON and as CSV, and the statements sum to the account");
const others = money("is told of a company that is none, and of an account that there is not");
const entries = "POST /ops/ledgers/{company_uuid}/entries";
const sealed = ad("is refused what somebody else sealed, or what was sealed for something else");
const removed = ad("leaves pools and cannot be rendered; deleted, its bytes are gone and it never returns");
const found = ad("has the ads of the country that have a keyword, whole, whatever the case of its letters");
const bounded = ad("has at most as many as were asked for, of all and of one campaign");

const row: Proof = {
  shownBy:
    "stories/ads/sponsored.test.ts: is refused for what was not a sponsored row of a product search of the caller's own",
};
const repeated: Proof = {
  shownBy:
    "stories/ads/ads-again.test.ts: under an Idempotency-Key is answered once, and another request under it is refused",
};

export const readsOfMoney: Readonly<Record<string, Proof>> = {
  "GET /v1/statements/{month} path month": statements,
  "GET /v1/statements/{month}/csv path month": statements,
  "GET /ops/ledgers/{company_uuid} path company_uuid": others,
  "GET /ops/ledgers/{company_uuid}/statements/{month} path company_uuid": others,
  "GET /ops/ledgers/{company_uuid}/statements/{month} path month": others,
  [`${entries} path company_uuid`]: others,
  ...each(
    entries,
    ["body /entry_id", "body /kind", "body /reason"],
    money("makes an entry once under its id, and corrects it"),
  ),
  ...each(entries, ["body /amount", "body /currency"], money("is refused %s")),
  ...each("POST /v1/ads/pool", ["body /country", "body /keywords"], found),
  ...each("POST /v1/ads/pool", ["body /limit", "body /max_per_campaign"], bounded),
  "POST /v1/ads/pool body /sort_by": ad("is in the order that the caller names, and in no other"),
  "POST /v1/ads/pool body /session_ref": ad(
    "leaves the ad out of the conversation's pools for an hour, and of no other's",
  ),
  "POST /v1/ads/pool body /subdivision": ad("is served in a part of a country only where that is named"),
  "POST /v1/ads/render body /render_token": ad(
    "is refused to another company, and with a token that was changed",
  ),
  ...each("POST /v1/ads/render", ["body /retrieval_id", "body /record_id"], row),
  "POST /v1/ads/render header Idempotency-Key": repeated,
  "POST /v1/ads/click header Idempotency-Key": repeated,
  "POST /v1/ads/render body /format": ad("keeps how it was shown"),
  "POST /v1/ads/click body /click_token": ad("is followed by clicks for 24 hours, of which the first counts"),
  "POST /v1/ads/records body /record_base64": ad("publishes ads only of a campaign that is known"),
  ...each("POST /v1/ads/records", inSeal, sealed),
  ...each("POST /v1/ads/remove", ["body /campaign_id", "body /document_base64", ...inSeal], removed),
};
