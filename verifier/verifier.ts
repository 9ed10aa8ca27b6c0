// The offline verifier: everything that can be checked with pinned anchors and what the caller holds, in Node and in
// browsers alike. It fetches nothing, stores nothing and reads no clock.

import { equalBytes, sha256 as portableSha256, type Sha256, toBase64 } from "../protocol/bytes.ts";
import { malformed } from "../protocol/dsse.ts";
import type { Entitlement } from "../protocol/entitlement.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import type { Certificate, IssuedCertificate } from "../protocol/keys/certificate.ts";
import type {
  CustodyRequest,
  CustodyState,
  KeyCustody,
  KeyDirectory,
  ListedCompany,
  ListedKey,
} from "../protocol/keys/key-directory.ts";
import { type SignatureVerifier, verifySignature } from "../protocol/keys/signatures.ts";
import { parseWitnessPolicy } from "../protocol/log/cosignatures.ts";
import type { LogEntry } from "../protocol/log/leaves.ts";
import type { Checkpoint } from "../protocol/log/note.ts";
import type { Mandate } from "../protocol/mandate.ts";
import {
  type ProjectionSpecification,
  projectionByName,
  projectionDocument,
} from "../protocol/projection/project.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { ok, refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import type { Sidecar } from "../protocol/signed-version.ts";
import type { VerifyPage, VerifyStatement } from "../protocol/verify-page.ts";
import type { HoldDecision } from "../protocol/withdrawal.ts";
import { isObject } from "../std/json-pointer.ts";
import { type AdEvidence, verifyAdItem } from "./ad-item.ts";
import { custodyAt, verifyBusinessKeys, verifyKeyCustody } from "./business-keys.ts";
import {
  type CertificateHistory,
  certificateAt,
  verifyCertificate,
  verifyCertificates,
} from "./certificate.ts";
import { type AnswerKind, parseEvidence } from "./evidence.ts";
import {
  type CatalogueEvidence,
  fetchedChecks,
  verifyCatalogueAnswer,
  verifyFetchAnswer,
} from "./fetch-answer.ts";
import {
  type InclusionEvidence,
  type ReceiptBatchEvidence,
  verifyCheckpoint,
  verifyLogConsistency,
  verifyLogInclusion,
  verifyReceiptInclusion,
} from "./log.ts";
import { loggedChecks, type ProofFileMembers, parseProofFile, servedIn } from "./logged.ts";
import { verifyMandate } from "./mandate.ts";
import { type Check, checkOf, type Report, reportOf, unchecked } from "./members.ts";
import { type PolicyBitsReport, verifyPolicyBits } from "./policy-bits.ts";
import { type AnswerEvidence, type ReceiptSubject, verifyReceipt } from "./receipt.ts";
import { type SidecarSubject, verifyProjection, verifyRowSignature, verifySidecar } from "./row.ts";
import { type SealEvidence, verifySeal, withStatedHash } from "./seal.ts";
import type { SealVerdict } from "./seal-report.ts";
import { type PersonEvidence, verifySealedByPerson } from "./sealed-words.ts";
import { verifyPoolAnswer, verifySearchAnswer } from "./search-answer.ts";
import {
  type EntitlementSubject,
  listedKeyAt,
  type StatementSubject,
  verifyCustodyRequest,
  verifyEntitlement,
  verifyHoldDecision,
  verifyKeyDirectory,
  verifyPage,
  verifyStatement,
} from "./service-statements.ts";
import { parseShownPrice, type ShownPrice, shownPriceReport } from "./shown-price.ts";
import { type Primitives, type Trust, verifyKeyChain, verifyKeySet } from "./trust.ts";

export interface VerifierOptions {
  readonly anchors: Anchors;
  /** The answer of `GET /.well-known/keys`, or the envelope in it, as text or parsed. */
  readonly keySet: JsonValue | Uint8Array;
  /** The signature primitives (default: portable); a node passes its native ones. */
  readonly verify?: SignatureVerifier;
  readonly sha256?: Sha256;
  /**
   * The witnesses that the caller believes, by their verifier keys, and how many of them have to have cosigned a checkpoint before
   * anything is proven by it (default: none).
   */
  readonly witnesses?: { readonly keys: readonly string[]; readonly quorum: number };
}

