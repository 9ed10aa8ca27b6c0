// DSSE envelopes (Dead Simple Signing Envelope 1.0) with the members of the specification, «Envelope».

import { isObject } from "../std/json-pointer.ts";
import { concatBytes, parseBase64, toBase64, utf8 } from "./bytes.ts";
import { canonicalize, type JsonObject, type JsonValue } from "./json/canonical-json.ts";
import { parseStrictJson } from "./json/strict-json.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok, type Refusal, refuse } from "./result.ts";
import {
  anyText,
  described,
  list,
  matching,
  named,
  type Of,
  object,
  optional,
  readShape,
  type Shape,
} from "./shape.ts";

function payloadType(kind: string, version: number): string {
  return `application/vnd.svc.${kind}.v${version}+json`;
}

/** Payload types by kind and version. */
export const payloadTypes = {
  "seal.v1": payloadType("seal", 1),
  "seal.v2": payloadType("seal", 2),
  "batch-seal.v1": payloadType("batch-seal", 1),
  "batch-seal.v2": payloadType("batch-seal", 2),
  "sidecar.v1": payloadType("sidecar", 1),
  "sidecar.v2": payloadType("sidecar", 2),
  "receipt.v1": payloadType("receipt", 1),
  "receipt.v2": payloadType("receipt", 2),
  "receipt.v3": payloadType("receipt", 3),
  "key-custody.v1": payloadType("key-custody", 1),
  "business-keys.v1": payloadType("business-keys", 1),
  "verify-statement.v1": payloadType("verify-statement", 1),
  "verify-page.v1": payloadType("verify-page", 1),
  "key-directory.v1": payloadType("key-directory", 1),
  "certificate.v1": payloadType("certificate", 1),
  "key-certificate.v1": payloadType("key-certificate", 1),
  "key-set.v1": payloadType("key-set", 1),
  "mandate.v1": payloadType("mandate", 1),
  "key-possession.v1": payloadType("key-possession", 1),
  "entitlement.v1": payloadType("entitlement", 1),
  "hold-decision.v1": payloadType("hold-decision", 1),
  "custody-request.v1": payloadType("custody-request", 1),
} as const;

/** A kind of payload with its version, for example `seal.v2`. */
export type PayloadKind = keyof typeof payloadTypes;

/** An envelope with more signatures than this is refused. */
export const signaturesMax = 16;

/** The pre-authentication encoding, which is what is signed: `DSSEv1 SP len(type) SP type SP len(payload) SP payload`. */
export function pae(type: string, payload: Uint8Array): Uint8Array {
  return concatBytes(utf8(paeHead(type, payload.length)), payload);
}

/** The prefix that {@link pae} puts before a payload of `payloadLength` bytes. */
export function paeHead(type: string, payloadLength: number): string {
  return `DSSEv1 ${utf8(type).length} ${type} ${payloadLength} `;
}

/** Standard padded base64 (RFC 4648 §4) of at least one byte. */
const base64 = matching((value) => value !== "" && parseBase64(value) !== null, "base64", {
  contentEncoding: "base64",
  minLength: 4,
});

const signatureMembers = object({
  keyid: matching((value) => value !== "", "the id of a key", { minLength: 1 }),
  sig: base64,
  authenticatorData: described(optional(base64), "Passkey signatures only (WebAuthn Level 2 §6.1)."),
  clientDataJSON: described(optional(base64), "Passkey signatures only (WebAuthn Level 2 §5.8.1)."),
});

/** A passkey's signature has both of its extra members, any other signature has neither. */
const signature: Shape<Of<typeof signatureMembers>> = {
  schema: {
    ...signatureMembers.schema,
    dependentRequired: { authenticatorData: ["clientDataJSON"], clientDataJSON: ["authenticatorData"] },
  },
  judge: (value, pointer, tell) => {
    if (!signatureMembers.judge(value, pointer, tell)) return false;
    const { authenticatorData, clientDataJSON } = isObject(value) ? value : {};
    const detail = "A passkey signature must carry both authenticatorData and clientDataJSON.";
    return (authenticatorData === undefined) === (clientDataJSON === undefined) || tell({ pointer, detail });
  },
};

export const envelopeShape = named(
  "Envelope",
  described(
    object({
      // Any string may be a type; an unexpected one, including the empty string, is refused when the envelope is opened.
      payloadType: anyText,
      payload: matching((value) => parseBase64(value) !== null, "base64", {
        contentEncoding: "base64",
        description: "Base64 of the canonical JSON bytes.",
      }),
      signatures: list(signature, { min: 1, max: signaturesMax }),
    }),
    "DSSE envelope; the signed bytes are the pre-authentication encoding of payloadType and payload.",
  ),
);

export type EnvelopeSignature = Of<typeof signature>;
export type Envelope = Of<typeof envelopeShape>;

/** Reads an envelope from parsed JSON; refuses a missing, wrong or undefined member with `envelope_malformed`. */
export function parseEnvelope(value: unknown): Verdict<Envelope> {
  const read = readShape(envelopeShape, value as JsonValue);
  return read.ok ? read : refuse("envelope_malformed", read.fault.detail, read.fault.pointer);
}

/** Opens an envelope that is kept as JSON text, by the function for its type. Text that is not JSON throws. */
export function openStored<T>(text: string, open: (envelope: Envelope) => Verdict<T>): Verdict<T> {
  const envelope = parseEnvelope(JSON.parse(text));
  return envelope.ok ? open(envelope.value) : envelope;
}

/** The payload bytes of an envelope of the expected type; any other type is `payload_type_mismatch`. Verifies nothing. */
export function openEnvelope(envelope: Envelope, expectedType: string): Verdict<Uint8Array> {
  if (envelope.payloadType !== expectedType) {
    return refuse(
      "payload_type_mismatch",
      `The payload type is ${JSON.stringify(envelope.payloadType)}, expected ${expectedType}.`,
    );
  }
  const payload = parseBase64(envelope.payload);
  return payload ? ok(payload) : refuse("envelope_malformed", "Must be base64.", "/payload");
}

/** A signature as its maker produces it, in raw bytes. */
export interface RawSignature {
  readonly keyid: string;
  readonly sig: Uint8Array;
  readonly authenticatorData?: Uint8Array;
  readonly clientDataJSON?: Uint8Array;
}

/** Builds the envelope from payload bytes and the signatures made over their pre-authentication encoding. */
export function makeEnvelope(
  type: string,
  payload: Uint8Array,
  signatures: readonly RawSignature[],
): Envelope {
  return {
    payloadType: type,
    payload: toBase64(payload),
    signatures: signatures.map(({ keyid, sig, authenticatorData, clientDataJSON }) => ({
      keyid,
      sig: toBase64(sig),
      ...(authenticatorData ? { authenticatorData: toBase64(authenticatorData) } : {}),
      ...(clientDataJSON ? { clientDataJSON: toBase64(clientDataJSON) } : {}),
    })),
  };
}

// How the payload of every signed document is read: strict JSON in canonical form, of a known version and of a closed shape.

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

/** The type of what a format describes. */
export type PayloadOf<F> = F extends PayloadFormat<infer T> ? T : never;

/** The format of a document that has had one version so far. */
export function soleFormat<T>(shape: Shape<T>): PayloadFormat<T> {
  return { version: 1, versions: [1], shape };
}

/** Opens an envelope that must be of this type and reads its payload. The signatures are not verified. */
export function openPayload<T>(envelope: Envelope, type: string, format: PayloadFormat<T>): Verdict<T> {
  const payload = openEnvelope(envelope, type);
  return payload.ok ? parsePayload(payload.value, format) : payload;
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
