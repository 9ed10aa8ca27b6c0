// Verify page: the service's statement that a business published a record with this id and these exact bytes
// (specification, «GET /v1/verify/{record_id}»).
// Also the verify statement.

import { parseBase64 } from "./bytes.ts";
import { type Envelope, malformed, openPayload, type PayloadOf, payloadTypes, soleFormat } from "./dsse.ts";
import { recordType } from "./identifiers.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok, refuse } from "./result.ts";
import { described, hash, literal, object, optional, timestamp } from "./shape.ts";
import { verifyPageMembers } from "./wire/verification.ts";
import { verifyFindings } from "./wire/verify.ts";
import { parseWithdrawal } from "./withdrawal.ts";

export const verifyPageFormat = soleFormat(object(verifyPageMembers));
export type VerifyPage = PayloadOf<typeof verifyPageFormat>;

/**
 * Opens a verify-page envelope. It only reads: neither its signature nor that of the removal in it is verified. A record
 * id of another type is `record_type_mismatch`, and a removal that is not what its document says is `payload_malformed`.
 */
export function openVerifyPage(envelope: Envelope): Verdict<VerifyPage> {
  const parsed = openPayload(envelope, payloadTypes["verify-page.v1"], verifyPageFormat);
  if (!parsed.ok) return parsed;
  const { record_id: id, record_type: type } = parsed.value;
  if (recordType(id) !== type)
    return refuse("record_type_mismatch", "The record id is of another type.", "/record_type");
  const removal = judgeRemoval(parsed.value);
  return removal.ok ? parsed : removal;
}

function judgeRemoval({ record_id: id, removal }: VerifyPage): Verdict<void> {
  if (removal === null) return ok(undefined);
  const document = parseWithdrawal(parseBase64(removal.document_base64) ?? new Uint8Array());
  if (!document.ok) return malformed(document.detail, "/removal/document_base64");
  const { record_id, action, at } = document.value;
  return record_id === id && action === removal.action && at === removal.at
    ? ok(undefined)
    : malformed("The document of the removal says something else.", "/removal");
}

// Verify statement: what the service found about the record or the entitlement in somebody's hands (specification, «POST /v1/verify»).

export const verifyStatementFormat = soleFormat(
  object({
    v: literal(1),
    checked_at: timestamp,
    record_hash: described(
      hash,
      "Of the exact bytes that were verified; of an entitlement, that of the RFC 8785 text of what was given.",
    ),
    sandbox: optional(literal(true)),
    ...verifyFindings,
  }),
);
export type VerifyStatement = PayloadOf<typeof verifyStatementFormat>;

/** Opens a verify-statement envelope. It only reads: the signature is not verified. */
export function openVerifyStatement(envelope: Envelope): Verdict<VerifyStatement> {
  return openPayload(envelope, payloadTypes["verify-statement.v1"], verifyStatementFormat);
}
