// The one language for describing JSON documents: requests, answers and signed payloads. A shape judges a value, is
// published as JSON Schema (2020-12), and determines the TypeScript type of what it accepts.
//   S1. Objects are closed: unknown members, missing members and members of another kind are all refused, because a
//       signature over something that the reader ignores would say more than the reader believed.
//   S2. The published schema is never narrower than the judge. It may be wider where JSON Schema cannot express what is
//       checked: an instant that exists, a point on a curve, a rule between two members.

import { isObject, joinPointer } from "../std/json-pointer.ts";
import { noteWork } from "../std/work.ts";
import { isCountry, isHash, isKeyId, isTimestamp, isUuidV4 } from "./identifiers.ts";
import type { JsonObject, JsonValue } from "./json/canonical-json.ts";
import { parseStrictJson } from "./json/strict-json.ts";
import { type PublicJwk, parsePublicJwk } from "./keys/jwk.ts";

export interface ShapeFault {
  /** RFC 6901 pointer; empty for the whole value. */
  readonly pointer: string;
  readonly detail: string;
  /** The nearest existing name if a name was wrong; null when none is near. */
  readonly suggestion?: string | null;
  /** All valid names if one was wrong. */
  readonly allowed?: readonly string[];
}

/** Receives a fault and returns whether more are wanted. */
export type Tell = (fault: ShapeFault) => boolean;

export interface Shape<T> {
  readonly schema: JsonObject;
  /** Reports every fault until no more are wanted; returns whether to continue. The value is never copied or changed. */
  judge(value: JsonValue, pointer: string, tell: Tell): boolean;
  /** True when the member may be absent. */
  readonly absentAllowed?: boolean;
  /** Carries T for inference; never present at run time. */
  readonly of?: T;
}

export interface OptionalShape<T> extends Shape<T> {
  readonly absentAllowed: true;
}

/** The type of what a shape accepts. */
export type Of<S> = S extends Shape<infer T> ? T : never;

type Members = Readonly<Record<string, Shape<unknown>>>;
type OptionalNames<M> = {
  [K in keyof M]: M[K] extends { readonly absentAllowed: true } ? K : never;
}[keyof M];

export type ObjectOf<M> = { readonly [K in Exclude<keyof M, OptionalNames<M>>]: Of<M[K]> } & {
  readonly [K in OptionalNames<M>]?: Of<M[K]>;
};

/** The first fault of a value; null when there is none. */
export function firstFault(shape: Shape<unknown>, value: JsonValue, pointer = ""): ShapeFault | null {
  let first: ShapeFault | null = null;
  shape.judge(value, pointer, (fault) => {
    first = fault;
    return false;
  });
  return first;
}

/** The value with the type that its shape gives it, or its first fault. */
export function readShape<T>(shape: Shape<T>, value: JsonValue, pointer = ""): ShapeRead<T> {
  const fault = firstFault(shape, value, pointer);
  return fault === null ? { ok: true, value: value as T } : { ok: false, fault };
}

/** Strict JSON of a shape; null for anything else. */
export function parseShaped<T>(shape: Shape<T>, json: Uint8Array): T | null {
  const parsed = parseStrictJson(json);
  const read = parsed.ok ? readShape(shape, parsed.value) : null;
  return read?.ok === true ? read.value : null;
}

export type ShapeRead<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: ShapeFault };

/** All faults of a value, up to `max`. */
export function allFaults(shape: Shape<unknown>, value: JsonValue, max: number): readonly ShapeFault[] {
  const faults: ShapeFault[] = [];
  shape.judge(value, "", (fault) => faults.push(fault) < max);
  return faults;
}

/**
 * A JSON object with exactly these members, from which its type follows. `others` are additional members that may be
 * present, by the pattern of their names.
 */
export function object<M extends Members>(members: M, others: Members = {}): Shape<ObjectOf<M>> {
  const shapes = new Map(Object.entries(members));
  const known: KnownMembers = {
    shapes,
    names: [...shapes.keys()],
    others: Object.entries(others).map(([pattern, shape]) => ({ pattern: new RegExp(pattern), shape })),
  };
  return {
    schema: objectSchema(members, others),
    judge: (value, pointer, tell) => judgeObject(known, { value, pointer }, tell),
  };
}

