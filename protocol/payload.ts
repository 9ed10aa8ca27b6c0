// Closed shapes: how the payload of every signed document is read. A shape knows every member; a member it does
// not know, one it misses and one of another kind are all refused, for a signature over something that the
// reader ignores would say more than the reader believed.

import { isObject } from "../std/is-object.ts";
import { joinPointer } from "../std/json-pointer.ts";
import { canonicalize, type JsonValue } from "./canonical-json.ts";
import { isCountry, isHash, isKeyId, isTimestamp, isUuidV4 } from "./identifiers.ts";
import { type PublicJwk, parsePublicJwk } from "./jwk.ts";
import { ok, type Refusal, refuse, type Verdict } from "./result.ts";
import { parseStrictJson } from "./strict-json.ts";

export type Fault = Refusal<"payload_malformed">;

/** Checks that a JSON value is a T; the value itself is never copied or changed. */
export interface Shape<T> {
  check(value: JsonValue, pointer: string): Fault | null;
  /** True when the member may be absent. */
  readonly absentAllowed?: boolean;
  /** Carries T for inference; never present at run time. */
  readonly of?: T;
}

export type Shapes<T> = { readonly [K in keyof T]-?: Shape<Exclude<T[K], undefined>> };

/** A JSON object with exactly these members. */
export function closed<T extends object>(members: Shapes<T>): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(members));
  return { check: (value, pointer) => checkClosed(shapes, value, pointer) };
}

/** A member that may be absent, and is a T when it is there. */
export function optional<T>(shape: Shape<T>): Shape<T> {
  return { ...shape, absentAllowed: true };
}

/** A member that is always there, and null where there is no T. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { check: (value, pointer) => (value === null ? null : shape.check(value, pointer)) };
}

/** This one value and no other. */
export function literal<T extends string | number | boolean>(expected: T): Shape<T> {
  return test((value) => value === expected, `Must be ${JSON.stringify(expected)}.`);
}

/** One of these strings, compared by code units. */
export function oneOf<T extends string>(values: readonly T[]): Shape<T> {
  return test(
    (value) => (values as readonly JsonValue[]).includes(value),
    `Must be one of ${values.join(", ")}.`,
  );
}

/** A safe integer within both bounds, included. */
export function integer(bounds: { readonly min: number; readonly max: number }): Shape<number> {
  const within = (value: JsonValue) =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= bounds.min && value <= bounds.max;
  return test(within, `Must be an integer from ${bounds.min} to ${bounds.max}.`);
}

/** A string of 1 to `lengthMax` UTF-16 code units. */
export function text(lengthMax: number): Shape<string> {
  const within = (value: JsonValue) =>
    typeof value === "string" && value.length >= 1 && value.length <= lengthMax;
  return test(within, `Must be a string of 1 to ${lengthMax} characters.`);
}

/** A string that `accepts` takes; `expected` completes «Must be …» in the refusal. */
export function matching(accepts: (text: string) => boolean, expected: string): Shape<string> {
  return test((value) => typeof value === "string" && accepts(value), `Must be ${expected}.`);
}

/** An array of `min` to `max` items, both included; the first bad item is the one refused. */
export function list<T>(
  item: Shape<T>,
  bounds: { readonly min: number; readonly max: number },
): Shape<readonly T[]> {
  return { check: (value, pointer) => checkList(item, bounds, value, pointer) };
}

/** A list of strings in which none occurs twice. */
export function distinct(
  item: Shape<string>,
  bounds: { readonly min: number; readonly max: number },
): Shape<readonly string[]> {
  const items = list(item, bounds);
  return {
    check: (value, pointer) => {
      const fault = items.check(value, pointer);
      if (fault !== null || !Array.isArray(value)) return fault;
      return new Set(value).size === value.length
        ? null
        : malformed("Must not name anything twice.", pointer);
    },
  };
}

