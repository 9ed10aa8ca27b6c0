// Verify statement: what the service found about the record or the entitlement in somebody's hands (specification, «POST /v1/verify»).

import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import { type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import { described, hash, literal, type Of, object, optional, timestamp } from "./shape.ts";
import { verifyFindings } from "./wire/verify.ts";

const statementShape = object({
  v: literal(1),
  checked_at: timestamp,
  record_hash: described(
    hash,
    "Of the exact bytes that were verified; of an entitlement, that of the RFC 8785 text of what was given.",
  ),
  sandbox: optional(literal(true)),
  ...verifyFindings,
});
export type VerifyStatement = Of<typeof statementShape>;

export const verifyStatementFormat: PayloadFormat<VerifyStatement> = {
  version: 1,
  versions: [1],
  shape: statementShape,
};

/** Opens a verify-statement envelope. It only reads: the signature is not verified. */
export function openVerifyStatement(envelope: Envelope): Verdict<VerifyStatement> {
  const payload = openEnvelope(envelope, payloadTypes["verify-statement.v1"]);
  return payload.ok ? parsePayload(payload.value, verifyStatementFormat) : payload;
}
