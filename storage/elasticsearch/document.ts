// Row changes as lines of a bulk request. A removed row stays as an empty document under its change number, for the
// versions of deleted documents are forgotten after a minute.

import { termImpact } from "../../collections/relevance.ts";
import type { IndexDocument, RowChange } from "../row-index.ts";
import { allTermsField, idOrderField, termsField } from "./layout.ts";

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
    [idOrderField]: idOrder(put.record_id),
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

/** Characters of an id after its prefix that its order stands for: 60 bits of a keyed hash. */
const orderedCharacters = 12;

/**
 * A number, as text, that orders ids of one prefix as their texts do: comparing numbers costs a search much less. Ids that
 * begin alike for so long are as improbable as a record id that is guessed.
 */
export function idOrder(recordId: string): string {
  const from = recordId.indexOf("_") + 1;
  let order = 0n;
  for (let at = from; at < from + orderedCharacters; at += 1)
    order = order * 32n + BigInt(digitOf(recordId, at));
  return order.toString();
}

/** Digit of a base32 character in the order of their codes: 2 to 7, then a to z. */
function digitOf(recordId: string, at: number): number {
  const code = recordId.charCodeAt(at);
  if (code >= 50 && code <= 55) return code - 50;
  if (code >= 97 && code <= 122) return code - 91;
  throw new Error(`${recordId} is no record id`);
}
