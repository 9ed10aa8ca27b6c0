// Keys that the service holds for businesses: one per business, whichever node is asked.
//   B1. A business whose key the register knows never gets a second one: a node without its private half says so.
//   B2. In the sandbox the key is derived from the secret of record ids, which all nodes share, and the business: nodes
//       that are asked concurrently derive the same key without coordination.
//   B3. A production node generates none: it signs with a key that was provisioned to it, or not at all.

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

/** The signer for a business's hosted key. Throws {@link SigningUnavailable} if this node does not have it (B1, B3). */
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

/** A key file that was provisioned; otherwise, in the sandbox, a key derived from shared state. */
async function ownKey(
  { store, recordIdKey, environment }: HostedKeysDeps,
  uuid: string,
): Promise<Signer | null> {
  const kept = await store.loadOfAlgorithm(`hosted-${uuid}`, "Ed25519");
  if (kept !== null) return createSigner(kept);
  if (environment === "production") return null;
  // No record id is derived from such a text: theirs start with a uuid.
  return createSigner(ed25519OfSeed(nativeCrypto.hmacSha256(recordIdKey, utf8(`hosted key\n${uuid}`))));
}
