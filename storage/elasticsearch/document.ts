// Row changes as lines of a bulk request. A removed row stays as an empty document under its change number, for the
// versions of deleted documents are forgotten after a minute.

import { termImpact } from "../../collections/relevance.ts";
import type { IndexDocument, RowChange } from "../row-index.ts";
import { allTermsField, termsField } from "./layout.ts";

/** The two lines of one change, each ended by a line feed; the change number is the version. */
export function bulkLines(change: RowChange): string {
  const id = JSON.stringify(change.record_id);
  const action = `{"index":{"_id":${id},"version":${change.change},"version_type":"external"}}\n`;
  return change.kind === "put" ? `${action}${JSON.stringify(documentOf(change))}\n` : `${action}{}\n`;
}

function documentOf(put: Extract<RowChange, { readonly kind: "put" }>): Readonly<Record<string, unknown>> {
  const { countries, fields, points } = put.document;
  const places = Object.entries(points).map(([name, list]) => [
    name,
    list.map(({ lat, lng }) => ({ lat, lon: lng })),
  ]);
  return {
    record_id: put.record_id,
    business_uuid: put.business_uuid,
    row: put.row,
    countries,
    ...fields,
    ...Object.fromEntries(places),
    ...(places.length === 0 ? {} : { points: JSON.stringify(points) }),
    ...termFields(put.document),
  };
}

function termFields({ texts }: IndexDocument): Readonly<Record<string, Readonly<Record<string, number>>>> {
  const all = new Map<string, number>();
  const fields: Record<string, Readonly<Record<string, number>>> = {};
  for (const [name, text] of Object.entries(texts)) {
    const impacts = impactsOf(text);
    for (const [term, impact] of impacts) all.set(term, (all.get(term) ?? 0) + impact);
    fields[termsField(name)] = Object.fromEntries(impacts);
  }
  return all.size === 0 ? fields : { ...fields, [allTermsField]: Object.fromEntries(all) };
}

function impactsOf(text: string): ReadonlyMap<string, number> {
  const words = text.split(" ").filter((word) => word !== "");
  const frequencies = new Map<string, number>();
  for (const word of words) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  return new Map(
    [...frequencies].map(([term, frequency]) => [term, termImpact(frequency, words.length)] as const),
  );
}
