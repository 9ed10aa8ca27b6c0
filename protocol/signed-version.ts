// The two documents that the service signs about every version that it publishes: the row and the sidecar. Where the keys
// are is the caller's matter; this file says which texts are signed and how the documents are put together.

import { toBase64, utf8 } from "./bytes.ts";
import { type Envelope, openPayload, type PayloadOf, paeHead, payloadTypes } from "./dsse.ts";
import { type ProjectedRow, projectedRowText } from "./projection/project.ts";
import type { Verdict } from "./reason-codes.ts";
import { signedRowText } from "./row.ts";
import {
  distinct,
  hash,
  integer,
  keyId,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { pushId, recordId } from "./wire/push.ts";

/** Signs messages with one key. */
interface MessageSigner {
  readonly keyId: string;
  signMany(messages: PackedMessages): Promise<readonly Uint8Array[]>;
}

export interface VersionSigners {
  readonly projection: MessageSigner;
  readonly sidecar: MessageSigner;
}

export interface VersionTexts {
  readonly row: ProjectedRow;
  readonly sidecar: SidecarV2;
}

export interface SignedVersion {
  /** The exact signed text of the row. */
  readonly row: string;
  /** The sidecar envelope as JSON text. */
  readonly sidecar: string;
}

/** Signatures are Ed25519 and therefore deterministic: the same rows and sidecars produce the same text. */
export async function signRowsAndSidecars(
  signers: VersionSigners,
  versions: readonly VersionTexts[],
): Promise<readonly SignedVersion[]> {
  const texts = versions.map(({ row }) => projectedRowText(row));
  const [rowMessages, sidecarMessages] = [new MessagePacker(), new MessagePacker()];
  for (const text of texts) rowMessages.addText(text);
  const payloads = versions.map(({ sidecar }) =>
    sidecarMessages.addEnvelope(payloadTypes["sidecar.v2"], sidecarPayloadText(sidecar)),
  );
  const [rowSignatures, sidecarSignatures] = await Promise.all([
    signers.projection.signMany(rowMessages.pack()),
    signers.sidecar.signMany(sidecarMessages.pack()),
  ]);
  return versions.map((_, index) => {
    const rowSignature = rowSignatures[index];
    const sidecarSignature = sidecarSignatures[index];
    const payload = payloads[index];
    if (!rowSignature || !sidecarSignature || payload === undefined)
      throw new Error("A signer answered with too few signatures.");
    return {
      row: signedRowText(texts[index] as string, toBase64(rowSignature)),
      sidecar: sidecarEnvelope(payload, signers.sidecar.keyId, sidecarSignature),
    };
  });
}

/** The text of the envelope; the payload is given in base64. No part needs escaping. */
function sidecarEnvelope(payload: string, keyId: string, signature: Uint8Array): string {
  return `{"payloadType":"${payloadTypes["sidecar.v2"]}","payload":"${payload}","signatures":[{"keyid":"${keyId}","sig":"${toBase64(signature)}"}]}`;
}

// Messages to be signed, concatenated in one byte string: a push creates tens of thousands of them, and as separate arrays
// each would be allocated, copied and collected individually.

export interface PackedMessages {
  /** The messages, with nothing between them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The offset in `bytes` at which each message ends, ascending. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

const capacityMin = 4_096;
/** Maximum number of UTF-8 bytes for one UTF-16 code unit (RFC 3629 §3). */
const bytesPerUnitMax = 3;

/** Collects texts; {@link MessagePacker.pack} returns them in the order they were added. */
export class MessagePacker {
  readonly #encoder = new TextEncoder();
  readonly #ends: number[] = [];
  #bytes = new Uint8Array(capacityMin);
  #length = 0;

  /** Adds the UTF-8 encoding of a text as a message. Lone surrogates become U+FFFD, so refuse them beforehand. */
  addText(text: string): void {
    this.#append(text);
    this.#ends.push(this.#length);
  }

  /**
   * Adds a message that is the pre-authentication encoding (dsse.ts) of a payload given as text. Returns the payload in
   * base64.
   */
  addEnvelope(type: string, payload: string): string {
    const start = this.#length;
    this.#append(paeHead(type, payload.length));
    const payloadStart = this.#length;
    this.#append(payload);
    if (this.#length - payloadStart !== payload.length) return this.#addLongEnvelope(start, type, payload);
    this.#ends.push(this.#length);
    return toBase64(this.#bytes.subarray(payloadStart, this.#length));
  }

  pack(): PackedMessages {
    return { bytes: this.#bytes.slice(0, this.#length), ends: Uint32Array.from(this.#ends) };
  }

  /** Handles a payload that is not ASCII, whose length in bytes is known only at this point. */
  #addLongEnvelope(start: number, type: string, payload: string): string {
    this.#length = start;
    const bytes = utf8(payload);
    this.#append(paeHead(type, bytes.length) + payload);
    this.#ends.push(this.#length);
    return toBase64(bytes);
  }

  #append(text: string): void {
    const needed = this.#length + text.length * bytesPerUnitMax;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#length += this.#encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }
}

/** Packs messages that are already byte strings. */
export function packMessages(messages: readonly Uint8Array[]): PackedMessages {
  const ends = new Uint32Array(messages.length);
  let length = 0;
  for (const [index, message] of messages.entries()) {
    length += message.length;
    ends[index] = length;
  }
  const bytes = new Uint8Array(length);
  for (const [index, message] of messages.entries()) bytes.set(message, (ends[index] ?? 0) - message.length);
  return { bytes, ends };
}

/** The messages, as views of the packed bytes. */
export function unpackMessages({ bytes, ends }: PackedMessages): readonly Uint8Array[] {
  const messages: Uint8Array[] = [];
  let start = 0;
  for (const end of ends) {
    messages.push(bytes.subarray(start, end));
    start = end;
  }
  return messages;
}

// Sidecar: what the service states about one version of a record, signed by its sidecar key: who published it, under what
// authority, when it was received and that its seal was valid (specification, «Sidecar»).

const counter = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const versionNumber = integer({ min: 0, max: 2_147_483_647 });

/** Who was authorised to publish, and on what basis. It names a key, never a person. */
const scope = object({
  /** `mandate`: an integration key under a sealed mandate; `role`: a person's passkey; `standard_publishing`: a hosted key. */
  basis: oneOf(["mandate", "role", "standard_publishing"]),
  key_id: keyId,
  kind: oneOf(["system", "passkey", "hosted"]),
  /** Null unless the basis is `mandate`. */
  mandate_id: nullable(text(128)),
  /** What the basis allowed, for example `publish:products`. */
  permissions: distinct(matching(/^[a-z_]+(:[a-z_]+)?$/, "a permission"), { min: 1, max: 32 }),
});
export type SidecarScope = Of<typeof scope>;

const common = {
  action: oneOf(["publish", "update", "withdraw", "delete"]),
  /** Null for a record sealed alone. */
  batch_id: nullable(pushId),
  business_uuid: uuid,
  cert_id: hash,
  /** Orders all changes in the record's history. */
  change: counter,
  /** Counts the published versions of the record from 1. */
  generation: counter,
  path: oneOf(["A", "B"]),
  /** When the version was published; the sidecar key must be valid then. */
  published_at: timestamp,
  /** When the service received the seal. */
  received_at: timestamp,
  record_id: recordId,
  record_type: matching(/^[a-z_]{1,32}$/, "a record type"),
  /** The version of the record's schema: the n of `svc/<type>/<n>`. */
  record_version: counter,
  scope,
  /** Always true: the service publishes nothing whose seal is invalid. */
  seal_ok: literal(true),
  sealed_at: timestamp,
  sealed_by_key_id: keyId,
  /** Hash of the exact record bytes. */
  sha256: hash,
  source: oneOf(["manual", "import", "api"]),
};

const versions = [1, 2];
/** Names the terms version where version 2 names the AI policy version. */
export const sidecarV1 = {
  version: 1,
  versions,
  shape: object({ ...common, v: literal(1), terms_version: versionNumber }),
};
export const sidecarV2 = {
  version: 2,
  versions,
  shape: object({ ...common, v: literal(2), ai_policy_version: versionNumber }),
};
export type SidecarV1 = PayloadOf<typeof sidecarV1>;
export type SidecarV2 = PayloadOf<typeof sidecarV2>;
export type Sidecar = SidecarV1 | SidecarV2;

/** Opens an envelope that must be a sidecar of version 1 or 2. It only reads: the signature is not verified. */
export function openSidecar(envelope: Envelope): Verdict<Sidecar> {
  const { "sidecar.v1": first, "sidecar.v2": second } = payloadTypes;
  return envelope.payloadType === first
    ? openPayload(envelope, first, sidecarV1)
    : openPayload(envelope, second, sidecarV2);
}

/**
 * The RFC 8785 text of a version 2 sidecar, built without sorting, because a push creates one for every record. Every string
 * except the mandate id has a format that needs no escaping.
 */
export function sidecarPayloadText(sidecar: SidecarV2): string {
  const { scope } = sidecar;
  const batch = sidecar.batch_id === null ? "null" : `"${sidecar.batch_id}"`;
  const mandate = scope.mandate_id === null ? "null" : JSON.stringify(scope.mandate_id);
  return (
    `{"action":"${sidecar.action}","ai_policy_version":${sidecar.ai_policy_version},"batch_id":${batch},` +
    `"business_uuid":"${sidecar.business_uuid}","cert_id":"${sidecar.cert_id}","change":${sidecar.change},` +
    `"generation":${sidecar.generation},"path":"${sidecar.path}","published_at":"${sidecar.published_at}",` +
    `"received_at":"${sidecar.received_at}","record_id":"${sidecar.record_id}","record_type":"${sidecar.record_type}",` +
    `"record_version":${sidecar.record_version},"scope":{"basis":"${scope.basis}","key_id":"${scope.key_id}",` +
    `"kind":"${scope.kind}","mandate_id":${mandate},"permissions":${JSON.stringify(scope.permissions)}},` +
    `"seal_ok":true,"sealed_at":"${sidecar.sealed_at}","sealed_by_key_id":"${sidecar.sealed_by_key_id}",` +
    `"sha256":"${sidecar.sha256}","source":"${sidecar.source}","v":2}`
  );
}
