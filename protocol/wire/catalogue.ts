// What a business's system is told of its own catalogue (specification, «B. Business machine API»).

import { collectionNames } from "../identifiers.ts";
import { cataloguePageMax, cursorLengthMax, ownIdLengthMax } from "../limits.ts";
import { recordShape } from "../records/json-schema.ts";
import { recordSealShape } from "../seal.ts";
import {
  described,
  hash,
  keyId,
  list,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { foundIn, foundInSays } from "./live-in.ts";
import { recordId } from "./push.ts";

const ownId = described(text(ownIdLengthMax), "The business's own id of the record.");
const lastUpdatedSays = "When the version that is served was published.";
const lastUpdated = described(timestamp, lastUpdatedSays);
const sourceSays = "How that version came: by a person, in a bulk file, or in a batch.";
const source = described(oneOf(["manual", "import", "api"]), sourceSays);

export const catalogueEntry = named(
  "CatalogueEntry",
  object({
    record_id: recordId,
    business_product_id: ownId,
    last_updated: lastUpdated,
    source,
    sha256: described(hash, "Of the exact bytes of the record that is served."),
    sealed_by_key_id: described(keyId, "The key that sealed them, of a person, a system or the service."),
  }),
);
export type CatalogueEntry = Of<typeof catalogueEntry>;

export const cataloguePage = named(
  "CataloguePage",
  object({
    entries: described(
      list(catalogueEntry, { min: 0, max: cataloguePageMax }),
      "The records that are published now. A page may have fewer than the last one had while more follow.",
    ),
    next_cursor: described(nullable(text(cursorLengthMax)), "Cursor of the next page; null on the last."),
  }),
);
export type CataloguePage = Of<typeof cataloguePage>;

export const catalogueRecord = named(
  "CatalogueRecord",
  object({
    record_id: unsigned("catalogue", "/record_id", { shape: recordId }),
    business_product_id: ownId,
    type: oneOf(collectionNames),
    record: described(
      recordShape,
      "The sealed record. The seal's hash covers its exact text, from the colon to the comma that follows.",
    ),
    seal: recordSealShape,
    live_in: unsigned("catalogue", "/live_in", { shape: foundIn, says: foundInSays }),
    last_updated: unsigned("catalogue", "/last_updated", { shape: lastUpdated, says: lastUpdatedSays }),
    source: unsigned("catalogue", "/source", { shape: source, says: sourceSays }),
  }),
);
