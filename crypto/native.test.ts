import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64Url } from "../protocol/bytes.ts";
import type { KeyAlgorithm, PublicJwk } from "../protocol/keys/jwk.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { dose } from "../tools/test-dose.ts";
import { nativePorts } from "./native.fixture.ts";
import { keysMax, nativeCrypto } from "./native.ts";
import { generatePrivateJwk, privateKeyOf, publicHalfOf } from "./private-jwk.ts";

const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The verdict of the portable implementation, with which the native one must agree over every library (N1). */
function verdict(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean {
  const portable = verifySignature(jwk, message, signature);
  for (const { verify } of nativePorts) expect(verify(jwk, message, signature)).toBe(portable);
  return portable;
}

function signed(algorithm: KeyAlgorithm, message: Uint8Array): { jwk: PublicJwk; signature: Uint8Array } {
  const privateJwk = generatePrivateJwk(algorithm);
  const key = privateKeyOf(privateJwk);
  const jwk = publicHalfOf(privateJwk);
  if (algorithm !== "ES256") return { jwk, signature: sign(null, message, key) };
  return { jwk, signature: sign("sha256", message, { key, dsaEncoding: "ieee-p1363" }) };
}

describe.each(["Ed25519", "ES256", "ML-DSA-65"] as const)(
  "native and portable verification with %s",
  (algorithm) => {
    it("agree, whatever bit of message or signature is turned", () => {
      const message = nativeCrypto.randomBytes(64);
      const { jwk, signature } = signed(algorithm, message);
      expect(verdict(jwk, message, signature)).toBe(true);
      fc.assert(
        fc.property(
          fc.nat(signature.length * 8 - 1),
          fc.nat(64 * 8 - 1),
          fc.boolean(),
          (bit, messageBit, inMessage) => {
            const wrongMessage = inMessage ? flip(message, messageBit) : message;
            const wrongSignature = inMessage ? signature : flip(signature, bit);
            expect(verdict(jwk, wrongMessage, wrongSignature)).toBe(false);
          },
        ),
        { numRuns: 40 },
      );
    });

    it("agree on signatures of another length", () => {
      const message = new Uint8Array(3);
      const { jwk, signature } = signed(algorithm, message);
      for (const wrong of [
        new Uint8Array(),
        signature.slice(1),
        signature.slice(0, -1),
        new Uint8Array([...signature, 0]),
      ]) {
        expect(verdict(jwk, message, wrong)).toBe(false);
      }
    });

    it("agree that another key did not sign", () => {
      const message = new Uint8Array([1, 2, 3]);
      expect(verdict(signed(algorithm, message).jwk, message, signed(algorithm, message).signature)).toBe(
        false,
      );
    });
  },
);

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  // A Buffer's slice would share its memory.
  const copy = new Uint8Array(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

describe("Ed25519 keys that never verify", () => {
  const message = new TextEncoder().encode("any message at all");
  const torsion = smallOrderPoints();

  it("are those of small order, for which a signature over everything exists", () => {
    expect(torsion).toHaveLength(8);
    for (const point of torsion) {
      const jwk: PublicJwk = { kty: "OKP", crv: "Ed25519", x: toBase64Url(point.toBytes()) };
      // R = identity and S = 0 satisfy the equation for every message if the key is of small order.
      for (const r of torsion)
        expect(verdict(jwk, message, concat(r.toBytes(), new Uint8Array(32)))).toBe(false);
    }
  });

  it("are those in an encoding that is not canonical", () => {
    for (const y of [2n ** 255n - 19n, 2n ** 255n - 18n, 2n ** 255n - 1n]) {
      const jwk: PublicJwk = { kty: "OKP", crv: "Ed25519", x: toBase64Url(littleEndian(y)) };
      expect(verdict(jwk, message, concat(littleEndian(1n), new Uint8Array(32)))).toBe(false);
    }
  });

  it("are those that are no key: cut short, padded text, another alphabet", () => {
    const { jwk, signature } = signed("Ed25519", message);
    const x = jwk.kty === "OKP" ? jwk.x : "";
    for (const wrong of [x.slice(1), `${x}=`, `${x}A`, "", x.replace(/.$/, "+")]) {
      expect(verdict({ kty: "OKP", crv: "Ed25519", x: wrong }, message, signature)).toBe(false);
    }
  });

  it("take no S beyond the order of the group (RFC 8032 §5.1.7)", () => {
    const { jwk, signature } = signed("Ed25519", message);
    const s = BigInt(`0x${signature.slice(32).reverse().toHex()}`);
    expect(verdict(jwk, message, concat(signature.slice(0, 32), littleEndian(s)))).toBe(true);
    expect(verdict(jwk, message, concat(signature.slice(0, 32), littleEndian(s + groupOrder)))).toBe(false);
  });
});

describe("Ed25519 signatures with a part of small order", () => {
  // A verifier may check the equation with or without the cofactor (RFC 8032 §5.1.7); ours do so without it. Only the holder of a
  // key can make a signature that the two forms judge differently (N1).
  const base = ed25519.Point.BASE;
  const [a, r] = [1234567891011n, 1110987654321n];
  const points = smallOrderPoints();

  /** A signature by the holder of the scalars, with a point of small order in each part, and S as large as the caller likes. */
  function mixed(
    message: Uint8Array,
    added: { readonly toKey: number; readonly toR: number; readonly orders: bigint },
  ) {
    const publicPoint = base.multiply(a).add(points[added.toKey] ?? base);
    const rPoint = base.multiply(r).add(points[added.toR] ?? base);
    const digest = createHash("sha512")
      .update(rPoint.toBytes())
      .update(publicPoint.toBytes())
      .update(message)
      .digest();
    const k = BigInt(`0x${digest.reverse().toString("hex")}`) % groupOrder;
    const s = ((r + k * a) % groupOrder) + added.orders * groupOrder;
    const jwk: PublicJwk = { kty: "OKP", crv: "Ed25519", x: toBase64Url(publicPoint.toBytes()) };
    const cancelsOut = rPoint
      .add(publicPoint.multiplyUnsafe(k))
      .equals(base.multiply((r + k * a) % groupOrder));
    return { jwk, signature: concat(rPoint.toBytes(), littleEndian(s)), cancelsOut };
  }

  it("hold only where it cancels out, and with the least S, whatever is turned besides", () => {
    const seen = { held: 0, refused: 0 };
    const turned = fc.option(fc.nat(96 * 8 - 1), { nil: null });
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.record({ toKey: fc.nat(7), toR: fc.nat(7), orders: fc.constantFrom(0n, 0n, 0n, 1n) }),
        turned,
        (message, added, bit) => {
          const { jwk, signature, cancelsOut } = mixed(message, added);
          const wrong = changed(jwk, signature, bit);
          const holds = verdict(wrong.jwk, message, wrong.signature);
          expect(holds).toBe(bit === null && cancelsOut && added.orders === 0n);
          seen[holds ? "held" : "refused"] += 1;
        },
      ),
      { numRuns: dose(500), examples: [[new Uint8Array(), { toKey: 0, toR: 0, orders: 0n }, null]] },
    );
    expect(Math.min(seen.held, seen.refused)).toBeGreaterThan(0);
  });
});

