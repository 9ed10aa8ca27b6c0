import { expect, it } from "vitest";
import { isObject } from "../std/json-pointer.ts";
import type { JsonValue } from "./json/canonical-json.ts";
import { type AnswerName, unsignedMembers } from "./unsigned-members.ts";
import { adItem, poolAnswer } from "./wire/ad-requests.ts";
import { catalogueRecord } from "./wire/catalogue.ts";
import { fetchedRecord, searchAnswer } from "./wire/retrieval.ts";

const published: Readonly<Record<AnswerName, JsonValue>> = {
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

it.each(unsignedMembers)("$answer: the published schema says of $member what the list says", (each) => {
  const names = (ofMore.get(each.member) ?? each.member).slice(1).split("/");
  const found = schemasAt(published[each.answer], names).filter((schema) =>
    JSON.stringify(schema).includes(each.why),
  );
  expect(found.length).toBeGreaterThan(0);
});
