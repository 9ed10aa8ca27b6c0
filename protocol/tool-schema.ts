// A JSON Schema as the arguments of a tool are published. Clients of the Model Context Protocol pass it on to models whose
// APIs refuse a whole request for one keyword that they do not know, so only what all of them take is left; what a format or
// an empty schema said is judged when the tool is called.
//   S1. No `format` but `date-time`, no `enum` without `type`, and no empty schema as a member.

import { isObject } from "../std/json-pointer.ts";
import { malformed } from "./dsse.ts";
import { isHash, isRecordId, isTimestamp } from "./identifiers.ts";
import type { JsonObject, JsonValue } from "./json/canonical-json.ts";
import { ok, type Verdict } from "./result.ts";

/** Members whose members are schemas by name. */
const dictionaries = ["properties", "patternProperties", "$defs"];

/** The schema as it is published (S1). */
export function toolSchema(schema: JsonObject): JsonObject {
  const open = isOpenObject(schema) ? closedNowhere(schema) : schema;
  const members = Object.entries(open).flatMap(([name, member]): [string, JsonValue][] => {
    if (name === "format" && member !== "date-time") return [];
    return [[name, dictionaries.includes(name) && isObject(member) ? eachSchema(member) : shown(member)]];
  });
  const { enum: values, type } = schema;
  const isOfTexts = Array.isArray(values) && values.every((value) => typeof value === "string");
  return Object.fromEntries(isOfTexts && type === undefined ? [["type", "string"], ...members] : members);
}

function shown(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shown);
  return isObject(value) ? toolSchema(value as JsonObject) : value;
}

function eachSchema(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, shown(schema)]));
}

/** Whether any further member is allowed, by an empty schema. */
function isOpenObject({ patternProperties }: JsonObject): boolean {
  return isObject(patternProperties) && Object.values(patternProperties).some(isEmpty);
}

function isEmpty(schema: JsonValue | undefined): boolean {
  return isObject(schema) && Object.keys(schema).length === 0;
}

/** Without a word about further members, an object may have them. */
function closedNowhere({
  patternProperties,
  additionalProperties: _closed,
  ...rest
}: JsonObject): JsonObject {
  const others = Object.entries(patternProperties as JsonObject).filter(([, schema]) => !isEmpty(schema));
  return others.length === 0 ? rest : { ...rest, patternProperties: Object.fromEntries(others) };
}

// Source line: one line that says where a statement comes from and how anyone can check it (specification, «Fetched
// record»).

export interface SourceLine {
  readonly record_id: string;
  /** Hash of the exact record bytes. */
  readonly origin: string;
  readonly cert_id: string;
  readonly served_at: string;
  /** Public base URL of the verification surface, without trailing slash. */
  readonly verify_url: string;
}

const label = "svc-source/1";
const pattern = /^svc-source\/1 record=(\S+) origin=(\S+) cert=(\S+) served=(\S+) verify=(\S+)$/;

/** `svc-source/1 record=… origin=… cert=… served=… verify=…`, without a line feed. */
export function formatSourceLine(source: SourceLine): string {
  const { record_id: id, origin, cert_id: cert, served_at: served } = source;
  return `${label} record=${id} origin=${origin} cert=${cert} served=${served} verify=${verifyPageUrl(source)}`;
}

/** `{verify_url}/v1/verify/<record_id>` with a percent-encoded query. */
export function verifyPageUrl(source: SourceLine): string {
  const query = `origin=${encodeURIComponent(source.origin)}&cert=${encodeURIComponent(source.cert_id)}`;
  return `${source.verify_url}/v1/verify/${source.record_id}?${query}&served_at=${encodeURIComponent(source.served_at)}`;
}

/** Reads a source line; refuses with `payload_malformed` unless it is exactly the line that its own fields produce. */
export function parseSourceLine(line: string): Verdict<SourceLine> {
  const [, id = "", origin = "", cert = "", served = "", url = ""] = pattern.exec(line) ?? [];
  if (!isRecordId(id) || !isHash(origin) || !isHash(cert) || !isTimestamp(served)) {
    return malformed("Not a source line.", "");
  }
  const pathAt = url.indexOf("/v1/verify/");
  const source: SourceLine = {
    record_id: id,
    origin,
    cert_id: cert,
    served_at: served,
    verify_url: url.slice(0, pathAt),
  };
  const isConsistent = pathAt > 0 && formatSourceLine(source) === line;
  return isConsistent ? ok(source) : malformed("The verification address names something else.", "");
}
