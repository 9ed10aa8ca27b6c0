import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { KeyCustody } from "../protocol/keys/key-directory.ts";
import {
  listedKey,
  publishedKeys,
  sealedCustodyRequest,
  sealedDecision,
  sealedMandate,
} from "./business.fixture.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import { asJson, day0, document, issueCertificate, soleKey } from "./service.fixture.ts";

const { service, business, verifier, keys } = makeScene();

describe("published keys of a business", () => {
  const { uuid } = business;

  it("count only as signed by the statement key", () => {
    const answer = publishedKeys(service, business) as JsonObject;
    for (const other of [{ keys: [] }, { uuid: day0 }, { cert_id: null }, { issued_at: day0 }])
      expect(codeOf(verifier.businessKeys(uuid, { ...answer, ...other }))).toBe("payload_malformed");
    expect(codeOf(verifier.businessKeys(uuid, { ...answer, later: 1 }))).toBe("ok");
    expect(codeOf(verifier.businessKeys(uuid, answer["signed"] as JsonValue))).toBe("ok");
    expect(
      codeOf(
        verifier.businessKeys(uuid, publishedKeys({ ...service, statement: service.sidecar }, business)),
      ),
    ).toBe("key_unknown");
    expect(codeOf(verifier.businessKeys(business.system.keyId, answer))).toBe("key_unknown");
  });

  it("are consistent in themselves, or payload_malformed", () => {
    const wrong = [
      listedKey("passkey", business.passkey, { purpose: "integration" }),
      listedKey("system", business.system, { purpose: "sealing" }),
      listedKey("system", business.system, { key_id: business.hosted.keyId }),
      listedKey("hosted", business.hosted, { cose: "AAAA" }),
      listedKey("passkey", business.passkey, { cose: "AAAA" }),
    ];
    for (const key of wrong)
      expect(codeOf(verifier.businessKeys(uuid, publishedKeys(service, business, [key])))).toBe(
        "payload_malformed",
      );
    const twice = [...business.listed, ...business.listed];
    expect(codeOf(verifier.businessKeys(uuid, publishedKeys(service, business, twice)))).toBe(
      "payload_malformed",
    );
  });
});

interface Signed {
  readonly signatures: readonly object[];
}