/** A key and a signature of which one bit is turned: the key's are the first 256. */
function changed(jwk: PublicJwk, signature: Uint8Array, bit: number | null) {
  if (bit === null || jwk.kty !== "OKP") return { jwk, signature };
  if (bit >= 256) return { jwk, signature: flip(signature, bit - 256) };
  const x = toBase64Url(flip(Uint8Array.fromBase64(jwk.x, { alphabet: "base64url" }), bit));
  return { jwk: { ...jwk, x }, signature };
}

function smallOrderPoints(): readonly InstanceType<typeof ed25519.Point>[] {
  const points = new Map<string, InstanceType<typeof ed25519.Point>>();
  for (let y = 0; points.size < 8; y += 1) {
    const point = pointWith(BigInt(y))
      ?.multiplyUnsafe(groupOrder - 1n)
      .add(pointWith(BigInt(y)) ?? ed25519.Point.ZERO);
    if (point !== undefined)
      for (let k = 0n, sum = ed25519.Point.ZERO; k < 8n; k += 1n, sum = sum.add(point))
        points.set(sum.toHex(), sum);
  }
  return [...points.values()];
}

function pointWith(y: bigint): InstanceType<typeof ed25519.Point> | undefined {
  try {
    return ed25519.Point.fromBytes(littleEndian(y), true);
  } catch {
    return undefined;
  }
}

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(64, "0")).reverse();
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  return new Uint8Array([...a, ...b]);
}