/** An object with arbitrary names, whose values all have the same shape. */
export function dictionary<T>(item: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return {
    schema: { type: "object", additionalProperties: item.schema },
    judge: (value, pointer, tell) => {
      if (!isObject(value)) return tell({ pointer, detail: notAnObject(value) });
      return Object.keys(value).every((name) =>
        item.judge(value[name] as JsonValue, joinPointer(pointer, name), tell),
      );
    },
  };
}

/** A member that may be absent, and is a T when present. */
export function optional<T>(shape: Shape<T>): OptionalShape<T> {
  return { ...shape, absentAllowed: true };
}

/** A member that is always present, and null when there is no T. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return {
    schema: { anyOf: [shape.schema, { type: "null" }] },
    judge: (value, pointer, tell) => value === null || shape.judge(value, pointer, tell),
  };
}

/** One of several shapes; when none fits, the faults are those of the last. */
export function either<S extends readonly Shape<unknown>[]>(...shapes: S): Shape<Of<S[number]>> {
  return {
    schema: { anyOf: shapes.map(({ schema }) => schema) },
    judge: (value, pointer, tell) => {
      const fits = (shape: Shape<unknown>): boolean => shape.judge(value, pointer, () => false);
      return shapes.some(fits) || (shapes.at(-1)?.judge(value, pointer, tell) ?? true);
    },
  };
}

/** The shape with a rule between its members, which is judged once every member is right. */
export function ruled<T>(shape: Shape<T>, rule: (value: T) => ShapeFault | null): Shape<T> {
  return {
    ...shape,
    judge: (value, pointer, tell) => {
      let isWhole = true;
      const goesOn = shape.judge(value, pointer, (fault) => {
        isWhole = false;
        return tell(fault);
      });
      const fault = isWhole ? rule(value as T) : null;
      return goesOn && (fault === null || tell(fault));
    },
  };
}

/** The shape with a description of its use here; a named shape also keeps its general description. */
export function described<S extends Shape<unknown>>(shape: S, description: string): S {
  const { schema } = shape;
  const isNamed = schema["title"] !== undefined;
  return { ...shape, schema: isNamed ? { allOf: [schema], description } : { ...schema, description } };
}

/** The shape under its own name, by which documents refer to it. Names are unique. */
export function named<S extends Shape<unknown>>(title: string, shape: S): S {
  return { ...shape, schema: { title, ...shape.schema } };
}

/** An object under its own name: {@link object} and {@link named}. */
export function namedObject<M extends Members>(title: string, members: M): Shape<ObjectOf<M>> {
  return named(title, object(members));
}

/** Turns a lower_snake name into the name of a shape. */
export function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Exactly this value. */
export function literal<const T extends string | number | boolean>(expected: T): Shape<T> {
  return test((value) => value === expected, `Must be ${JSON.stringify(expected)}.`, {
    type: typeof expected,
    const: expected,
  });
}

