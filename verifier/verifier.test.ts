import { describe, expect, it } from "vitest";
import { toBase64 } from "../protocol/bytes.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import {
  makeBusiness,
  publishedKeys,
  recordBytes,
  sealedAt,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import { evidenceText } from "./evidence.ts";
import type { Report } from "./members.ts";
import {
  callerKeyId,
  fetchBody,
  receiptFacts,
  searchBody,
  servedRow,
  verifyUrl,
} from "./retrieval.fixture.ts";
import { held } from "./scene.fixture.ts";
import {
  asJson,
  certificateAnswer,
  custodyAnswer,
  document,
  issueCertificate,
  keySetAnswer,
  makeService,
  soleKey,
} from "./service.fixture.ts";
import { nativeSha256 } from "./signing.fixture.ts";
import { createVerifier, type Verifier, verifyEvidence } from "./verifier.ts";

const service = makeService();
const business = makeBusiness(service);
const keySet = keySetAnswer(service);
const created = createVerifier({ anchors: service.anchors, keySet });
if (!created.ok) throw new Error(created.detail);
const verifier: Verifier = created.value;

// Not canonical, with trailing white space: only the exact characters have its hash.
const bytes = new TextEncoder().encode(
  `${JSON.stringify(JSON.parse(new TextDecoder().decode(recordBytes())), null, 1)}\n`,
);
const custody = {
  v: 1,
  business_uuid: business.uuid,
  key_id: business.system.keyId,
  custody: "self",
  issued_at: "2026-02-01T00:00:00.000Z",
  effective_from: "2026-02-01T00:00:00.000Z",
};
const evidence = {
  certificate: certificateAnswer(business.issued.envelope),
  businessKeys: publishedKeys(service, business),
  keyCustody: custodyAnswer(business.uuid, [document("key-custody.v1", custody, ...service.issuance.halves)]),
  mandate: sealedMandate(business),
  callerKeyId,
};
const utf8 = (text: string) => new TextEncoder().encode(text);

function reasonOf(report: Report, name: string): string | undefined {
  const check = report.checks.find((each) => each.name === name);
  return check?.state === "failed" ? check.reason : check?.state;
}

