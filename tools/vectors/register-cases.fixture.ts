// Cases about what is registered and published of a business: certificates, keys, custody, mandates, decisions and possession.

import type { JsonObject, JsonValue } from "../../protocol/canonical-json.ts";
import type { Certificate } from "../../protocol/certificate.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { keyPossessionPayload } from "../../protocol/key-possession.ts";
import { listedKey, publishedKeys, sealedDecision, sealedMandate } from "../../verifier/business.fixture.ts";
import { asJson, day0, document, issueCertificate, soleKey } from "../../verifier/service.fixture.ts";
import { seal, sealWithPasskey, type TestKey } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { casesOf, type World, withFlippedSignature, withPayloadOf, withSignatures } from "./world.fixture.ts";

export const otherUuid = "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e";

export function certificateCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad, under } = casesOf("certificate");
  const { certificate, issued } = business;
  const of = (changes: object, ...signers: readonly TestKey[]) => ({
    envelope: issueCertificate(service, { ...certificate, ...changes }, ...signers).envelope,
  });
  const own = issued.envelope;
  const [classical, postQuantum] = service.issuance.halves;
  const sandboxed = world.sandbox.business.issued;
  return [
    good("active", "Both halves of the issuance key signed it.", { envelope: own }, { value: issued.certId }),
    good(
      "halves in another order",
      "The order of the two signatures is open.",
      {
        envelope: withSignatures(own, (each) => each.toReversed()),
      },
      { value: issued.certId },
    ),
    good(
      "withdrawn",
      "A withdrawn certificate carries its reason.",
      of({ status: "withdrawn", status_reason: "approval_reversed" }),
      {
        value: issueCertificate(service, {
          ...certificate,
          status: "withdrawn",
          status_reason: "approval_reversed",
        }).certId,
      },
    ),
    under("sandbox").good(
      "sandbox",
      "Under sandbox anchors.",
      { envelope: sandboxed.envelope },
      { value: sandboxed.certId },
    ),
    bad(
      "key_unknown",
      "sandbox under production anchors",
      "It carries the mark of the sandbox.",
      of({ sandbox: true }),
    ),
    bad("key_unknown", "sandbox's own", "A genuine certificate of the sandbox, under production anchors.", {
      envelope: sandboxed.envelope,
    }),
    under("sandbox").bad(
      "key_unknown",
      "production under sandbox anchors",
      "A certificate without the mark of the sandbox.",
      { envelope: own },
    ),
    bad(
      "post_quantum_required",
      "P-256 alone",
      "The ML-DSA-65 half is missing.",
      of({}, ...(classical ? [classical] : [])),
    ),
    bad(
      "post_quantum_required",
      "ML-DSA-65 alone",
      "The P-256 half is missing.",
      of({}, ...(postQuantum ? [postQuantum] : [])),
    ),
    bad("signature_invalid", "P-256 flipped", "A bit of the P-256 signature is flipped.", {
      envelope: withFlippedSignature(own, 0),
    }),
    bad("signature_invalid", "ML-DSA-65 flipped", "A bit of the ML-DSA-65 signature is flipped.", {
      envelope: withFlippedSignature(own, 1),
    }),
    bad("signature_invalid", "changed after signing", "Another legal name under the same signatures.", {
      envelope: withPayloadOf(own, of({ legal_name: "Other" }).envelope),
    }),
    bad("envelope_malformed", "a half twice", "A third signature repeats the first.", {
      envelope: withSignatures(own, (each) => [...each, ...each.slice(0, 1)]),
    }),
    bad("key_unknown", "a third key", "A third signature is of the statement key.", {
      envelope: withSignatures(own, ([first = {}, ...rest]) => [
        first,
        ...rest,
        { ...first, keyid: soleKey(service.statement).keyId },
      ]),
    }),
    bad("key_unknown", "by the root", "Roots do not issue certificates.", of({}, ...service.root.halves)),
    bad(
      "key_unknown",
      "by a working key",
      "The statement key may not issue it.",
      of({}, soleKey(service.statement)),
    ),
    bad(
      "key_not_valid",
      "issued before its key",
      "It is older than the issuance key.",
      of({ issued_at: "2025-12-31T23:59:59.999Z" }),
    ),
    bad("payload_malformed", "further member", "Format v1 is closed.", of({ custody: "self" })),
    bad(
      "payload_malformed",
      "reason on an active one",
      "Only a certificate that ended has a reason.",
      of({ status_reason: "approval_reversed" }),
    ),
    bad(
      "payload_malformed",
      "withdrawn without a reason",
      "A withdrawn certificate carries its reason.",
      of({ status: "withdrawn" }),
    ),
    bad("payload_malformed", "unknown status", "There is no such status.", of({ status: "suspended" })),
    bad("payload_malformed", "sandbox: false", "The mark is only ever true.", of({ sandbox: false })),
    bad("version_unknown", "v", "Format v2 under the type of v1.", of({ v: 2 })),
    bad("version_unknown", "type of v2", "Format v2 under its own type.", {
      envelope: {
        ...(of({ v: 2 }).envelope as JsonObject),
        payloadType: "application/vnd.svc.certificate.v2+json",
      },
    }),
    bad("payload_type_mismatch", "other type", "The type of another document.", {
      envelope: { ...(own as JsonObject), payloadType: payloadTypes["mandate.v1"] },
    }),
    bad("envelope_malformed", "no payload type", "An envelope without its type.", {
      envelope: { ...(own as JsonObject), payloadType: null },
    }),
  ];
}

