import { describe, expect, it } from "vitest";
import { hashOf } from "../protocol/bytes.ts";
import { openEnvelope, parseEnvelope } from "../protocol/dsse.ts";
import { canonicalBytes, type JsonValue } from "../protocol/json/canonical-json.ts";
import {
  batchSeal,
  listedKey,
  passkeySeal,
  recordBytes,
  sealedAt,
  sealedMandate,
  sealFacts,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import { altered, codeOf, makeScene } from "./scene.fixture.ts";
import type { SealEvidence } from "./seal.ts";
import { asJson, document } from "./service.fixture.ts";
import { makeKey } from "./signing.fixture.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();
const others = ["b", "c", "d", "e"].map((id) => recordBytes({ business_product_id: id }));
const batch = [others[0], bytes, ...others.slice(1)] as readonly Uint8Array[];
const single: SealEvidence = {
  bytes,
  seal: passkeySeal(business, bytes),
  certificates: certificates(business.issued.envelope),
  keys: keys(),
};
const pushed: SealEvidence = {
  ...single,
  seal: batchSeal(business, batch, 1),
  mandates: [{ envelope: sealedMandate(business), revoked_at: null }],
};

const code = (evidence: SealEvidence) => codeOf(verifier.seal(evidence));

/** The same record, re-serialised. */
function reserialised(text: Uint8Array): Uint8Array {
  return canonicalBytes(JSON.parse(new TextDecoder().decode(text)) as JsonValue);
}

describe("a record sealed by a passkey", () => {
  it("stands, by whom and when", () => {
    expect(verifier.seal(single)).toMatchObject({
      ok: true,
      value: {
        format: 2,
        path: "B",
        key_kind: "passkey",
        sealed_at: sealedAt,
        ai_policy_version: 1,
        leaf: null,
        checks: { certificate: "ok", ai_policy: "not_checked", scope: "ok", key_event: "not_checked" },
      },
    });
  });

  it("with a flipped bit, or printed anew, is hash_mismatch", () => {
    expect(code({ ...single, bytes: altered(bytes) })).toBe("hash_mismatch");
    expect(code({ ...single, bytes: reserialised(bytes) })).toBe("hash_mismatch");
  });

  it("by an assertion made elsewhere, without user verification or for something else is signature_invalid", () => {
    const assertions = [
      { flags: 0x01 },
      { flags: 0x04 },
      { flags: 0x15 },
      { flags: 0x45 },
      { origin: "https://portal.test.evil" },
      { rpId: "evil" },
      { type: "webauthn.create" },
      { challengeOf: new TextEncoder().encode("sign in") },
      { crossOrigin: true },
      { extraBytes: 1 },
    ];
    for (const parts of assertions) {
      expect(
        code({ ...single, seal: passkeySeal(business, bytes, {}, { parts }) }),
        JSON.stringify(parts),
      ).toBe("signature_invalid");
    }
  });

  it("by a passkey's key without an assertion is signature_invalid", () => {
    const plain = { ...asJson({ ...(single.seal as object) }) } as {
      signatures: readonly { keyid: string; sig: string }[];
    };
    const stripped = { ...plain, signatures: plain.signatures.map(({ keyid, sig }) => ({ keyid, sig })) };
    expect(code({ ...single, seal: stripped as unknown as JsonValue })).toBe("signature_invalid");
  });

  it("changed after sealing is signature_invalid", () => {
    const moved = passkeySeal(business, bytes, { sealed_at: "2026-03-01T12:00:00.001Z" }) as {
      payload: string;
    };
    expect(code({ ...single, seal: asJson({ ...(single.seal as object), payload: moved.payload }) })).toBe(
      "signature_invalid",
    );
  });

  it("naming another key than signed it is key_mismatch", () => {
    expect(code({ ...single, seal: passkeySeal(business, bytes, { key_id: business.hosted.keyId }) })).toBe(
      "key_mismatch",
    );
  });

  it("by a key that is not in the register is key_unknown", () => {
    const stranger = makeKey("ES256");
    const seal = passkeySeal({ ...business, passkey: stranger }, bytes);
    expect(code({ ...single, seal })).toBe("key_unknown");
  });

  it("by an integration key is key_unknown: systems seal batches", () => {
    const seal = batchSeal(business, [bytes], 0) as { batch_seal: JsonValue };
    expect(code({ ...single, seal: seal.batch_seal })).toBe("payload_type_mismatch");
    const listed = [listedKey("system", business.passkey, {})];
    const envelope = passkeySeal(business, bytes);
    expect(code({ ...single, seal: envelope, keys: keys(listed) })).toBe("key_unknown");
  });

  it("in format 1 still stands", () => {
    const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
    const verdict = verifier.seal({
      ...single,
      seal: passkeySeal(business, bytes, terms, { kind: "seal.v1" }),
    });
    expect(verdict).toMatchObject({
      ok: true,
      value: { format: 1, terms_version: 4, ai_policy_version: null },
    });
  });
});

describe("a record sealed by a hosted key", () => {
  it("stands without an assertion, and not with one", () => {
    const seal = document("seal.v2", sealFacts(business, business.hosted, bytes), business.hosted);
    expect(verifier.seal({ ...single, seal })).toMatchObject({
      ok: true,
      value: { path: "B", key_kind: "hosted" },
    });
    const asserted = passkeySeal({ ...business, passkey: business.hosted }, bytes);
    expect(code({ ...single, seal: asserted })).toBe("signature_invalid");
    const plain = seal as unknown as { readonly signatures: readonly object[] };
    const dressed = plain.signatures.map((each) => ({
      ...each,
      authenticatorData: "AAAA",
      clientDataJSON: "AAAA",
    }));
    expect(code({ ...single, seal: asJson({ ...plain, signatures: dressed }) })).toBe("signature_invalid");
  });
});

describe("the payload of a seal", () => {
  const seals: readonly (readonly [what: string, seal: JsonValue, code: string])[] = [
    [
      "a v2 payload under the format 1 type",
      passkeySeal(business, bytes, {}, { kind: "seal.v1" }),
      "payload_malformed",
    ],
    [
      "a format 1 member under format 2",
      passkeySeal(business, bytes, { terms_version: 1 }),
      "payload_malformed",
    ],
    ["a member less", passkeySeal(business, bytes, { sealed_at: undefined }), "payload_malformed"],
    [
      "an instant that does not exist",
      passkeySeal(business, bytes, { sealed_at: "2026-02-30T00:00:00.000Z" }),
      "payload_malformed",
    ],
    ["a version that is not known", passkeySeal(business, bytes, { v: 3 }), "version_unknown"],
    [
      "another document's type",
      passkeySeal(business, bytes, {}, { kind: "mandate.v1" }),
      "payload_type_mismatch",
    ],
    [
      "a record type that the record is not of",
      passkeySeal(business, bytes, { record_type: "events" }),
      "record_type_mismatch",
    ],
    [
      "a certificate that the business does not have",
      passkeySeal(business, bytes, { cert_id: hashOf(bytes) }),
      "certificate_unknown",
    ],
  ];
  it.each(seals)("with %s is refused", (_what, seal, reason) => {
    expect(code({ ...single, seal })).toBe(reason);
  });

  it("with a member twice is payload_malformed", () => {
    const envelope = parseEnvelope(single.seal);
    if (!envelope.ok) throw new Error(envelope.detail);
    const payload = openEnvelope(envelope.value, envelope.value.payloadType);
    if (!payload.ok) throw new Error(payload.detail);
    const text = new TextDecoder().decode(payload.value).replace(/}$/, ',"v":2}');
    const twice = { ...envelope.value, payload: new TextEncoder().encode(text).toBase64() };
    expect(code({ ...single, seal: asJson(twice) })).toBe("payload_malformed");
  });

  it("that is not canonical JSON is payload_malformed", () => {
    const envelope = asJson({ ...(single.seal as object) }) as { payload: string };
    const text = new TextDecoder().decode(Uint8Array.fromBase64(envelope.payload)).replace(",", ", ");
    const loose = { ...envelope, payload: new TextEncoder().encode(text).toBase64() };
    expect(code({ ...single, seal: asJson(loose) })).toBe("payload_malformed");
  });

  it("in an envelope with another member, or two signatures, is envelope_malformed", () => {
    const envelope = asJson({ ...(single.seal as object) }) as unknown as {
      signatures: readonly JsonValue[];
    };
    expect(code({ ...single, seal: asJson({ ...envelope, extra: 1 }) })).toBe("envelope_malformed");
    const twice = { ...envelope, signatures: [...envelope.signatures, ...envelope.signatures] };
    expect(code({ ...single, seal: asJson(twice) })).toBe("envelope_malformed");
  });

  it("over a record of a schema version that is not known is version_unknown", () => {
    const future = recordBytes({ schema: "svc/products/2" });
    expect(code({ ...single, bytes: future, seal: passkeySeal(business, future) })).toBe("version_unknown");
  });
});