/** Verification under one set of anchors and one key set. Every verdict's code is one of the specification's reasons. */
export interface Verifier {
  readonly trust: Trust;
  certificate(envelope: JsonValue): Verdict<IssuedCertificate>;
  certificates(uuid: string, envelopes: readonly JsonValue[]): Verdict<CertificateHistory>;
  certificateAt(
    history: CertificateHistory,
    seal: { readonly cert_id: string; readonly sealed_at: string },
  ): Verdict<Certificate>;
  businessKeys(uuid: string, value: JsonValue): Verdict<BusinessKeys>;
  keyCustody(envelope: JsonValue): Verdict<KeyCustody>;
  custodyAt(
    statements: JsonValue,
    about: { readonly business_uuid: string; readonly key_id: string; readonly at: string },
  ): Verdict<CustodyState>;
  mandate(keys: BusinessKeys, envelope: JsonValue): Verdict<Mandate>;
  /** What an owner or admin decided about a held push. */
  holdDecision(keys: BusinessKeys, envelope: JsonValue): Verdict<HoldDecision>;
  /** What an owner or admin asked the service to state about a key. */
  custodyRequest(keys: BusinessKeys, envelope: JsonValue): Verdict<CustodyRequest>;
  /** A refusal reports what the seal claims, under a name of its own, and which checks were made. */
  seal(evidence: SealEvidence): SealVerdict;
  sidecar(envelope: JsonValue, subject?: SidecarSubject): Verdict<Sidecar>;
  receipt(envelope: JsonValue, subject?: ReceiptSubject): Verdict<Receipt>;
  /** Verifies the signature of a row; `servedAt` comes from a verified receipt. */
  rowSignature(row: JsonValue, servedAt?: string): Verdict<IndexRow>;
  /** Runs the row's projection again on the exact record bytes. */
  projection(row: IndexRow, bytes: Uint8Array): Verdict<void>;
  /**
   * Checks a specification as `GET /v1/projections/{type}/{version}` answers it; one whose hash is not that of its
   * version is refused.
   */
  projectionDocument(document: JsonValue): Verdict<ProjectionSpecification>;
  policyBits(bits: JsonValue, policy: Omit<SealEvidence, "document"> | null): Verdict<PolicyBitsReport>;
  /** What `POST /v1/verify` stated: its answer, or the envelope in it. `valid` says what was found. */
  statement(value: JsonValue, subject?: Pick<StatementSubject, "bytes">): Verdict<VerifyStatement>;
  /** What `GET /v1/verify/{record_id}` stated: its answer, or the envelope in it. */
  page(value: JsonValue, subject?: StatementSubject): Verdict<VerifyPage>;
  /** The answer of `GET /.well-known/svc-keys`, or the envelope in it. */
  keyDirectory(value: JsonValue): Verdict<KeyDirectory>;
  /** Whose a key was at an instant, by a verified directory. */
  listedKeyAt(
    directory: KeyDirectory,
    about: { readonly key_id: string; readonly at: string },
  ): Verdict<{ readonly company: ListedCompany; readonly key: ListedKey }>;
  /** Whether the service lets an AI company use it at an instant: the answer of `GET /v1/entitlement`, or the envelope in it. */
  entitlement(value: JsonValue, subject: EntitlementSubject): Verdict<Entitlement>;
  /** A signed checkpoint of the transparency log. */
  checkpoint(note: string): Verdict<Checkpoint>;
  /** Whether the log contains an entry, by the answer of an inclusion read. */
  logInclusion(entry: LogEntry, evidence: InclusionEvidence): Verdict<Checkpoint>;
  /** Whether the log contains a receipt, in two levels; `envelope` is the exact text of its envelope. */
  receiptInclusion(
    envelope: Uint8Array,
    evidence: InclusionEvidence & { readonly batch: ReceiptBatchEvidence },
  ): Verdict<Checkpoint>;
  /** Whether the log only grew between two checkpoints, by the answer of a consistency read. */
  logConsistency(first: string, second: string, proof: readonly string[]): Verdict<Checkpoint>;
  /** Checks the body of a search answer, exactly as received. */
  searchAnswer(body: Uint8Array, evidence?: AnswerEvidence): Report;
  /** Checks the body of a fetch answer, exactly as received. */
  fetchAnswer(body: Uint8Array, evidence?: AnswerEvidence): Report;
  /** Checks the body of one record of a business's own catalogue, exactly as received. */
  catalogueAnswer(body: Uint8Array, evidence: CatalogueEvidence): Report;
  /** Checks the proof of a shown price by keys that were verified before: two signatures, whatever chain is in it. */
  shownPrice(file: Uint8Array): Report;
  /** Checks the body of a pool of ads, exactly as received. */
  poolAnswer(body: Uint8Array, evidence?: AnswerEvidence): Report;
  /**
   * Judges a mandate, a decision about a held push, a custody request or a seal alone, and says what it says in the words that a person
   * was shown.
   */
  sealedByPerson(envelope: JsonValue, evidence: PersonEvidence): Report;
  /** Checks the item of an ad, as the exact bytes that a pool served or as parsed JSON. */
  adItem(item: JsonValue | Uint8Array, evidence?: AdEvidence): Report;
}

