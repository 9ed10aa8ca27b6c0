// What the service states with its statement key: what it found about a record (verify-statement), that a business
// published one (verify-page), and whose a key is (key-directory).
//   N1. Only the envelope counts. `value` may be the whole answer with the envelope in it as `statement`; members beside
//       it that say something else refuse it, so that nobody reads there what was not signed.

import { hashOf, parseBase64 } from "../protocol/bytes.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { type Entitlement, openEntitlement } from "../protocol/entitlement.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import {
  type CustodyRequest,
  type KeyDirectory,
  type ListedCompany,
  type ListedKey,
  openCustodyRequest,
  openKeyDirectory,
} from "../protocol/keys/key-directory.ts";
import { windowFault } from "../protocol/keys/signatures.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import { openSeal } from "../protocol/seal.ts";
import {
  openVerifyPage,
  openVerifyStatement,
  type VerifyPage,
  type VerifyStatement,
} from "../protocol/verify-page.ts";
import { type HoldDecision, openHoldDecision } from "../protocol/withdrawal.ts";
import { isObject } from "../std/json-pointer.ts";
import { verifySealer } from "./business-keys.ts";
import { sandboxFault, type Trust, verifyWorking } from "./trust.ts";

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
function verifyStated<T extends object>(
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

// Entitlements: whether the service lets this AI company use it at an instant, by nothing but pinned anchors and the key set.
//   EN1. Whatever is wrong with one is `entitlement_invalid`; only a genuine one can be `entitlement_expired`, so that
//        nobody takes a forged one to a renewal.
//   EN2. It says whose keys these were, and not that its bearer holds one: a request that such a key signed shows that.

/** What an entitlement is checked against; omitted members are not compared. */
export interface EntitlementSubject {
  /** The instant (a timestamp) at which it has to be valid. */
  readonly at: string;
  /** The key that signed what came with it. */
  readonly keyId?: string;
  readonly aiCompanyUuid?: string;
}

/**
 * Verifies an entitlement, as the answer of `GET /v1/entitlement` or only the envelope in it: signed by a statement key that
 * was valid when it was issued, in the environment of the anchors, valid at `at`, of this company and key.
 * `entitlement_expired` from `valid_until` on, and `entitlement_invalid` for anything else; the detail says why.
 */
export function verifyEntitlement(
  trust: Trust,
  value: JsonValue,
  { at, keyId, aiCompanyUuid }: EntitlementSubject,
): Verdict<Entitlement> {
  const stated = verifyStated(trust, value, {
    open: openEntitlement,
    at: ({ valid_from }) => valid_from,
    beside: ["v", "sandbox"],
  });
  if (!stated.ok) return refuse("entitlement_invalid", `${stated.code}: ${stated.detail}`, stated.pointer);
  const { ai_company_uuid: uuid, key_ids: keyIds, valid_from: from, valid_until: until } = stated.value;
  const misplaced = sandboxFault(trust.anchors, stated.value.sandbox);
  if (misplaced !== null) return refuse("entitlement_invalid", `${misplaced.code}: ${misplaced.detail}`);
  if (aiCompanyUuid !== undefined && aiCompanyUuid !== uuid)
    return refuse("entitlement_invalid", `The entitlement is of company ${uuid}.`, "/ai_company_uuid");
  if (keyId !== undefined && !keyIds.includes(keyId))
    return refuse("entitlement_invalid", `The entitlement does not name key ${keyId}.`, "/key_ids");
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  if (at < from)
    return refuse("entitlement_invalid", `The entitlement is valid from ${from} on.`, "/valid_from");
  return at < until
    ? stated
    : refuse("entitlement_expired", `The entitlement was valid until ${until}.`, "/valid_until");
}

// What an owner or admin of a business asked of the service: the decision about a held push, and a statement of who holds a key.

/**
 * Verifies a decision on a hold: it must be sealed by a passkey of the business, under any anchors, that was valid at `at`.
 * What only the service knows (the person's role, whether it accepted the decision) is not judged.
 */
export function verifyHoldDecision(
  trust: Trust,
  keys: BusinessKeys,
  value: JsonValue,
): Verdict<HoldDecision> {
  return verifyAsked(trust, keys, { value, open: openHoldDecision });
}

/** Verifies a request for a custody statement in the same way. */
export function verifyCustodyRequest(
  trust: Trust,
  keys: BusinessKeys,
  value: JsonValue,
): Verdict<CustodyRequest> {
  return verifyAsked(trust, keys, { value, open: openCustodyRequest });
}

function verifyAsked<T extends { readonly business_uuid: string; readonly at: string }>(
  trust: Trust,
  keys: BusinessKeys,
  { value, open }: { readonly value: JsonValue; readonly open: (envelope: Envelope) => Verdict<T> },
): Verdict<T> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const asked = open(envelope.value);
  if (!asked.ok) return asked;
  const sealer = verifySealer(trust, keys, envelope.value, { keyId: null, kinds: ["passkey"] });
  if (!sealer.ok) return sealer;
  const fault = windowFault(sealer.value, asked.value.at);
  if (fault !== null) return fault;
  return asked.value.business_uuid === keys.uuid
    ? asked
    : refuse("out_of_scope", "The document is another business's.");
}
