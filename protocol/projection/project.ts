// The interpreter of projection specifications. The service builds rows with it and the verifier rebuilds them; both apply
// the same few rules to a record.

import type { JsonObject, JsonValue } from "../canonical-json.ts";
import type { CollectionName } from "../identifiers.ts";
import { isDecimal } from "../identifiers.ts";
import type { FactName, ProjectionRule, ProjectionSpecification } from "./specification.ts";
import { currentProjection } from "./specifications.ts";

export interface ProjectionInput {
  /** The record, parsed from its exact bytes. */
  readonly record: JsonObject;
  readonly recordId: string;
  readonly businessUuid: string;
  /** `sha256:<hex>` of the exact record bytes. */
  readonly hash: string;
  /** The `cert_id` that the record was sealed under. */
  readonly certId: string;
  /** key_id of the projection key that will sign the row. */
  readonly keyId: string;
  /** Unix seconds. */
  readonly publishedAt: number;
  readonly aiPolicyVersion: number;
  /** The envelope of the seal over the record, for the projections that show it. */
  readonly seal?: JsonValue;
}

/**
 * A row without its signature and serve-time members: exactly what the row signature covers. Its members are in canonical
 * order at every depth, so that {@link projectedRowText} need not sort them.
 */
export type ProjectedRow = JsonObject;

type Row = Record<string, JsonValue>;
type Step = (row: Row, input: ProjectionInput) => void;

const compiled = new WeakMap<ProjectionSpecification, readonly Step[]>();

/** Projects a record by the specification currently in force for its collection. */
export function projectRecord(
  input: ProjectionInput & { readonly collection: CollectionName },
): ProjectedRow {
  return project(currentProjection(input.collection), input);
}

/** Projects an ad by the specification currently in force. */
export function projectAd(input: ProjectionInput & { readonly seal: JsonValue }): ProjectedRow {
  return project(currentProjection("ads"), input);
}

/**
 * Runs a specification. A member is left out when its source is absent or is not of the kind that the rule converts; in a
 * record that passed `parseRecord`, only optional sources can be.
 */
export function project(specification: ProjectionSpecification, input: ProjectionInput): ProjectedRow {
  const row: Row = {};
  for (const step of stepsOf(specification)) step(row, input);
  return row;
}

/** The RFC 8785 text of a projected row: the same as `rowSigningText` returns, but faster. */
export function projectedRowText(row: ProjectedRow): string {
  // For members in canonical order and well-formed strings, JSON.stringify writes what RFC 8785 §3.2 prescribes.
  return JSON.stringify(row);
}

function stepsOf(specification: ProjectionSpecification): readonly Step[] {
  const known = compiled.get(specification);
  if (known !== undefined) return known;
  const inOrder = specification.rules.toSorted((a, b) => (a.member < b.member ? -1 : 1));
  const steps = inOrder.map((rule) => stepOf(rule, specification));
  compiled.set(specification, steps);
  return steps;
}

function stepOf(rule: ProjectionRule, specification: ProjectionSpecification): Step {
  if (rule.rule === "by_country") return byCountryStep(rule);
  const value = sourceOf(rule, specification);
  const { member } = rule;
  return (row, input) => {
    const found = value(input);
    if (found !== undefined) row[member] = found;
  };
}

type Single = Exclude<ProjectionRule, { readonly rule: "by_country" }>;

function sourceOf(
  rule: Single,
  specification: ProjectionSpecification,
): (input: ProjectionInput) => JsonValue | undefined {
  switch (rule.rule) {
    case "fact":
      return factOf(rule.member, specification);
    case "seal":
      return ({ seal }) => ordered(seal);
    case "constant":
      return () => rule.value;
    case "copy_each": {
      const [read, readEach] = [reader(rule.from), reader(rule.each)];
      return ({ record }) => eachOf(read(record), readEach);
    }
    case "copy": {
      const read = reader(rule.from);
      return ({ record }) => ordered(read(record));
    }
    case "number": {
      const read = reader(rule.from);
      return ({ record }) => numberOf(read(record));
    }
    case "is_present": {
      const read = reader(rule.from);
      return ({ record }) => read(record) !== undefined;
    }
    case "is_not_empty": {
      const read = reader(rule.from);
      return ({ record }) => {
        const items = read(record);
        return Array.isArray(items) && items.length > 0;
      };
    }
  }
}

function factOf(
  name: FactName,
  { version, record_type: type }: ProjectionSpecification,
): (input: ProjectionInput) => JsonValue {
  const facts: Readonly<Record<FactName, (input: ProjectionInput) => JsonValue>> = {
    record_id: ({ recordId }) => recordId,
    business_uuid: ({ businessUuid }) => businessUuid,
    type: () => type,
    published_at: ({ publishedAt }) => publishedAt,
    adl_origin: ({ hash }) => hash,
    adl_origin_cert: ({ certId }) => certId,
    adl_proj: () => version,
    adl_key_id: ({ keyId }) => keyId,
    ai_policy_version: ({ aiPolicyVersion }) => aiPolicyVersion,
  };
  return facts[name];
}

function byCountryStep(rule: Extract<ProjectionRule, { readonly rule: "by_country" }>): Step {
  const [read, readCountry, readEach] = [reader(rule.from), reader(rule.country), reader(rule.each)];
  const stem = rule.member.slice(0, -"<CC>".length);
  return (row, { record }) => {
    const [items, published] = [read(record), record["countries"]];
    if (!Array.isArray(items) || !Array.isArray(published)) return;
    const found: (readonly [country: string, value: JsonValue])[] = [];
    for (const item of items as readonly JsonValue[]) {
      const country = readCountry(item);
      const value = rule.as === "number" ? numberOf(readEach(item)) : readEach(item);
      if (typeof country === "string" && value !== undefined && published.includes(country))
        found.push([country, value]);
    }
    if (found.length > 1) found.sort((a, b) => (a[0] < b[0] ? -1 : 1));
    for (const [country, value] of found) row[stem + country] = value;
  };
}

/** Returns the value with the members of its objects in canonical order. */
function ordered(value: JsonValue): JsonValue;
function ordered(value: JsonValue | undefined): JsonValue | undefined;
function ordered(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    return items.some((item) => typeof item === "object") ? items.map((item) => ordered(item)) : items;
  }
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, ordered((value as JsonObject)[name] as JsonValue)]));
}

/** The distinct values in order, compared by their JSON text. */
function eachOf(items: JsonValue | undefined, read: Reader): JsonValue | undefined {
  if (!Array.isArray(items)) return undefined;
  const values = new Map<string, JsonValue>();
  for (const item of items as readonly JsonValue[]) {
    const value = read(item);
    if (value === undefined) continue;
    const inOrder = ordered(value);
    const key = JSON.stringify(inOrder);
    if (!values.has(key)) values.set(key, inOrder);
  }
  return [...values.values()];
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "string" && isDecimal(value) ? Number(value) : undefined;
}

type Reader = (value: JsonValue) => JsonValue | undefined;

/** Returns a reader that follows an RFC 6901 pointer through objects; it yields undefined where nothing is found. */
function reader(pointer: string): Reader {
  const path = pointer.split("/").slice(1);
  const [only] = path;
  if (only !== undefined && path.length === 1) return (value) => memberOf(value, only);
  return (value) => {
    let found: JsonValue | undefined = value;
    for (const name of path) found = found === undefined ? undefined : memberOf(found, name);
    return found;
  };
}

function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as JsonObject)[name];
}
