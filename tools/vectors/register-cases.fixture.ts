// Cases about what is registered of a business: keys, custody, mandates, decisions and possession.

import { payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { keyPossessionPayload } from "../../protocol/keys/key-directory.ts";
import {
  listedKey,
  publishedKeys,
  sealedCustodyRequest,
  sealedDecision,
  sealedMandate,
} from "../../verifier/business.fixture.ts";
import { asJson, day0, document } from "../../verifier/service.fixture.ts";
import { seal, sealWithPasskey, type TestKey } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import {
  casesOf,
  otherUuid,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
} from "./world.fixture.ts";

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
    bad("payload_malformed", "list beside it", "Only what is signed counts: the list beside it is empty.", {
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
    v: 1,
    business_uuid: business.uuid,
    key_id: business.hosted.keyId,
    custody: "hosted",
    issued_at: "2026-03-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  };
  const signed = (changes: object = {}, signers = service.issuance.halves) =>
    document("key-custody.v1", { ...statement, ...changes }, ...signers);
  const of = (...given: Parameters<typeof signed>) => ({ envelope: signed(...given) });
  const early = { issued_at: "2025-01-01T00:00:00.000Z", effective_from: "2025-01-01T00:00:00.000Z" };
  const later = signed({ custody: "self", issued_at: "2026-03-02T00:00:00.000Z" });
  const asked = (statements: readonly JsonValue[], instant: string, key_id = statement.key_id) => ({
    answer: { uuid: business.uuid, statements: statements.map((each) => ({ statement: each })) },
    business_uuid: business.uuid,
    key_id,
    at: instant,
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
    uuid: business.uuid,
    business_keys: publishedKeys(service, business, keys),
    envelope: sealedMandate(business, facts),
  });
  const { scope, valid_from: from } = business.mandate;
  const passkey = (facts: object) => [listedKey("passkey", business.passkey, facts)];
  const wide = sealedMandate(business, { scope: { ...scope, countries: ["DE", "FR", "US"] } });
  const sandboxed = world.sandbox;
  const byHosted = (scene: World["production"]) => ({
    uuid: scene.business.uuid,
    business_keys: publishedKeys(scene.service, scene.business),
    envelope: document("mandate.v1", scene.business.mandate, scene.business.hosted),
  });
  return [
    good("sealed by a passkey", "A passkey of the business that stood when the mandate began.", of({})),
    ...(
      [
        ["a country twice", { scope: { ...scope, countries: ["DE", "DE"] } }],
        ["a record type twice", { scope: { ...scope, record_types: ["jobs", "jobs"] } }],
        ["no country", { scope: { ...scope, countries: [] } }],
        ["another form of a source", { scope: { ...scope, source_ip_allow_list: ["everywhere"] } }],
        ["a mandate id with a space", { mandate_id: "man 1" }],
      ] as const
    ).map(([name, changes]) =>
      bad("payload_malformed", name, "A value that the specification does not allow.", of(changes)),
    ),
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
    uuid: business.uuid,
    business_keys: publishedKeys(service, business, keys),
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

export function custodyRequestCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("custody_request");
  const of = (
    facts: object,
    keys = business.listed,
    parts: Parameters<typeof sealedCustodyRequest>[2] = {},
  ) => ({
    uuid: business.uuid,
    business_keys: publishedKeys(service, business, keys),
    envelope: sealedCustodyRequest(business, facts, parts),
  });
  const at = "2026-03-01T00:00:00.000Z";
  const asked = {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    effective_from: at,
    at,
  };
  const ended = (facts: object) => [listedKey("passkey", business.passkey, facts)];
  return [
    good("self", "A passkey of the business asks for the statement that the business holds a key.", of({})),
    good("hosted", "It asks for the statement that the service does.", of({ custody: "hosted" })),
    bad(
      "key_not_valid",
      "revoked",
      "The passkey was revoked.",
      of({ at, effective_from: at }, ended({ revoked_at: at })),
    ),
    bad(
      "signature_invalid",
      "other origin",
      "The assertion was made on another site.",
      of({}, ended({}), { origin: "https://elsewhere.test" }),
    ),
    bad("key_unknown", "by a system's key", "Only a person asks.", {
      ...of({}),
      envelope: document("custody-request.v1", asked, business.system),
    }),
    bad("out_of_scope", "another business", "It is another business's.", of({ business_uuid: otherUuid })),
    bad("payload_malformed", "other custody", "There is no such custody.", of({ custody: "shared" })),
    bad(
      "payload_malformed",
      "later effect",
      "It takes effect later than it is sealed.",
      of({ at, effective_from: "2026-03-01T00:00:00.001Z" }),
    ),
    bad("payload_type_mismatch", "other type", "A mandate where a request is expected.", {
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
    party_uuid: business.uuid,
    key_id: key.keyId,
    role,
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
