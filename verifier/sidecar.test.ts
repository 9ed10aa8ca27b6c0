import { describe, expect, it } from "vitest";
import { batchSeal, recordBytes, sidecarEnvelope, sidecarFacts } from "./business.fixture.ts";
import { codeOf, held, makeScene } from "./scene.fixture.ts";
import { document, soleKey } from "./service.fixture.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();

describe("a sidecar", () => {
  const facts = sidecarFacts(business, bytes);
  const sidecar = (changes: object = {}) => sidecarEnvelope(service, { ...facts, ...changes });

  it("stands by the sidecar key that was valid when it published", () => {
    expect(
      codeOf(
        verifier.sidecar(sidecar(), {
          record_id: facts.record_id,
          business_uuid: business.uuid,
          hash: facts.sha256,
        }),
      ),
    ).toBe("ok");
    expect(codeOf(verifier.sidecar(sidecarEnvelope(service, facts, soleKey(service.receipt))))).toBe(
      "key_unknown",
    );
    expect(codeOf(verifier.sidecar(sidecar({ published_at: "2025-12-31T00:00:00.000Z" })))).toBe(
      "key_not_valid",
    );
  });

  it("of format 1 names terms, and mixing is payload_malformed", () => {
    const terms = { ...facts, v: 1, ai_policy_version: undefined, terms_version: 1 };
    expect(codeOf(verifier.sidecar(document("sidecar.v1", terms, soleKey(service.sidecar))))).toBe("ok");
    expect(codeOf(verifier.sidecar(sidecar({ terms_version: 1 })))).toBe("payload_malformed");
    expect(codeOf(verifier.sidecar(document("sidecar.v1", facts, soleKey(service.sidecar))))).toBe(
      "payload_malformed",
    );
    expect(codeOf(verifier.sidecar(sidecar({ v: 3 })))).toBe("version_unknown");
    expect(codeOf(verifier.sidecar(sidecar({ seal_ok: false })))).toBe("payload_malformed");
  });

  it("about another record is hash_mismatch", () => {
    const other = `svc_${"b".repeat(26)}`;
    for (const subject of [
      { record_id: other },
      { business_uuid: other },
      { hash: business.issued.certId },
    ]) {
      expect(codeOf(verifier.sidecar(sidecar(), subject))).toBe("hash_mismatch");
    }
  });

  it("that says otherwise than the seal is refused, and the seal is not", () => {
    const evidence = {
      bytes,
      seal: batchSeal(business, [bytes], 0),
      keys: keys(),
      certificates: certificates(business.issued.envelope),
    };
    const under = (changes: object) => {
      const seal = held(verifier.seal({ ...evidence, sidecar: sidecar(changes) }));
      if (seal.sidecar === null) throw new Error("A sidecar was given.");
      // Only a sidecar that counts as evidence establishes the authority of the key.
      expect(seal.checks.scope).toBe(seal.sidecar.ok ? "ok" : "not_checked");
      return codeOf(seal.sidecar);
    };
    expect(under({})).toBe("ok");
    expect(held(verifier.seal(evidence)).sidecar).toBeNull();
    expect(under({ ai_policy_version: 2 })).toBe("ai_policy_version_mismatch");
    expect(under({ sealed_by_key_id: business.hosted.keyId })).toBe("key_mismatch");
    expect(under({ record_type: "events" })).toBe("record_type_mismatch");
    expect(under({ cert_id: facts.sha256 })).toBe("certificate_unknown");
    expect(under({ sealed_at: "2026-03-01T12:00:00.001Z" })).toBe("hash_mismatch");
    expect(under({ sha256: business.issued.certId })).toBe("hash_mismatch");
    expect(under({ scope: { ...facts.scope, key_id: business.hosted.keyId } })).toBe("key_mismatch");
    expect(under({ business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" })).toBe("hash_mismatch");
    expect(codeOf(verifier.seal({ ...evidence, sidecar: sidecar({ path: "B" }) }))).toBe("out_of_scope");
  });
});
