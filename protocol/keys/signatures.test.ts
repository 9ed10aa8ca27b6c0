import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signNative,
  verify as verifyNative,
} from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBase64, parseBase64Url, parseHex, toBase64Url, utf8 } from "../bytes.ts";
import { pae } from "../dsse.ts";
import { dsse, rfc7515, rfc8032, rfc9421, smallOrderPoints } from "../vectors/keys-and-signatures.ts";
import { type PublicJwk, parsePublicJwk } from "./jwk.ts";
import { derToRawP256, hasSmallOrderR, verifySignature } from "./signatures.ts";

const fromHex = (hex: string): Uint8Array => parseHex(hex) ?? new Uint8Array();
const ed25519Jwk = (key: Uint8Array): PublicJwk => ({ kty: "OKP", crv: "Ed25519", x: toBase64Url(key) });
const coordinate = (value: bigint): string => toBase64Url(fromHex(value.toString(16).padStart(64, "0")));

function nativeVerdict(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  return jwk.kty === "EC"
    ? verifyNative("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature)
    : verifyNative(null, message, key, signature);
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const index = (bit >> 3) % bytes.length;
  changed[index] = (changed[index] ?? 0) ^ (1 << (bit & 7));
  return changed;
}

describe("published signatures verify", () => {
  it.each(rfc8032)("RFC 8032 §7.1: $publicKey", ({ publicKey, message, signature }) => {
    const jwk = ed25519Jwk(fromHex(publicKey));
    expect(verifySignature(jwk, fromHex(message), fromHex(signature))).toBe(true);
    expect(verifySignature(jwk, fromHex(`${message}00`), fromHex(signature))).toBe(false);
  });

  it("RFC 7515 appendix A.3", () => {
    const signature = parseBase64Url(rfc7515.signature) ?? new Uint8Array();
    expect(verifySignature(rfc7515.jwk, utf8(rfc7515.message), signature)).toBe(true);
    expect(verifySignature(rfc7515.jwk, utf8(`${rfc7515.message}.`), signature)).toBe(false);
  });

  it("RFC 9421 appendix B.2.6", () => {
    const signature = parseBase64(rfc9421.signature) ?? new Uint8Array();
    expect(verifySignature(rfc9421.jwk, utf8(rfc9421.base), signature)).toBe(true);
    expect(verifySignature(rfc9421.jwk, utf8(rfc9421.base.replace("/foo", "/bar")), signature)).toBe(false);
  });

  it("DSSE v1 test vector", () => {
    const jwk: PublicJwk = { kty: "EC", crv: "P-256", x: coordinate(dsse.x), y: coordinate(dsse.y) };
    const signature = parseBase64(dsse.signature) ?? new Uint8Array();
    expect(parsePublicJwk(jwk).ok).toBe(true);
    expect(verifySignature(jwk, pae(dsse.payloadType, utf8(dsse.payload)), signature)).toBe(true);
  });
});

describe("the platform's signatures", () => {
  const makers: readonly (readonly [
    string,
    () => { publicKey: KeyObject; privateKey: KeyObject },
    number,
  ])[] = [
    ["Ed25519", () => generateKeyPairSync("ed25519"), 40],
    ["ES256", () => generateKeyPairSync("ec", { namedCurve: "P-256" }), 40],
    ["ML-DSA-65", () => generateKeyPairSync("ml-dsa-65"), 10],
  ];

  it.each(makers)("of %s verify, and no changed one does", (algorithm, makePair, numRuns) => {
    const { publicKey, privateKey } = makePair();
    const parsed = parsePublicJwk(publicKey.export({ format: "jwk" }));
    if (!parsed.ok) throw new Error(parsed.detail);
    const jwk = parsed.value;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(30_000), (message, bit) => {
        const key = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
        const signature = new Uint8Array(signNative(algorithm === "ES256" ? "sha256" : null, message, key));
        expect(verifySignature(jwk, message, signature)).toBe(true);
        expect(verifySignature(jwk, flipped(message, bit), signature)).toBe(false);
        expect(verifySignature(jwk, message, flipped(signature, bit))).toBe(false);
        expect(nativeVerdict(jwk, message, flipped(signature, bit))).toBe(false);
        expect(verifySignature(jwk, message, signature.slice(1))).toBe(false);
        expect(verifySignature(jwk, message, new Uint8Array([...signature, 0]))).toBe(false);
      }),
      { numRuns },
    );
  });

  it("verify under the other s too, as RFC 7518 §3.4 asks for no low s", () => {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const signature = parseBase64Url(rfc7515.signature) ?? new Uint8Array();
    const s = BigInt(`0x${signature.slice(32).toHex()}`);
    const other = new Uint8Array([
      ...signature.slice(0, 32),
      ...fromHex((order - s).toString(16).padStart(64, "0")),
    ]);
    expect(verifySignature(rfc7515.jwk, utf8(rfc7515.message), other)).toBe(true);
    expect(nativeVerdict(rfc7515.jwk, utf8(rfc7515.message), other)).toBe(true);
  });
});

