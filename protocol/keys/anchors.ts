// Anchors: everything a verifier trusts in advance (specification, «Public verification»). Production anchors are pinned;
// sandbox anchors are an explicit choice, and neither accepts what the other vouches for.

import type { Sha256 } from "../bytes.ts";
import { type Fault, malformed, readPayload } from "../dsse.ts";
import type { JsonValue } from "../json/canonical-json.ts";
import type { Verdict } from "../reason-codes.ts";
import { closed, distinct, keyId, list, literal, oneOf, publicJwk, text } from "../shape.ts";
import { algorithmOf, type KeyAlgorithm, type PublicJwk, thumbprint } from "./jwk.ts";
import { classicalAlgorithm, type PasskeyOrigins, postQuantumAlgorithm } from "./signatures.ts";

export type Environment = "production" | "sandbox";

export interface Anchors {
  readonly v: 1;
  readonly environment: Environment;
  /** Both halves of every pinned root. */
  readonly roots: readonly RootAnchor[];
  readonly passkeys: PasskeyOrigins;
  readonly log: LogAnchor;
}

export interface RootAnchor {
  readonly key_id: string;
  readonly alg: KeyAlgorithm;
  readonly public_key: PublicJwk;
  /** key_id of the other half of the pair. */
  readonly pair: string;
}

/** The first line of checkpoints and the name in their signature line; the key itself comes from the key set. */
export interface LogAnchor {
  readonly origin: string;
  readonly key_name: string;
}

const shape = closed<Anchors>({
  v: literal(1),
  environment: oneOf(["production", "sandbox"]),
  roots: list(
    closed<RootAnchor>({
      key_id: keyId,
      alg: oneOf([classicalAlgorithm, postQuantumAlgorithm]),
      public_key: publicJwk,
      pair: keyId,
    }),
    { min: 2, max: 32 },
  ),
  passkeys: closed<PasskeyOrigins>({
    rp_ids: distinct(text(253), { min: 1, max: 16 }),
    origins: distinct(text(512), { min: 1, max: 64 }),
  }),
  log: closed<LogAnchor>({ origin: text(256), key_name: text(256) }),
});

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