describe("a fetch answer", () => {
  const body = fetchBody(service, business, bytes);

  it("verifies as a whole with what is published of the business", () => {
    const report = verifier.fetchAnswer(utf8(body), { ...evidence, verifyUrl });
    expect(report.checks.filter((check) => check.state !== "ok")).toEqual([]);
    expect(report).toMatchObject({ valid: true, complete: true });
    expect(report.checks.map((check) => check.name)).toEqual([
      "receipt",
      "sidecar",
      "source_line",
      "certificate",
      "business_keys",
      "seal",
      "ai_policy",
      "key_custody",
      "mandate",
    ]);
  });

  it("leads to the address of the service, where that is given; otherwise it is named as not signed", () => {
    const hosts = ["unsigned/provenance/certificate_url", "unsigned/provenance/source_line"];
    const alone = verifier.fetchAnswer(utf8(body), evidence);
    expect(alone).toMatchObject({ valid: true, complete: true });
    expect(alone.checks.filter(({ state }) => state === "unsigned").map(({ name }) => name)).toEqual(hosts);
    const elsewhere = verifier.fetchAnswer(utf8(body), { ...evidence, verifyUrl: "https://other.test" });
    expect(reasonOf(elsewhere, "answer")).toBe("hash_mismatch");
    expect(reasonOf(elsewhere, "source_line")).toBe("hash_mismatch");
  });

  it("says what it could not check", () => {
    const report = verifier.fetchAnswer(utf8(body));
    expect(report).toMatchObject({ valid: true, complete: false });
    expect(reasonOf(report, "seal")).toBe("not_checked");
  });

  it("with a changed record is hash_mismatch, and the receipt's row another", () => {
    const report = verifier.fetchAnswer(utf8(body.replace("Black tea", "Green tea")), evidence);
    expect(report.valid).toBe(false);
    expect(reasonOf(report, "sidecar")).toBe("hash_mismatch");
    expect(reasonOf(report, "seal")).toBe("hash_mismatch");
    expect(report.checks.find((check) => check.name === "seal")?.refused_seal).toMatchObject({
      claimed: { key_id: business.system.keyId, sealed_at: sealedAt, hash: null, leaf: { tree_size: 1 } },
      checks: { certificate: "ok", scope: "ok" },
    });
    expect(reasonOf(report, "receipt")).toBe("receipt_row_mismatch");
    expect(reasonOf(report, "source_line")).toBe("hash_mismatch");
  });

  it("presented by another caller is receipt_caller_mismatch", () => {
    const report = verifier.fetchAnswer(utf8(body), { ...evidence, callerKeyId: business.system.keyId });
    expect(reasonOf(report, "receipt")).toBe("receipt_caller_mismatch");
  });

  it("of another type or policy version than was sealed does not stand", () => {
    const renamed = utf8(fetchBody(service, business, bytes, { type: "events" }));
    for (const known of [evidence, {}]) {
      expect(reasonOf(verifier.fetchAnswer(renamed, known), "answer")).toBe("record_type_mismatch");
    }
    expect(reasonOf(verifier.fetchAnswer(renamed, evidence), "seal")).toBe("ok");
    const report = verifier.fetchAnswer(
      utf8(body.replace('"ai_policy":{"version":1', '"ai_policy":{"version":2')),
      evidence,
    );
    expect(reasonOf(report, "ai_policy")).toBe("ai_policy_version_mismatch");
    // The answer was changed, but the record's seal was not.
    expect(reasonOf(report, "seal")).toBe("ok");
  });

  it("that names no AI policy, or one older than the record was sealed under, is ai_policy_version_mismatch", () => {
    const served = (policy: string) =>
      verifier.fetchAnswer(utf8(body.replace(/"ai_policy":\{.*\}$/s, `"ai_policy":${policy}}`)), evidence);
    const none = served('{"version":0,"record":null,"seal":null}');
    expect(reasonOf(none, "ai_policy")).toBe("ai_policy_version_mismatch");
    expect(reasonOf(none, "seal")).toBe("ok");
    for (const half of [
      "null",
      '{"version":0,"record":{},"seal":null}',
      '{"version":1,"record":null,"seal":null}',
    ])
      expect(reasonOf(served(half), "answer")).toBe("payload_malformed");
  });

  it("with a sidecar of another version, or about another seal, has a good seal: the sidecar alone is refused", () => {
    const facts = sidecarFacts(business, bytes);
    const others = [
      { ...facts, sha256: `sha256:${"0".repeat(64)}`, generation: 2 },
      { ...facts, sealed_at: "2026-03-01T12:00:00.001Z" },
    ];
    for (const other of others) {
      const sidecar = sidecarEnvelope(service, other);
      const report = verifier.fetchAnswer(utf8(fetchBody(service, business, bytes, { sidecar })), evidence);
      expect(reasonOf(report, "sidecar")).toBe("hash_mismatch");
      expect(reasonOf(report, "seal")).toBe("ok");
      expect(report.valid).toBe(false);
    }
  });

  it("of a business whose certificate was revoked before sealing is certificate_not_in_force", () => {
    const ended = {
      status: "revoked",
      status_effective_from: "2026-02-01T00:00:00.000Z",
      issued_at: "2026-04-01T00:00:00.000Z",
    } as const;
    const next = issueCertificate(service, {
      ...business.certificate,
      ...ended,
      previous: business.issued.certId,
    });
    const certificate = certificateAnswer(next.envelope, business.issued.envelope);
    const report = verifier.fetchAnswer(utf8(body), { ...evidence, certificate });
    expect(reasonOf(report, "certificate")).toBe("ok");
    expect(reasonOf(report, "seal")).toBe("certificate_not_in_force");
  });

  it("with a sidecar of another record, or none, does not stand", () => {
    const facts = { ...sidecarFacts(business, bytes), record_id: `svc_${"b".repeat(26)}` };
    const other = fetchBody(service, business, bytes, { sidecar: sidecarEnvelope(service, facts) });
    expect(reasonOf(verifier.fetchAnswer(utf8(other), evidence), "sidecar")).toBe("hash_mismatch");
    const none = fetchBody(service, business, bytes, { sidecar: null });
    expect(reasonOf(verifier.fetchAnswer(utf8(none), evidence), "sidecar")).toBe("envelope_malformed");
  });

  it("with a receipt of more than the one record is receipt_row_mismatch", () => {
    const { rows, ...facts } = receiptFacts([
      held(verifier.rowSignature(servedRow(service, business, bytes))),
    ]);
    const receipt = document("receipt.v3", { ...facts, rows: [...rows, ...rows] }, soleKey(service.receipt));
    const report = verifier.fetchAnswer(utf8(fetchBody(service, business, bytes, { receipt })), evidence);
    expect(reasonOf(report, "receipt")).toBe("receipt_row_mismatch");
  });

  it("with a source line of another certificate is hash_mismatch", () => {
    const cert = encodeURIComponent(business.issued.certId);
    const other = `sha256:${"0".repeat(64)}`;
    const line = /"source_line":"[^"]*"/;
    const changed = body.replace(line, (text) =>
      text.replace(business.issued.certId, other).replace(cert, encodeURIComponent(other)),
    );
    expect(changed).not.toBe(body);
    expect(reasonOf(verifier.fetchAnswer(utf8(changed), evidence), "source_line")).toBe("hash_mismatch");
    const leafless = fetchBody(service, business, bytes, {
      provenance: { log_leaf: `sha256:${"0".repeat(64)}` },
    });
    expect(reasonOf(verifier.fetchAnswer(utf8(leafless), evidence), "answer")).toBe("hash_mismatch");
    const later = fetchBody(service, business, bytes).replaceAll(
      /served(=|_at=)2026-03-05T10(:|%3A)00/g,
      "served$12026-03-05T11$200",
    );
    expect(reasonOf(verifier.fetchAnswer(utf8(later), evidence), "source_line")).toBe("hash_mismatch");
  });

  it("that is none is payload_malformed", () => {
    for (const text of ["{}", "[]", "x", '{"record_id":"svc_x"}', body.slice(1)]) {
      expect(verifier.fetchAnswer(utf8(text), evidence)).toMatchObject({
        valid: false,
        checks: [{ reason: "payload_malformed" }],
      });
    }
  });
});

