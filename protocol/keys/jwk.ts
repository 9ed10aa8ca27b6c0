// Public keys as JWK: Ed25519 (RFC 8037), P-256 (RFC 7518 §6.2) and ML-DSA-65 (RFC 9964), and their thumbprints (RFC 7638).

import { p256 } from "@noble/curves/nist.js";
import { isObject } from "../../std/json-pointer.ts";
import {
  concatBytes,
  equalBytes,
  parseBase64Url,
  sha256 as portableSha256,
  type Sha256,
  toBase64Url,
  utf8,
} from "../bytes.ts";
import { ok, type Result, refuse } from "../result.ts";
import { parseEd25519Point } from "./ed25519-point.ts";

export type PublicJwk =
  | { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string }
  | { readonly kty: "EC"; readonly crv: "P-256"; readonly x: string; readonly y: string }
  | { readonly kty: "AKP"; readonly alg: "ML-DSA-65"; readonly pub: string };

export type KeyAlgorithm = "Ed25519" | "ES256" | "ML-DSA-65";

/** Length in bytes of an ML-DSA-65 public key (FIPS 204, table 2). */
const mlDsa65PublicKeyLength = 1952;

/** Members that say nothing about the key itself: they are allowed unless they contradict it, and are dropped. */
const tolerated = ["kid", "use", "alg", "key_ops", "ext"];

/** Values that `alg` may have for each key, using the names of RFC 8037 and RFC 9864. */
const algNames: Readonly<Record<KeyAlgorithm, readonly string[]>> = {
  Ed25519: ["EdDSA", "Ed25519"],
  ES256: ["ES256"],
  "ML-DSA-65": ["ML-DSA-65"],
};

/**
 * Reads a public key; refuses with `jwk_malformed` a private member, another kind of key, or a point against which no
 * signature may be checked.
 */
export function parsePublicJwk(value: unknown): Result<PublicJwk, "jwk_malformed"> {
  if (!isObject(value)) return malformed("A JWK must be an object.");
  const jwk = value as Record<string, unknown>;
  const parsed = parseKey(jwk);
  if (!parsed.ok) return parsed;
  const algorithm = algorithmOf(parsed.value);
  const { alg = algorithm, use = "sig", key_ops: operations = ["verify"] } = jwk;
  if (!algNames[algorithm].some((name) => name === alg)) return malformed("alg is not the key's algorithm.");
  const verifies = Array.isArray(operations) && operations.includes("verify");
  return use === "sig" && verifies
    ? parsed
    : malformed("use or key_ops say that the key is not for verifying.");
}

function parseKey(jwk: Record<string, unknown>): Result<PublicJwk, "jwk_malformed"> {
  if (jwk["kty"] === "OKP" && jwk["crv"] === "Ed25519") return parseEd25519(jwk);
  if (jwk["kty"] === "EC" && jwk["crv"] === "P-256") return parseP256(jwk);
  if (jwk["kty"] === "AKP" && jwk["alg"] === "ML-DSA-65") return parseMlDsa65(jwk);
  return malformed("A key must be Ed25519 (OKP), P-256 (EC) or ML-DSA-65 (AKP).");
}

function malformed(detail: string): Result<never, "jwk_malformed"> {
  return refuse("jwk_malformed", detail);
}

function hasOnly(jwk: Record<string, unknown>, members: readonly string[]): boolean {
  return Object.keys(jwk).every((name) => members.includes(name) || tolerated.includes(name));
}

function coordinate(value: unknown, length: number): Uint8Array | null {
  const bytes = typeof value === "string" ? parseBase64Url(value) : null;
  return bytes?.length === length ? bytes : null;
}

function parseEd25519(jwk: Record<string, unknown>): Result<PublicJwk, "jwk_malformed"> {
  const x = coordinate(jwk["x"], 32);
  if (!x || !hasOnly(jwk, ["kty", "crv", "x"]))
    return malformed("An Ed25519 key has kty, crv and x of 32 bytes, and no private member.");
  if (!parseEd25519Point(x)) return malformed("The Ed25519 key is not a canonical point of large order.");
  return ok({ kty: "OKP", crv: "Ed25519", x: toBase64Url(x) });
}

