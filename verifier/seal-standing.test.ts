import { describe, expect, it } from "vitest";
import { payloadTypes } from "../protocol/dsse.ts";
import { mandatePayload } from "../protocol/mandate.ts";
import { withdrawalDocument } from "../protocol/withdrawal.fixture.ts";
import {
  batchSeal,
  listedKey,
  passkeySeal,
  recordBytes,
  recordId,
  sealedAt,
  sealedMandate,
  sealedPolicy,
  sealFacts,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import type { PolicyVersion } from "./policy-timeline.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import type { SealEvidence } from "./seal.ts";
import { asJson, document, issueCertificate } from "./service.fixture.ts";
import { seal, type TestKey } from "./signing.fixture.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();
const single: SealEvidence = {
  bytes,
  seal: passkeySeal(business, bytes),
  certificates: certificates(business.issued.envelope),
  keys: keys(),
};
const pushed: SealEvidence = {
  ...single,
  seal: batchSeal(business, [bytes], 0),
  mandates: [{ envelope: sealedMandate(business), revoked_at: null }],
};

const code = (evidence: SealEvidence) => codeOf(verifier.seal(evidence));

describe("the scope of an integration key", () => {
  function under(facts: object, evidence: Partial<SealEvidence> = {}): string {
    return code({
      ...pushed,
      mandates: [{ envelope: sealedMandate(business, facts), revoked_at: null }],
      ...evidence,
    });
  }
  const { scope } = business.mandate;

  it("covers only the countries, types, key, business and time of the mandate", () => {
    expect(under({ scope: { ...scope, countries: ["DE"] } })).toBe("out_of_scope");
    expect(under({ scope: { ...scope, record_types: ["events"] } })).toBe("out_of_scope");
    expect(under({ key_id: business.hosted.keyId })).toBe("out_of_scope");
    expect(under({ business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" })).toBe("out_of_scope");
    expect(under({ valid_from: "2026-03-01T12:00:00.001Z" })).toBe("out_of_scope");
    expect(under({ valid_until: sealedAt })).toBe("out_of_scope");
    expect(under({ valid_until: "2026-03-01T12:00:00.001Z" })).toBe("ok");
  });

  it("ends with the revocation of the mandate", () => {
    const envelope = sealedMandate(business);
    expect(code({ ...pushed, mandates: [{ envelope, revoked_at: sealedAt }] })).toBe("out_of_scope");
    expect(code({ ...pushed, mandates: [{ envelope, revoked_at: "2026-03-01T12:00:00.001Z" }] })).toBe("ok");
  });

  it("is nothing by a mandate over 92 days or with a member it does not have", () => {
    expect(under({ valid_until: "2026-05-04T00:00:00.001Z" })).toBe("payload_malformed");
    expect(under({ valid_until: "2026-05-04T00:00:00.000Z" })).toBe("ok");
    expect(under({ note: "x" })).toBe("payload_malformed");
  });

  it("widened after sealing is signature_invalid", () => {
    const wide = sealedMandate(business, { scope: { ...scope, countries: ["DE", "FR", "US"] } }) as {
      payload: string;
    };
    const envelope = asJson({ ...(sealedMandate(business) as object), payload: wide.payload });
    expect(code({ ...pushed, mandates: [{ envelope, revoked_at: null }] })).toBe("signature_invalid");
  });

  it("is not the key's own to grant: a mandate that the machine signed is key_unknown", () => {
    const own = sealedMandate({ ...business, passkey: business.system });
    expect(code({ ...pushed, mandates: [{ envelope: own, revoked_at: null }] })).toBe("key_unknown");
  });

  it("is given by a person: a mandate by the key that the service holds counts only in the sandbox", () => {
    const worlds = {
      production: { service, business, verifier, certificates, keys },
      sandbox: makeScene("sandbox"),
    };
    const codes = Object.values(worlds).map((world) => {
      const payload = mandatePayload(world.business.mandate);
      const envelope = asJson(seal(payloadTypes["mandate.v1"], payload, world.business.hosted));
      expect(codeOf(world.verifier.mandate(world.keys(), envelope))).toBe(
        world.service.environment === "sandbox" ? "ok" : "key_unknown",
      );
      return codeOf(
        world.verifier.seal({
          bytes,
          seal: batchSeal(world.business, [bytes], 0),
          certificates: world.certificates(world.business.issued.envelope),
          keys: world.keys(),
          mandates: [{ envelope, revoked_at: null }],
        }),
      );
    });
    expect(codes).toEqual(["key_unknown", "ok"]);
  });

  it("is that of one mandate alone where the key has several, or of the one that the sidecar names", () => {
    const { scope } = business.mandate;
    const of = (mandate_id: string, changes: object) => ({
      envelope: sealedMandate(business, { mandate_id, scope: { ...scope, ...changes } }),
      revoked_at: null,
    });
    const elsewhere = of("man_2", { countries: ["DE"] });
    const otherType = of("man_3", { record_types: ["events"] });
    const right = of("man_1", {});
    const under = (mandates: NonNullable<SealEvidence["mandates"]>, changes: Partial<SealEvidence> = {}) =>
      code({ ...pushed, mandates, ...changes });
    expect(under([elsewhere, otherType, right])).toBe("ok");
    // Together they would allow the record.
    expect(under([elsewhere, otherType])).toBe("out_of_scope");
    expect(under([])).toBe("out_of_scope");
    const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
    expect(under([elsewhere, right], { sidecar })).toBe("ok");
    expect(under([elsewhere, of("man_4", {})], { sidecar })).toBe("out_of_scope");
    expect(under([], { sidecar })).toBe("ok");
  });

  it("is what the sidecar states where no mandate is at hand", () => {
    const { mandates: _, ...bare } = pushed;
    expect(verifier.seal(bare)).toMatchObject({ value: { checks: { scope: "not_checked" } } });
    const facts = sidecarFacts(business, bytes);
    const stated = (change: object) =>
      code({
        ...bare,
        sidecar: sidecarEnvelope(service, { ...facts, scope: { ...facts.scope, ...change } }),
      });
    expect(stated({})).toBe("ok");
    expect(stated({ permissions: ["publish:events"] })).toBe("out_of_scope");
    expect(stated({ kind: "passkey" })).toBe("out_of_scope");
    expect(stated({ basis: "role" })).toBe("out_of_scope");
    const other = sidecarEnvelope(service, { ...facts, scope: { ...facts.scope, mandate_id: "man_2" } });
    expect(code({ ...pushed, sidecar: other })).toBe("out_of_scope");
  });
});

describe("the certificate that a seal names", () => {
  function following(facts: object): SealEvidence["certificates"] {
    const { envelope, certId } = business.issued;
    const next = issueCertificate(service, {
      ...business.certificate,
      issued_at: "2026-04-01T00:00:00.000Z",
      previous: certId,
      ...facts,
    });
    return certificates(envelope, next.envelope);
  }
  const at = (from: string) => ({ status_effective_from: from });

  it("stands before the effective date of its end, and not from it on", () => {
    for (const status of ["revoked", "closed"]) {
      expect(code({ ...single, certificates: following({ status, ...at(sealedAt) }) })).toBe(
        "certificate_not_in_force",
      );
      expect(
        code({ ...single, certificates: following({ status, ...at("2026-03-01T12:00:00.001Z") }) }),
      ).toBe("ok");
    }
    const withdrawn = { status: "withdrawn", status_reason: "approval_reversed" };
    expect(code({ ...single, certificates: following({ ...withdrawn, ...at(sealedAt) }) })).toBe(
      "certificate_withdrawn",
    );
    expect(
      code({ ...single, certificates: following({ ...withdrawn, ...at("2026-03-02T00:00:00.000Z") }) }),
    ).toBe("ok");
  });

  it("must itself be active", () => {
    const revoked = {
      ...business.certificate,
      status: "revoked",
      previous: business.issued.certId,
      ...at("2026-06-01T00:00:00.000Z"),
    } as const;
    const next = issueCertificate(service, revoked);
    const history = certificates(business.issued.envelope, next.envelope);
    const seal = passkeySeal(business, bytes, { cert_id: next.certId });
    expect(code({ ...single, seal, certificates: history })).toBe("certificate_not_in_force");
  });

  it("is the one in force: superseded by a later active issuance it is not", () => {
    expect(
      code({ ...single, certificates: following({ legal_name: "Nordlicht SE", issued_at: sealedAt }) }),
    ).toBe("certificate_not_in_force");
    expect(code({ ...single, certificates: following({ legal_name: "Nordlicht SE" }) })).toBe("ok");
  });

  it("is not older than the seal by more than clocks may differ", () => {
    const early = (sealed: string) =>
      code({
        ...single,
        seal: passkeySeal(business, bytes, { sealed_at: sealed }),
        keys: keys([listedKey("passkey", business.passkey, { valid_from: "2025-01-01T00:00:00.000Z" })]),
      });
    expect(early("2025-12-31T23:55:00.000Z")).toBe("ok");
    expect(early("2025-12-31T23:54:59.999Z")).toBe("certificate_not_in_force");
  });
});

describe("a seal that was received before its own sealed_at", () => {
  const between = "2026-03-01T11:59:30.000Z";
  const sidecar = sidecarEnvelope(service, {
    ...sidecarFacts(business, bytes),
    received_at: "2026-03-01T11:58:00.000Z",
  });
  const next = issueCertificate(service, {
    ...business.certificate,
    issued_at: between,
    previous: business.issued.certId,
  });
  const revoked = keys([
    listedKey("passkey", business.passkey),
    listedKey("system", business.system, { revoked_at: between }),
  ]);

  it.each<[string, Partial<SealEvidence>, string]>([
    [
      "another certificate came",
      { certificates: certificates(business.issued.envelope, next.envelope) },
      "certificate_not_in_force",
    ],
    ["its key was revoked", { keys: revoked }, "key_not_valid"],
    [
      "its mandate was revoked",
      { mandates: [{ envelope: sealedMandate(business), revoked_at: between }] },
      "out_of_scope",
    ],
    [
      "its mandate ended",
      { mandates: [{ envelope: sealedMandate(business, { valid_until: between }), revoked_at: null }] },
      "out_of_scope",
    ],
  ])("stands although %s in between, by the sidecar that says when", (_what, changes, refusal) => {
    expect(code({ ...pushed, ...changes })).toBe(refusal);
    expect(code({ ...pushed, ...changes, sidecar })).toBe("ok");
    const late = sidecarEnvelope(service, sidecarFacts(business, bytes));
    expect(code({ ...pushed, ...changes, sidecar: late })).toBe(refusal);
  });

  it("does not stand by what the service alone knows of its receipt, which nobody else could check", () => {
    const received = { at: "2026-03-01T11:58:00.000Z" };
    expect(code({ ...pushed, keys: revoked, received })).toBe("key_not_valid");
    expect(code({ ...pushed, keys: revoked, received, sidecar })).toBe("ok");
  });
});

describe("the key that sealed", () => {
  function listed(facts: object): string {
    return code({ ...single, keys: keys([listedKey("passkey", business.passkey, facts)]) });
  }
  const justAfter = "2026-03-01T12:00:00.001Z";

  it("is judged as it was when it sealed", () => {
    expect(listed({ revoked_at: justAfter, valid_until: justAfter })).toBe("ok");
    // A compromise casts doubt on the moment of sealing itself: see seal-age.test.ts.
    expect(listed({ compromised_from: justAfter })).toBe("key_compromised");
    expect(listed({ valid_from: justAfter })).toBe("key_not_valid");
    expect(listed({ valid_until: sealedAt })).toBe("key_not_valid");
    expect(listed({ revoked_at: sealedAt })).toBe("key_not_valid");
    expect(listed({ compromised_from: sealedAt })).toBe("key_compromised");
    expect(listed({ revoked_at: sealedAt, compromised_from: "2026-01-02T00:00:00.000Z" })).toBe(
      "key_compromised",
    );
  });

  it("needs a leaf in the log only where one is required", () => {
    expect(verifier.seal({ ...single, keyEvent: { found: false, isRequired: false } })).toMatchObject({
      value: { checks: { key_event: "missing" } },
    });
    expect(code({ ...single, keyEvent: { found: false, isRequired: true } })).toBe("key_event_missing");
    expect(verifier.seal({ ...single, keyEvent: { found: true, isRequired: true } })).toMatchObject({
      value: { checks: { key_event: "ok" } },
    });
  });
});

describe("the AI policy version of a seal", () => {
  const versions = [
    { version: 1, live_from: "2026-02-01T00:00:00.000Z" },
    { version: 2, live_from: sealedAt },
  ];
  const under = (version: number, known: readonly PolicyVersion[] = versions, isComplete = true) =>
    code({
      ...single,
      seal: passkeySeal(business, bytes, { ai_policy_version: version }),
      policies: { versions: known, isComplete },
    });

  it("is the one in force at sealing", () => {
    expect(under(2)).toBe("ok");
    for (const version of [0, 1, 3]) expect(under(version)).toBe("ai_policy_version_mismatch");
    expect(under(1, versions.slice(0, 1))).toBe("ok");
  });

  it("is 0 before the first", () => {
    expect(under(0, [])).toBe("ok");
    expect(under(1, [])).toBe("ai_policy_version_mismatch");
  });

  it("may be an older one that is not listed only before everything listed", () => {
    const later = [{ version: 3, live_from: "2026-03-01T12:00:00.001Z" }];
    expect(under(2, later, false)).toBe("ok");
    expect(under(3, later, false)).toBe("ai_policy_version_mismatch");
    expect(under(2, later, true)).toBe("ai_policy_version_mismatch");
  });

  it("may be either of two about when a seal alone tells when the later one began", () => {
    const began = "2026-03-01T12:00:00.000Z";
    const at = (version: number, sealed_at: string) =>
      code({
        ...single,
        seal: passkeySeal(business, bytes, { ai_policy_version: version, sealed_at }),
        policies: { versions: [{ version: 2, live_from: began }], isComplete: false, uncertainMs: 300_000 },
      });
    const reason = "ai_policy_version_mismatch";
    expect([at(1, "2026-03-01T11:54:59.999Z"), at(2, "2026-03-01T11:54:59.999Z")]).toEqual(["ok", reason]);
    expect([at(1, "2026-03-01T11:55:00.000Z"), at(2, "2026-03-01T11:55:00.000Z")]).toEqual(["ok", "ok"]);
    expect([at(1, "2026-03-01T12:04:59.999Z"), at(2, "2026-03-01T12:04:59.999Z")]).toEqual(["ok", "ok"]);
    expect([at(1, "2026-03-01T12:05:00.000Z"), at(2, "2026-03-01T12:05:00.000Z")]).toEqual([reason, "ok"]);
    expect([at(3, began), at(0, began)]).toEqual([reason, "ok"]);
  });

  it("is an earlier one again once the later one fell, and was the later one until then", () => {
    const later = (fallen_at: string) => [
      versions[0],
      { version: 2, live_from: "2026-02-15T00:00:00.000Z", fallen_at },
    ];
    const known = (fallen_at: string) => later(fallen_at).filter((each) => each !== undefined);
    const reason = "ai_policy_version_mismatch";
    expect([1, 2].map((version) => under(version, known(sealedAt)))).toEqual(["ok", reason]);
    expect([1, 2].map((version) => under(version, known("2026-03-01T12:00:00.001Z")))).toEqual([
      reason,
      "ok",
    ]);
    expect([0, 1].map((version) => under(version, known(sealedAt).slice(1)))).toEqual(["ok", reason]);
  });

  it("may be the one in force when the service received the seal", () => {
    const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
    const policies = { versions: [{ version: 1, live_from: "2026-03-01T12:00:00.500Z" }], isComplete: true };
    expect(code({ ...pushed, policies })).toBe("ai_policy_version_mismatch");
    expect(code({ ...pushed, policies, sidecar })).toBe("ok");
  });
});

describe("other sealed documents", () => {
  it("an AI policy stands with the version that its seal creates", () => {
    const policy = sealedPolicy(business);
    expect(code({ ...single, document: "ai_policy", bytes: policy.bytes, seal: policy.seal })).toBe("ok");
    expect(code({ ...single, bytes: policy.bytes, seal: policy.seal })).toBe("record_type_mismatch");
  });

  it("a withdrawal stands by any key of the business, compact and for a record of the sealed type", () => {
    const { hosted, system } = business;
    const withdraw = { record_id: recordId, action: "withdraw", at: sealedAt } as const;
    const withdrawal = withdrawalDocument(withdraw);
    const by = (content: Uint8Array, key: TestKey, facts: object = {}) => {
      const seal = passkeySeal({ ...business, passkey: key }, content, facts);
      return code({ ...single, document: "withdrawal", bytes: content, seal });
    };
    expect(by(withdrawal, business.passkey)).toBe("ok");
    for (const key of [hosted, system]) {
      const seal = document("seal.v2", sealFacts(business, key, withdrawal), key);
      expect(code({ ...single, document: "withdrawal", bytes: withdrawal, seal })).toBe("ok");
    }
    expect(by(withdrawal, business.passkey, { record_type: "jobs" })).toBe("record_type_mismatch");
    const loose = new TextEncoder().encode(`${JSON.stringify(withdraw)}\n`);
    expect(by(loose, business.passkey)).toBe("payload_malformed");
    const unknown = new TextEncoder().encode(JSON.stringify({ ...withdraw, action: "hide" }));
    expect(by(unknown, business.passkey)).toBe("payload_malformed");
  });
});
