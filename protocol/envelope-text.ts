// The envelope specification as a text for people, in Markdown.

import { isObject } from "../std/is-object.ts";
import type { JsonObject, JsonValue } from "./canonical-json.ts";
import { envelopeSpecification } from "./envelope-specification.ts";
import { payloadSchemaDocument } from "./payload-kinds.ts";
import { country, hash, keyId, publicJwk, region, timestamp, uuid } from "./shape.ts";
import { pushId, recordId } from "./wire/push.ts";

/** The specification with a table of the members of each payload. */
export function envelopeSpecificationText(): string {
  const { v, title, sections, examples, payloads, records } = envelopeSpecification();
  const { pre_authentication_encoding: encoding, key_id: example } = examples;
  return [
    `# ${title}`,
    `Version ${v}. The service also answers this as JSON, with JSON Schemas, at \`GET /v1/envelope-specification\`.`,
    ...sections.flatMap((section) => [`## ${section.title}`, bullets(section.rules)]),
    "## Examples",
    bullets([
      `The payload \`${encoding.payload}\` (base64) under the type \`${encoding.payload_type}\` is signed as the bytes \`${encoding.encoding}\` (base64).`,
      `The key \`${JSON.stringify(example.public_key)}\` has the id \`${example.key_id}\`.`,
    ]),
    "## Payloads",
    "A format that is verified only is no longer issued.",
    ...payloads.flatMap((each) => [
      `### ${each.kind} v${each.version}${each.standing === "verified" ? " (verified only)" : ""}`,
      each.says,
      bullets([
        `Payload type: \`${each.payload_type}\``,
        `Signed by: ${each.signed_by}${each.signatures === "pair" ? " (a pair)" : ""}`,
        `JSON Schema: \`GET ${each.schema}\``,
        ...each.rules,
      ]),
      memberTable(payloadSchemaDocument(each.kind, String(each.version)) ?? {}),
    ]),
    "## Schemas of what is sealed",
    bullets(records.map(({ schema, path }) => `\`${schema}\`: \`GET ${path}\``)),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

function memberTable(schema: JsonObject): string {
  return ["| Member | Value |", "|---|---|", ...memberRows(schema, "")].join("\n");
}

/** A row for each member of an object, and then for those of the objects in it. */
function memberRows(schema: JsonObject, prefix: string): readonly string[] {
  const { properties, required } = schema;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, member]) => {
    const words = (isRequired(name) ? "" : "may be absent; ") + inWords(member);
    const row = `| \`${prefix}${name}\` | ${words.replaceAll("|", "\\|")} |`;
    const inner = innerObject(member);
    return inner === null ? [row] : [row, ...memberRows(inner.schema, `${prefix}${name}${inner.path}`)];
  });
}

/** The object whose members are explained one by one: the value itself, one that may be null, or the items of a list. */
function innerObject(
  value: JsonValue | undefined,
): { readonly schema: JsonObject; readonly path: string } | null {
  if (!isObject(value) || wellKnownWords(value) !== null) return null;
  const { anyOf, items, properties } = value;
  if (isObject(properties)) return { schema: value, path: "." };
  const alternatives = Array.isArray(anyOf) ? anyOf.filter((each) => Object(each).type !== "null") : [];
  const inner = innerObject(alternatives.length === 1 ? alternatives[0] : items);
  return inner === null || alternatives.length === 1 ? inner : { ...inner, path: `[]${inner.path}` };
}

const wellKnown: readonly (readonly [JsonObject, string])[] = [
  [hash.schema, "hash"],
  [keyId.schema, "key id"],
  [timestamp.schema, "timestamp"],
  [uuid.schema, "UUID"],
  [country.schema, "country"],
  [region.schema, "region"],
  [recordId.schema, "record id"],
  [pushId.schema, "push id"],
  [publicJwk.schema, "public JWK"],
];

/** What the texts and documents that occur everywhere are called; null for any other. */
function wellKnownWords({ description: _, ...schema }: JsonObject): string | null {
  if (schema["title"] === "Envelope") return "envelope";
  const same = ({ description: _description, ...known }: JsonObject): boolean =>
    JSON.stringify(known) === JSON.stringify(schema);
  return wellKnown.find(([known]) => same(known))?.[1] ?? null;
}

/** The schema of a member in a few words, and what is said of it. */
function inWords(value: JsonValue | undefined): string {
  return [bareWords(value), ...notesOn(value)].join(". ");
}

/** A named shape describes itself in general; only what is said of this member belongs into its line. */
function notesOn(value: JsonValue | undefined): readonly string[] {
  if (!isObject(value)) return [];
  const { title, description, anyOf } = value;
  const own = typeof description === "string" && title === undefined ? [description.replace(/\.$/, "")] : [];
  return [...own, ...(Array.isArray(anyOf) ? anyOf.flatMap(notesOn) : [])];
}

function bareWords(value: JsonValue | undefined): string {
  if (!isObject(value)) return "any value";
  const { anyOf, const: only, enum: values, type, pattern, items, properties, allOf } = value;
  const known = wellKnownWords(value);
  if (known !== null) return known;
  if (Array.isArray(allOf)) return bareWords(allOf[0]);
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (Array.isArray(values)) return values.map((each) => `\`${each}\``).join(", ");
  if (Array.isArray(anyOf)) return anyOf.map(bareWords).join(", or ");
  if (type === "array")
    return `list${bounds(value, "minItems", "maxItems", " items")} of: ${bareWords(items)}${value["uniqueItems"] === true ? ", none twice" : ""}`;
  if (type === "object" && isObject(properties)) return `\`{${Object.keys(properties).join(", ")}}\``;
  if (type === "object") {
    const { additionalProperties: others } = value;
    return isObject(others) ? `object of: ${bareWords(others)}` : "object";
  }
  if (type === "string" && typeof pattern === "string") return `text, \`${pattern}\``;
  if (type === "string") return `text${bounds(value, "minLength", "maxLength", " characters")}`;
  if (type === "integer") return `integer${bounds(value, "minimum", "maximum", "")}`;
  return type === undefined ? "any value" : String(type);
}

/** `, 1 to 256 characters`, `, at least 1` or nothing. */
function bounds(schema: JsonObject, least: string, most: string, unit: string): string {
  const [min, max] = [schema[least], schema[most]];
  if (max !== undefined) return min === max ? `, ${max}${unit}` : `, ${min ?? 0} to ${max}${unit}`;
  return min === undefined ? "" : `, at least ${min}${unit}`;
}
