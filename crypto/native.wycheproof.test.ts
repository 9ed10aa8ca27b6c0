// The native port against Project Wycheproof's vectors (github.com/C2SP/wycheproof, Apache-2.0), read from a checkout
// that is not part of this project: WYCHEPROOF_DIR=<checkout>/testvectors_v1. Without it they are skipped, and say so.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseHex, toBase64Url } from "../protocol/bytes.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { derToRawP256, verifySignature } from "../protocol/signatures.ts";
import { nativeCrypto } from "./native.ts";

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
  if (typeof publicKey === "string") {
    return { kty: "AKP", alg: "ML-DSA-65", pub: toBase64Url(fromHex(publicKey)) };
  }
  if (publicKey.pk !== undefined)
    return { kty: "OKP", crv: "Ed25519", x: toBase64Url(fromHex(publicKey.pk)) };
  const point = fromHex(publicKey.uncompressed ?? "");
  return { kty: "EC", crv: "P-256", x: toBase64Url(point.slice(1, 33)), y: toBase64Url(point.slice(33)) };
}

describe.runIf(directory !== undefined)("Wycheproof", () => {
  it.each([
    { file: "ed25519_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 150 },
    { file: "ecdsa_secp256r1_sha256_p1363_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 250 },
    { file: "ecdsa_secp256r1_sha256_test.json", rawOf: derToRawP256, countMin: 470 },
    { file: "mldsa_65_verify_test.json", rawOf: (sig: Uint8Array) => sig, countMin: 200 },
  ])(
    "$file: the node says what it says, and what the portable verifier says",
    ({ file, rawOf, countMin }) => {
      const text = readFileSync(join(directory ?? "", file), "utf8");
      const { testGroups } = JSON.parse(text) as { testGroups: Group[] };
      const wrong: string[] = [];
      let count = 0;
      for (const group of testGroups) {
        const jwk = jwkOf(group);
        // We sign with an empty context only (FIPS 204 §5.2).
        for (const test of group.tests.filter(({ ctx = "" }) => ctx === "")) {
          const [message, signature] = [fromHex(test.msg), rawOf(fromHex(test.sig))];
          const native = signature !== null && nativeCrypto.verify(jwk, message, signature);
          const portable = signature !== null && verifySignature(jwk, message, signature);
          count += 1;
          if (native !== (test.result === "valid") || portable !== native) {
            wrong.push(
              `${test.tcId} ${test.comment}: ${test.result}, native ${native}, portable ${portable}`,
            );
          }
        }
      }
      expect(wrong).toEqual([]);
      expect(count).toBeGreaterThan(countMin);
    },
  );
});
