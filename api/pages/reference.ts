// The reference of a surface, as Markdown made of its OpenAPI document, which its routes are served by.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { isObject } from "../../std/json-pointer.ts";

/** One operation of a surface. */
export interface Reference {
  /** Its `operationId`. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** The method and the path. */
  readonly name: string;
  readonly markdown: string;
  /** The JSON Schema (2020-12) of the request's body; null if it has none. */
  readonly schema: JsonObject | null;
}

/** Every operation that an OpenAPI document describes, in its order; `base` is where their schemas are served. */
export function readReference(document: JsonObject, base: string): readonly Reference[] {
  const surface = textAt(document, "info", "title");
  return Object.entries(objectAt(document, "paths")).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, JsonObject>>).map(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const id = textAt(operation, "operationId");
      const media = mediaOf(operation["requestBody"]);
      const schema = media === null ? null : wholeSchema(document, { title: name, ...media.schema });
      const summary = textAt(operation, "summary");
      const parts = [
        `# ${name}`,
        `${summary}. ${textAt(operation, "description")}`,
        `${surface}. ${signatureWords(operation)}`,
        ...parameterLines(operation),
        ...(media === null
          ? []
          : [
              "## Request",
              `\`${media.type}\`${schema === null ? "" : ` ([JSON Schema](${base}/${id}.json))`}`,
              memberTable(document, media.schema),
              exampleOf(media),
            ]),
        ...answerParts(document, operation),
      ];
      const tag = (operation["tags"] as readonly string[] | undefined)?.[0] ?? surface;
      const markdown = `${parts.filter((each) => each !== "").join("\n\n")}\n`;
      return { id, tag, summary, name, markdown, schema };
    }),
  );
}

function signatureWords(operation: JsonObject): string {
  const tags = operation["x-signature-tags"] as readonly string[] | undefined;
  if (tags !== undefined) return `Signed, with the tag ${tags.map((each) => `\`${each}\``).join(" or ")}.`;
  const security = (operation["security"] ?? []) as readonly JsonObject[];
  if (security.length === 0) return "Nothing is signed.";
  return `With ${security.map((each) => `\`${Object.keys(each).join(" ")}\``).join(" or ")}.`;
}

function parameterLines({ parameters }: JsonObject): readonly string[] {
  const rows = ((parameters ?? []) as readonly JsonObject[]).map((each) => [
    `\`${textAt(each, "name")}\``,
    textAt(each, "in"),
    each["required"] === true ? "yes" : "",
    textAt(each, "description"),
  ]);
  return rows.length === 0 ? [] : ["## Parameters", table(["Name", "In", "Required", "Meaning"], rows)];
}

function answerParts(document: JsonObject, operation: JsonObject): readonly string[] {
  const responses = Object.entries(objectAt(operation, "responses")) as readonly [string, JsonObject][];
  const problems: string[] = [];
  const parts = responses.flatMap(([status, response]) => {
    const codes = problemCodesOf(response);
    const found = codes.map((code) => `[\`${code}\`](/docs/problems/${code})`);
    if (codes.length > 0) problems.push(`- ${status}: ${found.join(", ")}`);
    const media = mediaOf(response);
    if (media === null && codes.length > 0) return [];
    return [
      `## Answer ${status}`,
      textAt(response, "description"),
      media === null ? "" : memberTable(document, media.schema),
      media === null ? "" : exampleOf(media),
    ];
  });
  return [...parts, "## Refusals", problems.join("\n")];
}

function problemCodesOf(response: JsonObject): readonly string[] {
  const media = objectAt(response, "content", "application/problem+json", "schema", "properties", "code");
  return (media["enum"] ?? []) as readonly string[];
}

interface Media {
  readonly type: string;
  readonly schema: JsonObject;
  readonly example: JsonValue | undefined;
}

/** The first media type of a body that is no problem; null for a body that is not there. */
function mediaOf(body: JsonValue | undefined): Media | null {
  if (!isObject(body)) return null;
  const content = Object.entries(objectAt(body, "content")).find(([type]) => !type.includes("problem"));
  if (content === undefined) return null;
  const [type, { schema, example }] = content as [string, JsonObject];
  return { type, schema: isObject(schema) ? schema : {}, example };
}