export function historyCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { uuid, certificate, issued } = business;
  const next = (changes: Partial<Certificate>, previous = issued.certId) =>
    issueCertificate(service, {
      ...certificate,
      issued_at: "2026-02-01T00:00:00.000Z",
      previous,
      ...changes,
    });
  const second = next({});
  const third = next({ issued_at: "2026-03-01T00:00:00.000Z" }, second.certId);
  const fork = next({ legal_name: "Other" });
  const list = casesOf("certificates");
  const of = (...envelopes: readonly JsonValue[]) => ({ uuid, envelopes });
  const at = casesOf("certificate_at");
  const ended = (status: Certificate["status"], from: string, reason?: string) =>
    next({ status, status_effective_from: from, ...(reason ? { status_reason: reason } : {}) });
  const judged = (envelopes: readonly JsonValue[], sealed_at: string, cert_id = issued.certId) => ({
    uuid,
    envelopes,
    cert_id,
    sealed_at,
  });
  const from = "2026-02-10T00:00:00.000Z";
  const before = "2026-02-09T23:59:59.999Z";
  const revoked = [issued.envelope, ended("revoked", from, "key_compromise").envelope];
  const withdrawn = [issued.envelope, ended("withdrawn", from, "approval_reversed").envelope];
  const closed = [issued.envelope, ended("closed", from).envelope];
  return [
    list.good(
      "three",
      "Three issuances in any order, newest first in what is found.",
      of(issued.envelope, third.envelope, second.envelope),
      {
        value: [third.certId, second.certId, issued.certId],
      },
    ),
    list.bad(
      "certificate_unknown",
      "a gap",
      "The second of three is left out.",
      of(issued.envelope, third.envelope),
    ),
    list.bad(
      "certificate_unknown",
      "a fork",
      "Two issuances name the same previous one.",
      of(issued.envelope, second.envelope, fork.envelope),
    ),
    list.bad("certificate_unknown", "none", "No issuance at all.", of()),
    list.bad("certificate_unknown", "another party", "The certificate of another business.", {
      ...of(issued.envelope),
      uuid: otherUuid,
    }),
    list.bad(
      "signature_invalid",
      "one forged",
      "One of them is forged.",
      of(withFlippedSignature(issued.envelope)),
    ),
    at.good(
      "in force",
      "The only certificate, while it is active.",
      judged([issued.envelope], "2026-03-01T12:00:00.000Z"),
    ),
    at.good(
      "before the revocation",
      "A millisecond before a revocation takes effect.",
      judged(revoked, before),
    ),
    at.good("before the withdrawal", "A withdrawal leaves earlier seals valid.", judged(withdrawn, before)),
    at.good("before the closing", "The history of a closed business stays valid.", judged(closed, before)),
    at.bad(
      "certificate_not_in_force",
      "revoked",
      "From the instant at which the revocation takes effect.",
      judged(revoked, from),
    ),
    at.bad(
      "certificate_withdrawn",
      "withdrawn",
      "From the instant at which the withdrawal takes effect.",
      judged(withdrawn, from),
    ),
    at.bad(
      "certificate_not_in_force",
      "closed",
      "From the instant at which the business closed.",
      judged(closed, from),
    ),
    at.bad(
      "certificate_not_in_force",
      "superseded",
      "A later active issuance was in force.",
      judged([issued.envelope, second.envelope], "2026-02-01T00:00:00.000Z"),
    ),
    at.good(
      "a clock that lags",
      "Five minutes before the certificate was issued: clocks may differ by so much.",
      {
        ...judged([issued.envelope, second.envelope], "2026-01-31T23:55:00.000Z", second.certId),
      },
    ),
    at.bad(
      "certificate_not_in_force",
      "older than its certificate",
      "More than five minutes before the certificate was issued.",
      {
        ...judged([issued.envelope, second.envelope], "2026-01-31T23:54:59.999Z", second.certId),
      },
    ),
    at.bad("certificate_unknown", "not the business's", "A certificate that the business does not have.", {
      ...judged([issued.envelope], "2026-03-01T12:00:00.000Z", fork.certId),
    }),
  ];
}

