import { describe, expect, it } from "vitest";
import {
  batchSeal,
  listedKey,
  passkeySeal,
  policyRecord,
  recordBytes,
  sealedAt,
  sealedPolicy,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import type { SealEvidence } from "./seal.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();
const facts = sidecarFacts(business, bytes);
const receivedAt = facts.received_at;
const afterReceipt = "2026-03-01T12:00:01.001Z";

/** The system's key ended as given; it sealed at `sealedAt`, before all of these ends. */
const under = (ended: Parameters<typeof listedKey>[2], evidence: Partial<SealEvidence> = {}): string =>
  codeOf(
    verifier.seal({
      bytes,
      seal: batchSeal(business, [bytes], 0),
      certificates: certificates(business.issued.envelope),
      keys: keys([
        listedKey("system", business.system, ended),
        listedKey("passkey", business.passkey, ended),
        listedKey("hosted", business.hosted),
      ]),
      ...evidence,
    }),
  );
const sidecar = sidecarEnvelope(service, facts);

describe("a seal by a key that is said to be compromised later than it was sealed", () => {
  const compromised = { compromised_from: afterReceipt, revoked_at: "2026-03-02T00:00:00.000Z" };

  it("stands by a sidecar that says it was received before, and by nothing else", () => {
    expect(sealedAt < receivedAt).toBe(true);
    expect(under(compromised)).toBe("key_compromised");
    expect(under(compromised, { sidecar })).toBe("ok");
    expect(under({ ...compromised, compromised_from: receivedAt }, { sidecar })).toBe("key_compromised");
  });

  it("is not helped by a sidecar that is about another seal or other bytes, or that the service did not sign", () => {
    const others = [
      sidecarEnvelope(service, { ...facts, sealed_at: "2026-03-01T12:00:00.001Z" }),
      sidecarEnvelope(service, { ...facts, sha256: `sha256:${"0".repeat(64)}` }),
      sidecarEnvelope(service, { ...facts, business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" }),
      sidecarEnvelope(service, facts, business.system),
    ];
    for (const other of others) expect(under(compromised, { sidecar: other })).toBe("key_compromised");
  });

  it("stands by what the service itself knows of its receipt", () => {
    expect(under(compromised, { received: { at: receivedAt } })).toBe("ok");
    expect(under(compromised, { received: { at: afterReceipt } })).toBe("key_compromised");
    expect(under(compromised, { received: { at: null } })).toBe("key_compromised");
    expect(under(compromised, { received: { at: null }, sidecar })).toBe("ok");
  });

  it("says why, and what each check is all the same", () => {
    const refused = verifier.seal({
      bytes,
      seal: passkeySeal(business, bytes),
      certificates: certificates(business.issued.envelope),
      keys: keys([listedKey("passkey", business.passkey, compromised)]),
    });
    expect(refused).toMatchObject({
      ok: false,
      code: "key_compromised",
      detail: `The key is compromised from ${afterReceipt} on, and nothing shows that the seal was received before.`,
      checks: { certificate: "ok", scope: "ok" },
    });
  });

  it("is refused also where it seals an AI policy: no sidecar is ever about one", () => {
    const policy = sealedPolicy(business, policyRecord());
    const evidence = { document: "ai_policy", bytes: policy.bytes, seal: policy.seal } as const;
    expect(under({}, evidence)).toBe("ok");
    expect(under(compromised, evidence)).toBe("key_compromised");
  });
});

describe("a seal by a key that was only revoked", () => {
  const revoked = { revoked_at: "2026-03-02T00:00:00.000Z" };

  it("is judged offline by what it says of itself, as it was at sealed_at", () => {
    expect(under(revoked)).toBe("ok");
    expect(under(revoked, { sidecar })).toBe("ok");
  });

  it("is not valid where the service knows that it never received it", () => {
    expect(under(revoked, { received: { at: receivedAt } })).toBe("ok");
    expect(under(revoked, { received: { at: null } })).toBe("key_not_valid");
    expect(under(revoked, { received: { at: revoked.revoked_at } })).toBe("ok");
    expect(under({}, { received: { at: null } })).toBe("ok");
  });
});
