// Proof files (format `svc-evidence/2`): a fetched record with everything that proves it offline, the transparency log included.
// The log contains a receipt about a minute after it was given, and a seal after the log's interval: collecting waits for them.

import {
  equalBytes,
  formatHash,
  hashOf,
  parseBase64,
  parseHash,
  sha256,
  toBase64,
  utf8,
} from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, paeHead, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember, parseStrictJson } from "../protocol/json/strict-json.ts";
import { keySetEnvelope } from "../protocol/keys/key-set.ts";
import { contentHash, keyAddedEntry, sealLeafOf } from "../protocol/log/leaves.ts";
import {
  formatNote,
  keyHashOf,
  type NoteKey,
  type NoteSignature,
  parseNote,
  parseVerifierKey,
} from "../protocol/log/note.ts";
import { stepsOf } from "../protocol/merkle.ts";
import { openReceipt, receiptMinute } from "../protocol/receipt.ts";
import type { InclusionAnswer } from "../protocol/wire/receipts.ts";
import { isObject } from "../std/json-pointer.ts";
import { certificateEnvelopes } from "../verifier/certificate.ts";
import {
  type Logged,
  type LoggedEntries,
  loggedEntries,
  type ProofFileMembers,
  proofFormat,
  proofText,
} from "../verifier/logged.ts";
import { readPublished } from "./evidence.ts";
import { unexpectedAnswer } from "./json-answer.ts";
import { readInclusion, readWitnessKeys } from "./log-reads.ts";
import type { RecordAnswer, SvcClient } from "./service-client.ts";

export interface ProofsCaller {
  readonly environment: "production" | "sandbox";
  readonly keyId: string;
  readonly wait: (delayMs: number) => Promise<void>;
  readonly now: () => number;
  /** How long the log is waited for. */
  readonly patienceMs: number;
  /** Called before each wait with what the log does not contain yet. */
  readonly onWaiting?: (missing: readonly string[]) => void;
}

/** The log does not contain all of it yet. The same record can be fetched again later. */
export class ProofsMissingError extends Error {
  /** Such as `seal` and `receipt`. */
  readonly missing: readonly string[];

  constructor(missing: readonly string[]) {
    super(`The transparency log does not contain yet: ${missing.join(", ")}.`);
    this.name = "ProofsMissingError";
    this.missing = missing;
  }
}

const askAgainMs = 5_000;
const grewMs = 250;

type Reader = Pick<SvcClient, "verificationRead">;

/**
 * The text of a proof file about a fetched record. Throws {@link ProofsMissingError} once the patience is over, and what
 * {@link SvcClient} throws.
 */
export async function collectProofs(
  client: Reader,
  fetched: RecordAnswer,
  caller: ProofsCaller,
): Promise<string> {
  const served = await servedMembers(client, fetched, caller);
  const entries = loggedEntries({ sha256 }, served);
  if (!entries.ok) throw unexpectedAnswer(fetched.status, entries.detail);
  const witnesses = await readWitnessKeys(client);
  const untilMs = caller.now() + caller.patienceMs;
  for (;;) {
    const found = await readLogged(client, { entries: entries.value, receipt: served.receipt });
    if ("proofs" in found) return proofText({ ...served, log: loggedOf(found.proofs, witnesses) });
    if (caller.now() >= untilMs) throw new ProofsMissingError(found.missing);
    caller.onWaiting?.(found.missing);
    // Where nothing is missing, the log grew between two reads.
    await caller.wait(found.missing.length === 0 ? grewMs : askAgainMs);
  }
}

type Served = Omit<ProofFileMembers, "log">;

