// Key custody statements: whether the service or the business itself holds a key (specification, «Key custody statement»). A
// statement is re-issued, never edited.

import { canonicalBytes } from "./canonical-json.ts";
import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import { hashOf, type Sha256 } from "./hash.ts";
import { malformed, type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import { closed, keyId, literal, oneOf, optional, timestamp, uuid } from "./shape.ts";

export interface KeyCustody {
  readonly v: 1;
  readonly business_uuid: string;
  readonly key_id: string;
  /** `hosted`: the service holds the key for the business; `self`: the business holds it. */
  readonly custody: "hosted" | "self";
  readonly issued_at: string;
  /** Never later than `issued_at`. */
  readonly effective_from: string;
  /** Present, with the value true, only on a sandbox statement. */
  readonly sandbox?: true;
}

/** What is known about a key at an instant; a key without a statement is never assumed to be `self`. */
export type CustodyState = KeyCustody["custody"] | "unstated";

export const keyCustodyFormat: PayloadFormat<KeyCustody> = {
  version: 1,
  versions: [1],
  shape: closed<KeyCustody>({
    v: literal(1),
    business_uuid: uuid,
    key_id: keyId,
    custody: oneOf(["hosted", "self"]),
    issued_at: timestamp,
    effective_from: timestamp,
    sandbox: optional(literal(true)),
  }),
};

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
