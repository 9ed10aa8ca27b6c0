// Withdrawal and deletion over HTTP (specification, «B. Business machine API»).

import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { described, literal, matching, named, type Of, object, oneOf, optional } from "../shape.ts";
import { maybeFoundIn } from "./live-in.ts";
import { recordId } from "./push.ts";

/** A document has about 120 characters, and as base64 about 160. */
const documentCharactersMax = 1_024;

export const removalActions = ["withdraw", "delete"] as const;

/** The body of POST /v1/publish/{type}/withdraw and …/delete. */
export const removalBody = object({
  document_base64: described(
    matching(
      (value) => value !== "" && value.length <= documentCharactersMax && parseBase64(value) !== null,
      "the base64 (RFC 4648 §4, padded) of the document's exact bytes",
      { contentEncoding: "base64", minLength: 4, maxLength: documentCharactersMax },
    ),
    "Compact JSON `{record_id, action, at}`. `at` is within five minutes of receipt, and later than the `sealed_at` of the version that is served.",
  ),
  seal: described(
    envelopeShape,
    "A seal of format 2 whose `hash` is that of the document's bytes, and whose `record_type` is that of the record. Any live key of the business may seal it; an integration key needs a mandate that covers the type.",
  ),
});
export type RemovalBody = Of<typeof removalBody>;

export const removalAnswer = named(
  "Removal",
  object({
    record_id: recordId,
    action: oneOf(removalActions),
    live_in: maybeFoundIn,
    held: optional(
      described(
        literal(true),
        "A deletion that was received after the certificate was revoked for compromise waits for an operator; the record stays as it is. Sent again once that is decided, it is answered as done, or refused with `deletion_rejected`.",
      ),
    ),
  }),
);
export type RemovalAnswer = Of<typeof removalAnswer>;