describe("a pushed record", () => {
  it("stands by its batch and the path to its root, under the mandate", () => {
    expect(verifier.seal(pushed)).toMatchObject({
      ok: true,
      value: { path: "A", key_kind: "system", leaf: { index: 1, tree_size: 5 }, checks: { scope: "ok" } },
    });
    for (const [index, record] of batch.entries()) {
      expect(code({ ...pushed, bytes: record, seal: batchSeal(business, batch, index) })).toBe("ok");
    }
  });

  it("altered is hash_mismatch where its hash is known, from a sidecar, a row or a batch of one", () => {
    const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
    expect(code({ ...pushed, bytes: altered(bytes), expectedHash: hashOf(bytes), sidecar })).toBe(
      "hash_mismatch",
    );
    expect(code({ ...pushed, bytes: altered(bytes), sidecar })).toBe("hash_mismatch");
    const forged = sidecarEnvelope(service, sidecarFacts(business, bytes), business.system);
    expect(code({ ...pushed, bytes: altered(bytes), sidecar: forged })).toBe("inclusion_invalid");
    expect(code({ ...pushed, bytes: altered(bytes), seal: batchSeal(business, [bytes], 0) })).toBe(
      "hash_mismatch",
    );
    expect(code({ ...pushed, bytes: reserialised(bytes), seal: batchSeal(business, [bytes], 0) })).toBe(
      "hash_mismatch",
    );
  });

  it("that leads to the root stands, whatever hash or sidecar of another version is at hand", () => {
    const sidecar = sidecarEnvelope(service, sidecarFacts(business, recordBytes({ brand: "Other" })));
    const expectedHash = hashOf(recordBytes({ brand: "Other" }));
    for (const evidence of [single, pushed, { ...pushed, seal: batchSeal(business, [bytes], 0) }]) {
      expect(verifier.seal({ ...evidence, expectedHash, sidecar })).toMatchObject({
        ok: true,
        value: { sidecar: { ok: false, code: "hash_mismatch" } },
      });
    }
  });

  it("with a wrong path is inclusion_invalid where its hash is known to be right", () => {
    const seal = { ...(batchSeal(business, batch, 1) as object), leaf_index: 0 };
    expect(code({ ...pushed, seal: asJson(seal), expectedHash: hashOf(bytes) })).toBe("inclusion_invalid");
    expect(code({ ...pushed, seal: asJson(seal), expectedHash: hashOf(altered(bytes)) })).toBe(
      "hash_mismatch",
    );
  });

  it("with a proof that does not lead to the root is inclusion_invalid", () => {
    const seal = batchSeal(business, batch, 1) as {
      proof: readonly string[];
      leaf_index: number;
      tree_size: number;
    };
    const wrong = [
      { ...seal, leaf_index: 0 },
      { ...seal, leaf_index: 5 },
      { ...seal, tree_size: 6 },
      { ...seal, proof: seal.proof.slice(1) },
      { ...seal, proof: [...seal.proof, ...seal.proof] },
      { ...seal, proof: seal.proof.toReversed() },
    ];
    for (const each of wrong) expect(code({ ...pushed, seal: asJson(each) })).toBe("inclusion_invalid");
  });

  it("with a proof that is no list of hashes is envelope_malformed", () => {
    const seal = batchSeal(business, batch, 1) as object;
    for (const change of [{ proof: ["x"] }, { proof: null }, { leaf_index: -1 }, { extra: 1 }]) {
      expect(code({ ...pushed, seal: asJson({ ...seal, ...change }) })).toBe("envelope_malformed");
    }
  });

  it("sealed by a passkey's or hosted key is key_unknown: a batch is a system's", () => {
    expect(code({ ...pushed, seal: batchSeal(business, batch, 1, { key: business.hosted }) })).toBe(
      "key_unknown",
    );
  });

  it("in format 1 still stands, and mixed formats do not", () => {
    const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
    const first = batchSeal(business, batch, 1, { facts: terms, kind: "batch-seal.v1" });
    expect(code({ ...pushed, seal: first })).toBe("ok");
    expect(code({ ...pushed, seal: batchSeal(business, batch, 1, { kind: "batch-seal.v1" }) })).toBe(
      "payload_malformed",
    );
  });
});