export function businessKeysCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { uuid, listed } = business;
  const { good, bad } = casesOf("business_keys");
  const answer = publishedKeys(service, business) as JsonObject;
  const signed = answer["signed"] ?? null;
  const of = (...keys: Parameters<typeof publishedKeys>[2] & {}) => ({
    uuid,
    answer: publishedKeys(service, business, keys),
  });
  const bySidecar = publishedKeys({ ...service, statement: service.sidecar }, business);
  return [
    good("published", "The statement key signed them.", { uuid, answer }),
    good("bare envelope", "The signed envelope alone.", { uuid, answer: signed }),
    good("list beside it", "Only what is signed counts: the list beside it is empty.", {
      uuid,
      answer: { ...answer, keys: [] },
    }),
    bad("key_unknown", "by a key of another use", "The sidecar key signed them.", {
      uuid,
      answer: bySidecar,
    }),
    bad("key_unknown", "another business", "They are asked for another business.", {
      uuid: otherUuid,
      answer,
    }),
    bad("signature_invalid", "flipped", "A bit of the signature is flipped.", {
      uuid,
      answer: withFlippedSignature(signed),
    }),
    bad(
      "payload_malformed",
      "purpose of a passkey",
      "A passkey seals; it does not integrate.",
      of(listedKey("passkey", business.passkey, { purpose: "integration" })),
    ),
    bad(
      "payload_malformed",
      "purpose of a system's key",
      "A system's key integrates.",
      of(listedKey("system", business.system, { purpose: "sealing" })),
    ),
    bad(
      "payload_malformed",
      "key id",
      "A key under another key's id.",
      of(listedKey("system", business.system, { key_id: business.hosted.keyId })),
    ),
    bad(
      "payload_malformed",
      "COSE of a hosted key",
      "Only passkeys have a COSE key.",
      of(listedKey("hosted", business.hosted, { cose: "AAAA" })),
    ),
    bad(
      "payload_malformed",
      "other COSE key",
      "The COSE key is not the JWK's.",
      of(listedKey("passkey", business.passkey, { cose: "AAAA" })),
    ),
    bad("payload_malformed", "twice", "Every key is listed twice.", of(...listed, ...listed)),
  ];
}