/** Verifies the key set against the anchors; all other verification builds on the result. */
export function createVerifier(options: VerifierOptions): Verdict<Verifier> {
  const primitives: Primitives = {
    verify: options.verify ?? verifySignature,
    sha256: options.sha256 ?? portableSha256,
  };
  const keySet = options.keySet instanceof Uint8Array ? parseBody(options.keySet) : ok(options.keySet);
  if (!keySet.ok) return keySet;
  const trust = verifyKeySet(options.anchors, keySet.value, primitives);
  if (!trust.ok || options.witnesses === undefined) return trust.ok ? ok(verifierOf(trust.value)) : trust;
  const witnessPolicy = parseWitnessPolicy(options.witnesses, primitives.sha256);
  return witnessPolicy === null
    ? refuse(
        "checkpoint_invalid",
        "The policy needs distinct cosignature keys, and no more of them than it names.",
      )
    : ok(verifierOf({ ...trust.value, witnessPolicy }));
}

type Pinned = Omit<VerifierOptions, "keySet">;

/**
 * Verifies an evidence file with nothing but anchors: the environment it names must be theirs (`environment`), its key
 * set must chain to them (`key_set`), and then what is in it is checked. A file with the proofs of the transparency log
 * (`svc-evidence/2`) is valid only if every check could be made. The proof of a shown price (`svc-evidence/3`) has no key set: it is judged
 * by the one given here, or else by the chain in it (`key_chain`), and by neither it is not valid.
 */
export function verifyEvidence(options: Pinned & Partial<VerifierOptions>, file: Uint8Array): Report {
  const price = parseShownPrice(file);
  if (price !== null)
    return price.ok ? verifyPrice(options, price.value) : reportOf([checkOf("file", price)]);
  const proofs = parseProofFile(file);
  return proofs === null ? verifyAnswerFile(options, file) : verifyProofs(options, proofs);
}

function verifyPrice(options: Pinned & Partial<VerifierOptions>, price: ShownPrice): Report {
  const { anchors, sha256 = portableSha256, keySet } = options;
  const elsewhere = environmentCheck(anchors, price.environment);
  if (elsewhere !== null) return reportOf([elsewhere]);
  const verify = verifyOnce(options.verify ?? verifySignature);
  const chain =
    price.key_certificates === undefined
      ? null
      : verifyKeyChain(anchors, price.key_certificates, { verify, sha256 });
  const known = keySet === undefined ? null : createVerifier({ ...options, verify, keySet });
  const keys = [
    ...(chain === null ? [] : [checkOf("key_chain", chain, issuedSince)]),
    known === null
      ? unchecked("key_set", "None was given, which alone says what keys were compromised.")
      : checkOf("key_set", known, keysFound),
  ];
  const trust = known === null ? chain : known.ok ? ok(known.value.trust) : known;
  if (trust?.ok !== true || chain?.ok === false) return reportOf(keys);
  const { checks, words } = shownPriceReport(trust.value, price);
  return { ...reportOf([...keys, ...checks]), ...(words === undefined ? {} : { words }) };
}

