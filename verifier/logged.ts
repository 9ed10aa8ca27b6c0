// What the transparency log contains of a record that was served: its seal, the registration of the key that sealed it, the
// certificate that the seal names, the AI policy and the receipt, all under one checkpoint. Every entry is computed from what it is
// about; nothing that a file says of an entry is believed.

import { utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { openCertificate } from "../protocol/certificate.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { formatHash, parseHash } from "../protocol/hash.ts";
import { judgeCosignatures, parseWitnessPolicy } from "../protocol/log/cosignatures.ts";
import type { LogEntry } from "../protocol/log/entries.ts";
import {
  certificateEntry,
  contentHash,
  keyAddedEntry,
  receiptBatchEntry,
  sealEntry,
  sealLeafOf,
} from "../protocol/log/leaves.ts";
import { type Checkpoint, parseNote } from "../protocol/log/note.ts";
import { leafHash, rootFromSteps } from "../protocol/merkle.ts";
import { openReceipt, receiptMinute } from "../protocol/receipt.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { openBatchSeal, openSeal, parseRecordSeal } from "../protocol/seal.ts";
import { type StatedPath, verifyCheckpoint, verifyLogInclusion } from "./log.ts";
import type { Logged, ProofFileMembers } from "./proof-file.ts";
import { type Check, checkOf } from "./report.ts";
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