export function custodyCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const one = casesOf("key_custody");
  const at = casesOf("custody_at");
  const statement = {
    ...{ v: 1, business_uuid: business.uuid, key_id: business.hosted.keyId, custody: "hosted" },
    ...{ issued_at: "2026-03-01T00:00:00.000Z", effective_from: "2026-02-01T00:00:00.000Z" },
  };
  const signed = (changes: object = {}, signers = service.issuance.halves) =>
    document("key-custody.v1", { ...statement, ...changes }, ...signers);
  const of = (...given: Parameters<typeof signed>) => ({ envelope: signed(...given) });
  const early = { issued_at: "2025-01-01T00:00:00.000Z", effective_from: "2025-01-01T00:00:00.000Z" };
  const later = signed({ custody: "self", issued_at: "2026-03-02T00:00:00.000Z" });
  const asked = (statements: readonly JsonValue[], instant: string, key_id = statement.key_id) => ({
    answer: { uuid: business.uuid, statements: statements.map((each) => ({ statement: each })) },
    ...{ business_uuid: business.uuid, key_id, at: instant },
  });
  return [
    one.good("hosted", "Both halves of the issuance key signed it.", of()),
    one.bad(
      "post_quantum_required",
      "one half",
      "The P-256 half is missing.",
      of({}, service.issuance.halves.slice(1)),
    ),
    one.bad(
      "key_unknown",
      "by a working key",
      "The statement key may not issue it.",
      of({}, service.statement.halves),
    ),
    one.bad("key_not_valid", "issued before its key", "It is older than the issuance key.", of(early)),
    one.bad(
      "payload_malformed",
      "effect after issue",
      "It takes effect after it was issued.",
      of({ effective_from: "2026-03-01T00:00:00.001Z" }),
    ),
    one.bad("payload_malformed", "further member", "It names no person.", of({ person: "x" })),
    one.bad(
      "key_unknown",
      "sandbox",
      "The mark of the sandbox, under production anchors.",
      of({ sandbox: true }),
    ),
    one.bad("signature_invalid", "flipped", "A bit of the ML-DSA-65 signature is flipped.", {
      envelope: withFlippedSignature(signed(), 1),
    }),
    at.good(
      "from its effect",
      "At the instant from which the statement takes effect.",
      asked([signed()], statement.effective_from),
      { value: "hosted" },
    ),
    at.good("before", "Before any statement takes effect.", asked([signed()], day0), { value: "unstated" }),
    at.good("none", "A business without statements.", asked([], statement.issued_at), { value: "unstated" }),
    at.good(
      "a tie",
      "Of two that take effect together, the later issuance counts.",
      asked([signed(), later], statement.issued_at),
      { value: "self" },
    ),
    at.good(
      "another key",
      "Nothing is stated about this key.",
      asked([signed()], statement.issued_at, business.system.keyId),
      { value: "unstated" },
    ),
    at.bad(
      "key_unknown",
      "one forged",
      "One that does not verify refuses them all.",
      asked([signed({}, service.statement.halves)], statement.issued_at),
    ),
  ];
}

export function mandateCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("mandate");
  const of = (facts: object, keys = business.listed) => ({
    ...{ uuid: business.uuid, business_keys: publishedKeys(service, business, keys) },
    envelope: sealedMandate(business, facts),
  });
  const { scope, valid_from: from } = business.mandate;
  const passkey = (facts: object) => [listedKey("passkey", business.passkey, facts)];
  const wide = sealedMandate(business, { scope: { ...scope, countries: ["DE", "FR", "US"] } });
  const sandboxed = world.sandbox;
  const byHosted = (scene: World["production"]) => ({
    ...{ uuid: scene.business.uuid, business_keys: publishedKeys(scene.service, scene.business) },
    envelope: document("mandate.v1", scene.business.mandate, scene.business.hosted),
  });
  return [
    good("sealed by a passkey", "A passkey of the business that stood when the mandate began.", of({})),
    good("92 days", "It is valid for exactly 92 days.", of({ valid_until: "2026-05-04T00:00:00.000Z" })),
    bad(
      "payload_malformed",
      "longer than 92 days",
      "It is valid for a millisecond more.",
      of({ valid_until: "2026-05-04T00:00:00.001Z" }),
    ),
    bad("payload_malformed", "further member", "A member that mandates do not have.", of({ note: "x" })),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 2 })),
    bad("out_of_scope", "another business", "It is another business's.", of({ business_uuid: otherUuid })),
    bad(
      "key_not_valid",
      "revoked passkey",
      "The passkey was revoked when the mandate began.",
      of({}, passkey({ revoked_at: from })),
    ),
    bad(
      "key_compromised",
      "compromised passkey",
      "The passkey was compromised when the mandate began.",
      of({}, passkey({ compromised_from: from })),
    ),
    bad("signature_invalid", "widened", "The scope was widened after it was sealed.", {
      ...of({}),
      envelope: withPayloadOf(sealedMandate(business), wide),
    }),
    bad("key_unknown", "by the machine key", "The key that it is for sealed it.", {
      ...of({}),
      envelope: sealedMandate({ ...business, passkey: business.system }),
    }),
    bad(
      "key_unknown",
      "by a hosted key",
      "In production no key that the service holds seals a mandate.",
      byHosted(world.production),
    ),
    casesOf("mandate", "sandbox").good(
      "by a hosted key of the sandbox",
      "In the sandbox a hosted key may.",
      byHosted(sandboxed),
    ),
  ];
}

