// The reads of a business's own catalogue (specification, «B. Business machine API»).

import { collectionNames } from "../protocol/identifiers.ts";
import {
  catalogueFreeEntries,
  cataloguePageMax,
  catalogueReadsPerHour,
  cursorLengthMax,
  ownIdLengthMax,
} from "../protocol/limits.ts";
import { cataloguePage, catalogueRecord } from "../protocol/wire/catalogue.ts";
import type { Outcome } from "../service/answer.ts";
import type { ListCatalogueRequest, ReadCatalogueRequest } from "../service/catalogue.ts";
import { type BusinessCallers, businessRead } from "./business-read.ts";
import type { Parameter, Route } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";

export interface Catalogue {
  list(request: ListCatalogueRequest): Promise<Outcome>;
  read(request: ReadCatalogueRequest): Promise<Outcome>;
}

export const cursorParameter: Parameter = {
  name: "cursor",
  in: "query",
  description: "`next_cursor` of the previous page, with the other parameters as they were.",
  schema: { type: "string", maxLength: cursorLengthMax },
};

export function catalogueRoutes(callers: BusinessCallers, catalogue: Catalogue): readonly Route[] {
  return [listRoute(callers, catalogue), readRoute(callers, catalogue)];
}

function listRoute(callers: BusinessCallers, catalogue: Catalogue): Route {
  return {
    method: "GET",
    path: "/v1/catalogue",
    tags: ["svc-business-read"],
    doc: {
      summary: "What the business has published now",
      description: `Pages of up to ${cataloguePageMax} entries; a record that is published throughout is on exactly one of them. Withdrawn, deleted and held records are not listed. The first ${catalogueFreeEntries} entries may be read as often as the key's request rate allows; beyond them, a business may read ${catalogueReadsPerHour} times an hour through each node, and is then answered 429 (\`reason\`: \`catalogue_reads\`).`,
      parameters: [
        {
          name: "type",
          in: "query",
          description: "Only records of this type.",
          schema: { enum: collectionNames },
        },
        cursorParameter,
        sandboxKey,
      ],
      answers: { 200: { description: "One page", body: cataloguePage } },
      problems: ["request_invalid"],
    },
    handle: businessRead(callers, ["type", "cursor"], ({ authenticated, query }) =>
      catalogue.list({ caller: authenticated.caller, type: query.type, cursor: query.cursor }),
    ),
  };
}

function readRoute(callers: BusinessCallers, catalogue: Catalogue): Route {
  return {
    method: "GET",
    path: "/v1/catalogue/:record_id",
    tags: ["svc-business-read"],
    doc: {
      summary: "One record of the business",
      description:
        "A record id of one of the caller's published records counts first. Anything else is taken as the business's own id: of a product, then of a business file, an event, a job, an update.",
      parameters: [
        {
          name: "record_id",
          in: "path",
          description: "The record id, or the business's own id, URL-encoded (a slash as `%2F`).",
          schema: { type: "string", minLength: 1, maxLength: ownIdLengthMax },
        },
        sandboxKey,
      ],
      answers: { 200: { description: "The record as it is served", body: catalogueRecord } },
      problems: ["request_invalid", "not_found"],
    },
    handle: businessRead(callers, [], ({ authenticated, request }) => {
      const { record_id: id } = request.params as { readonly record_id: string };
      return catalogue.read({ caller: authenticated.caller, id });
    }),
  };
}
