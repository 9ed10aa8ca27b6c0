// The published keys of a business, and the seals made with them.

import { hashOf, parseBase64 } from "../protocol/bytes.ts";
import {
  type Envelope,
  type Fault,
  openEnvelope,
  pae,
  parseEnvelope,
  payloadTypes,
} from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { type BusinessKey, type BusinessKeys, openBusinessKeys } from "../protocol/keys/business-keys.ts";
import {
  type CustodyState,
  custodyInForce,
  type KeyCustody,
  openKeyCustody,
} from "../protocol/keys/key-directory.ts";
import { verifyOne, verifyPasskey } from "../protocol/keys/signatures.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { isObject } from "../std/json-pointer.ts";
import { besideFault } from "./members.ts";
import { sandboxFault, type Trust, verifyIssued, verifyWorking } from "./trust.ts";

/**
 * Verifies a business's published keys. `value` is the parsed answer of `GET /v1/certificates/{uuid}/keys`, of which
 * only `signed` counts, or that envelope itself. It must be signed by a statement key valid at `issued_at`; a list of
 * another business is `key_unknown`, and an answer that says anything else beside the envelope `payload_malformed`.
 */
export function verifyBusinessKeys(trust: Trust, uuid: string, value: JsonValue): Verdict<BusinessKeys> {
  const answer = isObject(value) && Object.hasOwn(value, "signed") ? value : null;
  const envelope = parseEnvelope(answer === null ? value : answer["signed"]);
  if (!envelope.ok) return envelope;
  const keys = openBusinessKeys(envelope.value, trust.sha256);
  if (!keys.ok) return keys;
  const { v: _, ...stated } = keys.value;
  const fault = answer === null ? null : besideFault(answer, stated);
  if (fault !== null) return fault;
  const signer = { use: "statement", region: null, at: keys.value.issued_at } as const;
  const signed = verifyWorking(trust, envelope.value, signer);
  if (!signed.ok) return signed;
  return keys.value.uuid === uuid ? keys : refuse("key_unknown", "The keys are those of another business.");
}

/** Who may make a seal: the kinds of key that may, and the key that the document itself names. */
export interface SealerRule {
  /** The `key_id` in the sealed payload; null if the payload names no sealer. */
  readonly keyId: string | null;
  readonly kinds: readonly BusinessKey["kind"][];
}

/**
 * Verifies that a seal carries exactly one signature, made by a key of the business. Refuses with `envelope_malformed`
 * for more than one signature, `key_mismatch` when the payload names another key, `key_unknown` for a key that does not
 * belong to the business or may not make this seal, and `signature_invalid`. It does not check when the key was valid.
 */
export function verifySealer(
  trust: Trust,
  keys: BusinessKeys,
  envelope: Envelope,
  rule: SealerRule,
): Verdict<BusinessKey> {
  const [signature, ...others] = envelope.signatures;
  if (signature === undefined || others.length > 0)
    return refuse("envelope_malformed", "A seal carries exactly one signature.");
  if (rule.keyId !== null && signature.keyid !== rule.keyId) {
    return refuse("key_mismatch", "The seal names another key than the one that signed it.");
  }
  const key = keys.keys.find((candidate) => candidate.key_id === signature.keyid);
  if (key === undefined) return refuse("key_unknown", `Key ${signature.keyid} is not a key of the business.`);
  if (!rule.kinds.includes(key.kind)) return refuse("key_unknown", `A ${key.kind} key may not seal this.`);
  const payload = openEnvelope(envelope, envelope.payloadType);
  if (!payload.ok) return payload;
  const message = pae(envelope.payloadType, payload.value);
  if (key.kind === "passkey") {
    const { verify, sha256 } = trust;
    const origins = trust.anchors.passkeys;
    const verdict = verifyPasskey({ jwk: key.public_key, message, signature, origins, verify, sha256 });
    return verdict.ok ? ok(key) : verdict;
  }
  if (signature.clientDataJSON !== undefined)
    return refuse("signature_invalid", "Only a passkey makes assertions.");
  const valid = verifyOne(trust.verify, key.public_key, message, signature);
  return valid ? ok(key) : refuse("signature_invalid", "The seal's signature does not verify.");
}

// Who holds a key: the service on behalf of the business, or the business itself.

/**
 * Verifies one custody statement: both signature halves, that the issuance key was valid at `issued_at`, and the sandbox
 * mark.
 */
export function verifyKeyCustody(trust: Trust, value: JsonValue): Verdict<KeyCustody> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const statement = openKeyCustody(envelope.value);
  if (!statement.ok) return statement;
  const fault = sandboxFault(trust.anchors, statement.value.sandbox);
  if (fault !== null) return fault;
  const expected = { payloadType: payloadTypes["key-custody.v1"], at: statement.value.issued_at };
  const verdict = verifyIssued(trust, envelope.value, expected);
  return verdict.ok ? statement : verdict;
}

/**
 * The custody of a key at an instant, derived from the statements of a business: the parsed answer of `GET
 * /v1/certificates/{uuid}/key-custody`, or a list of envelopes. A single statement that does not verify refuses the
 * whole list, since it could be the one in force; so does one beside which the answer says anything else
 * (`payload_malformed`). Without a statement the state is `unstated`.
 */
export function custodyAt(
  trust: Trust,
  value: JsonValue,
  about: { readonly business_uuid: string; readonly key_id: string; readonly at: string },
): Verdict<CustodyState> {
  const list = isObject(value) ? value["statements"] : value;
  if (!Array.isArray(list))
    return refuse("payload_malformed", "The custody answer carries a list of statements.");
  const named = isObject(value) ? besideFault(value, { uuid: about.business_uuid }) : null;
  if (named !== null) return named;
  const statements: KeyCustody[] = [];
  for (const [index, entry] of (list as readonly JsonValue[]).entries()) {
    const envelope =
      isObject(entry) && Object.hasOwn(entry, "statement") ? (entry["statement"] ?? null) : entry;
    const statement = verifyKeyCustody(trust, envelope);
    if (!statement.ok) return refuse(statement.code, statement.detail, `/statements/${index}`);
    const fault =
      entry === envelope ? null : statedOtherwise(trust, entry, statement.value, `/statements/${index}`);
    if (fault !== null) return fault;
    statements.push(statement.value);
  }
  return ok(custodyInForce(statements, about)?.custody ?? "unstated");
}

function statedOtherwise(
  { sha256 }: Trust,
  entry: JsonValue,
  { key_id, custody, effective_from, issued_at }: KeyCustody,
  pointer: string,
): Fault | null {
  const { statement, ...beside } = entry as JsonObject;
  const payload = parseBase64(String((statement as JsonObject)["payload"]));
  const statement_id = hashOf(payload ?? new Uint8Array(), sha256);
  return besideFault(beside, { key_id, custody, effective_from, issued_at, statement_id }, pointer);
}
