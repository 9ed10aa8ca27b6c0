import { expect, it } from "vitest";
import { isObject } from "../std/json-pointer.ts";
import type { JsonValue } from "./json/canonical-json.ts";
import { type AnswerName, unsignedMembers } from "./unsigned-members.ts";
import { adItem, poolAnswer } from "./wire/ad-requests.ts";
import { catalogueRecord } from "./wire/catalogue.ts";
import { fetchedRecord, searchAnswer } from "./wire/retrieval.ts";

const published: Readonly<Record<Exclude<AnswerName, "shown_price">, JsonValue>> = {
  search: searchAnswer.schema,
  fetch: fetchedRecord.schema,
  ad_pool: poolAnswer.schema,
  ad_item: adItem.schema,
  catalogue: catalogueRecord.schema,
};

/** The schemas of a member, with what stands on the way to it; a row has one for each collection. */
function schemasAt(schema: JsonValue | undefined, [name, ...rest]: readonly string[]): readonly JsonValue[] {
  if (!isObject(schema)) return [];
  const { anyOf, allOf, properties, items } = schema;
  const within = [anyOf, allOf].flatMap((each) => (Array.isArray(each) ? each : []));
  const inner = name === "*" ? items : isObject(properties) ? properties[name ?? ""] : undefined;
  return [
    ...(name === undefined ? [schema] : schemasAt(inner, rest)),
    ...within.flatMap((each) => schemasAt(each, name === undefined ? [] : [name, ...rest])),
  ];
}

/** Where the schema is of more than the member on the list. */
const ofMore = new Map([["/row/ai_policy_bits/action", "/row/ai_policy_bits"]]);

/** The proof of a shown price is a file, which no surface serves. */
const served = unsignedMembers.flatMap((each) => (each.answer === "shown_price" ? [] : [each]));

it.each(served)("$answer: the published schema says of $member what the list says", (each) => {
  const names = (ofMore.get(each.member) ?? each.member).slice(1).split("/");
  const found = schemasAt(published[each.answer], names).filter((schema) =>
    JSON.stringify(schema).includes(each.why),
  );
  expect(found.length).toBeGreaterThan(0);
});