describe("a certificate", () => {
  const { certificate, issued } = business;
  const issue = (changes: object, ...signers: Parameters<typeof issueCertificate>[2][]) =>
    codeOf(
      verifier.certificate(issueCertificate(service, { ...certificate, ...changes }, ...signers).envelope),
    );

  it("stands with both halves, and is post_quantum_required with one", () => {
    expect(verifier.certificate(issued.envelope)).toMatchObject({
      ok: true,
      value: { certId: issued.certId },
    });
    for (const half of service.issuance.halves) expect(issue({}, half)).toBe("post_quantum_required");
  });

  it("with either half forged is signature_invalid, with a half twice envelope_malformed", () => {
    const twin = issueCertificate(service, { ...certificate, legal_name: "Other" })
      .envelope as unknown as Signed;
    const own = issued.envelope as unknown as Signed;
    const [classical, postQuantum] = own.signatures;
    const [otherClassical, otherPostQuantum] = twin.signatures;
    const judge = (...signatures: readonly unknown[]) =>
      codeOf(verifier.certificate(asJson({ ...own, signatures })));
    expect(judge(postQuantum, classical)).toBe("ok");
    expect(judge(otherClassical, postQuantum)).toBe("signature_invalid");
    expect(judge(classical, otherPostQuantum)).toBe("signature_invalid");
    expect(judge(classical, postQuantum, classical)).toBe("envelope_malformed");
    expect(judge(classical, postQuantum, { ...classical, keyid: soleKey(service.statement).keyId })).toBe(
      "key_unknown",
    );
  });

  it("by a key that may not issue it is key_unknown", () => {
    expect(issue({}, ...service.root.halves)).toBe("key_unknown");
    expect(issue({}, soleKey(service.statement))).toBe("key_unknown");
  });

  it("is closed: unknown members, a reason on an active one and unknown versions are refused", () => {
    expect(issue({ custody: "self" })).toBe("payload_malformed");
    expect(issue({ status_reason: "approval_reversed" })).toBe("payload_malformed");
    expect(issue({ status: "withdrawn" })).toBe("payload_malformed");
    expect(issue({ status: "suspended" })).toBe("payload_malformed");
    expect(issue({ v: 2 })).toBe("version_unknown");
    expect(issue({ sandbox: false })).toBe("payload_malformed");
  });

  it("with the sandbox mark is key_unknown under production anchors", () => {
    expect(issue({ sandbox: true })).toBe("key_unknown");
  });

  it("is one of a history: a gap, a fork or another party is certificate_unknown", () => {
    const next = { ...certificate, issued_at: "2026-02-01T00:00:00.000Z", previous: issued.certId };
    const second = issueCertificate(service, next);
    const third = issueCertificate(service, {
      ...next,
      issued_at: "2026-03-01T00:00:00.000Z",
      previous: second.certId,
    });
    const fork = issueCertificate(service, { ...next, legal_name: "Other" });
    const judge = (...envelopes: readonly JsonValue[]) =>
      codeOf(verifier.certificates(business.uuid, envelopes));
    expect(
      verifier.certificates(business.uuid, [issued.envelope, third.envelope, second.envelope]),
    ).toMatchObject({
      value: { issuances: [{ certId: third.certId }, { certId: second.certId }, { certId: issued.certId }] },
    });
    expect(judge(issued.envelope, third.envelope)).toBe("certificate_unknown");
    expect(judge(issued.envelope, second.envelope, fork.envelope)).toBe("certificate_unknown");
    expect(judge()).toBe("certificate_unknown");
    expect(codeOf(verifier.certificates("3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e", [issued.envelope]))).toBe(
      "certificate_unknown",
    );
  });
});

