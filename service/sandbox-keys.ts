// What the sandbox registers without a portal: keys as their grants describe them, the key that it holds for a business,
// and the scope of the mandates that this key seals.

import type { KeyFacts, MandateScopeFacts } from "../actors/messages/business.ts";
import type { Clock, Signer } from "../crypto/port.ts";
import { toBase64 } from "../protocol/bytes.ts";
import { coseKeyOf } from "../protocol/cose-key.ts";
import { collectionNames, formatTimestamp } from "../protocol/identifiers.ts";
import { algorithmOf, type PublicJwk, thumbprint } from "../protocol/jwk.ts";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import type { Parties } from "./parties.ts";

export interface SandboxKeysDeps {
  readonly parties: Parties;
  readonly clock: Clock;
  /** The key that the sandbox holds for a business: it seals what an owner would. */
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
}

/** Everything, with generous caps: a sandbox is for trying things out. */
export const sandboxScope: MandateScopeFacts = {
  record_types: collectionNames,
  countries: [...countries.codes],
  directions: ["publish"],
  caps: { records_per_hour: 1_000_000, bytes_per_day: 8_589_934_592 },
  source_ip_allow_list: null,
};

/** A key that signs plainly, valid from `validFrom` (a timestamp) until further notice. */
export function sandboxKeyFacts(key: {
  readonly keyId: string;
  readonly partyUuid: string;
  readonly role: KeyFacts["role"];
  readonly jwk: PublicJwk;
  readonly validFrom: string;
}): KeyFacts {
  return {
    key_id: key.keyId,
    party_uuid: key.partyUuid,
    role: key.role,
    alg: algorithmOf(key.jwk),
    public_key: { ...key.jwk },
    cose: null,
    valid_from: key.validFrom,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  };
}

/** The passkey of a business's owner. */
export function ownerKeyFacts({
  jwk,
  ...key
}: {
  readonly partyUuid: string;
  readonly jwk: PublicJwk;
  readonly validFrom: string;
}): KeyFacts {
  const facts = sandboxKeyFacts({ ...key, keyId: thumbprint(jwk), jwk, role: "sealing" });
  const cose = coseKeyOf(jwk);
  return { ...facts, person_role: "owner", cose: cose && toBase64(cose) };
}

/** How long before the request a hosted key is already valid. */
const hostedBeforeMs = 3_600_000;

/**
 * The key that the sandbox holds for the business, registered at `sinceMs` at the latest and with its custody stated;
 * idempotent.
 */
export async function ensureHostedKey(deps: SandboxKeysDeps, uuid: string, sinceMs: number): Promise<Signer> {
  const hosted = await deps.hostedSigner(uuid);
  const { key } = await deps.parties.facts(uuid, hosted.keyId);
  if (key === "unknown") {
    // If several callers ask at once, the first registers the key, and another may have started earlier: its seal must
    // count as well.
    const since = formatTimestamp(sinceMs - hostedBeforeMs);
    const { keyId, publicJwk: jwk } = hosted;
    await deps.parties.registerKey(
      sandboxKeyFacts({ keyId, partyUuid: uuid, role: "hosted", jwk, validFrom: since }),
    );
    await deps.parties.stateCustody({ uuid, key_id: keyId, custody: "hosted", effective_from: since });
  }
  return hosted;
}
