// Withdrawal and deletion over HTTP (specification, «B. Business machine API»).

import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { withdrawalsMax } from "../limits.ts";
import { problemShape } from "../problem.ts";
import {
  described,
  either,
  list,
  literal,
  matching,
  named,
  type Of,
  object,
  oneOf,
  optional,
} from "../shape.ts";
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

/** The body of POST /v1/withdrawals. */
export const withdrawalsBody = object({
  withdrawals: described(
    list(removalBody, { min: 1, max: withdrawalsMax }),
    "Documents with the action `withdraw`, each with its seal; their records may be of several types.",
  ),
});

export const withdrawalsAnswer = named(
  "Withdrawals",
  object({
    results: described(
      list(either(removalAnswer, object({ problem: problemShape })), { min: 1, max: withdrawalsMax }),
      "One for each document, in the order sent: what the route for one document answers, or why it is refused.",
    ),
  }),
);
export type WithdrawalsAnswer = Of<typeof withdrawalsAnswer>;
