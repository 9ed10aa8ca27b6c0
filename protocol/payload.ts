// How the payload of every signed document is read: strict JSON in canonical form, of a known version and of a closed shape.

import { isObject } from "../std/is-object.ts";
import { canonicalize, type JsonObject, type JsonValue } from "./canonical-json.ts";
import { ok, type Refusal, refuse, type Verdict } from "./result.ts";
import { readShape, type Shape } from "./shape.ts";
import { parseStrictJson } from "./strict-json.ts";

export type Fault = Refusal<"payload_malformed">;

/** Builds a refusal with the RFC 6901 pointer to the offending place; an empty pointer means the whole payload. */
export function malformed(detail: string, pointer: string): Fault {
  return refuse("payload_malformed", detail, pointer);
}

/** A value at `pointer` in a signed document with the type that its shape gives it; its first fault is `payload_malformed`. */
export function readPayload<T>(shape: Shape<T>, value: JsonValue, pointer = ""): Verdict<T> {
  const read = readShape(shape, value, pointer);
  return read.ok ? read : malformed(read.fault.detail, read.fault.pointer);
}

export interface PayloadFormat<T> {
  /** The value of `v` under the expected payload type. */
  readonly version: number;
  /** Every existing format of this kind; a payload of one format under another format's payload type is malformed. */
  readonly versions: readonly number[];
  readonly shape: Shape<T>;
}

/**
 * Reads the payload of a signed document: strict JSON in RFC 8785 form, of this version, with exactly its members. A `v`
 * that belongs to no format of this kind is `version_unknown`; any other fault is `payload_malformed` (specification,
 * «Seals» and «Envelope»).
 */
export function parsePayload<T>(bytes: Uint8Array, format: PayloadFormat<T>): Verdict<T> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const value = parsed.value;
  const version = checkVersion(value["v"], format);
  if (version !== null) return version;
  const read = readPayload(format.shape, value);
  if (read.ok && !isCanonical(value, bytes))
    return malformed("The payload is not in RFC 8785 canonical form.", "");
  return read;
}

/** Reads strict JSON whose outermost value is an object; any other bytes are `payload_malformed`. */
export function parseObject(bytes: Uint8Array): Verdict<JsonObject> {
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
    return malformed(`A payload of version ${v} has the type of version ${format.version}.`, "/v");
  return refuse("version_unknown", `Version ${v} of this document is not known.`, "/v");
}

function isCanonical(value: JsonValue, bytes: Uint8Array): boolean {
  return canonicalize(value) === new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