function verifyAnswerFile(options: Pinned, file: Uint8Array): Report {
  const evidence = parseEvidence(file);
  if (!evidence.ok) return reportOf([checkOf("file", evidence)]);
  const { answer } = evidence.value;
  return underKeySet(
    options,
    evidence.value,
    (verifier) => verifyServed(verifier, answer, evidence.value).checks,
  );
}

/** Checks the body of an answer of any kind, exactly as received. */
export function verifyServed(
  { searchAnswer, fetchAnswer, poolAnswer }: Verifier,
  { kind, body }: { readonly kind: AnswerKind; readonly body: Uint8Array },
  evidence: AnswerEvidence,
): Report {
  const verify = { search: searchAnswer, fetched: fetchAnswer, pool: poolAnswer }[kind];
  return verify(body, evidence);
}

function verifyProofs(options: Pinned, parsed: Verdict<ProofFileMembers>): Report {
  const served = parsed.ok ? servedIn(parsed.value) : parsed;
  if (!parsed.ok || !served.ok) return reportOf([checkOf("file", served)]);
  const { fetched, evidence } = served.value;
  const { environment, key_set: keySet, receipt: text } = parsed.value;
  const report = underKeySet(options, { environment, keySet }, ({ trust }) => [
    ...fetchedChecks(trust, fetched, evidence),
    ...loggedChecks(trust, parsed.value, { text, value: fetched.receipt }),
  ]);
  return { ...report, valid: report.valid && report.complete };
}

/** The checks under the key set that an evidence file contains. */
function underKeySet(
  options: Pinned,
  { environment, keySet }: { readonly environment: string; readonly keySet: JsonValue },
  checks: (verifier: Verifier) => readonly Check[],
): Report {
  const elsewhere = environmentCheck(options.anchors, environment);
  if (elsewhere !== null) return reportOf([elsewhere]);
  const verify = verifyOnce(options.verify ?? verifySignature);
  const verifier = createVerifier({ ...options, verify, keySet });
  const chain: Check = checkOf("key_set", verifier, keysFound);
  return reportOf(verifier.ok ? [chain, ...checks(verifier.value)] : [chain]);
}

function keysFound({ trust }: Verifier): string {
  return `Issued at ${trust.keySet.issued_at}.`;
}

function issuedSince({ keySet }: Trust): string {
  return `Issued at ${keySet.issued_at} and later.`;
}

function environmentCheck(anchors: Anchors, environment: string): Check | null {
  const detail = `The evidence is of ${environment}, the anchors are of ${anchors.environment}.`;
  return environment === anchors.environment ? null : checkOf("environment", refuse("key_unknown", detail));
}

