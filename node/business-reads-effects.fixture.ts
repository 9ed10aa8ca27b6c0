// Which test shows that each member of a business's reads of its own data has an effect.

import type { Proof } from "./request-effects.fixture.ts";

export const businessReads: Readonly<Record<string, Proof>> = {
  "GET /v1/catalogue query type": {
    shownBy: "api/catalogue.test.ts: is limited to one type, and to those that there are",
  },
  "GET /v1/catalogue query cursor": {
    shownBy:
      "api/catalogue.test.ts: is read in pages, whose cursors belong to the business, the type and this service",
  },
  "GET /v1/catalogue/{record_id} path record_id": {
    shownBy: "api/catalogue.test.ts: is found by the business's own id %j, exactly as it was sealed",
  },
};
