import { expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import type { SignatureVerifier } from "../protocol/keys/signatures.ts";
import { verifyOnce } from "./verifier.ts";

const key = { kty: "OKP", crv: "Ed25519", x: "a" } as const;
const other = { ...key, x: "b" } as const;

/** A signature is its message under key a. */
function counting(): { readonly verify: SignatureVerifier; readonly calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    verify: verifyOnce((jwk, message, signature) => {
      calls += 1;
      return jwk.kty === "OKP" && jwk.x === "a" && `${message}` === `${signature}`;
    }),
  };
}

it("verifies a signature once", () => {
  const { verify, calls } = counting();
  for (let time = 0; time < 3; time += 1) expect(verify(key, utf8("m"), utf8("m"))).toBe(true);
  expect(calls()).toBe(1);
});

it("recalls nothing of another key, message or signature, nor of what was refused", () => {
  const { verify, calls } = counting();
  expect(verify(key, utf8("m"), utf8("m"))).toBe(true);
  expect(verify(other, utf8("m"), utf8("m"))).toBe(false);
  expect(verify(key, utf8("n"), utf8("m"))).toBe(false);
  expect(verify(key, utf8("m"), utf8("n"))).toBe(false);
  expect(verify(key, utf8("m"), utf8("n"))).toBe(false);
  expect(calls()).toBe(5);
});

it("is not misled by a message that is changed after it was verified", () => {
  const { verify } = counting();
  const message = utf8("m");
  expect(verify(key, message, utf8("m"))).toBe(true);
  message[0] = 0;
  expect(verify(key, message, utf8("m"))).toBe(false);
});
