import { createHash, generateKeyPairSync } from "node:crypto";
import judge from "canonicalize";
import { describe, expect, it } from "vitest";
import { parseHex, toBase64Url } from "../bytes.ts";
import { rfc7515, rfc8037, smallOrderPoints } from "../vectors/keys-and-signatures.ts";
import { parseEd25519Point } from "./ed25519-point.ts";
import { algorithmOf, parsePublicJwk, thumbprint } from "./jwk.ts";

const ed25519 = rfc8037.jwk;
const p256 = rfc7515.jwk;
const mlDsa65 = { kty: "AKP", alg: "ML-DSA-65", pub: toBase64Url(new Uint8Array(1952)) } as const;
const bytesOf = (hex: string): Uint8Array => parseHex(hex) ?? new Uint8Array();

describe("a public JWK", () => {
  it.each([
    ["Ed25519", ed25519],
    ["ES256", p256],
    ["ML-DSA-65", mlDsa65],
  ] as const)("of %s is read", (algorithm, jwk) => {
    expect(parsePublicJwk(jwk)).toEqual({ ok: true, value: jwk });
    expect(algorithmOf(jwk)).toBe(algorithm);
  });

  it("loses what is not the key", () => {
    const extras = { kid: "1", use: "sig", alg: "EdDSA", key_ops: ["verify"], ext: true };
    expect(parsePublicJwk({ ...extras, ...ed25519 })).toEqual({ ok: true, value: ed25519 });
    expect(parsePublicJwk({ ...p256, alg: "ES256" })).toEqual({ ok: true, value: p256 });
    expect(parsePublicJwk({ ...ed25519, alg: "Ed25519" })).toEqual({ ok: true, value: ed25519 });
  });

  it("is read as the platform exports it", () => {
    for (const pair of [
      generateKeyPairSync("ed25519"),
      generateKeyPairSync("ec", { namedCurve: "P-256" }),
      generateKeyPairSync("ml-dsa-65"),
    ]) {
      const exported = pair.publicKey.export({ format: "jwk" });
      expect(parsePublicJwk(exported)).toEqual({ ok: true, value: exported });
      expect(parsePublicJwk(pair.privateKey.export({ format: "jwk" })).ok).toBe(false);
    }
  });

  it.each([
    ["null", null],
    ["a list", [ed25519]],
    ["a text", "key"],
    ["no members", {}],
    ["a private member", { ...ed25519, d: ed25519.kty === "OKP" ? ed25519.x : "" }],
    ["a private P-256 member", { ...p256, d: "AQ" }],
    ["a private ML-DSA member", { ...mlDsa65, priv: "AQ" }],
    ["an undefined member", { ...ed25519, x5c: [] }],
    [
      "a member named __proto__",
      JSON.parse(`{"__proto__":1,"kty":"OKP","crv":"Ed25519","x":"${rfc8037.thumbprint}"}`),
    ],
    ["another curve", { ...ed25519, crv: "X25519" }],
    ["another key type", { kty: "RSA", n: "AQAB", e: "AQAB" }],
    ["a P-256 key on another curve", { ...p256, crv: "P-384" }],
    ["another parameter set", { ...mlDsa65, alg: "ML-DSA-44" }],
    ["a short ML-DSA key", { ...mlDsa65, pub: toBase64Url(new Uint8Array(1951)) }],
    ["padding", { ...ed25519, x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=" }],
    ["trailing bits", { ...ed25519, x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp" }],
    ["a coordinate of 31 bytes", { ...ed25519, x: toBase64Url(new Uint8Array(31)) }],
    ["a coordinate that is no text", { ...ed25519, x: 5 }],
    ["no coordinate", { kty: "OKP", crv: "Ed25519" }],
    [
      "a point off the Ed25519 curve",
      { ...ed25519, x: toBase64Url(Uint8Array.of(2, ...new Uint8Array(31))) },
    ],
    ["a point off the P-256 curve", { ...p256, y: p256.kty === "EC" ? p256.x : "" }],
    [
      "the P-256 point at infinity",
      { ...p256, x: toBase64Url(new Uint8Array(32)), y: toBase64Url(new Uint8Array(32)) },
    ],
    ["a P-256 coordinate beyond the field", { ...p256, x: toBase64Url(new Uint8Array(32).fill(255)) }],
    ["another algorithm", { ...ed25519, alg: "ES256" }],
    ["an algorithm that is no text", { ...ed25519, alg: null }],
    ["another use", { ...ed25519, use: "enc" }],
    ["other operations", { ...ed25519, key_ops: ["sign"] }],
    ["operations that are no list", { ...ed25519, key_ops: "verify" }],
  ])("is refused for %s", (_, value) => {
    const parsed = parsePublicJwk(value);
    expect(parsed.ok ? "ok" : parsed.code).toBe("jwk_malformed");
  });

  it.each([...smallOrderPoints.canonical, ...smallOrderPoints.nonCanonical])(
    "is refused for the small-order point %s",
    (hex) => {
      expect(parseEd25519Point(bytesOf(hex))).toBeNull();
      expect(parsePublicJwk({ kty: "OKP", crv: "Ed25519", x: toBase64Url(bytesOf(hex)) }).ok).toBe(false);
    },
  );

  it("is refused for every encoding of y beyond the field", () => {
    // With p = 2^255 - 19, 19 values of y have a second encoding, and each encoding has two signs of x.
    for (let low = 0xed; low <= 0xff; low += 1) {
      for (const high of [0x7f, 0xff]) {
        const bytes = new Uint8Array(32).fill(255);
        bytes[0] = low;
        bytes[31] = high;
        expect(parseEd25519Point(bytes)).toBeNull();
      }
    }
  });
});

describe("the thumbprint", () => {
  it("of an Ed25519 key is that of RFC 8037 appendix A.3", () => {
    expect(thumbprint(rfc8037.jwk)).toBe(rfc8037.thumbprint);
  });

  it("hashes the canonical JSON of the required members (RFC 7638 §3)", () => {
    for (const jwk of [ed25519, p256, mlDsa65]) {
      const digest = createHash("sha256")
        .update(String(judge(jwk)))
        .digest("base64url");
      expect(thumbprint(jwk)).toBe(digest);
      expect(thumbprint(jwk, () => new Uint8Array(32))).toBe("A".repeat(43));
    }
  });
});
