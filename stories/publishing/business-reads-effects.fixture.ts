// Which test shows that each member of a business's reads of its own data has an effect.

import type { Proof } from "../contract/request-effects.fixture.ts";

const byTime =
  "are found by when they were received, from inclusive and to exclusive, by an instant or a date";

export const businessReads: Readonly<Record<string, Proof>> = {
  "GET /v1/catalogue query type": {
    shownBy: "api/catalogue.test.ts: is limited to one type, and to those that there are",
  },
  "GET /v1/catalogue query cursor": {
    shownBy:
      "api/catalogue.test.ts: is read in pages, whose cursors belong to the business, the type and this service",
  },
  "GET /v1/push-attempts query from": { shownBy: `api/push-attempts.test.ts: ${byTime}` },
  "GET /v1/push-attempts query to": { shownBy: `api/push-attempts.test.ts: ${byTime}` },
  "GET /v1/push-attempts query status": {
    shownBy: "api/push-attempts.test.ts: are read in bounded pages where few of many pushes have the status",
  },
  "GET /v1/push-attempts query cursor": {
    shownBy: "api/push-attempts.test.ts: are continued only by the cursor of the same list",
  },
  "GET /v1/catalogue/{record_id} path record_id": {
    shownBy: "api/catalogue.test.ts: is found by the business's own id %j, exactly as it was sealed",
  },
};
