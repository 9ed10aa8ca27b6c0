// What the service states with its statement key: what it found about a record (verify-statement), that a business
// published one (verify-page), and whose a key is (key-directory).
//   N1. Only the envelope counts. `value` may be the whole answer with the envelope in it as `statement`; members beside
//       it that say something else refuse it, so that nobody reads there what was not signed.

import { parseBase64 } from "../protocol/bytes.ts";
import { canonicalize, type JsonValue } from "../protocol/canonical-json.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import {
  type KeyDirectory,
  type ListedCompany,
  type ListedKey,
  openKeyDirectory,
} from "../protocol/key-directory.ts";
import { ok, type ReasonCode, type Refusal, refuse, type Verdict } from "../protocol/result.ts";
import { openSeal } from "../protocol/seal.ts";
import { openVerifyPage, type VerifyPage } from "../protocol/verify-page.ts";
import { openVerifyStatement, type VerifyStatement } from "../protocol/verify-statement.ts";
import { isObject } from "../std/is-object.ts";
import { windowFault } from "./key-window.ts";
import { sandboxFault, type Trust } from "./trust.ts";
import { verifyWorking } from "./working-signature.ts";

/** What a statement about a record is checked against; omitted members are not compared. */
export interface StatementSubject {
  /** The exact bytes of the record. */
  readonly bytes?: Uint8Array;
  /** Only a verify page names it. */
  readonly recordId?: string;
}

/**
 * Verifies what `POST /v1/verify` stated: signed by a statement key valid at `checked_at`, in the environment of the
 * anchors, about these bytes (`hash_mismatch` otherwise). That it is genuine does not make its findings good: `valid`
 * says what was found.
 */
export function verifyStatement(
  trust: Trust,
  value: JsonValue,
  { bytes }: Pick<StatementSubject, "bytes"> = {},
): Verdict<VerifyStatement> {
  const stated = verifyStated(trust, value, {
    open: openVerifyStatement,
    at: (statement) => statement.checked_at,
    beside: ["v", "record_hash", "sandbox"],
  });
  if (!stated.ok) return stated;
  const { sandbox, record_hash: hash } = stated.value;
  return sandboxFault(trust.anchors, sandbox) ?? bytesFault(trust, bytes, hash) ?? stated;
}

/**
 * Verifies a verify page in the same way: `hash_mismatch` for other bytes, the page of another record, or a removal whose
 * seal is over another document. Whether a key of the business made that seal is for {@link verifySeal}, with its keys.
 */
export function verifyPage(
  trust: Trust,
  value: JsonValue,
  { bytes, recordId }: StatementSubject = {},
): Verdict<VerifyPage> {
  const stated = verifyStated(trust, value, {
    open: openVerifyPage,
    at: (page) => page.checked_at,
    beside: [],
  });
  if (!stated.ok) return stated;
  const { record_id: id, adl_origin: hash } = stated.value;
  if (recordId !== undefined && recordId !== id)
    return refuse("hash_mismatch", `The page is about record ${id}.`, "/record_id");
  return bytesFault(trust, bytes, hash) ?? removalFault(trust, stated.value) ?? stated;
}

function removalFault(
  { sha256 }: Trust,
  { removal, record_type: type }: VerifyPage,
): Refusal<ReasonCode> | null {
  if (removal === null) return null;
  const seal = openSeal(removal.seal);
  if (!seal.ok) return seal;
  if (seal.value.record_type !== type)
    return refuse("record_type_mismatch", "The removal is sealed for another type.", "/removal/seal");
  const document = parseBase64(removal.document_base64) ?? new Uint8Array();
  return seal.value.hash === hashOf(document, sha256)
    ? null
    : refuse("hash_mismatch", "The removal is sealed over another document.", "/removal/seal");
}

/** Verifies a key directory: signed by a statement key valid at `issued_at`. */
export function verifyKeyDirectory(trust: Trust, value: JsonValue): Verdict<KeyDirectory> {
  return verifyStated(trust, value, {
    open: (envelope) => openKeyDirectory(envelope, trust.sha256),
    at: (directory) => directory.issued_at,
    beside: [],
  });
}

/**
 * Whose a key was at an instant, by a verified directory: `key_unknown` for one that it does not list, which may also be
 * that of a company that chose not to be listed, and `key_not_valid` outside its window.
 */
export function listedKeyAt(
  { companies }: KeyDirectory,
  { key_id, at }: { readonly key_id: string; readonly at: string },
): Verdict<{ readonly company: ListedCompany; readonly key: ListedKey }> {
  for (const company of companies) {
    const key = company.keys.find((each) => each.key_id === key_id);
    if (key !== undefined) return windowFault({ ...key, compromised_from: null }, at) ?? ok({ company, key });
  }
  return refuse("key_unknown", `The directory does not list key ${key_id}.`);
}

interface Reading<T> {
  readonly open: (envelope: Envelope) => Verdict<T>;
  /** The instant at which the key must have been valid. */
  readonly at: (document: T) => string;
  /** Members of the payload that the answer does not repeat. */
  readonly beside: readonly (keyof T & string)[];
}

/** Verifies what the statement key signed, alone or in an answer (N1). */
export function verifyStated<T extends object>(
  trust: Trust,
  value: JsonValue,
  { open, at, beside }: Reading<T>,
): Verdict<T> {
  const isAnswer = isObject(value) && Object.hasOwn(value, "statement");
  const envelope = parseEnvelope(isAnswer ? value["statement"] : value);
  if (!envelope.ok) return envelope;
  const document = open(envelope.value);
  if (!document.ok) return document;
  const signer = { use: "statement", region: null, at: at(document.value) } as const;
  const signed = verifyWorking(trust, envelope.value, signer);
  if (!signed.ok) return signed;
  if (!isAnswer) return document;
  const { statement: _, ...shown } = value;
  const stated = Object.fromEntries(
    Object.entries(document.value).filter(([name]) => !(beside as readonly string[]).includes(name)),
  );
  return canonicalize(shown) === canonicalize(stated)
    ? document
    : refuse("payload_malformed", "The answer says something else than the statement in it.");
}

function bytesFault({ sha256 }: Trust, bytes: Uint8Array | undefined, hash: string): Verdict<never> | null {
  if (bytes === undefined || hashOf(bytes, sha256) === hash) return null;
  return refuse("hash_mismatch", "The statement is about other bytes.");
}