export const flag: Shape<boolean> = test((value) => typeof value === "boolean", "Must be true or false.");
export const timestamp = matching(isTimestamp, "a UTC timestamp with milliseconds and Z");
export const hash = matching(isHash, "sha256: and 64 lowercase hexadecimal digits");
export const keyId = matching(isKeyId, "a JWK thumbprint");
export const uuid = matching(isUuidV4, "a lowercase UUID version 4");
export const country = matching(isCountry, "an ISO 3166-1 alpha-2 code");
export const region = matching((value) => /^[a-z]+-[a-z]+[0-9]+$/.test(value), "a region such as eu-west1");
/** Any JSON value: for members that another reader judges. */
export const anything: Shape<JsonValue> = { check: () => null };

export const publicJwk: Shape<PublicJwk> = {
  check: (value, pointer) => {
    const parsed = parsePublicJwk(value);
    return parsed.ok ? null : malformed(parsed.detail, pointer);
  },
};

/** Refusal with the RFC 6901 pointer of the offending place; an empty pointer is the whole payload. */
export function malformed(detail: string, pointer: string): Fault {
  return refuse("payload_malformed", detail, pointer);
}

export interface PayloadFormat<T> {
  /** Value of `v` under the expected payload type. */
  readonly version: number;
  /** Every format of this kind that exists: one of them under another format's payload type is malformed. */
  readonly versions: readonly number[];
  readonly shape: Shape<T>;
}

/**
 * Reads the payload of a signed document: strict JSON in RFC 8785 form, of this version, with exactly its members.
 * A `v` that no format of the kind has is `version_unknown`; everything else that is wrong is `payload_malformed`
 * (specification, «Seals» and «Envelope»).
 */
export function parsePayload<T>(bytes: Uint8Array, format: PayloadFormat<T>): Verdict<T> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const value = parsed.value;
  const version = checkVersion(value["v"], format);
  if (version !== null) return version;
  const fault = format.shape.check(value, "");
  if (fault !== null) return fault;
  if (!isCanonical(value, bytes)) return malformed("The payload is not in RFC 8785 canonical form.", "");
  return ok(value as T);
}

/** Strict JSON whose outermost value is an object; any other bytes are `payload_malformed`. */
export function parseObject(bytes: Uint8Array): Verdict<{ readonly [name: string]: JsonValue }> {
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) return malformed(parsed.detail, parsed.pointer ?? "");
  if (!isObject(parsed.value)) return malformed("Must be a JSON object.", "");
  return ok(parsed.value);
}

function checkVersion(
  v: JsonValue | undefined,
  format: PayloadFormat<unknown>,
): Refusal<"payload_malformed" | "version_unknown"> | null {
  if (v === format.version) return null;
  if (typeof v !== "number" || !Number.isSafeInteger(v))
    return malformed("The payload must name its version.", "/v");
  if (format.versions.includes(v))
    return malformed(`A payload of version ${v} under the type of version ${format.version}.`, "/v");
  return refuse("version_unknown", `Version ${v} of this document is not known.`, "/v");
}

function isCanonical(value: JsonValue, bytes: Uint8Array): boolean {
  return canonicalize(value) === new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function checkClosed(
  shapes: ReadonlyMap<string, Shape<unknown>>,
  value: JsonValue,
  pointer: string,
): Fault | null {
  if (!isObject(value)) return malformed("Must be an object.", pointer);
  for (const name of Object.keys(value)) {
    if (!shapes.has(name))
      return malformed("The format does not define this member.", joinPointer(pointer, name));
  }
  for (const [name, shape] of shapes) {
    if (!Object.hasOwn(value, name)) {
      if (shape.absentAllowed === true) continue;
      return malformed("The format requires this member.", `${pointer}/${name}`);
    }
    const fault = shape.check(value[name] as JsonValue, `${pointer}/${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

function checkList(
  item: Shape<unknown>,
  bounds: { readonly min: number; readonly max: number },
  value: JsonValue,
  pointer: string,
): Fault | null {
  if (!Array.isArray(value) || value.length < bounds.min || value.length > bounds.max) {
    return malformed(`Must be a list of ${bounds.min} to ${bounds.max} items.`, pointer);
  }
  for (const [index, entry] of value.entries()) {
    const fault = item.check(entry, `${pointer}/${index}`);
    if (fault !== null) return fault;
  }
  return null;
}

function test<T>(accepts: (value: JsonValue) => boolean, detail: string): Shape<T> {
  return { check: (value, pointer) => (accepts(value) ? null : malformed(detail, pointer)) };
}