describe("a search answer", () => {
  const body = searchBody(service, business, bytes);

  it("verifies: the receipt over exactly these rows, and every row", () => {
    expect(verifier.searchAnswer(utf8(body), { callerKeyId })).toMatchObject({
      valid: true,
      checks: [
        { name: "receipt" },
        { name: "rows/0" },
        { name: "unsigned/rows/*/ai_policy_bits" },
        { name: "unsigned/rows/*/sponsored" },
      ],
    });
  });

  it("with a changed row is row_signature_invalid, with a row less receipt_row_mismatch", () => {
    const changed = verifier.searchAnswer(utf8(body.replace('"brand":"Nordlicht"', '"brand":"Sudlicht"')));
    expect(reasonOf(changed, "rows/0")).toBe("row_signature_invalid");
    const answer = JSON.parse(body) as object;
    const less = verifier.searchAnswer(utf8(JSON.stringify({ ...answer, rows: [] })));
    expect(reasonOf(less, "receipt")).toBe("receipt_row_mismatch");
    const other = verifier.searchAnswer(utf8(JSON.stringify({ ...answer, retrieval_id: "ret_2" })));
    expect(reasonOf(other, "receipt")).toBe("receipt_caller_mismatch");
    expect(verifier.searchAnswer(utf8("{}"))).toMatchObject({
      valid: false,
      checks: [{ reason: "payload_malformed" }],
    });
  });
});

