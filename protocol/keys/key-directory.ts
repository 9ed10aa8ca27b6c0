// Key directory: the AI companies that chose to be listed, with the keys by which they sign (specification, «Key set and
// key directory»). It says whose a key is, so the reader of a receipt or a log of requests can tell who asked.
// Also the proof of possession of a key, and the statements of who holds it (custody).

import { hashOf, type Sha256 } from "../bytes.ts";
import {
  type Envelope,
  type Fault,
  malformed,
  openEnvelope,
  openPayload,
  type PayloadOf,
  parsePayload,
  payloadTypes,
  soleFormat,
} from "../dsse.ts";
import { canonicalBytes } from "../json/canonical-json.ts";
import type { Verdict } from "../reason-codes.ts";
import {
  described,
  keyId,
  listOf,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  timestamp,
  uuid,
} from "../shape.ts";
import { webAddress } from "../wire/retrieval.ts";
import { algorithmOf, thumbprint } from "./jwk.ts";

const listedKey = object({
  key_id: keyId,
  alg: oneOf(["Ed25519", "ES256"]),
  public_key: publicJwk,
  source: described(
    oneOf(["portal", "directory_import"]),
    "How the key was registered: by the company at its portal, or from a directory of its own.",
  ),
  valid_from: timestamp,
  valid_until: described(
    nullable(timestamp),
    "From here on the key is not the company's: the earliest of its end, its revocation and its reported compromise.",
  ),
});
export type ListedKey = Of<typeof listedKey>;

const listedCompany = object({
  ai_company_uuid: uuid,
  name: text(256),
  certificate_url: webAddress,
  keys: described(listOf(listedKey), "Every key it has or had, oldest first."),
});
export type ListedCompany = Of<typeof listedCompany>;

/** What the directory states. The answer and its statement have the same. */
export const keyDirectoryMembers = {
  v: literal(1),
  issued_at: timestamp,
  companies: described(
    listOf(listedCompany),
    "Companies that chose to be listed and whose certificate is active, by uuid.",
  ),
};

export const keyDirectoryFormat = soleFormat(object(keyDirectoryMembers));
export type KeyDirectory = PayloadOf<typeof keyDirectoryFormat>;

/** Opens a key-directory envelope. It only reads: the signature is not verified. */
export function openKeyDirectory(envelope: Envelope, sha256?: Sha256): Verdict<KeyDirectory> {
  const parsed = openPayload(envelope, payloadTypes["key-directory.v1"], keyDirectoryFormat);
  return parsed.ok ? (listFault(parsed.value, sha256) ?? parsed) : parsed;
}

/** A key is of one company, and a company is listed once: otherwise the list would not say whose a key is. */
function listFault({ companies }: KeyDirectory, sha256?: Sha256): Fault | null {
  const [uuids, keyIds] = [new Set<string>(), new Set<string>()];
  for (const [place, company] of companies.entries()) {
    const pointer = `/companies/${place}`;
    if (uuids.has(company.ai_company_uuid)) return malformed("A company is listed twice.", pointer);
    uuids.add(company.ai_company_uuid);
    for (const [index, key] of company.keys.entries()) {
      const fault = keyFault(key, `${pointer}/keys/${index}`, sha256);
      if (fault !== null) return fault;
      if (keyIds.has(key.key_id)) return malformed("A key is listed twice.", `${pointer}/keys/${index}`);
      keyIds.add(key.key_id);
    }
  }
  return null;
}

function keyFault(key: ListedKey, pointer: string, sha256?: Sha256): Fault | null {
  if (thumbprint(key.public_key, sha256) !== key.key_id)
    return malformed("The key id is not the thumbprint of the key.", `${pointer}/key_id`);
  return algorithmOf(key.public_key) === key.alg
    ? null
    : malformed("The key is of another algorithm.", `${pointer}/alg`);
}

// Proof of possession: a key signs the fact that it is to be registered, for whom and in what role, so that nobody can
// register somebody else's key. The challenge is chosen for this registration, so a proof made for another one is worthless.

export const keyPossessionFormat = soleFormat(
  object({
    v: literal(1),
    party_uuid: uuid,
    key_id: keyId,
    role: oneOf(["integration", "retrieval", "sealing"]),
    /** Random value for this registration. */
    challenge: matching(/^[A-Za-z0-9_-]{22,128}$/, "22 to 128 characters of base64url"),
  }),
);
export type KeyPossession = PayloadOf<typeof keyPossessionFormat>;

/** The challenge of a key that an operator registers: the certificate that is in force, by the digits of its id. */
export function keyChallengeOf(certId: string): string {
  return certId.replace(/^sha256:/, "");
}