describe("keys and signatures that are no such", () => {
  it("never verify and never throw", () => {
    const bad: readonly PublicJwk[] = [
      { kty: "OKP", crv: "Ed25519", x: "" },
      { kty: "OKP", crv: "Ed25519", x: "=" },
      { kty: "EC", crv: "P-256", x: "AA", y: "AA" },
      { kty: "EC", crv: "P-256", x: coordinate(0n), y: coordinate(0n) },
      { kty: "AKP", alg: "ML-DSA-65", pub: "AA" },
      { kty: "AKP", alg: "ML-DSA-65", pub: "!" },
    ];
    for (const jwk of bad) expect(verifySignature(jwk, utf8("a"), new Uint8Array(64))).toBe(false);
  });

  it.each([...smallOrderPoints.canonical, ...smallOrderPoints.nonCanonical])("small-order key %s", (hex) => {
    // With S = 0 and R the identity, such a key can fit any message whose challenge its order divides.
    const signature = Uint8Array.of(1, ...new Uint8Array(63));
    for (let message = 0; message < 8; message += 1) {
      expect(verifySignature(ed25519Jwk(fromHex(hex)), Uint8Array.of(message), signature)).toBe(false);
    }
  });

  it("an R of small order is known by its bytes, whatever the platform says of it", () => {
    const encodings = [...smallOrderPoints.canonical, ...smallOrderPoints.nonCanonical];
    for (const hex of encodings)
      expect(hasSmallOrderR(new Uint8Array([...fromHex(hex), ...new Uint8Array(32)])), hex).toBe(true);
    for (const { signature } of rfc8032) expect(hasSmallOrderR(fromHex(signature))).toBe(false);
  });

  it("S beyond the group order (RFC 8032 §5.1.7)", () => {
    const vector = rfc8032[1];
    if (!vector) throw new Error("The vector is missing.");
    const signature = fromHex(vector.signature);
    const s = BigInt(`0x${signature.slice(32).toReversed().toHex()}`) + ed25519.Point.Fn.ORDER;
    const beyond = fromHex(s.toString(16).padStart(64, "0")).toReversed();
    const jwk = ed25519Jwk(fromHex(vector.publicKey));
    expect(
      verifySignature(jwk, fromHex(vector.message), new Uint8Array([...signature.slice(0, 32), ...beyond])),
    ).toBe(false);
  });
});

describe("Ed25519 signatures made with points of mixed order", () => {
  const { Point } = ed25519;
  const torsion = smallOrderPoints.canonical.slice(1).map((hex) => Point.fromBytes(fromHex(hex)));
  const scalar = (seed: string): bigint =>
    Point.Fn.create(BigInt(`0x${createHash("sha256").update(seed).digest("hex")}`));

  /** Builds a signature as the holder of the scalar can, with parts of small order added to the key and to R. */
  function forge(seed: string, keyPart: typeof Point.BASE, noncePart: typeof Point.BASE) {
    const [secret, nonce, message] = [scalar(`key ${seed}`), scalar(`nonce ${seed}`), utf8(seed)];
    const key = Point.BASE.multiply(secret).add(keyPart).toBytes();
    const r = Point.BASE.multiply(nonce).add(noncePart).toBytes();
    const digest = createHash("sha512").update(r).update(key).update(message).digest();
    const challenge = Point.Fn.create(BigInt(`0x${digest.reverse().toString("hex")}`));
    const s = Point.Fn.create(nonce + challenge * secret);
    const sBytes = fromHex(s.toString(16).padStart(64, "0")).toReversed();
    return { jwk: ed25519Jwk(key), key, message, signature: new Uint8Array([...r, ...sBytes]) };
  }

  it("have one verdict, the platform's, where the cofactored equation would take them all", () => {
    const verdicts: boolean[] = [];
    for (const [index, part] of torsion.entries()) {
      for (const parts of [
        [part, Point.ZERO],
        [Point.ZERO, part],
        [part, part],
      ] as const) {
        for (let round = 0; round < 4; round += 1) {
          const { jwk, key, message, signature } = forge(`${index} ${round}`, ...parts);
          expect(ed25519.verify(signature, message, key, { zip215: false })).toBe(true);
          const verdict = verifySignature(jwk, message, signature);
          expect(verdict).toBe(nativeVerdict(jwk, message, signature));
          verdicts.push(verdict);
        }
      }
    }
    expect(new Set(verdicts)).toEqual(new Set([true, false]));
  });
});

describe("a DER signature", () => {
  it("as the platform writes it becomes r and s", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const parsed = parsePublicJwk(publicKey.export({ format: "jwk" }));
    if (!parsed.ok) throw new Error(parsed.detail);
    for (let round = 0; round < 40; round += 1) {
      const message = utf8(`message ${round}`);
      const der = new Uint8Array(signNative("sha256", message, privateKey));
      const raw = derToRawP256(der);
      expect(raw?.length).toBe(64);
      expect(raw && verifySignature(parsed.value, message, raw)).toBe(true);
      expect(derToRawP256(new Uint8Array([...der, 0]))).toBeNull();
      expect(derToRawP256(der.slice(0, -1))).toBeNull();
    }
  });

  it("keeps short numbers at their place", () => {
    expect(derToRawP256(fromHex("3006020101020102"))?.toHex()).toBe(
      `${"01".padStart(64, "0")}${"02".padStart(64, "0")}`,
    );
  });

  it.each([
    ["nothing", ""],
    ["a length in BER's long form", "308106020101020102"],
    ["an indefinite length", "30800201010201020000"],
    ["a padded number", "300702020001020102"],
    ["a negative number", "3006020181020102"],
    ["a number without bytes", "30050200020102"],
    ["another tag", "3106020101020102"],
    ["a third number", "3009020101020102020103"],
  ])("is refused for %s", (_, hex) => {
    expect(derToRawP256(fromHex(hex))).toBeNull();
  });
});
