// Test support: which test shows the effect of each parameter of analytics, of the event stream, of the key directory, of the terms, of receipts and of usage.

import type { Proof } from "./request-effects.fixture.ts";

const shown = (title: string): Proof => ({ shownBy: `api/analytics.test.ts: ${title}` });
const ofWindow = shown("are nobody else's, and of the window that is asked for");
const ofPlace = shown("are those of one country or type if it is named");
const ofDemand = shown("%s is refused at %s");
const published = shown("is shown only to businesses that publish the type");
const paged = "api/events.test.ts: goes on from any cursor, and ends with nothing twice and nothing missing";
const ofReceipts: Proof = {
  shownBy:
    "api/own-receipts.test.ts: are those of a window and a key, and every page goes on where the last one ended",
};
const ofUsage: Proof = { shownBy: "api/own-receipts.test.ts: is told apart by what is asked for" };

const ofAgreement: Proof = { shownBy: "api/terms.test.ts: to %s is refused" };

export const readsOfInsight: Readonly<Record<string, Proof>> = {
  ...Object.fromEntries(
    ["daily", "who-is-asking"].flatMap((path) =>
      (
        [
          ["from", ofWindow],
          ["to", ofWindow],
          ["country", ofPlace],
          ["type", ofPlace],
        ] as const
      ).map(([name, proof]) => [`GET /v1/analytics/${path} query ${name}`, proof]),
    ),
  ),
  "GET /v1/analytics/demand query from": ofDemand,
  "GET /v1/analytics/demand query to": ofDemand,
  "GET /v1/analytics/demand query country": shown(
    "shows a subject once enough companies have named it often enough, not before",
  ),
  "GET /v1/analytics/demand query type": published,
  "POST /v1/key-directory/listing body /listed": {
    shownBy:
      "api/key-directory.test.ts: lists a company no more once it chooses so, or its certificate is not active any more",
  },
  "POST /v1/terms/agreements body /version": ofAgreement,
  "POST /v1/terms/agreements body /sha256": ofAgreement,
  "GET /v1/terms query version": {
    shownBy: "api/terms.test.ts: answers any version, with the hash of its text",
  },
  ...Object.fromEntries(
    ["from", "to", "key_id", "cursor", "limit"].map((name) => [`GET /v1/receipts query ${name}`, ofReceipts]),
  ),
  "GET /v1/receipts query retrieval_id": {
    shownBy:
      "api/own-receipts.test.ts: are answered one by one, checked, and those of others like those that never existed",
  },
  ...Object.fromEntries(["from", "to", "group_by"].map((name) => [`GET /v1/usage query ${name}`, ofUsage])),
  "GET /v1/events query after": { shownBy: paged },
  "GET /v1/events query limit": { shownBy: paged },
};
