// Every byte of a proof file counts: with any one of them changed, the file is refused.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import type { SignatureVerifier } from "../protocol/signatures.ts";
import { verifyEvidence } from "../verifier/verifier.ts";
import { type AttackNode, openAttackNode } from "./attack.fixture.ts";
import { proofsOf, serveRecord } from "./proof-file.fixture.ts";

let node: AttackNode;
let file: Uint8Array;

beforeAll(async () => {
  vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
  node = await openAttackNode();
  vi.unstubAllEnvs();
  file = new TextEncoder().encode(await proofsOf(await serveRecord(node)));
}, 120_000);
afterAll(() => node.close());

/** Remembers what it verified: all but one of a file's signatures are the same each time. */
function remembering(): SignatureVerifier {
  const verified = new Map<string, boolean>();
  return (jwk, message, signature) => {
    const parts = [JSON.stringify(jwk), message, signature];
    const key = parts
      .reduce((hash, part) => hash.update(part).update("|"), createHash("sha256"))
      .digest("base64");
    const known = verified.get(key);
    if (known !== undefined) return known;
    const isValid = nativeCrypto.verify(jwk, message, signature);
    if (isValid) verified.set(key, isValid);
    return isValid;
  };
}

it("is refused with any one byte changed", async () => {
  const { anchors } = node.running.services;
  const options = { anchors, verify: remembering(), sha256: nativeCrypto.sha256 };
  expect(verifyEvidence(options, file).valid).toBe(true);
  const believed: string[] = [];
  for (let at = 0; at < file.length; at += 1) {
    const other = file.slice();
    other[at] = (file[at] ?? 0) ^ (1 << (at % 5));
    if (verifyEvidence(options, other).valid)
      believed.push(new TextDecoder().decode(file.subarray(at - 40, at + 1)));
    if (at % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(file.length).toBeGreaterThan(10_000);
  expect(believed).toEqual([]);
}, 1_800_000);
