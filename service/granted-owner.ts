// The passkey of a new business's owner, as a request for a sandbox grant brings it. A business whose owner nobody is cannot
// confirm a held push.

import type { PartyFacts } from "../actors/messages/business.ts";
import { coseKeyOf } from "../protocol/cose-key.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { parsePublicJwk, thumbprint } from "../protocol/jwk.ts";
import { problem } from "../protocol/problem.ts";
import type { GrantQuestion } from "../protocol/wire/grant.ts";
import { type Refused, refused } from "./answer.ts";
import { verifyPossession } from "./key-possession.ts";
import type { GivenKey, SandboxGrantsDeps } from "./sandbox-grants.ts";
import { ownerKeyFacts } from "./sandbox-keys.ts";

interface AskedFor {
  readonly key: GivenKey;
  readonly party: PartyFacts;
  readonly isRegistered: boolean;
  readonly nonce: string;
}

/** The passkey that the question proves; null if it names none. */
export async function ownersKey(
  { authentication, passkeys }: SandboxGrantsDeps,
  { role, owner }: GrantQuestion,
  { key, party, isRegistered, nonce }: AskedFor,
): Promise<GivenKey | null | Refused> {
  if (owner === undefined) return null;
  const { crypto, register, clock } = authentication;
  if (role !== "integration") return invalid("Only a business has an owner.");
  if (isRegistered) return invalid("The business exists; only a new one is given an owner.");
  const parsed = parsePublicJwk(owner.public_key);
  if (!parsed.ok) return invalid(parsed.detail, `/public_key${parsed.pointer ?? ""}`);
  const jwk = parsed.value;
  if (coseKeyOf(jwk) === null) return invalid("A passkey is a P-256 or Ed25519 key.", "/public_key");
  const keyId = thumbprint(jwk);
  if (keyId === key.keyId || (await register.key(keyId)) !== null)
    return invalid("The key is in use already; an owner's passkey is a key of its own.", "/public_key");
  const proof = parseEnvelope(owner.possession);
  const validFrom = formatTimestamp(clock.now());
  const facts = ownerKeyFacts({ partyUuid: party.uuid, jwk, validFrom });
  const proven = proof.ok
    ? verifyPossession({ crypto, passkeys }, { key: facts, challenge: nonce, proof: proof.value })
    : proof;
  return proven.ok ? { keyId, jwk } : invalid(proven.detail, "/possession", { reason: proven.code });
}

function invalid(detail: string, pointer = "", more: { readonly reason?: string } = {}): Refused {
  return refused(problem("request_invalid", detail, { pointer: `/owner${pointer}`, ...more }));
}
