// A sandbox grant for a newcomer's key: the request and the answer.

import { envelopeShape } from "../dsse.ts";
import { grantLengthMax } from "../limits.ts";
import {
  country,
  described,
  flag,
  keyId,
  matching,
  named,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  uuid,
} from "../shape.ts";

const role = oneOf(["integration", "retrieval"]);

export const grantQuestion = object({
  public_key: described(publicJwk, "Public JWK of the key: Ed25519 or P-256."),
  role: described(role, "`integration` publishes for a business, `retrieval` searches for an AI company."),
  legal_name: optional(
    described(
      matching(
        /^(?=[\s\S]{1,200}$)[\p{L}\p{N}][\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u,
        "a name of 1 to 200 characters that begins with a letter or a digit",
        { minLength: 1, maxLength: 200 },
      ),
      "Name of the new party; « (sandbox)» is appended.",
    ),
  ),
  country: optional(described(country, "Country of the new party.")),
  possession: optional(
    described(
      envelopeShape,
      "For a further key of an existing party, instead of legal_name and country: a key-possession document by `public_key`, whose challenge is the nonce of this request. A live key of the party signs the request.",
    ),
  ),
});
export type GrantQuestion = Of<typeof grantQuestion>;

export const grantAnswer = named(
  "SandboxGrant",
  object({
    key_id: keyId,
    role,
    party: object({ uuid, kind: oneOf(["business", "ai_company"]), legal_name: text(256), country }),
    registered: described(flag, "Whether a request has registered the key already."),
    grant: described(text(grantLengthMax), "Sent as `SVC-Sandbox-Key` with every request of the key."),
  }),
);
export type GrantAnswer = Of<typeof grantAnswer>;
