// The vectors of Project Wycheproof (vectors/wycheproof/README.md) and of CCTV (vectors/cctv/README.md) against the portable
// verifier and the node's native one over each library, which is acceptable only as long as all agree.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nativePorts } from "../../crypto/native.fixture.ts";
import { parseBase64Url, toBase64Url } from "../bytes.ts";
import { cctvCases } from "../cctv.fixture.ts";
import { type PublicJwk, parsePublicJwk } from "./jwk.ts";
import { derToRawP256, verifySignature } from "./signatures.ts";

/** All bytes are base64url. */
interface VectorFile {
  readonly groups: readonly {
    /** Ed25519: 32 bytes; P-256: the uncompressed point; ML-DSA-65: the encoding of FIPS 204. */
    readonly key: string;
    readonly tests: readonly {
      readonly tcId: number;
      readonly comment: string;
      readonly flags: readonly string[];
      readonly msg: string;
      readonly sig: string;
      readonly result: "valid" | "invalid";
    }[];
  }[];
}

interface Suite {
  readonly file: string;
  readonly jwkOf: (key: string) => PublicJwk;
  /** The signature as the verifiers take it; null when its encoding is refused before it reaches them. */
  readonly rawOf: (signature: Uint8Array) => Uint8Array | null;
  /** How many vectors with each result the file holds; all of them must run. */
  readonly counts: { readonly valid: number; readonly invalid: number };
}

function p256Jwk(key: string): PublicJwk {
  const point = bytesOf(key);
  return { kty: "EC", crv: "P-256", x: toBase64Url(point.slice(1, 33)), y: toBase64Url(point.slice(33)) };
}

function bytesOf(text: string): Uint8Array {
  const bytes = parseBase64Url(text);
  if (bytes === null) throw new TypeError(`${text} is not base64url.`);
  return bytes;
}

const asIs = (signature: Uint8Array): Uint8Array => signature;

const suites: readonly Suite[] = [
  {
    file: "ed25519.json",
    jwkOf: (x) => ({ kty: "OKP", crv: "Ed25519", x }),
    rawOf: asIs,
    counts: { valid: 88, invalid: 63 },
  },
  {
    file: "ecdsa-secp256r1-sha256-p1363.json",
    jwkOf: p256Jwk,
    rawOf: asIs,
    counts: { valid: 173, invalid: 89 },
  },
  {
    file: "ecdsa-secp256r1-sha256-der.json",
    jwkOf: p256Jwk,
    rawOf: derToRawP256,
    counts: { valid: 174, invalid: 310 },
  },
  {
    file: "mldsa-65-verify.json",
    jwkOf: (pub) => ({ kty: "AKP", alg: "ML-DSA-65", pub }),
    rawOf: asIs,
    counts: { valid: 41, invalid: 30 },
  },
];

function readVectors(file: string): VectorFile {
  const path = join(import.meta.dirname, "../vectors", "wycheproof", file);
  return JSON.parse(readFileSync(path, "utf8")) as VectorFile;
}

describe("Wycheproof", () => {
  it.each(suites)("$file: all verifiers say what it says", ({ file, jwkOf, rawOf, counts }) => {
    const wrong: string[] = [];
    const seen = { valid: 0, invalid: 0 };
    for (const group of readVectors(file).groups) {
      const jwk = jwkOf(group.key);
      const isKey = parsePublicJwk(jwk).ok;
      for (const { tcId, comment, flags, msg, sig, result } of group.tests) {
        const [message, signature] = [bytesOf(msg), rawOf(bytesOf(sig))];
        const portable = signature !== null && verifySignature(jwk, message, signature);
        const native = nativePorts.map(({ verify }) => signature !== null && verify(jwk, message, signature));
        const expected = result === "valid";
        seen[result] += 1;
        if ([portable, ...native].some((verdict) => verdict !== expected) || (expected && !isKey)) {
          wrong.push(`${tcId} ${comment} (${flags}): ${result}, portable ${portable}, native ${native}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(seen).toEqual(counts);
  });
});

describe("CCTV", () => {
  it("ed25519.json: all verifiers refuse an R and a key of small order or in another form, and what holds only with the cofactor", () => {
    const wrong: string[] = [];
    const cases = cctvCases();
    for (const { number, jwk, message, signature, isValid } of cases) {
      const portable = verifySignature(jwk, message, signature);
      const native = nativePorts.map(({ verify }) => verify(jwk, message, signature));
      if ([portable, ...native].some((verdict) => verdict !== isValid))
        wrong.push(`${number}: ${isValid}, portable ${portable}, native ${native}`);
    }
    expect(wrong).toEqual([]);
    expect([cases.length, cases.filter(({ isValid }) => isValid).length]).toEqual([914, 43]);
  });
});