async function servedMembers(
  client: Reader,
  fetched: RecordAnswer,
  { environment, keyId }: ProofsCaller,
): Promise<Served> {
  const { body, text, requestHash } = fetched;
  const published = await readPublished(client, body.business_uuid);
  const [keySet, certificate, keys, custody] = [
    published.keySet,
    published.certificate,
    published.businessKeys,
    published.keyCustody,
  ].map((each) => JSON.parse(each) as JsonValue);
  const envelope = keySetEnvelope(keySet ?? null);
  const certificates = certificateEnvelopes(certificate ?? null);
  if (!envelope.ok || !certificates.ok)
    throw unexpectedAnswer(fetched.status, "A published answer is not one.");
  const policy = exactMember(text, "ai_policy", "record");
  const answer = JSON.parse(text) as {
    readonly seal: JsonValue;
    readonly sidecar: JsonValue;
    readonly ai_policy: { readonly seal: JsonValue };
  };
  return {
    format: proofFormat,
    environment,
    record_id: body.record_id,
    business_uuid: body.business_uuid,
    record_type: body.type,
    record_base64: toBase64(fetched.recordBytes),
    seal: answer.seal,
    sidecar: answer.sidecar,
    receipt: exactMember(text, "receipt") ?? "",
    ai_policy:
      body.ai_policy.version === 0 || policy === null
        ? null
        : {
            version: body.ai_policy.version,
            record_base64: toBase64(utf8(policy)),
            seal: answer.ai_policy.seal,
          },
    key_set: envelope.value,
    certificates: certificates.value,
    business_keys: memberOr(keys, "signed"),
    key_custody: listOf(custody).map((each) => memberOr(each, "statement")),
    caller_key_id: keyId,
    ...(requestHash === null ? {} : { request_hash: requestHash }),
  };
}

