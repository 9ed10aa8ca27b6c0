// Project Wycheproof's vectors (github.com/C2SP/wycheproof, Apache-2.0), read from a checkout of it that is not part
// of this project: WYCHEPROOF_DIR=<checkout>/testvectors_v1. Without it these tests are skipped, and say so.

import { createPublicKey, verify as verifyNative } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseHex, toBase64Url } from "./bytes.ts";
import { type PublicJwk, parsePublicJwk } from "./jwk.ts";
import { derToRawP256, verifySignature } from "./signatures.ts";

const directory = process.env["WYCHEPROOF_DIR"];
if (directory === undefined) console.warn("WYCHEPROOF_DIR is not set: Wycheproof's vectors are not checked.");

interface Group {
  readonly publicKey: string | { readonly pk?: string; readonly uncompressed?: string };
  readonly tests: readonly {
    readonly tcId: number;
    readonly comment: string;
    readonly ctx?: string;
    readonly msg: string;
    readonly sig: string;
    readonly result: "valid" | "invalid" | "acceptable";
  }[];
}

const fromHex = (hex: string): Uint8Array => parseHex(hex) ?? new Uint8Array();

function jwkOf({ publicKey }: Group): PublicJwk {
  if (typeof publicKey === "string")
    return { kty: "AKP", alg: "ML-DSA-65", pub: toBase64Url(fromHex(publicKey)) };
  if (publicKey.pk !== undefined)
    return { kty: "OKP", crv: "Ed25519", x: toBase64Url(fromHex(publicKey.pk)) };
  const point = fromHex(publicKey.uncompressed ?? "");
  return { kty: "EC", crv: "P-256", x: toBase64Url(point.slice(1, 33)), y: toBase64Url(point.slice(33)) };
}

function nativeVerdict(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    if (jwk.kty !== "EC") return verifyNative(null, message, key, signature);
    return (
      signature.length === 64 &&
      verifyNative("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature)
    );
  } catch {
    return false;
  }
}

describe.runIf(directory !== undefined)("Wycheproof", () => {
  const files = [
    { file: "ed25519_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 150 },
    { file: "ecdsa_secp256r1_sha256_p1363_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 250 },
    { file: "ecdsa_secp256r1_sha256_test.json", rawOf: derToRawP256, countMin: 470 },
    { file: "mldsa_65_verify_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 200 },
  ];

  it.each(files)("$file: both verifiers say what it says", ({ file, rawOf, countMin }) => {
    const { testGroups } = JSON.parse(readFileSync(join(directory ?? "", file), "utf8")) as {
      testGroups: Group[];
    };
    const wrong: string[] = [];
    let count = 0;
    for (const group of testGroups) {
      const jwk = jwkOf(group);
      const isKey = parsePublicJwk(jwk).ok;
      // The service signs with an empty context only (FIPS 204 §5.2).
      for (const test of group.tests.filter(({ ctx = "" }) => ctx === "")) {
        const [message, signature] = [fromHex(test.msg), rawOf(fromHex(test.sig))];
        const portable = signature !== null && verifySignature(jwk, message, signature);
        const native = signature !== null && nativeVerdict(jwk, message, signature);
        const expected = test.result === "valid";
        count += 1;
        if (portable !== expected || native !== expected || (expected && !isKey)) {
          wrong.push(`${test.tcId} ${test.comment}: ${test.result}, portable ${portable}, native ${native}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(countMin);
  });
});