function exampleOf({ example }: Media): string {
  if (example === undefined) return "";
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return `For example:\n\n${text.replaceAll(/^/gm, "    ")}`;
}

// The members of a body, one a line.

/** The most members that a table shows, and how deep it looks: the schema has all. */
const membersMax = 80;
const depthMax = 4;

function memberTable(document: JsonObject, schema: JsonObject): string {
  const rows: string[][] = [];
  const shown = new Set<string>();
  const add = (found: JsonObject, prefix: string, depth: number): void => {
    const {
      properties,
      items,
      required = [],
      allOf = [],
      oneOf = [],
      anyOf = [],
    } = resolved(document, found);
    for (const each of [allOf, oneOf, anyOf].flat() as readonly JsonObject[]) add(each, prefix, depth);
    if (isObject(items)) add(items, `${prefix}[]`, depth);
    if (!isObject(properties) || depth > depthMax) return;
    for (const [name, member] of Object.entries(properties)) {
      const path = prefix === "" ? name : `${prefix}.${name}`;
      // Of alternatives with the same member, the first is shown.
      if (rows.length >= membersMax || !isObject(member) || shown.has(path)) continue;
      shown.add(path);
      const whole = { ...resolved(document, member), ...member };
      const isRequired = (required as readonly string[]).includes(name);
      rows.push([
        `\`${path}\``,
        typeOf(document, member),
        isRequired ? "yes" : "",
        textAt(whole, "description"),
      ]);
      add(member, path, depth + 1);
    }
  };
  add(schema, "", 1);
  return rows.length === 0 ? "" : table(["Member", "Type", "Required", "Meaning"], rows);
}

function typeOf(document: JsonObject, schema: JsonObject): string {
  const found = resolved(document, schema);
  const { type, const: constant, enum: values, items } = found;
  const choices = (found["oneOf"] ?? found["anyOf"]) as readonly JsonObject[] | undefined;
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``;
  if (Array.isArray(values) && values.length <= 12)
    return values.map((each) => `\`${JSON.stringify(each)}\``).join(" ");
  if (isObject(items)) return `list of ${typeOf(document, items)}`;
  if (choices !== undefined && choices.length <= 4)
    return [...new Set(choices.map((each) => typeOf(document, each)))].join(" or ");
  return Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "any";
}

function resolved(document: JsonObject, schema: JsonObject): JsonObject {
  const { $ref: reference } = schema;
  return typeof reference === "string" ? namedSchema(document, reference) : schema;
}

function namedSchema(document: JsonObject, reference: string): JsonObject {
  return objectAt(document, "components", "schemas", reference.slice(componentsBase.length));
}

const componentsBase = "#/components/schemas/";

/** The schema with the definitions that it refers to, so that it is whole by itself. */
function wholeSchema(document: JsonObject, schema: JsonObject): JsonObject {
  const definitions: Record<string, JsonValue> = {};
  const own = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(own);
    if (!isObject(value)) return value;
    const { $ref: reference } = value;
    if (typeof reference !== "string")
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, own(each)]));
    const name = reference.slice(componentsBase.length);
    if (definitions[name] === undefined) {
      // It may refer to itself.
      definitions[name] = true;
      definitions[name] = own(namedSchema(document, reference));
    }
    return { ...value, $ref: `#/$defs/${name}` };
  };
  const whole = own(schema) as JsonObject;
  const defs = Object.keys(definitions).length === 0 ? {} : { $defs: definitions };
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...whole, ...defs };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((each) => each.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function objectAt(value: JsonObject, ...names: readonly string[]): JsonObject {
  let found: JsonValue | undefined = value;
  for (const name of names) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : {};
}

function textAt(value: JsonObject, ...names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  const found = objectAt(value, ...names.slice(0, -1))[last];
  return typeof found === "string" ? found : "";
}
