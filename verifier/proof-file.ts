// Proof files: one record that was served, with everything that proves it offline, the transparency log included (format
// `svc-evidence/2`, docs/signed-documents.md).
//   F1. A file has one text: the RFC 8785 form of what it says, and a newline. It has no other members than these.
//   F2. Whatever a file says was signed, or is compared with what was signed, or leads to it. So a file in which any byte
//       was changed is refused.
//   F3. A file is valid only if every check could be made.

import { equalBytes, parseBase64, utf8 } from "../protocol/bytes.ts";
import { canonicalize, type JsonValue } from "../protocol/canonical-json.ts";
import { envelopeShape } from "../protocol/dsse.ts";
import { collectionNames, isRecordId } from "../protocol/identifiers.ts";
import { malformed, parseObject, readPayload } from "../protocol/payload.ts";
import { ok, type Verdict } from "../protocol/result.ts";
import {
  anyText,
  anything,
  closed,
  hash,
  integer,
  keyId,
  list,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  uuid,
} from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import type { AnswerEvidence } from "./answer-evidence.ts";
import type { FetchedRecord } from "./fetched-record.ts";

export const proofFormat = "svc-evidence/2";

const listMax = 100_000;
const base64 = matching((value) => parseBase64(value) !== null, "base64");
const counter = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const proof = list(hash, { min: 0, max: 64 });

/** The place of an entry in the log, and the path from there to the root of the checkpoint. */
const place = { leaf_index: counter, proof };

const loggedShape = object({
  /** The signed note to which every path leads. */
  checkpoint: anyText,
  /** The verifier keys of the witnesses that cosigned it, each with a line of it. */
  witnesses: list(anyText, { min: 0, max: 100 }),
  seal: object(place),
  /** The registration of the key that sealed. */
  key_event: object(place),
  /** The certificate that the seal names. */
  certificate: object(place),
  ai_policy: optional(object(place)),
  receipt: object({
    ...place,
    /** The name of the batch. */
    name: anyText,
    /** From the receipt to the batch's root. It has sides and no tree size: nothing signed says how many receipts a batch has. */
    path: list(object({ hash, side: oneOf(["left", "right"]) }), { min: 0, max: 64 }),
  }),
});

export type Logged = Of<typeof loggedShape>;

const fileShape = closed<ProofFileMembers>({
  format: literal(proofFormat),
  environment: oneOf(["production", "sandbox"]),
  record_id: matching(isRecordId, "a record id"),
  business_uuid: uuid,
  record_type: oneOf(collectionNames),
  record_base64: base64,
  seal: anything,
  sidecar: envelopeShape,
  receipt: anyText,
  ai_policy: nullable(object({ version: counter, record_base64: base64, seal: anything })),
  key_set: envelopeShape,
  certificates: list(envelopeShape, { min: 1, max: listMax }),
  business_keys: envelopeShape,
  key_custody: list(envelopeShape, { min: 0, max: listMax }),
  caller_key_id: optional(keyId),
  request_hash: optional(hash),
  log: loggedShape,
});

/** The members of a proof file. */
export interface ProofFileMembers {
  readonly format: typeof proofFormat;
  readonly environment: "production" | "sandbox";
  readonly record_id: string;
  readonly business_uuid: string;
  readonly record_type: string;
  /** The exact bytes of the record. */
  readonly record_base64: string;
  readonly seal: JsonValue;
  readonly sidecar: JsonValue;
  /** The exact text of the receipt's envelope: its leaf is over these characters. */
  readonly receipt: string;
  /** Null where none is sealed. */
  readonly ai_policy: {
    readonly version: number;
    readonly record_base64: string;
    readonly seal: JsonValue;
  } | null;
  readonly key_set: JsonValue;
  readonly certificates: readonly JsonValue[];
  readonly business_keys: JsonValue;
  readonly key_custody: readonly JsonValue[];
  readonly caller_key_id?: string;
  readonly request_hash?: string;
  readonly log: Logged;
}

/** The text of a proof file (F1). */
export function proofText(members: ProofFileMembers): string {
  return `${canonicalize(members as unknown as JsonValue)}\n`;
}

/** Reads a proof file, null for a file of another format; any other text of the same is `payload_malformed`. */
export function parseProofFile(bytes: Uint8Array): Verdict<ProofFileMembers> | null {
  const parsed = parseObject(bytes);
  if (!parsed.ok || parsed.value["format"] !== proofFormat) return null;
  const read = readPayload(fileShape, parsed.value);
  return !read.ok || equalBytes(utf8(proofText(read.value)), bytes)
    ? read
    : malformed("A proof file is in RFC 8785 canonical form, and ends with a newline.", "");
}

/** What a proof file says to have been served, and by what it is judged. */
export function servedIn(file: ProofFileMembers): Verdict<{
  readonly fetched: FetchedRecord;
  readonly evidence: AnswerEvidence;
}> {
  const receipt = parseStrictJson(utf8(file.receipt));
  if (!receipt.ok) return malformed(receipt.detail, "/receipt");
  const policy = file.ai_policy;
  if (policy?.version === 0) return malformed("An AI policy that is sealed has a version.", "/ai_policy");
  const { caller_key_id: callerKeyId, request_hash: requestHash } = file;
  return ok({
    fetched: {
      ...{ recordId: file.record_id, businessUuid: file.business_uuid, type: file.record_type },
      ...{
        bytes: bytesOf(file.record_base64),
        seal: file.seal,
        sidecar: file.sidecar,
        receipt: receipt.value,
      },
      answer: null,
      policy: {
        version: policy?.version ?? 0,
        bytes: policy === null ? null : bytesOf(policy.record_base64),
        seal: policy?.seal ?? null,
      },
    },
    evidence: {
      certificate: answerWith(file.certificates),
      businessKeys: file.business_keys,
      keyCustody: file.key_custody,
      ...(callerKeyId === undefined ? {} : { callerKeyId }),
      ...(requestHash === undefined ? {} : { requestHash }),
    },
  });
}

function bytesOf(text: string): Uint8Array {
  return parseBase64(text) ?? new Uint8Array();
}

/** The certificates as `GET /v1/certificates/{uuid}` answers them. */
function answerWith([certificate = null, ...earlier]: readonly JsonValue[]): JsonValue {
  return { certificate, history: earlier.map((each) => ({ certificate: each })) };
}
