// A published row as a change of an index, and what an index makes of it.

import type { JsonObject } from "../protocol/canonical-json.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import type { IndexDocument, RowChange } from "../storage/row-index.ts";
import { indexDocument } from "./index-document.ts";

/** Made from the exact signed row text, as it is stored. */
export function rowPut(
  collection: CollectionName,
  reference: { readonly record_id: string; readonly change: number },
  row: string,
): Extract<RowChange, { kind: "put" }> {
  // Our own stored text: it is the row that a push signed.
  const { business_uuid } = JSON.parse(row) as JsonObject & { readonly business_uuid: string };
  return {
    kind: "put",
    collection,
    record_id: reference.record_id,
    business_uuid,
    change: reference.change,
    row,
  };
}

/** What an engine searches a row by; throws for a text that is no JSON. */
export function rowDocument({
  collection,
  row,
}: {
  readonly collection: CollectionName;
  readonly row: string;
}): IndexDocument {
  return indexDocument(collection, JSON.parse(row) as JsonObject);
}
