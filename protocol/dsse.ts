// DSSE envelopes (Dead Simple Signing Envelope 1.0) with the members of the specification, «Envelope».

import { isObject } from "../std/is-object.ts";
import { concatBytes, parseBase64, toBase64, utf8 } from "./bytes.ts";
import { ok, refuse, type Verdict } from "./result.ts";

export interface EnvelopeSignature {
  readonly keyid: string;
  /** Base64. */
  readonly sig: string;
  /** Base64; passkey signatures only (WebAuthn Level 2 §6.1). */
  readonly authenticatorData?: string;
  /** Base64; passkey signatures only (WebAuthn Level 2 §5.8.1). */
  readonly clientDataJSON?: string;
}

export interface Envelope {
  readonly payloadType: string;
  /** Base64 of the canonical JSON bytes. */
  readonly payload: string;
  readonly signatures: readonly EnvelopeSignature[];
}

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
} as const;

export type PayloadKind = keyof typeof payloadTypes;

/** An envelope with more signatures is refused. */
export const signaturesMax = 16;

/** Pre-authentication encoding, the bytes that are signed: `DSSEv1 SP len(type) SP type SP len(payload) SP payload`. */
export function pae(type: string, payload: Uint8Array): Uint8Array {
  return concatBytes(utf8(paeHead(type, payload.length)), payload);
}

/** What {@link pae} puts before a payload of so many bytes. */
export function paeHead(type: string, payloadLength: number): string {
  return `DSSEv1 ${utf8(type).length} ${type} ${payloadLength} `;
}

function malformed(detail: string, pointer?: string): Verdict<never> {
  return refuse("envelope_malformed", detail, pointer);
}

const envelopeMembers = ["payloadType", "payload", "signatures"];
const signatureMembers = ["keyid", "sig", "authenticatorData", "clientDataJSON"];

/** Reads an envelope from parsed JSON; refuses `envelope_malformed` for a missing, wrong or undefined member. */
export function parseEnvelope(value: unknown): Verdict<Envelope> {
  if (!isObject(value)) return malformed("An envelope is an object.");
  const unknown = Object.keys(value).find((name) => !envelopeMembers.includes(name));
  if (unknown !== undefined) return malformed(`An envelope has no member ${JSON.stringify(unknown)}.`);
  const { payloadType: type, payload, signatures } = value as Record<string, unknown>;
  // Any string may be a type; one that is not expected, the empty one too, is refused where the envelope is opened.
  if (typeof type !== "string") return malformed("payloadType is a string.", "/payloadType");
  if (typeof payload !== "string" || parseBase64(payload) === null)
    return malformed("payload is base64.", "/payload");
  if (!Array.isArray(signatures) || signatures.length === 0 || signatures.length > signaturesMax) {
    return malformed(`signatures has 1 to ${signaturesMax} items.`, "/signatures");
  }
  const parsed: EnvelopeSignature[] = [];
  for (const [index, signature] of signatures.entries()) {
    const outcome = parseSignature(signature, `/signatures/${index}`);
    if (!outcome.ok) return outcome;
    parsed.push(outcome.value);
  }
  return ok({ payloadType: type, payload, signatures: parsed });
}

function parseSignature(value: unknown, pointer: string): Verdict<EnvelopeSignature> {
  if (!isObject(value)) return malformed("A signature is an object.", pointer);
  const unknown = Object.keys(value).find((name) => !signatureMembers.includes(name));
  if (unknown !== undefined)
    return malformed(`A signature has no member ${JSON.stringify(unknown)}.`, pointer);
  const { keyid, sig, authenticatorData, clientDataJSON } = value as Record<string, unknown>;
  if (typeof keyid !== "string" || keyid.length === 0)
    return malformed("keyid is a string.", `${pointer}/keyid`);
  if (!isBase64(sig)) return malformed("sig is base64.", `${pointer}/sig`);
  if ((authenticatorData === undefined) !== (clientDataJSON === undefined)) {
    return malformed("A passkey signature carries both authenticatorData and clientDataJSON.", pointer);
  }
  if (authenticatorData === undefined || clientDataJSON === undefined) return ok({ keyid, sig });
  if (!isBase64(authenticatorData))
    return malformed("authenticatorData is base64.", `${pointer}/authenticatorData`);
  if (!isBase64(clientDataJSON)) return malformed("clientDataJSON is base64.", `${pointer}/clientDataJSON`);
  return ok({ keyid, sig, authenticatorData, clientDataJSON });
}

function isBase64(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && parseBase64(value) !== null;
}

/** Payload bytes of an envelope of the expected type; `payload_type_mismatch` for any other. Verifies nothing. */
export function openEnvelope(envelope: Envelope, expectedType: string): Verdict<Uint8Array> {
  if (envelope.payloadType !== expectedType) {
    return refuse(
      "payload_type_mismatch",
      `The payload type is ${JSON.stringify(envelope.payloadType)}, expected ${expectedType}.`,
    );
  }
  const payload = parseBase64(envelope.payload);
  return payload ? ok(payload) : malformed("payload is base64.", "/payload");
}

/** A signature as its maker has it: raw bytes. */
export interface RawSignature {
  readonly keyid: string;
  readonly sig: Uint8Array;
  readonly authenticatorData?: Uint8Array;
  readonly clientDataJSON?: Uint8Array;
}

/** The envelope of payload bytes and the signatures made over their pre-authentication encoding. */
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
