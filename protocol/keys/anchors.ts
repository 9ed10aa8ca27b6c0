// Anchors: everything a verifier trusts in advance (specification, «Public verification»). Production anchors are pinned;
// sandbox anchors are an explicit choice, and neither accepts what the other vouches for.

import type { Sha256 } from "../bytes.ts";
import { type Fault, malformed, readPayload } from "../dsse.ts";
import type { JsonValue } from "../json/canonical-json.ts";
import type { Verdict } from "../reason-codes.ts";
import { distinct, keyId, list, literal, type Of, object, oneOf, publicJwk, text } from "../shape.ts";
import { algorithmOf, thumbprint } from "./jwk.ts";
import { classicalAlgorithm, postQuantumAlgorithm } from "./signatures.ts";

const shape = object({
  v: literal(1),
  environment: oneOf(["production", "sandbox"]),
  /** Both halves of every pinned root; `pair` is the key_id of the other half. */
  roots: list(
    object({
      key_id: keyId,
      alg: oneOf([classicalAlgorithm, postQuantumAlgorithm]),
      public_key: publicJwk,
      pair: keyId,
    }),
    { min: 2, max: 32 },
  ),
  passkeys: object({
    rp_ids: distinct(text(253), { min: 1, max: 16 }),
    origins: distinct(text(512), { min: 1, max: 64 }),
  }),
  /** The first line of checkpoints and the name in their signature line; the key itself comes from the key set. */
  log: object({ origin: text(256), key_name: text(256) }),
});
export type Anchors = Of<typeof shape>;
export type LogAnchor = Anchors["log"];
type RootAnchor = Anchors["roots"][number];

/** Reads anchors from parsed JSON; any fault is refused with `payload_malformed`. */
export function parseAnchors(value: JsonValue, sha256?: Sha256): Verdict<Anchors> {
  const read = readPayload(shape, value);
  if (!read.ok) return read;
  const { roots } = read.value;
  for (const [index, root] of roots.entries()) {
    const rootFault = rootFaultOf(root, roots, `/roots/${index}`, sha256);
    if (rootFault !== null) return rootFault;
  }
  return read;
}

function rootFaultOf(
  root: RootAnchor,
  roots: readonly RootAnchor[],
  pointer: string,
  sha256?: Sha256,
): Fault | null {
  if (thumbprint(root.public_key, sha256) !== root.key_id)
    return malformed("The key id is not the thumbprint of the key.", pointer);
  if (algorithmOf(root.public_key) !== root.alg)
    return malformed("The public key has another algorithm.", pointer);
  const other = roots.find((candidate) => candidate.key_id === root.pair);
  const isPair = other !== undefined && other.pair === root.key_id && other.alg !== root.alg;
  return isPair ? null : malformed("A root is a P-256 and an ML-DSA-65 key that name each other.", pointer);
}
