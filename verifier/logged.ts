// What the transparency log contains of a record that was served: its seal, the registration of the key that sealed it, the
// certificate that the seal names, the AI policy and the receipt, all under one checkpoint. Every entry is computed from what it is
// about; nothing that a file says of an entry is believed.

import { equalBytes, formatHash, parseBase64, parseHash, utf8 } from "../protocol/bytes.ts";
import {
  type Envelope,
  envelopeShape,
  malformed,
  parseEnvelope,
  parseObject,
  readPayload,
} from "../protocol/dsse.ts";
import { collectionNames, isRecordId } from "../protocol/identifiers.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { openCertificate } from "../protocol/keys/certificate.ts";
import { judgeCosignatures, parseWitnessPolicy } from "../protocol/log/cosignatures.ts";
import {
  certificateEntry,
  contentHash,
  keyAddedEntry,
  type LogEntry,
  receiptBatchEntry,
  sealEntry,
  sealLeafOf,
} from "../protocol/log/leaves.ts";
import { type Checkpoint, parseNote } from "../protocol/log/note.ts";
import { leafHash, rootFromSteps } from "../protocol/merkle.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { openReceipt, receiptMinute } from "../protocol/receipt.ts";
import { ok, refuse } from "../protocol/result.ts";
import { openBatchSeal, openSeal, parseRecordSeal } from "../protocol/seal.ts";
import {
  anyText,
  anything,
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
  type Shape,
  uuid,
} from "../protocol/shape.ts";
import type { FetchedRecord } from "./fetched-record.ts";
import { type StatedPath, verifyCheckpoint, verifyLogInclusion } from "./log.ts";
import { type Check, checkOf } from "./members.ts";
import type { AnswerEvidence } from "./receipt.ts";
import type { Trust } from "./trust.ts";

/** The entries that the log has to contain, by the names of their proofs. `receipt` is that of its batch. */
export interface LoggedEntries {
  readonly seal: LogEntry;
  readonly key_event: LogEntry;
  readonly certificate: LogEntry;
  readonly ai_policy?: LogEntry;
}

/** The envelope of a receipt: its leaf is over the exact text. */
export interface ReceiptText {
  readonly text: string;
  readonly value: JsonValue;
}

type Served = Pick<ProofFileMembers, "business_uuid" | "seal" | "certificates" | "ai_policy">;

/** The entries about what a seal, its certificate and an AI policy say. */
export function loggedEntries({ sha256 }: Pick<Trust, "sha256">, served: Served): Verdict<LoggedEntries> {
  const { business_uuid: uuid, certificates, ai_policy: policy } = served;
  const seal = parseRecordSeal(served.seal);
  if (!seal.ok) return seal;
  const { envelope } = seal.value;
  const payload = seal.value.kind === "batch" ? openBatchSeal(envelope) : openSeal(envelope);
  if (!payload.ok) return payload;
  const certificate = certificates.find((each) => certIdOf(each, sha256) === payload.value.cert_id);
  if (certificate === undefined)
    return refuse("certificate_unknown", "The certificate that the seal names is not given.");
  const policySeal = policy === null ? null : parseEnvelope(policy.seal);
  if (policySeal?.ok === false) return policySeal;
  return ok({
    seal: sealEntry(uuid, sealLeafOf(envelope, sha256)),
    key_event: keyAddedEntry(uuid, sealerOf(envelope), sha256),
    certificate: certificateEntry(uuid, contentHash(certificate, sha256)),
    ...(policySeal === null ? {} : { ai_policy: sealEntry(uuid, sealLeafOf(policySeal.value, sha256)) }),
  });
}

function certIdOf(value: JsonValue, sha256: Trust["sha256"]): string | null {
  const envelope = parseEnvelope(value);
  const issued = envelope.ok ? openCertificate(envelope.value, sha256) : envelope;
  return issued.ok ? issued.value.certId : null;
}

function sealerOf({ signatures: [signature] }: Envelope): string {
  return signature?.keyid ?? "";
}

/** The checks `checkpoint`, `seal_in_log`, `key_in_log`, `certificate_in_log`, `ai_policy_in_log` and `receipt_in_log`. */
export function loggedChecks(
  trust: Trust,
  file: Served & Pick<ProofFileMembers, "log">,
  receipt: ReceiptText,
): readonly Check[] {
  const { log } = file;
  const checkpoint = wholeCheckpoint(trust, log);
  const made = checkOf("checkpoint", checkpoint, ({ size }) => `Of ${size} leaves.`);
  if (!checkpoint.ok) return [made];
  const entries = loggedEntries(trust, file);
  if (!entries.ok) return [made, checkOf("seal_in_log", entries)];
  const { seal, key_event, certificate, ai_policy } = entries.value;
  const isIn = (name: string, entry: LogEntry, path: Omit<StatedPath, "tree_size">): Check =>
    checkOf(name, inclusion(trust, entry, { ...path, checkpoint, note: log.checkpoint }));
  return [
    made,
    isIn("seal_in_log", seal, log.seal),
    isIn("key_in_log", key_event, log.key_event),
    isIn("certificate_in_log", certificate, log.certificate),
    ...policyCheck(ai_policy, log, isIn),
    receiptCheck(trust, receipt, log, isIn),
  ];
}

