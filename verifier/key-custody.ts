// Who holds a key: the service on behalf of the business, or the business itself.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import {
  type CustodyState,
  custodyInForce,
  type KeyCustody,
  openKeyCustody,
} from "../protocol/key-custody.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { isObject } from "../std/is-object.ts";
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
 * whole list, since it could be the one in force. Without a statement the state is `unstated`.
 */
export function custodyAt(
  trust: Trust,
  value: JsonValue,
  about: { readonly business_uuid: string; readonly key_id: string; readonly at: string },
): Verdict<CustodyState> {
  const list = isObject(value) ? value["statements"] : value;
  if (!Array.isArray(list))
    return refuse("payload_malformed", "The custody answer carries a list of statements.");
  const statements: KeyCustody[] = [];
  for (const [index, entry] of (list as readonly JsonValue[]).entries()) {
    const envelope =
      isObject(entry) && Object.hasOwn(entry, "statement") ? (entry["statement"] ?? null) : entry;
    const statement = verifyKeyCustody(trust, envelope);
    if (!statement.ok) return refuse(statement.code, statement.detail, `/statements/${index}`);
    statements.push(statement.value);
  }
  return ok(custodyInForce(statements, about)?.custody ?? "unstated");
}
