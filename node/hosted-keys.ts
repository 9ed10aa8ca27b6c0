// Keys that the service holds for businesses: one a business, whichever of the nodes is asked.
//   B1. A business whose key the register knows never gets a second one: a node that does not have its private half says so.
//   B2. In the sandbox the key follows from the secret of record ids, which all nodes share, and the business: nodes that
//       are asked at the same time have the same key without a word to each other.
//   B3. A production node makes none: it signs with a key that was brought to it, or not at all.

import { createSigner } from "../crypto/file-signer.ts";
import type { FileKeyStore } from "../crypto/key-store.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { type Signer, signingUnavailable } from "../crypto/port.ts";
import { ed25519OfSeed } from "../crypto/private-jwk.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { Register } from "../service/register.ts";
import type { Environment } from "../service/service-keys.ts";

export interface HostedKeysDeps {
  readonly store: FileKeyStore;
  readonly register: Pick<Register, "keys">;
  readonly recordIdKey: Uint8Array;
  readonly environment: Environment;
}

/** The signer of a business's hosted key. Throws {@link SigningUnavailable} where this node does not have it (B1, B3). */
export function createHostedKeys(deps: HostedKeysDeps): (businessUuid: string) => Promise<Signer> {
  return async (uuid) => {
    const known = (await deps.register.keys(uuid)).filter(
      (key) => key.role === "hosted" && key.revoked_at === null,
    );
    const own = await ownKey(deps, uuid);
    if (own !== null && (known.length === 0 || known.some(({ key_id }) => key_id === own.keyId))) return own;
    const detail =
      known.length === 0
        ? `No key is held for business ${uuid}.`
        : `The key that is held for business ${uuid} is not on this node; ask another node, or bring hosted-${uuid}.jwk.`;
    throw signingUnavailable("hosted_key", detail);
  };
}

/** Brought or made by an earlier version as a file; else, in the sandbox, made from what all nodes have. */
async function ownKey(
  { store, recordIdKey, environment }: HostedKeysDeps,
  uuid: string,
): Promise<Signer | null> {
  const kept = await store.loadOfAlgorithm(`hosted-${uuid}`, "Ed25519");
  if (kept !== null) return createSigner(kept);
  if (environment === "production") return null;
  // No record id is made of such a text: theirs begin with a uuid.
  return createSigner(ed25519OfSeed(nativeCrypto.hmacSha256(recordIdKey, utf8(`hosted key\n${uuid}`))));
}