describe("an evidence file", () => {
  const texts = {
    environment: "production",
    keySet: JSON.stringify(keySet, null, 2),
    certificate: JSON.stringify(evidence.certificate),
    businessKeys: JSON.stringify(evidence.businessKeys),
    keyCustody: JSON.stringify(evidence.keyCustody),
    mandate: JSON.stringify(evidence.mandate),
    callerKeyId,
  } as const;
  const fetched = evidenceText({
    ...texts,
    answer: { kind: "fetched", text: fetchBody(service, business, bytes) },
  });
  const anchors = service.anchors;

  it("verifies with nothing but anchors", () => {
    const report = verifyEvidence({ anchors }, utf8(fetched));
    expect(report.checks.filter(({ state }) => state !== "ok" && state !== "unsigned")).toEqual([]);
    expect(report).toMatchObject({ valid: true, complete: true });
    const search = evidenceText({
      environment: "production",
      keySet: texts.keySet,
      callerKeyId,
      answer: { kind: "search", text: searchBody(service, business, bytes) },
    });
    expect(verifyEvidence({ anchors }, utf8(search))).toMatchObject({ valid: true });
  });

  it("verifies when it was printed anew, by the bytes beside the answer", () => {
    const printed = JSON.stringify(JSON.parse(fetched), null, 4);
    expect(verifyEvidence({ anchors }, utf8(printed))).toMatchObject({ valid: true, complete: true });
    const { record_base64: _, ...without } = JSON.parse(fetched) as Record<string, JsonValue>;
    expect(reasonOf(verifyEvidence({ anchors }, utf8(JSON.stringify(without))), "seal")).toBe(
      "hash_mismatch",
    );
  });

  it("that shows another record than the bytes beside it is hash_mismatch", () => {
    const shown = fetched.replace("Black tea", "Green tea");
    expect(shown).not.toBe(fetched);
    expect(reasonOf(verifyEvidence({ anchors }, utf8(shown)), "answer")).toBe("hash_mismatch");
    const granted = fetched.replace('"alcohol":true', '"alcohol":false');
    expect(granted).not.toBe(fetched);
    expect(reasonOf(verifyEvidence({ anchors }, utf8(granted)), "answer")).toBe("hash_mismatch");
    // Nor do the bytes beside it show anything else.
    for (const name of ["record_base64", "ai_policy_record_base64"])
      for (const other of ["", "AAAA", toBase64(recordBytes({ product_name: "Forged" }))]) {
        const file = { ...(JSON.parse(fetched) as object), [name]: other };
        expect(reasonOf(verifyEvidence({ anchors }, utf8(JSON.stringify(file))), "answer")).toBe(
          "hash_mismatch",
        );
      }
  });

  it("of another environment or of other roots proves nothing", () => {
    const sandbox = makeService("sandbox");
    expect(verifyEvidence({ anchors: sandbox.anchors }, utf8(fetched))).toMatchObject({
      valid: false,
      checks: [{ reason: "key_unknown" }],
    });
    const others = makeService().anchors;
    expect(verifyEvidence({ anchors: others }, utf8(fetched))).toMatchObject({
      valid: false,
      checks: [{ reason: "trust_chain_broken" }],
    });
  });

  it("that is none is payload_malformed", () => {
    const file = JSON.parse(fetched) as object;
    const wrong = [
      {},
      { ...file, format: "svc-evidence/2" },
      { ...file, search: {} },
      { ...file, extra: 1 },
      { ...file, fetched: undefined },
    ];
    for (const each of wrong) {
      expect(verifyEvidence({ anchors }, utf8(JSON.stringify(each)))).toMatchObject({
        valid: false,
        checks: [{ reason: "payload_malformed" }],
      });
    }
  });
});

describe("the primitives", () => {
  it("are those that the caller passes", () => {
    const seen = { verified: 0, hashed: 0 };
    const counted = createVerifier({
      anchors: service.anchors,
      keySet: utf8(canonicalize(keySet)),
      verify: (_jwk: PublicJwk) => {
        seen.verified += 1;
        return true;
      },
      sha256: (message) => {
        seen.hashed += 1;
        return nativeSha256(message);
      },
    });
    expect(counted.ok).toBe(true);
    // Every certificate and the set itself are verified with both halves, plus every thumbprint.
    expect(seen.verified).toBe(2 * (service.links.length + 1));
    expect(seen.hashed).toBeGreaterThan(0);
  });

  it("are asked for nothing when the key set cannot be read", () => {
    expect(createVerifier({ anchors: service.anchors, keySet: utf8("{") })).toMatchObject({
      code: "payload_malformed",
    });
    expect(createVerifier({ anchors: service.anchors, keySet: asJson({ keys: [] }) })).toMatchObject({
      code: "envelope_malformed",
    });
  });
});
