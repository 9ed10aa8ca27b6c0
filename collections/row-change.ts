// A published row as a change to an index, and what an index makes of it.

import type { JsonObject } from "../protocol/canonical-json.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import type { IndexDocument, RowChange } from "../storage/row-index.ts";
import { indexDocument } from "./index-document.ts";

/** Builds the change from the exact signed row text as it is stored. */
export function rowPut(
  collection: CollectionName,
  reference: { readonly record_id: string; readonly change: number },
  row: string,
): Extract<RowChange, { kind: "put" }> {
  // This is text the service stored itself: the row that a push signed.
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

/** The document by which an engine searches a row; throws for a text that is not JSON. */
export function rowDocument({
  collection,
  row,
}: {
  readonly collection: CollectionName;
  readonly row: string;
}): IndexDocument {
  return indexDocument(collection, JSON.parse(row) as JsonObject);
}
