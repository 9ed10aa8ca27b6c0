// Cases about raw signatures: of each algorithm, and of Ed25519 what verifiers disagree about.

import { createHash } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { smallOrderPoints } from "../../protocol/vectors/keys-and-signatures.ts";
import { makeKey, signBytes, withSeed } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { base64, casesOf } from "./world.fixture.ts";

const { Point } = ed25519;
const { Fn } = Point;
type Point = typeof Point.BASE;

interface Signed {
  readonly key: PublicJwk;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export function signatureCases(): readonly VectorCase[] {
  const { good, bad } = casesOf("signature", null);
  const refused = (name: string, says: string, signed: Signed): VectorCase =>
    bad("signature_invalid", name, says, inputOf(signed));
  const [own, p, pq] = withSeed("svc public test vectors: signatures", () => [
    signedBy("Ed25519"),
    signedBy("ES256"),
    signedBy("ML-DSA-65"),
  ]) as [Signed, Signed, Signed];
  const s = p.signature.slice(32);
  const otherS = numberBytes(p256.Point.Fn.ORDER - numberOf(s));
  const last = own.signature.slice(32).toReversed();
  return [
    good("Ed25519", "The 64 bytes of RFC 8032.", inputOf(own)),
    good("ES256", "r and s side by side.", inputOf(p)),
    good("ES256, the other s", "s in the other half of its range.", {
      ...inputOf({ ...p, signature: joined(p.signature.slice(0, 32), otherS) }),
    }),
    good("ML-DSA-65", "With an empty context.", inputOf(pq)),
    refused("Ed25519, another message", "A message that was not signed.", { ...own, message: utf8("other") }),
    refused("Ed25519, a byte less", "63 bytes.", { ...own, signature: own.signature.slice(0, -1) }),
    refused("Ed25519, S beyond the order", "S with the order of the group added.", {
      ...own,
      signature: joined(own.signature.slice(0, 32), numberBytes(numberOf(last) + Fn.ORDER).toReversed()),
    }),
    refused("Ed25519, no key", "32 bytes that are no point of the curve.", {
      ...own,
      key: keyOf(numberBytes(2n).toReversed()),
    }),
    refused("Ed25519, a line feed in the key", "The key's text has a line feed in it.", {
      ...own,
      key: { kty: "OKP", crv: "Ed25519", x: Object(own.key).x.replace(/^.{8}/, "$&\n") },
    }),
    ...smallOrderCases(refused),
    good(
      "Ed25519, a part of small order that falls away",
      "The key has a part of small order, and the equation holds as it stands.",
      inputOf(signedWith({ keyPart: orderEight, challenge: (k) => k % 8n === 0n })),
    ),
    refused(
      "Ed25519, only with the cofactor",
      "The equation holds only where both sides are multiplied by the cofactor.",
      signedWith({ keyPart: orderEight, challenge: (k) => k % 8n === 1n }),
    ),
  ];
}

const orderEight = Point.fromBytes(Uint8Array.fromHex(smallOrderPoints.canonical[4]));

/** Signatures that satisfy the equation as it stands. */
function smallOrderCases(
  refused: (name: string, says: string, signed: Signed) => VectorCase,
): readonly VectorCase[] {
  const keys = [...smallOrderPoints.canonical, ...smallOrderPoints.nonCanonical];
  return [
    refused("Ed25519, R of order 1", "R is the identity, and S is k·a.", signedWith({ nonce: 0n })),
    refused(
      "Ed25519, R of order 8",
      "R is of order 8, and the part of small order that the key has takes it away.",
      signedWith({ nonce: 0n, keyPart: orderEight, noncePart: orderEight, challenge: (k) => k % 8n === 7n }),
    ),
    ...keys.map((hex, at) =>
      refused(
        `Ed25519, a key of small order ${at + 1}`,
        at < smallOrderPoints.canonical.length
          ? "The key is of small order, and the equation holds."
          : "The key is of small order in a form that is not canonical, and the equation holds.",
        signedWith({ secret: 0n, keyBytes: Uint8Array.fromHex(hex), challenge: (k) => k % 8n === 0n }),
      ),
    ),
  ];
}

interface Making {
  readonly secret?: bigint;
  readonly nonce?: bigint;
  readonly keyPart?: Point;
  readonly noncePart?: Point;
  /** The key's text, if it is not that of its point. */
  readonly keyBytes?: Uint8Array;
  /** Which challenges will do. */
  readonly challenge?: (k: bigint) => boolean;
}

/** Signs the first message whose challenge will do, as the holder of the secret scalar can. */
function signedWith(making: Making): Signed {
  const { secret = 1_234_567_891_011n, nonce = 1_110_987_654_321n } = making;
  const { keyPart = Point.ZERO, noncePart = Point.ZERO, challenge: willDo = () => true } = making;
  const key = making.keyBytes ?? Point.BASE.multiplyUnsafe(secret).add(keyPart).toBytes();
  const r = Point.BASE.multiplyUnsafe(nonce).add(noncePart).toBytes();
  for (let count = 0; ; count += 1) {
    const message = utf8(`message ${count}`);
    const digest = createHash("sha512").update(r).update(key).update(message).digest();
    const k = Fn.create(numberOf(digest.toReversed()));
    if (!willDo(k)) continue;
    const s = numberBytes(Fn.create(nonce + k * secret)).toReversed();
    return { key: keyOf(key), message, signature: joined(r, s) };
  }
}

function signedBy(algorithm: Parameters<typeof makeKey>[0]): Signed {
  const key = makeKey(algorithm);
  const message = utf8(`signed with ${algorithm}`);
  return { key: key.jwk, message, signature: signBytes(key, message) };
}

function keyOf(bytes: Uint8Array): PublicJwk {
  return { kty: "OKP", crv: "Ed25519", x: toBase64Url(bytes) };
}

function inputOf({ key, message, signature }: Signed) {
  return { key, message_base64: base64(message), signature_base64: base64(signature) };
}

/** Of big-endian bytes. */
function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

function numberBytes(value: bigint): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(64, "0"));
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  return new Uint8Array([...a, ...b]);
}