function policyCheck(
  entry: LogEntry | undefined,
  { ai_policy: path }: Logged,
  isIn: (name: string, entry: LogEntry, path: Logged["seal"]) => Check,
): readonly Check[] {
  if (entry === undefined && path === undefined) return [];
  if (entry === undefined || path === undefined)
    return [
      checkOf("ai_policy_in_log", refuse("inclusion_invalid", "An AI policy and its proof go together.")),
    ];
  return [isIn("ai_policy_in_log", entry, path)];
}

/** Verified, and with no line that nobody can verify: one of the log, and one of each witness that the file names. */
function wholeCheckpoint(trust: Trust, { checkpoint: note, witnesses: keys }: Logged): Verdict<Checkpoint> {
  const checkpoint = verifyCheckpoint(trust, note);
  const parsed = parseNote(note);
  if (!checkpoint.ok || !parsed.ok) return checkpoint;
  const policy = parseWitnessPolicy({ keys, quorum: keys.length }, trust.sha256);
  if (policy === null)
    return refuse("checkpoint_invalid", "The witnesses are not given by distinct cosignature keys.");
  const cosigned = judgeCosignatures(trust, parsed.value, policy);
  if (!cosigned.ok) return cosigned;
  return parsed.value.signatures.length === 1 + keys.length
    ? checkpoint
    : refuse(
        "checkpoint_invalid",
        "The checkpoint has signatures of others than the log and these witnesses.",
      );
}

function inclusion(
  trust: Trust,
  entry: LogEntry,
  {
    leaf_index,
    proof,
    checkpoint,
    note,
  }: Omit<StatedPath, "tree_size"> & {
    readonly checkpoint: { readonly value: Checkpoint };
    readonly note: string;
  },
): Verdict<Checkpoint> {
  return verifyLogInclusion(trust, entry, {
    leaf_index,
    proof,
    tree_size: checkpoint.value.size,
    checkpoint: note,
  });
}

/** In two levels: the batch that contains the receipt follows from its path, and is in the log. */
function receiptCheck(
  trust: Trust,
  { text, value }: ReceiptText,
  { receipt: { name, path, ...place } }: Logged,
  isIn: (name: string, entry: LogEntry, path: Logged["seal"]) => Check,
): Check {
  const envelope = parseEnvelope(value);
  const receipt = envelope.ok ? openReceipt(envelope.value) : envelope;
  if (!receipt.ok) return checkOf("receipt_in_log", receipt);
  const { region, served_at: servedAt } = receipt.value;
  if (!name.startsWith(`${receiptMinute(servedAt)}-`))
    return checkOf(
      "receipt_in_log",
      refuse("inclusion_invalid", "The batch is not of the receipt's minute."),
    );
  const steps = path.map(({ hash, side }) => ({ hash: parseHash(hash) ?? new Uint8Array(), side }));
  const root = formatHash(rootFromSteps(leafHash(utf8(text), trust.sha256), steps, trust.sha256));
  return isIn("receipt_in_log", receiptBatchEntry({ region, batch: name, root }), place);
}

// Proof files: one record that was served, with everything that proves it offline, the transparency log included (format
// `svc-evidence/2`, docs/signed-documents.md).
//   F1. A file has one text: the RFC 8785 form of what it says, and a newline. It has no other members than these.
//   F2. Whatever a file says was signed, or is compared with what was signed, or leads to it. So a file in which any byte
//       was changed is refused.
//   F3. A file is valid only if every check could be made.

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

/** An envelope that another reader judges. */
const envelope: Shape<JsonValue> = envelopeShape;

const fileShape = object({
  format: literal(proofFormat),
  environment: oneOf(["production", "sandbox"]),
  record_id: matching(isRecordId, "a record id"),
  business_uuid: uuid,
  record_type: oneOf(collectionNames),
  /** The exact bytes of the record. */
  record_base64: base64,
  seal: anything,
  sidecar: envelope,
  /** The exact text of the receipt's envelope: its leaf is over these characters. */
  receipt: anyText,
  /** Null where none is sealed. */
  ai_policy: nullable(object({ version: counter, record_base64: base64, seal: anything })),
  key_set: envelope,
  certificates: list(envelope, { min: 1, max: listMax }),
  business_keys: envelope,
  key_custody: list(envelope, { min: 0, max: listMax }),
  caller_key_id: optional(keyId),
  request_hash: optional(hash),
  log: loggedShape,
});

/** The members of a proof file. */
export type ProofFileMembers = Of<typeof fileShape>;

/** The text of a proof file (F1). */
export function proofText(members: ProofFileMembers): string {
  return `${canonicalize(members)}\n`;
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
      recordId: file.record_id,
      businessUuid: file.business_uuid,
      type: file.record_type,
      bytes: bytesOf(file.record_base64),
      seal: file.seal,
      sidecar: file.sidecar,
      receipt: receipt.value,
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