export function decisionCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("hold_decision");
  const of = (facts: object, keys = business.listed, parts: Parameters<typeof sealedDecision>[2] = {}) => ({
    ...{ uuid: business.uuid, business_keys: publishedKeys(service, business, keys) },
    envelope: sealedDecision(business, facts, parts),
  });
  const at = "2026-03-01T00:00:00.000Z";
  const ended = (facts: object) => [listedKey("passkey", business.passkey, facts)];
  const facts = {
    v: 1,
    business_uuid: business.uuid,
    push_id: `bat_${"0a".repeat(12)}`,
    decision: "confirm",
    at,
  };
  const by = (key: TestKey) => ({ ...of({}), envelope: document("hold-decision.v1", facts, key) });
  return [
    good("confirm", "A passkey of the business confirms a held push.", of({})),
    good("reject", "A passkey of the business rejects it.", of({ decision: "reject" })),
    good(
      "before the revocation",
      "A millisecond before the passkey was revoked.",
      of({ at: "2026-02-28T23:59:59.999Z" }, ended({ revoked_at: at })),
    ),
    bad("key_not_valid", "revoked", "The passkey was revoked.", of({ at }, ended({ revoked_at: at }))),
    bad(
      "key_compromised",
      "compromised",
      "The passkey was compromised.",
      of({ at }, ended({ compromised_from: at })),
    ),
    bad(
      "signature_invalid",
      "other origin",
      "The assertion was made on another site.",
      of({}, ended({}), { origin: "https://elsewhere.test" }),
    ),
    bad("key_unknown", "by a hosted key", "Only a person decides.", by(business.hosted)),
    bad("key_unknown", "by a system's key", "Only a person decides.", by(business.system)),
    bad("out_of_scope", "another business", "It is another business's.", of({ business_uuid: otherUuid })),
    bad("payload_malformed", "other decision", "There is no such decision.", of({ decision: "maybe" })),
    bad("payload_type_mismatch", "other type", "A mandate where a decision is expected.", {
      ...of({}),
      envelope: sealedMandate(business),
    }),
  ];
}

export function possessionCases(world: World): readonly VectorCase[] {
  const { business } = world.production;
  const { good, bad } = casesOf("key_possession");
  const challenge = "c".repeat(32);
  const type = payloadTypes["key-possession.v1"];
  const facts = (key: TestKey, role: "integration" | "sealing") =>
    ({ v: 1, party_uuid: business.uuid, key_id: key.keyId, role, challenge }) as const;
  const plain = (changes: object = {}, key = business.system) =>
    asJson(seal(type, keyPossessionPayload({ ...facts(business.system, "integration"), ...changes }), key));
  const keyOf = (key: TestKey, role: string) => ({
    ...{ party_uuid: business.uuid, key_id: key.keyId, role },
    public_key: key.jwk,
  });
  const system = { key: keyOf(business.system, "integration"), challenge };
  const passkey = { key: keyOf(business.passkey, "sealing"), challenge };
  const asserted = (parts: Parameters<typeof sealWithPasskey>[3] = {}) =>
    asJson(
      sealWithPasskey(
        type,
        keyPossessionPayload(facts(business.passkey, "sealing")),
        business.passkey,
        parts,
      ),
    );
  return [
    good("a system's key", "The key itself signs its registration.", { ...system, proof: plain() }),
    good("a passkey", "A passkey proves it by an assertion.", { ...passkey, proof: asserted() }),
    bad("key_mismatch", "other challenge", "A proof for another registration.", {
      ...system,
      challenge: "d".repeat(32),
      proof: plain(),
    }),
    bad("key_mismatch", "other role", "A proof for another role.", {
      ...system,
      proof: plain({ role: "retrieval" }),
    }),
    bad("key_mismatch", "other party", "A proof for another party.", {
      ...system,
      proof: plain({ party_uuid: otherUuid }),
    }),
    bad("key_mismatch", "other key", "Another key signed it.", {
      ...system,
      proof: plain({}, business.hosted),
    }),
    bad("signature_invalid", "flipped", "A bit of the signature is flipped.", {
      ...system,
      proof: withFlippedSignature(plain()),
    }),
    bad("signature_invalid", "without user verification", "The passkey's user was not verified.", {
      ...passkey,
      proof: asserted({ flags: 0x01 }),
    }),
    bad("payload_malformed", "short challenge", "A challenge of too few characters.", {
      ...system,
      proof: plain({ challenge: "short" }),
    }),
    bad("envelope_malformed", "two signatures", "It carries exactly one.", {
      ...system,
      proof: withSignatures(plain(), (each) => [...each, ...each]),
    }),
  ];
}
