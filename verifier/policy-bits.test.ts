import { describe, expect, it } from "vitest";
import { policyBits } from "../protocol/ai-policy.ts";
import { canonicalBytes } from "../protocol/json/canonical-json.ts";
import { policyRecord, sealedPolicy } from "./business.fixture.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import { asJson } from "./service.fixture.ts";

const { business, verifier, certificates, keys } = makeScene();

describe("AI policy bits", () => {
  const record = policyRecord();
  const evidence = { keys: keys(), certificates: certificates(business.issued.envelope) };
  const sealed = { ...evidence, ...sealedPolicy(business, record) };
  const bits = (changes: object = {}) => asJson({ ai_policy_version: 1, ...policyBits(record), ...changes });

  it("are those of the sealed booleans", () => {
    const all = verifier.policyBits(bits(), sealed);
    expect(all).toMatchObject({
      ok: true,
      value: { blocked: ["alcohol", "politics_elections"], isPurchaseWithheld: false },
    });
    for (const change of [{ use: 0 }, { action: 0b110110 }, { blocked: 0 }, { blocked: 1023 }]) {
      expect(codeOf(verifier.policyBits(bits(change), sealed))).toBe("ai_policy_bits_mismatch");
    }
  });

  it("may withhold purchase, and never grant it", () => {
    expect(verifier.policyBits(bits({ action: 0b110111 }), sealed)).toMatchObject({
      value: { isPurchaseWithheld: true },
    });
    const without = policyRecord({ action: { ...record.action, purchase: false } });
    const unsold = { ...evidence, ...sealedPolicy(business, without) };
    expect(codeOf(verifier.policyBits(bits({ action: 0b110111 }), unsold))).toBe("ok");
    expect(codeOf(verifier.policyBits(bits({ action: 0b111111 }), unsold))).toBe("ai_policy_bits_mismatch");
  });

  it("of version 0 permit nothing", () => {
    const none = { ai_policy_version: 0, use: 0, action: 0, blocked: 0 };
    expect(codeOf(verifier.policyBits(bits(none), null))).toBe("ok");
    expect(codeOf(verifier.policyBits(bits({ ...none, action: 1 }), null))).toBe("ai_policy_bits_mismatch");
    expect(codeOf(verifier.policyBits(bits({ ...none, action: 1 }), sealed))).toBe("ai_policy_bits_mismatch");
    expect(codeOf(verifier.policyBits(bits(), null))).toBe("ai_policy_bits_mismatch");
  });

  it("name the version that the seal creates", () => {
    const none = { ai_policy_version: 0, use: 0, action: 0, blocked: 0 };
    expect(codeOf(verifier.policyBits(bits(none), sealed))).toBe("ai_policy_version_mismatch");
    expect(codeOf(verifier.policyBits(bits({ ai_policy_version: 2 }), sealed))).toBe(
      "ai_policy_version_mismatch",
    );
  });

  it("of a schema that is not known are version_unknown", () => {
    expect(codeOf(verifier.policyBits(bits({ ai_policy_schema: 3 }), sealed))).toBe("version_unknown");
    const future = canonicalBytes(asJson({ ...record, ai_policy_schema: 3 }));
    const seal = sealedPolicy(business, { ...record, ai_policy_schema: 3 }).seal;
    expect(codeOf(verifier.policyBits(bits(), { ...evidence, bytes: future, seal }))).toBe("version_unknown");
    const renamed = { ...record, schema: "svc/ai_policy/2" } as unknown as typeof record;
    expect(codeOf(verifier.policyBits(bits(), { ...evidence, ...sealedPolicy(business, renamed) }))).toBe(
      "version_unknown",
    );
    expect(codeOf(verifier.policyBits(bits({ extra: 1 }), sealed))).toBe("payload_malformed");
  });
});
