// Row changes as lines of a bulk request. A removed row remains as an empty document under its change number, because the
// versions of deleted documents are forgotten after a minute.

import { termImpact } from "../../collections/relevance.ts";
import { rowDocument } from "../../collections/row-change.ts";
import type { IndexDocument, RowChange } from "../row-index.ts";
import { allTermsField, idOrderField, termsField } from "./layout.ts";

/** The two lines of one change, each terminated by a line feed; the change number is the version. */
export function bulkLines(change: RowChange): string {
  const id = JSON.stringify(change.record_id);
  const action = `{"index":{"_id":${id},"version":${change.change},"version_type":"external"}}\n`;
  return change.kind === "put" ? `${action}${documentText(change)}\n` : `${action}{}\n`;
}

function documentText(put: Extract<RowChange, { readonly kind: "put" }>): string {
  const document = rowDocument(put);
  const { countries, fields, points } = document;
  const places = Object.entries(points).map(([name, list]) => [
    name,
    list.map(({ lat, lng }) => ({ lat, lon: lng })),
  ]);
  const head = JSON.stringify({
    [idOrderField]: idOrder(put.record_id),
    business_uuid: put.business_uuid,
    row: put.row,
    countries,
    ...fields,
    ...Object.fromEntries(places),
    ...(places.length === 0 ? {} : { points: JSON.stringify(points) }),
  });
  return `${head.slice(0, -1)}${termsText(document)}}`;
}

/** Members that say how much each term counts, one for each text and one for all of them; built directly as text. */
function termsText({ texts }: IndexDocument): string {
  const all = new Map<string, number>();
  let members = "";
  for (const name of Object.keys(texts)) {
    const impacts = impactsOf(texts[name] ?? "");
    for (const [term, impact] of impacts) all.set(term, (all.get(term) ?? 0) + impact);
    members += `,"${termsField(name)}":${impactsText(impacts)}`;
  }
  return all.size === 0 ? members : `${members},"${allTermsField}":${impactsText(all)}`;
}

function impactsOf(text: string): ReadonlyMap<string, number> {
  const words = text.split(" ").filter((word) => word !== "");
  const impacts = new Map<string, number>();
  for (const word of words) impacts.set(word, (impacts.get(word) ?? 0) + 1);
  for (const [term, frequency] of impacts) impacts.set(term, termImpact(frequency, words.length));
  return impacts;
}

/** Most terms match this, and then need no escaping in JSON. */
const plainTerm = /^[0-9a-z]+$/;

function impactsText(impacts: ReadonlyMap<string, number>): string {
  let members = "";
  for (const [term, impact] of impacts) {
    const name = plainTerm.test(term) ? `"${term}"` : JSON.stringify(term);
    members += members === "" ? `${name}:${impact}` : `,${name}:${impact}`;
  }
  return `{${members}}`;
}

/** Number of id characters after the prefix that its order represents: 60 bits of a keyed hash. */
const orderedCharacters = 12;

/**
 * A number, as text, that orders ids of one prefix as their texts do: comparing numbers costs a search much less. Two ids
 * with the same characters there are as improbable as guessing a record id.
 */
export function idOrder(recordId: string): string {
  const from = recordId.indexOf("_") + 1;
  let order = 0n;
  for (let at = from; at < from + orderedCharacters; at += 1)
    order = order * 32n + BigInt(digitOf(recordId, at));
  return order.toString();
}

/** The digit of a base32 character in the order of their codes: 2 to 7, then a to z. */
function digitOf(recordId: string, at: number): number {
  const code = recordId.charCodeAt(at);
  if (code >= 50 && code <= 55) return code - 50;
  if (code >= 97 && code <= 122) return code - 91;
  throw new Error(`${recordId} is not a record id`);
}
