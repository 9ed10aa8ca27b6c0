import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseBase64 } from "../protocol/bytes.ts";
import { pae } from "../protocol/dsse.ts";
import { algorithmOf } from "../protocol/keys/jwk.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { publishBytesMax } from "../protocol/limits.ts";
import { openBatchSeal } from "../protocol/seal.ts";
import { planBatches, publishBody, recordsRoot, requestLimits, sealBatch } from "./batch.ts";
import { generatePrivateJwk, parseSigningKey } from "./signing-key.ts";

const facts = {
  businessUuid: "0b7e1b1e-6a43-4a7c-9c39-3d8a1f0c2b11",
  certId: `sha256:${"c".repeat(64)}`,
  aiPolicyVersion: 3,
  recordType: "products",
  seq: 7,
  sealedAtMs: 1_700_000_000_000,
};

const records = Array.from({ length: 37 }, (_, index) => new TextEncoder().encode(`{"n":${index}}`));

describe.each(["Ed25519", "ES256"] as const)("a batch sealed with %s", (alg) => {
  it("verifies, and says what was sealed", async () => {
    const key = await parseSigningKey(await generatePrivateJwk(alg));
    if (!key.ok) throw new Error(key.detail);
    expect(algorithmOf(key.value.publicJwk)).toBe(alg);
    const sealed = await sealBatch(records, facts, key.value);
    const opened = openBatchSeal(sealed.batch_seal);
    expect(opened).toMatchObject({
      ok: true,
      value: {
        v: 2,
        tree_size: 37,
        seq: 7,
        ai_policy_version: 3,
        record_type: "products",
        key_id: key.value.keyId,
        root: sealed.root,
      },
    });
    const { payloadType, payload, signatures } = sealed.batch_seal;
    const message = pae(payloadType, parseBase64(payload) ?? new Uint8Array());
    const sig = parseBase64(signatures[0]?.sig ?? "") ?? new Uint8Array();
    expect(verifySignature(key.value.publicJwk, message, sig)).toBe(true);
    expect(sealed.push_id).toMatch(/^bat_[0-9a-f]{24}$/);
    expect(sealed.sealed_at).toBe("2023-11-14T22:13:20.000Z");
  });
});

describe("a batch", () => {
  it("has the root of RFC 6962, over the raw bytes in order", () => {
    const sha256 = (...parts: readonly Uint8Array[]): Uint8Array =>
      parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
    const [a, b, c] = records.slice(0, 3).map((record) => sha256(Uint8Array.of(0), record)) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    const node = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(Uint8Array.of(1), left, right);
    expect(recordsRoot(records.slice(0, 3))).toBe(`sha256:${node(node(a, b), c).toHex()}`);
  });

  it("is refused when empty or too large", async () => {
    const key = await parseSigningKey(await generatePrivateJwk("Ed25519"));
    if (!key.ok) throw new Error(key.detail);
    await expect(sealBatch([], facts, key.value)).rejects.toThrow(RangeError);
    const many = Array.from({ length: 10_001 }, () => new Uint8Array(1));
    await expect(sealBatch(many, facts, key.value)).rejects.toThrow(RangeError);
  });

  it("is cut by count and by the size of the body, losing nothing", async () => {
    const lengths = records.map((record) => record.length);
    expect(planBatches(lengths, { ...requestLimits, recordsMax: 10 })).toEqual([
      { first: 0, count: 10 },
      { first: 10, count: 10 },
      { first: 20, count: 10 },
      { first: 30, count: 7 },
    ]);
    const large = Array.from({ length: 500 }, () => new Uint8Array(150_000));
    const batches = planBatches(large.map((record) => record.length));
    expect(batches.reduce((sum, batch) => sum + batch.count, 0)).toBe(500);
    const key = await parseSigningKey(await generatePrivateJwk("Ed25519"));
    if (!key.ok) throw new Error(key.detail);
    const [first] = batches;
    const part = large.slice(0, first?.count);
    const sealed = await sealBatch(part, facts, key.value);
    const body = publishBody(sealed.batch_seal, part);
    expect(body.length).toBeLessThanOrEqual(publishBytesMax);
    expect(body.length + 200_003).toBeGreaterThan(publishBytesMax - 4_096);
  });
});
