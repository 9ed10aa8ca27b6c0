// Who holds a key: the service on behalf of the business, or the business itself.

import { parseBase64 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import {
  type CustodyState,
  custodyInForce,
  type KeyCustody,
  openKeyCustody,
} from "../protocol/key-custody.ts";
import type { Fault } from "../protocol/payload.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { isObject } from "../std/is-object.ts";
import { besideFault } from "./members.ts";
import { sandboxFault, type Trust, verifyIssued } from "./trust.ts";

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