function memberOr(value: JsonValue | undefined, name: string): JsonValue {
  return isObject(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : (value ?? null);
}

function listOf(custody: JsonValue | undefined): readonly JsonValue[] {
  const list = memberOr(custody, "statements");
  return Array.isArray(list) ? list : [];
}

type Proofs = Readonly<Record<string, InclusionAnswer>>;

/** The proofs under one checkpoint, or what the log does not contain; nothing is missing where it grew meanwhile. */
async function readLogged(
  client: Reader,
  { entries, receipt }: { readonly entries: LoggedEntries; readonly receipt: string },
): Promise<{ readonly proofs: Proofs } | { readonly missing: readonly string[] }> {
  const asked = Object.entries(entries).map(
    ([name, { leaf }]) => [name, `leaf=${encodeURIComponent(leaf)}`] as const,
  );
  const all = [...asked, ["receipt", receiptQuery(receipt)] as const];
  const answers = await Promise.all(
    all.map(async ([name, query]) => [name, await readInclusion(client, query)] as const),
  );
  const missing = answers.filter(([, answer]) => answer === null).map(([name]) => name);
  const found = answers.flatMap(([name, answer]) => (answer === null ? [] : [[name, answer] as const]));
  const isOneTree = new Set(found.map(([, { checkpoint }]) => checkpoint)).size === 1;
  return missing.length === 0 && isOneTree ? { proofs: Object.fromEntries(found) } : { missing };
}

function receiptQuery(text: string): string {
  const envelope = parseEnvelope(JSON.parse(text));
  const receipt = envelope.ok ? openReceipt(envelope.value) : envelope;
  if (!receipt.ok) throw unexpectedAnswer(200, `The receipt is not one: ${receipt.detail}`);
  const { region, served_at } = receipt.value;
  const leaf = hashOf(utf8(text), sha256);
  return new URLSearchParams({ leaf, region, name: receiptMinute(served_at) }).toString();
}

function loggedOf(proofs: Proofs, witnesses: readonly string[]): Logged {
  const { receipt, ...others } = proofs;
  if (receipt?.batch === undefined) throw unexpectedAnswer(200, "The proof of a receipt has two levels.");
  const { name, leaf_index: index, tree_size: treeSize, proof } = receipt.batch;
  const hashes = proof.map((each) => parseHash(each) ?? new Uint8Array());
  const steps = stepsOf({ index, treeSize, path: hashes });
  if (steps === null) throw unexpectedAnswer(200, "The path of a receipt is none of its batch.");
  const paths = Object.entries(others).map(([of, each]) => [
    of,
    { leaf_index: each.leaf_index, proof: each.proof },
  ]);
  return {
    ...(Object.fromEntries(paths) as Pick<Logged, "seal" | "key_event" | "certificate" | "ai_policy">),
    ...publishedLines(receipt.checkpoint, witnesses),
    receipt: {
      leaf_index: receipt.leaf_index,
      proof: receipt.proof,
      name,
      path: steps.map(({ hash, side }) => ({ hash: formatHash(hash), side })),
    },
  };
}

/** The checkpoint with the lines of the log and of the witnesses that are published: nobody can verify any other. */
function publishedLines(
  text: string,
  witnesses: readonly string[],
): Pick<Logged, "checkpoint" | "witnesses"> {
  const note = parseNote(text);
  if (!note.ok) throw unexpectedAnswer(200, note.detail);
  const {
    signatures: [own, ...others],
  } = note.value;
  const known = witnesses.flatMap((key) => {
    const parsed = parseVerifierKey(key, sha256);
    const line = parsed && others.find((each) => isBy(parsed, each));
    return line ? [{ key, line }] : [];
  });
  const signatures = [...(own === undefined ? [] : [own]), ...known.map(({ line }) => line)];
  return { checkpoint: formatNote({ ...note.value, signatures }), witnesses: known.map(({ key }) => key) };
}

function isBy(key: NoteKey, { name, keyHash }: NoteSignature): boolean {
  return name === key.name && equalBytes(keyHash, keyHashOf(key, sha256));
}

// The leaves in the log that follow from what a business has: its seals, and the custody statements about its keys.

const sealTypes: readonly string[] = [
  payloadTypes["seal.v1"],
  payloadTypes["seal.v2"],
  payloadTypes["batch-seal.v1"],
  payloadTypes["batch-seal.v2"],
];
const headMax = 128;

/** The leaf of a seal in the log, as `sha256:<hex>`. */
export function leafOfSeal(envelope: Envelope): string {
  return sealLeafOf(envelope, sha256);
}

/** The leaf of the seal that a signature over a message makes; null for a message that is no seal's. */
export function leafOfSigned(
  message: Uint8Array,
  { keyId, sig }: { readonly keyId: string; readonly sig: Uint8Array },
): string | null {
  const start = new TextDecoder().decode(message.subarray(0, headMax));
  const [, type = "", length = ""] = /^DSSEv1 \d+ (\S+) (\d+) /.exec(start) ?? [];
  if (!sealTypes.includes(type)) return null;
  const payload = message.slice(utf8(paeHead(type, Number(length))).length);
  return leafOfSeal(makeEnvelope(type, payload, [{ keyid: keyId, sig }]));
}

/** The leaves that custody statements of a business account for, and those of keys that the service says it holds for it. */
export interface CustodyLeaves {
  readonly own: readonly string[];
  /** Statements about hosted keys, and the registrations of these keys: of no key of the business, and not a secret either. */
  readonly hosted: readonly string[];
}

/**
 * What follows from the answer of `GET /v1/certificates/{uuid}/key-custody`. It needs no trust: a statement that has the hash of
 * a leaf is what was appended, and it says itself about which key it is.
 */
export function custodyLeaves(
  answer: string,
  { businessUuid, keyIds }: { readonly businessUuid: string; readonly keyIds: readonly string[] },
): CustodyLeaves {
  const read = parseStrictJson(utf8(answer));
  const { statements } = (read.ok ? (read.value ?? {}) : {}) as { readonly statements?: unknown };
  const found: { own: string[]; hosted: string[] } = { own: [], hosted: [] };
  for (const each of Array.isArray(statements) ? statements : []) {
    const envelope = (each as { readonly statement?: JsonValue } | null)?.statement;
    const { key_id, custody } = envelope === undefined ? {} : statementIn(envelope);
    if (envelope === undefined || typeof key_id !== "string") continue;
    const leaf = contentHash(envelope, sha256);
    if (keyIds.includes(key_id)) found.own.push(leaf);
    else if (custody === "hosted") found.hosted.push(leaf, keyAddedEntry(businessUuid, key_id, sha256).leaf);
  }
  return found;
}

function statementIn(text: JsonValue): { readonly key_id?: unknown; readonly custody?: unknown } {
  const envelope = parseEnvelope(text);
  if (!envelope.ok || envelope.value.payloadType !== payloadTypes["key-custody.v1"]) return {};
  const payload = parseStrictJson(parseBase64(envelope.value.payload) ?? utf8(""));
  const value = payload.ok ? payload.value : null;
  return isObject(value) ? value : {};
}