/** Opens a proof. It only reads: the signature is not verified. */
export function openKeyPossession(envelope: Envelope): Verdict<KeyPossession> {
  return openPayload(envelope, payloadTypes["key-possession.v1"], keyPossessionFormat);
}

/** The payload bytes to sign. */
export function keyPossessionPayload(possession: KeyPossession): Uint8Array {
  return canonicalBytes({ ...possession });
}

// Key custody statements: whether the service or the business itself holds a key (specification, «Key custody statement»). A
// statement is re-issued, never edited.

export const keyCustodyFormat = soleFormat(
  object({
    v: literal(1),
    business_uuid: uuid,
    key_id: keyId,
    /** `hosted`: the service holds the key for the business; `self`: the business holds it. */
    custody: oneOf(["hosted", "self"]),
    issued_at: timestamp,
    /** Never later than `issued_at`. */
    effective_from: timestamp,
    /** Only on a sandbox statement. */
    sandbox: optional(literal(true)),
  }),
);
export type KeyCustody = PayloadOf<typeof keyCustodyFormat>;

/** What is known about a key at an instant; a key without a statement is never assumed to be `self`. */
export type CustodyState = KeyCustody["custody"] | "unstated";

/** Reads the payload of a custody statement. */
export function parseKeyCustody(payload: Uint8Array): Verdict<KeyCustody> {
  const parsed = parsePayload(payload, keyCustodyFormat);
  if (!parsed.ok) return parsed;
  // Both have the same fixed width, so their texts sort in the order of their instants.
  if (parsed.value.effective_from > parsed.value.issued_at) {
    return malformed("A statement must take effect when it is issued, or earlier.", "/effective_from");
  }
  return parsed;
}

/** Opens a custody envelope. It only reads: the signatures are not verified. */
export function openKeyCustody(envelope: Envelope): Verdict<KeyCustody> {
  const payload = openEnvelope(envelope, payloadTypes["key-custody.v1"]);
  return payload.ok ? parseKeyCustody(payload.value) : payload;
}

/** The payload bytes to sign. */
export function keyCustodyPayload(statement: KeyCustody): Uint8Array {
  return canonicalBytes({ ...statement });
}

/** The statement_id: the hash of the payload bytes. */
export function statementIdOf(payload: Uint8Array, sha256?: Sha256): string {
  return hashOf(payload, sha256);
}

// Custody requests: an owner or admin asks for a statement about a key of the business. The specification describes the statement alone.

export const custodyRequestFormat = soleFormat(
  object({
    v: literal(1),
    business_uuid: uuid,
    key_id: keyId,
    custody: oneOf(["hosted", "self"]),
    /** Never later than `at`. */
    effective_from: timestamp,
    /** When it was sealed. */
    at: timestamp,
  }),
);
export type CustodyRequest = PayloadOf<typeof custodyRequestFormat>;

/** Reads the payload of a request for a custody statement. */
export function parseCustodyRequest(payload: Uint8Array): Verdict<CustodyRequest> {
  const parsed = parsePayload(payload, custodyRequestFormat);
  if (!parsed.ok) return parsed;
  return parsed.value.effective_from > parsed.value.at
    ? malformed("A statement must take effect when it is asked for, or earlier.", "/effective_from")
    : parsed;
}

/** Opens a request's envelope. It only reads: the signature is not verified. */
export function openCustodyRequest(envelope: Envelope): Verdict<CustodyRequest> {
  const payload = openEnvelope(envelope, payloadTypes["custody-request.v1"]);
  return payload.ok ? parseCustodyRequest(payload.value) : payload;
}

/** @internal for tests: the payload bytes to seal, which a portal makes. */
export function custodyRequestPayload(request: CustodyRequest): Uint8Array {
  return canonicalBytes({ ...request });
}

/**
 * The statement about a key that is in force at an instant: the one with the latest `effective_from` at or before it; ties
 * go to the later issuance. Null when there is none.
 */
export function custodyInForce(
  statements: readonly KeyCustody[],
  about: { readonly business_uuid: string; readonly key_id: string; readonly at: string },
): KeyCustody | null {
  let inForce: KeyCustody | null = null;
  for (const statement of statements) {
    if (statement.business_uuid !== about.business_uuid || statement.key_id !== about.key_id) continue;
    if (statement.effective_from <= about.at && (inForce === null || succeeds(statement, inForce)))
      inForce = statement;
  }
  return inForce;
}

function succeeds(later: KeyCustody, earlier: KeyCustody): boolean {
  if (later.effective_from !== earlier.effective_from) return later.effective_from > earlier.effective_from;
  return later.issued_at > earlier.issued_at;
}