function verifierOf(trust: Trust): Verifier {
  return {
    trust,
    certificate: (envelope) => verifyCertificate(trust, envelope),
    certificates: (uuid, envelopes) => verifyCertificates(trust, uuid, envelopes),
    certificateAt,
    businessKeys: (uuid, value) => verifyBusinessKeys(trust, uuid, value),
    keyCustody: (envelope) => verifyKeyCustody(trust, envelope),
    custodyAt: (statements, about) => custodyAt(trust, statements, about),
    mandate: (keys, envelope) => verifyMandate(trust, keys, envelope),
    holdDecision: (keys, envelope) => verifyHoldDecision(trust, keys, envelope),
    custodyRequest: (keys, envelope) => verifyCustodyRequest(trust, keys, envelope),
    seal: (evidence) => verifySeal(trust, withStatedHash(trust, evidence)),
    sidecar: (envelope, subject) => verifySidecar(trust, envelope, subject),
    receipt: (envelope, subject) => verifyReceipt(trust, envelope, subject),
    rowSignature: (row, servedAt) => verifyRowSignature(trust, row, servedAt),
    projection: (row, bytes) => verifyProjection(trust, row, bytes),
    projectionDocument: verifyProjectionDocument,
    policyBits: (bits, policy) => verifyPolicyBits(trust, bits, policy),
    statement: (value, subject) => verifyStatement(trust, value, subject),
    page: (value, subject) => verifyPage(trust, value, subject),
    keyDirectory: (value) => verifyKeyDirectory(trust, value),
    listedKeyAt,
    entitlement: (value, subject) => verifyEntitlement(trust, value, subject),
    checkpoint: (note) => verifyCheckpoint(trust, note),
    logInclusion: (entry, evidence) => verifyLogInclusion(trust, entry, evidence),
    receiptInclusion: (envelope, evidence) => verifyReceiptInclusion(trust, envelope, evidence),
    logConsistency: (first, second, proof) => verifyLogConsistency(trust, first, second, proof),
    searchAnswer: (body, evidence) => verifySearchAnswer(trust, body, evidence),
    fetchAnswer: (body, evidence) => verifyFetchAnswer(trust, body, evidence),
    catalogueAnswer: (body, evidence) => verifyCatalogueAnswer(trust, body, evidence),
    shownPrice: (file) => {
      const parsed = parseShownPrice(file) ?? malformed("Not the proof of a shown price.", "");
      if (!parsed.ok) return reportOf([checkOf("file", parsed)]);
      const elsewhere = environmentCheck(trust.anchors, parsed.value.environment);
      return elsewhere === null ? shownPriceReport(trust, parsed.value) : reportOf([elsewhere]);
    },
    poolAnswer: (body, evidence) => verifyPoolAnswer(trust, body, evidence),
    sealedByPerson: (envelope, evidence) => verifySealedByPerson(trust, envelope, evidence),
    adItem: (item, evidence) => verifyAdItem(trust, item, evidence),
  };
}

function parseBody(bytes: Uint8Array): Verdict<JsonValue> {
  const parsed = parseStrictJson(bytes);
  return parsed.ok ? parsed : refuse("payload_malformed", parsed.detail, parsed.pointer);
}

// What one evidence file proves in several places is verified in one: all its proofs lead to one checkpoint.

/** Recalls the signatures that were valid, each for exactly its key and message. It belongs to one file, so it stays small. */
export function verifyOnce(verify: SignatureVerifier): SignatureVerifier {
  const valid = new Map<string, Uint8Array>();
  return (jwk, message, signature) => {
    const name = `${JSON.stringify(jwk)} ${toBase64(signature)}`;
    const known = valid.get(name);
    if (known !== undefined && equalBytes(known, message)) return true;
    const isValid = verify(jwk, message, signature);
    if (isValid) valid.set(name, message.slice());
    return isValid;
  };
}

// Published projection specifications: a version has one specification, and one hash, permanently.

/**
 * Compares the parsed answer of `GET /v1/projections/{type}/{version}` with this verifier's own specification of that
 * version: rows name a version, not a hash, so a specification that differs applies to no row. Refuses with
 * `payload_malformed`, with `projection_unknown` for a version not known here, and with `hash_mismatch` for a different
 * text under a known version.
 */
function verifyProjectionDocument(value: JsonValue): Verdict<ProjectionSpecification> {
  const version = isObject(value) ? value["version"] : undefined;
  if (typeof version !== "string")
    return refuse("payload_malformed", "A projection specification names its version.", "/version");
  const known = projectionByName(version);
  if (known === null) return refuse("projection_unknown", `Projection ${version} is not known.`, "/version");
  const [type = "", number = ""] = version.split("/");
  return canonicalize(value) === canonicalize(projectionDocument(type, Number(number)))
    ? ok(known)
    : refuse("hash_mismatch", `Projection ${version} is another one than this.`, "/sha256");
}
