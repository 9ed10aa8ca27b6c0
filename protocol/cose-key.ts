// The COSE_Key (RFC 9052 §7) of a public key, in the CTAP2 canonical form that authenticators register.

import { concatBytes, parseBase64Url } from "./bytes.ts";
import type { PublicJwk } from "./jwk.ts";

/** The start of {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}, RFC 9053 §7.1.1. */
const ec2Head = Uint8Array.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20);
const ec2Middle = Uint8Array.of(0x22, 0x58, 0x20);
/** The start of {1: 1 (OKP), 3: -8 (EdDSA), -1: 6 (Ed25519), -2: x}, RFC 9053 §7.2. */
const okpHead = Uint8Array.of(0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20);

/** Returns null for a kind of key that passkeys do not use. */
export function coseKeyOf(jwk: PublicJwk): Uint8Array | null {
  if (jwk.kty === "AKP") return null;
  const x = parseBase64Url(jwk.x);
  if (x?.length !== 32) return null;
  if (jwk.kty === "OKP") return concatBytes(okpHead, x);
  const y = parseBase64Url(jwk.y);
  return y?.length === 32 ? concatBytes(ec2Head, x, ec2Middle, y) : null;
}