describe("ES256", () => {
  const message = new TextEncoder().encode("r and s side by side");

  it("is r and s of 32 bytes each, high s as well as low s (RFC 7518 §3.4)", () => {
    const { jwk, signature } = signed("ES256", message);
    const n = p256.Point.Fn.ORDER;
    const s = BigInt(`0x${signature.slice(32).toHex()}`);
    const mirrored = Uint8Array.fromHex((n - s).toString(16).padStart(64, "0"));
    expect(verdict(jwk, message, concat(signature.slice(0, 32), mirrored))).toBe(true);
    for (const part of [new Uint8Array(32), Uint8Array.fromHex(n.toString(16).padStart(64, "0"))]) {
      expect(verdict(jwk, message, concat(part, signature.slice(32)))).toBe(false);
      expect(verdict(jwk, message, concat(signature.slice(0, 32), part))).toBe(false);
    }
  });

  it("is not DER", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { kty, crv, x, y } = privateKey.export({ format: "jwk" });
    const jwk = { kty, crv, x, y } as PublicJwk;
    expect(verdict(jwk, message, sign("sha256", message, privateKey))).toBe(false);
  });

  it("tells the two keys apart that have one x", () => {
    const { jwk, signature } = signed("ES256", message);
    if (jwk.kty !== "EC") throw new Error("an ES256 key is on a curve");
    const y = BigInt(`0x${Uint8Array.fromBase64(jwk.y, { alphabet: "base64url" }).toHex()}`);
    const mirrored = Uint8Array.fromHex((p256.Point.Fp.ORDER - y).toString(16).padStart(64, "0"));
    expect(verdict(jwk, message, signature)).toBe(true);
    expect(verdict({ ...jwk, y: toBase64Url(mirrored) }, message, signature)).toBe(false);
  });

  it("takes no key off the curve", () => {
    const { jwk, signature } = signed("ES256", message);
    if (jwk.kty !== "EC") throw new Error("an ES256 key is on a curve");
    expect(verdict({ ...jwk, y: jwk.x }, message, signature)).toBe(false);
  });
});

describe("the native port", () => {
  it("keys HMAC-SHA-256 with keys of every length (RFC 2104), the same key again and again", () => {
    for (const length of [0, 1, 32, 63, 64, 65, 200]) {
      const key = nativeCrypto.randomBytes(length);
      for (const bytes of [new Uint8Array(), nativeCrypto.randomBytes(300)]) {
        expect(nativeCrypto.hmacSha256(key, bytes)).toEqual(hmac(sha256, key, bytes));
      }
    }
  });

  it.each([
    [
      "4a656665",
      "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ],
    [
      "aa".repeat(131),
      "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ],
  ])("keys HMAC-SHA-256 as RFC 4231 §4.3 and §4.7 say: %s", (key, bytes, tag) => {
    const made = nativeCrypto.hmacSha256(Uint8Array.fromHex(key), Uint8Array.fromHex(bytes));
    expect(made.toHex()).toBe(tag);
  });

  it("hashes as the platform does, into plain bytes", () => {
    const bytes = nativeCrypto.randomBytes(1000);
    const key = nativeCrypto.randomBytes(32);
    expect(nativeCrypto.sha256(bytes)).toEqual(new Uint8Array(createHash("sha256").update(bytes).digest()));
    expect(Buffer.isBuffer(nativeCrypto.sha256(bytes))).toBe(false);
    expect(Buffer.isBuffer(nativeCrypto.hmacSha256(key, bytes))).toBe(false);
    expect(nativeCrypto.randomBytes(16)).toHaveLength(16);
    expect(nativeCrypto.randomBytes(16)).not.toEqual(nativeCrypto.randomBytes(16));
  });

  it("still verifies with a key that many others have pushed out (N2)", () => {
    const message = new Uint8Array([7]);
    const { jwk, signature } = signed("Ed25519", message);
    for (const { verify } of nativePorts) {
      expect(verify(jwk, message, signature)).toBe(true);
      for (let i = 0; i <= keysMax; i += 1) {
        verify({ kty: "OKP", crv: "Ed25519", x: `no key ${i}` }, message, signature);
      }
      expect(verify(jwk, message, signature)).toBe(true);
      expect(verify(jwk, new Uint8Array([8]), signature)).toBe(false);
    }
  });
});
