// The working keys that a node holds, and which of them signs.
//   W1. A key signs only while the verified key set lists it for this use and region, within its window, and not as
//       compromised: from the moment that a set says otherwise it signs nothing more.
//   W2. A document that names an instant is signed by the newest key that was valid then, so it verifies at any later time,
//       and what is signed again after a crash is signed by the same key.

import type { FileKeyStore } from "../../crypto/key-store.ts";
import { type Signer, type SignerAt, signingUnavailable } from "../../crypto/port.ts";
import { createSigner, type PrivateJwk } from "../../crypto/private-jwk.ts";
import { createCoalescingSigner } from "../../crypto/turn-lists.ts";
import { createWorkerSigner } from "../../crypto/worker-signer.ts";
import type { KeyEntry } from "../../protocol/keys/key-set.ts";
import { windowFault } from "../../protocol/keys/signatures.ts";
import type { Trust } from "../../verifier/trust.ts";

export const nodeUses = ["projection", "receipt", "sidecar", "statement"] as const;
/** The uses of which a node may hold a key: only nodes of the log's home region hold the log's. */
const heldUses = [...nodeUses, "log"] as const;
export type HeldUse = (typeof heldUses)[number];

export interface HeldKey {
  /** The name in the key store, without its extension. */
  readonly name: string;
  readonly use: HeldUse;
  readonly signer: Signer;
}

/** The name of the key of a use; it may be followed by a dot and a tag that distinguishes it from others of its use. */
export function keyNameOf(use: string, region: string): string {
  return use === "receipt" ? `receipt-${region}` : use;
}

/** Rows and sidecars are signed by the hundred, receipts one per request. */
const signerOf: Readonly<Record<HeldUse, (jwk: PrivateJwk) => Signer>> = {
  projection: createWorkerSigner,
  receipt: createCoalescingSigner,
  sidecar: createWorkerSigner,
  statement: createSigner,
  log: createSigner,
};

/** Every working key of the node in the store, by file name. Throws what the store throws. */
export async function loadHeldKeys(
  store: FileKeyStore,
  region: string,
  known: readonly HeldKey[] = [],
): Promise<readonly HeldKey[]> {
  const held: HeldKey[] = [];
  for (const name of await store.names()) {
    const use = heldUses.find((each) => {
      const own = keyNameOf(each, region);
      return name === own || name.startsWith(`${own}.`);
    });
    if (use === undefined) continue;
    const jwk = await store.loadOfAlgorithm(name, "Ed25519");
    if (jwk === null) continue;
    const { keyId } = createSigner(jwk);
    // A known key keeps its signer, which may have signatures under way.
    const same = known.find((each) => each.name === name && each.signer.keyId === keyId);
    held.push(same ?? { name, use, signer: signerOf[use](jwk) });
  }
  return held;
}

/** Why a key that the node holds may not sign at `at`; null if it may. */
export function heldKeyFault(
  held: HeldKey,
  trust: Trust,
  at: { readonly region: string; readonly at: string },
): string | null {
  const entry = trust.keys.get(held.signer.keyId);
  if (entry === undefined) return `key ${held.signer.keyId} is not in the key set`;
  if (entry.use !== held.use) return `key ${entry.key_id} is listed as a ${entry.use} key`;
  const region = held.use === "receipt" ? at.region : null;
  if (entry.region !== region) return `key ${entry.key_id} is listed for region ${entry.region}`;
  if (entry.compromised_from !== null)
    return `key ${entry.key_id} is compromised from ${entry.compromised_from} on`;
  const fault = windowFault(entry, at.at);
  if (fault === null) return null;
  return at.at < entry.valid_from
    ? `key ${entry.key_id} is valid from ${entry.valid_from} on`
    : `key ${entry.key_id} was valid until ${entry.valid_until}`;
}

interface Standing {
  readonly entry: KeyEntry;
  readonly signer: Signer;
}

/** The signers for one state of the key set and the files. */
export function standingSigners(
  held: readonly HeldKey[],
  trust: Trust,
  region: string,
): Readonly<Record<HeldUse, SignerAt>> {
  const signers = heldUses.map((use) => {
    const standing = held.flatMap((each): readonly Standing[] => {
      const entry = trust.keys.get(each.signer.keyId);
      // Whatever its window, a key that is listed differently or as compromised never signs (W1).
      const mayEver =
        entry !== undefined &&
        each.use === use &&
        heldKeyFault(each, trust, { region, at: entry.valid_from }) === null;
      return mayEver ? [{ entry, signer: each.signer }] : [];
    });
    // Newest first; all nodes choose alike between two keys that become valid together.
    const order = ({ entry }: Standing): string => `${entry.valid_from} ${entry.key_id}`;
    standing.sort((a, b) => (order(a) < order(b) ? 1 : -1));
    return [use, (at: string) => signerAt(use, standing, at)] as const;
  });
  return Object.fromEntries(signers) as Record<HeldUse, SignerAt>;
}

function signerAt(use: HeldUse, standing: readonly Standing[], at: string): Signer {
  const found = standing.find(({ entry }) => windowFault(entry, at) === null);
  if (found !== undefined) return found.signer;
  throw signingUnavailable("signing_key", `The node has no ${use} key that was valid at ${at}.`);
}
