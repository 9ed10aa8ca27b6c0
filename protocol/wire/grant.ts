// A sandbox grant for a newcomer's key: the request and the answer.

import { envelopeShape } from "../dsse.ts";
import { grantLengthMax } from "../limits.ts";
import {
  country,
  described,
  flag,
  keyId,
  list,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  uuid,
} from "../shape.ts";

const role = oneOf(["integration", "retrieval"]);

const nameForm = /^(?=[\s\S]{1,200}$)[\p{L}\p{N}][\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

export const grantQuestion = object({
  public_key: described(publicJwk, "Public JWK of the key: Ed25519 or P-256."),
  role: described(role, "`integration` publishes for a business, `retrieval` searches for an AI company."),
  legal_name: described(
    optional(
      // The pattern is not published: many readers of schemas do not know the names of properties.
      matching(
        (name) => nameForm.test(name),
        "a name of 1 to 200 characters that begins with a letter or a digit",
        { minLength: 1, maxLength: 200 },
      ),
    ),
    "Name of the new party; « (sandbox)» is appended.",
  ),
  country: optional(described(country, "Country of the new party.")),
  possession: described(
    optional(envelopeShape),
    "For a further key of an existing party, instead of legal_name and country: a key-possession document by `public_key`, whose challenge is the nonce of this request. A live key of the party signs the request.",
  ),
  owner: described(
    optional(
      object({
        public_key: described(publicJwk, "Public JWK of the owner's passkey: P-256 or Ed25519."),
        possession: described(
          envelopeShape,
          "A key-possession document for the new party's uuid and the role `sealing`, sealed with the passkey; its challenge is the nonce of this request.",
        ),
      }),
    ),
    "For a new business only: the passkey of its owner, who decides about held pushes. The uuid that the proof names is in the answer to the same question without `owner`.",
  ),
});
export type GrantQuestion = Of<typeof grantQuestion>;

export const grantAnswer = namedObject("SandboxGrant", {
  key_id: keyId,
  role,
  party: object({ uuid, kind: oneOf(["business", "ai_company"]), legal_name: text(256), country }),
  registered: described(flag, "Whether a request has registered the key already."),
  owner_key_id: described(nullable(keyId), "The passkey that the grant registers as the owner's."),
  passkeys: described(
    object({ rp_ids: list(text(253), { min: 1, max: 16 }), origins: list(text(512), { min: 1, max: 64 }) }),
    "Where passkeys of this sandbox may be used, as its anchors say.",
  ),
  grant: described(text(grantLengthMax), "Sent as `SVC-Sandbox-Key` with every request of the key."),
});
export type GrantAnswer = Of<typeof grantAnswer>;