/** One of these strings, compared by code units. */
export function oneOf<const T extends string>(values: readonly T[]): Shape<T> {
  const judge: Shape<T>["judge"] = (value, pointer, tell) => {
    if ((values as readonly JsonValue[]).includes(value)) return true;
    const detail = `Must be one of ${values.join(", ")}.`;
    const suggestion = typeof value === "string" ? nearestName(value, values) : null;
    return tell({ pointer, detail, ...(suggestion === null ? {} : { suggestion }) });
  };
  return { schema: { type: "string", enum: [...values] }, judge };
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** A safe integer within the bounds, both included. */
export function integer({ min, max }: Bounds): Shape<number> {
  return test(
    (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max,
    `Must be an integer from ${min} to ${max}.`,
    { type: "integer", minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) },
  );
}

/** Any number that JSON can express. */
export const number: Shape<number> = test((value) => typeof value === "number", "Must be a number.", {
  type: "number",
});

/** A string of 1 to `lengthMax` UTF-16 code units. */
export function text(lengthMax: number): Shape<string> {
  return test(
    (value) => typeof value === "string" && value.length >= 1 && value.length <= lengthMax,
    `Must be a string of 1 to ${lengthMax} characters.`,
    { type: "string", minLength: 1, maxLength: lengthMax },
  );
}

/** Any string, including the empty one. */
export const anyText: Shape<string> = test((value) => typeof value === "string", "Must be a string.", {
  type: "string",
});

/**
 * A string of a given form; `expected` completes «Must be …» in the refusal. If more is required than a pattern can express,
 * `accepts` decides and `published` describes as much as it can.
 */
export function matching(
  accepts: RegExp | ((text: string) => boolean),
  expected: string,
  published: JsonObject = {},
): Shape<string> {
  const isOfForm =
    accepts instanceof RegExp ? (value: string) => accepts.test(value) : (value: string) => accepts(value);
  const pattern = accepts instanceof RegExp ? { pattern: accepts.source } : {};
  return test((value) => typeof value === "string" && isOfForm(value), `Must be ${expected}.`, {
    type: "string",
    ...pattern,
    ...published,
  });
}

/** An array of `min` to `max` items, both included. */
export function list<T>(item: Shape<T>, { min, max }: Bounds): Shape<readonly T[]> {
  const detail =
    max === Number.MAX_SAFE_INTEGER ? "Must be a list." : `Must be a list of ${min} to ${max} items.`;
  return {
    schema: {
      type: "array",
      items: item.schema,
      ...(min === 0 ? {} : { minItems: min }),
      ...(max === Number.MAX_SAFE_INTEGER ? {} : { maxItems: max }),
    },
    judge: (value, pointer, tell) => {
      if (!Array.isArray(value) || value.length < min || value.length > max) return tell({ pointer, detail });
      return value.every((entry, index) => item.judge(entry, `${pointer}/${index}`, tell));
    },
  };
}

/** An array with any number of items. */
export function listOf<T>(item: Shape<T>): Shape<readonly T[]> {
  return list(item, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/** A list of distinct strings. */
export function distinct(item: Shape<string>, bounds: Bounds): Shape<readonly string[]> {
  const items = list(item, bounds);
  return {
    schema: { ...items.schema, uniqueItems: true },
    judge: (value, pointer, tell) => {
      const goesOn = items.judge(value, pointer, tell);
      if (!goesOn || !Array.isArray(value) || new Set(value).size === value.length) return goesOn;
      return tell({ pointer, detail: "Must not name anything twice." });
    },
  };
}

export const flag: Shape<boolean> = test((value) => typeof value === "boolean", "Must be true or false.", {
  type: "boolean",
});
export const timestamp = matching(isTimestamp, "a UTC timestamp with milliseconds and Z", {
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
});
export const hash = matching(isHash, "sha256: and 64 lowercase hexadecimal digits", {
  pattern: "^sha256:[0-9a-f]{64}$",
});
export const keyId = matching(isKeyId, "a JWK thumbprint", {
  pattern: "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$",
});
export const uuid = matching(isUuidV4, "a lowercase UUID version 4", {
  format: "uuid",
  pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
});
export const country = matching(isCountry, "an ISO 3166-1 alpha-2 code", { pattern: "^[A-Z]{2}$" });
export const region = matching(/^[a-z]+-[a-z]+[0-9]+$/, "a region such as eu-west1");
/** The version number of an AI policy or of terms; 0 while there is none. */
export const versionNumber = integer({ min: 0, max: 2_147_483_647 });
/** Always null: a placeholder for something that this version does not have. */
export const nothing: Shape<null> = test((value) => value === null, "Must be null.", { type: "null" });
/** Any JSON value, for members that another reader judges. */
export const anything: Shape<JsonValue> = { schema: {}, judge: () => true };
/** An object that another reader judges. */
export const anyObject: Shape<JsonObject> = {
  schema: { type: "object" },
  judge: (value, pointer, tell) => isObject(value) || tell({ pointer, detail: notAnObject(value) }),
};

/** Some clients of tools write an object as a text, and repeat that until they are told. */
export function notAnObject(value: unknown): string {
  const isText = typeof value === "string" && value.trimStart().startsWith("{");
  return isText
    ? "Must be an object: send the object itself, not a text that contains it."
    : "Must be an object.";
}

const coordinate: JsonObject = { type: "string", pattern: "^[A-Za-z0-9_-]+$" };

export const publicJwk: Shape<PublicJwk> = {
  schema: {
    title: "PublicJwk",
    type: "object",
    description: "JWK of an Ed25519 (OKP), P-256 (EC) or ML-DSA-65 (AKP) key; nothing private.",
    properties: {
      kty: { type: "string", enum: ["OKP", "EC", "AKP"] },
      crv: { type: "string", enum: ["Ed25519", "P-256"] },
      x: coordinate,
      y: coordinate,
      pub: coordinate,
      alg: { type: "string" },
      kid: { type: "string" },
      use: { type: "string", enum: ["sig"] },
      key_ops: { type: "array", items: { type: "string" } },
      ext: {},
    },
    required: ["kty"],
    additionalProperties: false,
  },
  judge: (value, pointer, tell) => {
    const parsed = parsePublicJwk(value);
    return parsed.ok || tell({ pointer: `${pointer}${parsed.pointer ?? ""}`, detail: parsed.detail });
  },
};

function objectSchema(members: Members, others: Members): JsonObject {
  const names = Object.keys(members);
  const required = names.filter((name) => members[name]?.absentAllowed !== true);
  return {
    type: "object",
    properties: schemasOf(members),
    ...(Object.keys(others).length === 0 ? {} : { patternProperties: schemasOf(others) }),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function schemasOf(members: Members): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema]));
}

interface KnownMembers {
  readonly shapes: ReadonlyMap<string, Shape<unknown>>;
  readonly names: readonly string[];
  readonly others: readonly { readonly pattern: RegExp; readonly shape: Shape<unknown> }[];
}

function judgeObject(
  { shapes, names, others }: KnownMembers,
  { value, pointer }: { readonly value: JsonValue; readonly pointer: string },
  tell: Tell,
): boolean {
  if (!isObject(value)) return tell({ pointer, detail: notAnObject(value) });
  for (const name of Object.keys(value)) {
    if (shapes.has(name)) continue;
    const other = others.find(({ pattern }) => pattern.test(name))?.shape;
    const goesOn =
      other?.judge(value[name] as JsonValue, `${pointer}/${name}`, tell) ??
      tell(unknownMember(pointer, name, names));
    if (!goesOn) return false;
  }
  for (const [name, shape] of shapes) {
    const at = `${pointer}/${name}`;
    if (Object.hasOwn(value, name)) {
      if (!shape.judge(value[name] as JsonValue, at, tell)) return false;
    } else if (shape.absentAllowed !== true && !tell({ pointer: at, detail: `${name} is required.` })) {
      return false;
    }
  }
  return true;
}

function unknownMember(pointer: string, name: string, names: readonly string[]): ShapeFault {
  return {
    pointer: joinPointer(pointer, name),
    detail: `The member ${JSON.stringify(name.slice(0, 64))} does not exist here.`,
    suggestion: nearestName(name, names),
    allowed: names,
  };
}

function test<T>(accepts: (value: JsonValue) => boolean, detail: string, schema: JsonObject): Shape<T> {
  return { schema, judge: (value, pointer, tell) => accepts(value) || tell({ pointer, detail }) };
}

/**
 * The candidate nearest to an unknown name, by optimal string alignment distance; null when none is near enough to be meant.
 */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  const wanted = name.slice(0, 64).toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * The number of insertions, deletions, substitutions and swaps of neighbours between two texts; `bound` when it is at least
 * that.
 */
function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) >= bound) return bound;
  noteWork("comparison", (a.length + 1) * (b.length + 1));
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(distance);
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(last[b.length] ?? bound, bound);
}