function parseP256(jwk: Record<string, unknown>): Result<PublicJwk, "jwk_malformed"> {
  const x = coordinate(jwk["x"], 32);
  const y = coordinate(jwk["y"], 32);
  if (!x || !y || !hasOnly(jwk, ["kty", "crv", "x", "y"]))
    return malformed("A P-256 key has kty, crv, x and y of 32 bytes, and no private member.");
  const point = new Uint8Array(65);
  point[0] = 4;
  point.set(x, 1);
  point.set(y, 33);
  try {
    p256.Point.fromBytes(point).assertValidity();
  } catch {
    return malformed("The P-256 key is not a point of the curve.");
  }
  return ok({ kty: "EC", crv: "P-256", x: toBase64Url(x), y: toBase64Url(y) });
}

function parseMlDsa65(jwk: Record<string, unknown>): Result<PublicJwk, "jwk_malformed"> {
  const pub = coordinate(jwk["pub"], mlDsa65PublicKeyLength);
  if (!pub || !hasOnly(jwk, ["kty", "alg", "pub"])) {
    return malformed(
      `An ML-DSA-65 key has kty, alg and pub of ${mlDsa65PublicKeyLength} bytes, and no private member.`,
    );
  }
  return ok({ kty: "AKP", alg: "ML-DSA-65", pub: toBase64Url(pub) });
}

/** The algorithm a key signs with; it follows from the key, never from a message. */
export function algorithmOf(jwk: PublicJwk): KeyAlgorithm {
  if (jwk.kty === "OKP") return "Ed25519";
  return jwk.kty === "EC" ? "ES256" : "ML-DSA-65";
}

/** The RFC 7638 thumbprint with SHA-256, base64url without padding, which is the key_id. */
export function thumbprint(jwk: PublicJwk, sha256: Sha256 = portableSha256): string {
  return toBase64Url(sha256(utf8(requiredMembers(jwk))));
}

/**
 * The required members in lexicographic order (RFC 7638 §3.2; RFC 9964 for AKP). All values are base64url or fixed, so none
 * needs escaping.
 */
function requiredMembers(jwk: PublicJwk): string {
  if (jwk.kty === "OKP") return `{"crv":"Ed25519","kty":"OKP","x":"${jwk.x}"}`;
  if (jwk.kty === "EC") return `{"crv":"P-256","kty":"EC","x":"${jwk.x}","y":"${jwk.y}"}`;
  return `{"alg":"ML-DSA-65","kty":"AKP","pub":"${jwk.pub}"}`;
}

// The COSE_Key (RFC 9052 §7) of a public key, in the CTAP2 canonical form that authenticators register.

/** The start of {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}, RFC 9053 §7.1.1. */
const ec2Head = Uint8Array.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20);
const ec2Middle = Uint8Array.of(0x22, 0x58, 0x20);
/** The start of {1: 1 (OKP), 3: -8 (EdDSA), -1: 6 (Ed25519), -2: x}, RFC 9053 §7.2. */
const okpHead = Uint8Array.of(0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20);

/** The key of a COSE_Key that {@link coseKeyOf} writes; null for anything else, such as another algorithm. */
export function parseCoseKey(bytes: Uint8Array): PublicJwk | null {
  const part = (from: number): string => toBase64Url(bytes.subarray(from, from + 32));
  const jwk = parsePublicJwk(
    bytes[0] === ec2Head[0]
      ? { kty: "EC", crv: "P-256", x: part(ec2Head.length), y: part(ec2Head.length + 32 + ec2Middle.length) }
      : { kty: "OKP", crv: "Ed25519", x: part(okpHead.length) },
  );
  const written = jwk.ok ? coseKeyOf(jwk.value) : null;
  return jwk.ok && written !== null && equalBytes(written, bytes) ? jwk.value : null;
}

/** Returns null for a kind of key that passkeys do not use. */
export function coseKeyOf(jwk: PublicJwk): Uint8Array | null {
  if (jwk.kty === "AKP") return null;
  const x = parseBase64Url(jwk.x);
  if (x?.length !== 32) return null;
  if (jwk.kty === "OKP") return concatBytes(okpHead, x);
  const y = parseBase64Url(jwk.y);
  return y?.length === 32 ? concatBytes(ec2Head, x, ec2Middle, y) : null;
}