describe("a mandate", () => {
  const judge = (facts: object, listed = business.listed) =>
    codeOf(verifier.mandate(keys(listed), sealedMandate(business, facts)));

  it("stands by a key of the business that stood when the mandate began", () => {
    expect(judge({})).toBe("ok");
    const { valid_from: from } = business.mandate;
    expect(judge({}, [listedKey("passkey", business.passkey, { revoked_at: from })])).toBe("key_not_valid");
    expect(judge({}, [listedKey("passkey", business.passkey, { compromised_from: from })])).toBe(
      "key_compromised",
    );
  });

  it("of another business is out_of_scope", () => {
    expect(judge({ business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" })).toBe("out_of_scope");
  });
});

describe("a hold decision", () => {
  const judge = (facts: object, listed = business.listed, parts: Parameters<typeof sealedDecision>[2] = {}) =>
    codeOf(verifier.holdDecision(keys(listed), sealedDecision(business, facts, parts)));

  it("stands by a passkey of the business that was valid when it decided", () => {
    expect(judge({})).toBe("ok");
    expect(judge({ decision: "reject" })).toBe("ok");
    const at = "2026-03-01T00:00:00.000Z";
    const ended = (changes: object) => [listedKey("passkey", business.passkey, changes)];
    expect(judge({ at }, ended({ revoked_at: at }))).toBe("key_not_valid");
    expect(judge({ at: "2026-02-28T23:59:59.999Z" }, ended({ revoked_at: at }))).toBe("ok");
    expect(judge({ at }, ended({ compromised_from: at }))).toBe("key_compromised");
    expect(judge({}, ended({}), { origin: "https://elsewhere.test" })).toBe("signature_invalid");
  });

  it("is not made by a key that no person holds, under sandbox anchors either", () => {
    const sandbox = makeScene("sandbox");
    for (const scene of [{ service, business, verifier, keys }, sandbox])
      for (const key of ["hosted", "system"] as const) {
        const passkey = scene.business[key];
        const sealed = document(
          "hold-decision.v1",
          {
            v: 1,
            business_uuid: scene.business.uuid,
            push_id: `bat_${"0a".repeat(12)}`,
            decision: "confirm",
            at: "2026-03-01T00:00:00.000Z",
          },
          passkey,
        );
        expect(codeOf(scene.verifier.holdDecision(scene.keys(), sealed))).toBe("key_unknown");
      }
  });

  it("of another business is out_of_scope", () => {
    expect(judge({ business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" })).toBe("out_of_scope");
  });
});

describe("a request for a custody statement", () => {
  it("is judged as a decision is, and takes effect when it is made or earlier", () => {
    const judge = (facts: object, listed = business.listed) =>
      codeOf(verifier.custodyRequest(keys(listed), sealedCustodyRequest(business, facts)));
    const at = "2026-03-01T00:00:00.000Z";
    expect(judge({ at, effective_from: at, custody: "hosted" })).toBe("ok");
    expect(judge({ at, effective_from: "2026-03-01T00:00:00.001Z" })).toBe("payload_malformed");
    const revoked = [listedKey("passkey", business.passkey, { revoked_at: at })];
    expect(judge({ at, effective_from: at }, revoked)).toBe("key_not_valid");
    expect(judge({ business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e" })).toBe("out_of_scope");
  });
});

describe("a custody statement", () => {
  const statement: KeyCustody = {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.hosted.keyId,
    custody: "hosted",
    issued_at: "2026-03-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  };
  const signed = (changes: object = {}, signers = service.issuance.halves) =>
    document("key-custody.v1", { ...statement, ...changes }, ...signers);

  it("needs both halves of an issuance key", () => {
    expect(codeOf(verifier.keyCustody(signed()))).toBe("ok");
    expect(codeOf(verifier.keyCustody(signed({}, service.issuance.halves.slice(1))))).toBe(
      "post_quantum_required",
    );
    expect(codeOf(verifier.keyCustody(signed({}, service.statement.halves)))).toBe("key_unknown");
    expect(
      codeOf(
        verifier.keyCustody(
          signed({ issued_at: "2025-01-01T00:00:00.000Z", effective_from: "2025-01-01T00:00:00.000Z" }),
        ),
      ),
    ).toBe("key_not_valid");
  });

  it("is closed, and never takes effect after it was issued", () => {
    expect(codeOf(verifier.keyCustody(signed({ effective_from: "2026-03-01T00:00:00.001Z" })))).toBe(
      "payload_malformed",
    );
    expect(codeOf(verifier.keyCustody(signed({ person: "x" })))).toBe("payload_malformed");
    expect(codeOf(verifier.keyCustody(signed({ sandbox: true })))).toBe("key_unknown");
  });

  it("is in force from its effect until the next, a tie going to the later issuance", () => {
    const later = signed({ custody: "self", issued_at: "2026-03-02T00:00:00.000Z" });
    const custody = (statements: readonly JsonValue[], at: string, key = statement.key_id) =>
      verifier.custodyAt(
        { statements: statements.map((each) => ({ statement: each })) },
        { business_uuid: business.uuid, key_id: key, at },
      );
    expect(custody([signed()], statement.effective_from)).toEqual({ ok: true, value: "hosted" });
    expect(custody([signed()], day0)).toEqual({ ok: true, value: "unstated" });
    expect(custody([signed(), later], statement.issued_at)).toEqual({ ok: true, value: "self" });
    expect(custody([later, signed()], statement.issued_at)).toEqual({ ok: true, value: "self" });
    expect(custody([signed()], statement.issued_at, business.system.keyId)).toEqual({
      ok: true,
      value: "unstated",
    });
    expect(custody([signed({}, service.statement.halves)], statement.issued_at)).toMatchObject({
      code: "key_unknown",
    });
  });
});