describe("a refused seal", () => {
  const claimed = {
    format: 2,
    key_id: business.system.keyId,
    cert_id: business.issued.certId,
    sealed_at: sealedAt,
    record_type: "products",
    ai_policy_version: 1,
    terms_version: null,
    hash: null,
    leaf: { index: 1, tree_size: 5, root: expect.stringMatching(/^sha256:/) },
  };
  const unchecked = {
    certificate: "not_checked",
    ai_policy: "not_checked",
    scope: "not_checked",
    key_event: "not_checked",
  };
  const stands = { ...unchecked, certificate: "ok", scope: "ok" };
  const policies = { versions: [{ version: 1, live_from: "2026-02-01T00:00:00.000Z" }], isComplete: true };
  const outside = { ...business.mandate.scope, countries: ["GB"] };
  const refusals: readonly (readonly [reason: string, evidence: Partial<SealEvidence>, checks: object])[] = [
    // Whether the mandate covers the countries of a record that is not at hand is not known.
    ["inclusion_invalid", { bytes: altered(bytes) }, { scope: "not_checked" }],
    ["key_unknown", { keys: keys([]) }, { scope: "not_checked" }],
    [
      "signature_invalid",
      { seal: batchSeal(business, batch, 1, { key: { ...business.hosted, keyId: business.system.keyId } }) },
      {},
    ],
    ["certificate_unknown", { certificates: { issuances: [] } }, { certificate: "failed" }],
    ["ai_policy_version_mismatch", { policies: { versions: [], isComplete: true } }, { ai_policy: "failed" }],
    [
      "out_of_scope",
      { policies, mandates: [{ envelope: sealedMandate(business, { scope: outside }), revoked_at: null }] },
      { ai_policy: "ok", scope: "failed" },
    ],
    [
      "key_event_missing",
      { policies, keyEvent: { found: false, isRequired: true } },
      { ai_policy: "ok", key_event: "missing" },
    ],
  ];

  it.each(refusals)("for %s says what it claims and what each check is", (reason, evidence, checks) => {
    expect(verifier.seal({ ...pushed, ...evidence })).toEqual({
      ok: false,
      code: reason,
      detail: expect.any(String),
      claimed,
      checks: { ...stands, ...checks },
    });
  });

  it("claims nothing where its envelope or its payload cannot be read", () => {
    for (const seal of [
      null,
      asJson({ ...(single.seal as object), extra: 1 }),
      passkeySeal(business, bytes, { v: 3 }),
    ])
      expect(verifier.seal({ ...single, seal })).toMatchObject({ claimed: null, checks: unchecked });
  });

  it("claims the hash that it names for a record sealed alone, not that of the bytes", () => {
    expect(verifier.seal({ ...single, bytes: altered(bytes) })).toMatchObject({
      ok: false,
      claimed: { hash: hashOf(bytes), leaf: null, key_id: business.passkey.keyId },
    });
  });
});
