// Cases about seals: of records that were sealed alone and pushed, of AI policies and of removals.

import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/canonical-json.ts";
import { hashOf } from "../../protocol/hash.ts";
import { withdrawalDocument } from "../../protocol/withdrawal.fixture.ts";
import {
  batchSeal,
  listedKey,
  passkeySeal,
  policyRecord,
  publishedKeys,
  recordBytes,
  recordId,
  sealedAt,
  sealedMandate,
  sealedPolicy,
  sealFacts,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { altered } from "../../verifier/scene.fixture.ts";
import { document, issueCertificate, soleKey } from "../../verifier/service.fixture.ts";
import type { TestKey } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { otherUuid } from "./register-cases.fixture.ts";
import {
  base64,
  casesOf,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
  withText,
} from "./world.fixture.ts";

const bytes = recordBytes();
const batch = [
  recordBytes({ business_product_id: "b" }),
  bytes,
  ...["c", "d", "e"].map((id) => recordBytes({ business_product_id: id })),
];

function makings(world: World) {
  const { service, business } = world.production;
  const common = {
    ...{ uuid: business.uuid, certificates: [business.issued.envelope] },
    business_keys: publishedKeys(service, business),
  };
  const of = (content: Uint8Array, seal: unknown, changes: object = {}) => ({
    ...{ bytes_base64: base64(content), seal },
    ...common,
    ...changes,
  });
  const mandate = { envelope: sealedMandate(business), revoked_at: null };
  return {
    ...{ service, business, of, mandate },
    keys: (...listed: Parameters<typeof publishedKeys>[2] & {}) => ({
      business_keys: publishedKeys(service, business, listed),
    }),
    single: (changes: object = {}) => of(bytes, passkeySeal(business, bytes), changes),
    pushed: (changes: object = {}) => of(bytes, batchSeal(business, batch, 1), { mandate, ...changes }),
  };
}

export function sealCases(world: World): readonly VectorCase[] {
  return [
    ...aloneCases(world),
    ...assertionCases(world),
    ...payloadCases(world),
    ...pushedCases(world),
    ...scopeCases(world),
    ...standingCases(world),
    ...policyVersionCases(world),
    ...removalCases(world),
  ];
}

function aloneCases(world: World): readonly VectorCase[] {
  const { business, of, single, keys } = makings(world);
  const { good, bad } = casesOf("seal");
  const canonical = canonicalBytes(JSON.parse(new TextDecoder().decode(bytes)) as JsonValue);
  const hosted = document("seal.v2", sealFacts(business, business.hosted, bytes), business.hosted);
  const own = passkeySeal(business, bytes);
  const moved = passkeySeal(business, bytes, { sealed_at: "2026-03-01T12:00:00.001Z" });
  const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
  return [
    good("by a passkey", "A record sealed alone by a passkey.", single()),
    good("by a hosted key", "A record sealed alone by a hosted key.", of(bytes, hosted)),
    good(
      "format 1",
      "Format 1 names terms in place of an AI policy.",
      of(bytes, passkeySeal(business, bytes, terms, { kind: "seal.v1" })),
    ),
    bad("hash_mismatch", "flipped bit", "A bit of the record is flipped.", of(altered(bytes), own)),
    bad("hash_mismatch", "re-serialised", "The same JSON value in other bytes.", of(canonical, own)),
    bad(
      "signature_invalid",
      "flipped signature",
      "A bit of the signature is flipped.",
      of(bytes, withFlippedSignature(hosted)),
    ),
    bad(
      "signature_invalid",
      "changed after sealing",
      "Another instant under the same signature.",
      of(bytes, withPayloadOf(own, moved)),
    ),
    bad("signature_invalid", "passkey without an assertion", "A passkey's key signed it plainly.", {
      ...of(
        bytes,
        withSignatures(own, (each) => each.map(({ keyid = "", sig = "" }) => ({ keyid, sig }))),
      ),
    }),
    bad(
      "signature_invalid",
      "hosted key with an assertion",
      "A hosted key made an assertion.",
      of(bytes, passkeySeal({ ...business, passkey: business.hosted }, bytes)),
    ),
    bad(
      "key_mismatch",
      "names another key",
      "The payload names another key than signed it.",
      of(bytes, passkeySeal(business, bytes, { key_id: business.hosted.keyId })),
    ),
    bad(
      "key_unknown",
      "not registered",
      "The key is not in the register.",
      of(bytes, passkeySeal({ ...business, passkey: world.strangers.p256 }, bytes)),
    ),
    bad(
      "key_unknown",
      "by a system's key",
      "Systems seal batches.",
      single(keys(listedKey("system", business.passkey))),
    ),
  ];
}

function assertionCases(world: World): readonly VectorCase[] {
  const { business, of } = makings(world);
  const { bad } = casesOf("seal");
  const wrong = [
    ["presence alone", "The user was present and not verified.", { flags: 0x01 }],
    ["verification alone", "The user was verified and not present.", { flags: 0x04 }],
    ["backup state alone", "The flags say backed up, and not eligible for it.", { flags: 0x15 }],
    ["attested data", "The flags announce data that an assertion does not have.", { flags: 0x45 }],
    ["other origin", "It was made on another site.", { origin: "https://portal.test.evil" }],
    ["other relying party", "It was made for another relying party.", { rpId: "evil" }],
    ["registration", "It is no assertion.", { type: "webauthn.create" }],
    ["sign-in", "Its challenge is that of a sign-in.", { challengeOf: new TextEncoder().encode("sign in") }],
    ["cross origin", "It was made inside another site's page.", { crossOrigin: true }],
    ["further bytes", "The authenticator's data is too long.", { extraBytes: 1 }],
  ] as const;
  return wrong.map(([name, says, parts]) =>
    bad(
      "signature_invalid",
      `assertion: ${name}`,
      says,
      of(bytes, passkeySeal(business, bytes, {}, { parts })),
    ),
  );
}

function payloadCases(world: World): readonly VectorCase[] {
  const { business, of } = makings(world);
  const { bad } = casesOf("seal");
  const own = passkeySeal(business, bytes);
  const sealed = (facts: object, kind?: "seal.v1" | "mandate.v1") =>
    of(bytes, passkeySeal(business, bytes, facts, kind ? { kind } : {}));
  const future = recordBytes({ schema: "svc/products/2" });
  return [
    bad(
      "payload_malformed",
      "v2 under the type of format 1",
      "A payload of format 2 under the type of format 1.",
      sealed({}, "seal.v1"),
    ),
    bad(
      "payload_malformed",
      "mixed formats",
      "A member of format 1 in format 2.",
      sealed({ terms_version: 1 }),
    ),
    bad(
      "payload_malformed",
      "a member less",
      "It does not say when it was sealed.",
      sealed({ sealed_at: undefined }),
    ),
    bad(
      "payload_malformed",
      "no such day",
      "An instant that does not exist.",
      sealed({ sealed_at: "2026-02-30T00:00:00.000Z" }),
    ),
    bad(
      "payload_malformed",
      "a member twice",
      "A duplicate member.",
      of(
        bytes,
        withText(own, (text) => text.replace(/}$/, ',"v":2}')),
      ),
    ),
    bad(
      "payload_malformed",
      "not canonical",
      "A space in the payload's JSON.",
      of(
        bytes,
        withText(own, (text) => text.replace(",", ", ")),
      ),
    ),
    bad(
      "payload_malformed",
      "not UTF-8 JSON",
      "The payload is no JSON.",
      of(
        bytes,
        withText(own, () => "{"),
      ),
    ),
    bad("version_unknown", "v", "A format that is not known.", sealed({ v: 3 })),
    bad(
      "version_unknown",
      "record's schema version",
      "A record schema version that is not known.",
      of(future, passkeySeal(business, future)),
    ),
    bad("payload_type_mismatch", "other type", "The type of a mandate.", sealed({}, "mandate.v1")),
    bad(
      "record_type_mismatch",
      "record's type",
      "The record is of another type than the seal says.",
      sealed({ record_type: "events" }),
    ),
    bad(
      "certificate_unknown",
      "certificate",
      "A certificate that the business does not have.",
      sealed({ cert_id: hashOf(bytes) }),
    ),
    bad(
      "envelope_malformed",
      "further member",
      "The envelope has a member that envelopes do not have.",
      of(bytes, { ...(own as JsonObject), extra: 1 }),
    ),
    bad(
      "envelope_malformed",
      "two signatures",
      "A seal carries exactly one signature.",
      of(
        bytes,
        withSignatures(own, (each) => [...each, ...each]),
      ),
    ),
    bad("envelope_malformed", "half an assertion", "authenticatorData without clientDataJSON.", {
      ...of(
        bytes,
        withSignatures(own, (each) => each.map(({ clientDataJSON: _, ...rest }) => rest)),
      ),
    }),
    bad("envelope_malformed", "none", "There is no envelope.", of(bytes, null)),
  ];
}

function pushedCases(world: World): readonly VectorCase[] {
  const { business, of, pushed, service } = makings(world);
  const { good, bad } = casesOf("seal");
  const whole = batchSeal(business, batch, 1) as JsonObject;
  const proof = whole["proof"] as readonly string[];
  const changed = (change: object) => pushed({ seal: { ...whole, ...change } });
  const alone = batchSeal(business, [bytes], 0);
  const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
  const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
  const { mandate } = makings(world);
  return [
    ...batch.map((record, at) =>
      good(
        `pushed: leaf ${at}`,
        `Record ${at} of a batch of five, with its path to the root.`,
        of(record, batchSeal(business, batch, at), { mandate }),
      ),
    ),
    good("pushed: batch of one", "A batch of one record has an empty path.", of(bytes, alone, { mandate })),
    good(
      "pushed: format 1",
      "Format 1 of a batch seal.",
      pushed({ seal: batchSeal(business, batch, 1, { facts: terms, kind: "batch-seal.v1" }) }),
    ),
    bad(
      "payload_malformed",
      "pushed: mixed formats",
      "Format 2 under the type of format 1.",
      pushed({ seal: batchSeal(business, batch, 1, { kind: "batch-seal.v1" }) }),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, batch of one",
      "The path is empty, so it is the bytes that differ.",
      of(altered(bytes), alone, { mandate }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: altered",
      "Altered bytes and a wrong path look alike where nothing names the right bytes.",
      pushed({ bytes_base64: base64(altered(bytes)) }),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, with its sidecar",
      "The sidecar names other bytes.",
      pushed({ bytes_base64: base64(altered(bytes)), sidecar }),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, with its hash",
      "Another verified source names other bytes.",
      pushed({ bytes_base64: base64(altered(bytes)), expected_hash: hashOf(bytes) }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other index",
      "The path is that of another leaf.",
      changed({ leaf_index: 0 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other index, known hash",
      "The bytes are known to be right, so the path is wrong.",
      {
        ...changed({ leaf_index: 0 }),
        expected_hash: hashOf(bytes),
      },
    ),
    bad(
      "inclusion_invalid",
      "pushed: no such leaf",
      "The index is outside the tree.",
      changed({ leaf_index: 5 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other size",
      "The tree is said to be larger than the sealed one.",
      changed({ tree_size: 6 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: short path",
      "A hash of the path is missing.",
      changed({ proof: proof.slice(1) }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: long path",
      "The path has further hashes.",
      changed({ proof: [...proof, ...proof] }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: path in another order",
      "The path leads from the root to the leaf.",
      changed({ proof: proof.toReversed() }),
    ),
    bad(
      "envelope_malformed",
      "pushed: no hashes",
      "The path is no list of hashes.",
      changed({ proof: ["x"] }),
    ),
    bad(
      "envelope_malformed",
      "pushed: negative index",
      "An index is not negative.",
      changed({ leaf_index: -1 }),
    ),
    bad(
      "envelope_malformed",
      "pushed: further member",
      "A member that a record seal does not have.",
      changed({ extra: 1 }),
    ),
    bad(
      "key_unknown",
      "pushed: by a hosted key",
      "A batch is a system's.",
      pushed({ seal: batchSeal(business, batch, 1, { key: business.hosted }) }),
    ),
    bad(
      "payload_type_mismatch",
      "pushed: batch seal alone",
      "A batch seal without its path.",
      of(bytes, (alone as JsonObject)["batch_seal"]),
    ),
  ];
}

function scopeCases(world: World): readonly VectorCase[] {
  const { service, business, pushed, single } = makings(world);
  const { good, bad } = casesOf("seal");
  const { scope } = business.mandate;
  const under = (facts: object, revoked_at: string | null = null) =>
    pushed({ mandate: { envelope: sealedMandate(business, facts), revoked_at } });
  const facts = sidecarFacts(business, bytes);
  const withSidecar = (changes: object) => ({
    ...pushed({ sidecar: sidecarEnvelope(service, { ...facts, ...changes }) }),
    mandate: undefined,
  });
  const stated = (changes: object) => ({ scope: { ...facts.scope, ...changes } });
  return [
    bad(
      "out_of_scope",
      "scope: country",
      "The record is for a country outside the mandate.",
      under({ scope: { ...scope, countries: ["DE"] } }),
    ),
    bad(
      "out_of_scope",
      "scope: type",
      "The mandate is for another record type.",
      under({ scope: { ...scope, record_types: ["events"] } }),
    ),
    bad(
      "out_of_scope",
      "scope: key",
      "The mandate is for another key.",
      under({ key_id: business.hosted.keyId }),
    ),
    bad(
      "out_of_scope",
      "scope: business",
      "The mandate is another business's.",
      under({ business_uuid: otherUuid }),
    ),
    bad(
      "out_of_scope",
      "scope: before it begins",
      "It begins a millisecond later.",
      under({ valid_from: "2026-03-01T12:00:00.001Z" }),
    ),
    bad(
      "out_of_scope",
      "scope: when it ends",
      "It ends at that very instant.",
      under({ valid_until: sealedAt }),
    ),
    good(
      "scope: before it ends",
      "It ends a millisecond later.",
      under({ valid_until: "2026-03-01T12:00:00.001Z" }),
    ),
    bad("out_of_scope", "scope: revoked", "The mandate was revoked at that instant.", under({}, sealedAt)),
    good(
      "scope: before the revocation",
      "It was revoked a millisecond later.",
      under({}, "2026-03-01T12:00:00.001Z"),
    ),
    bad(
      "payload_malformed",
      "scope: over 92 days",
      "A mandate that is too long is none.",
      under({ valid_until: "2026-05-04T00:00:00.001Z" }),
    ),
    bad("key_unknown", "scope: its own mandate", "The machine's key sealed its own mandate.", {
      ...pushed({
        mandate: { envelope: sealedMandate({ ...business, passkey: business.system }), revoked_at: null },
      }),
    }),
    good(
      "scope: stated by the sidecar",
      "Without a mandate, the sidecar says on what basis it was published.",
      withSidecar({}),
      { sidecar: "ok" },
    ),
    good(
      "sidecar of other bytes",
      "A sidecar of other bytes does not touch a good seal.",
      withSidecar({ sha256: `sha256:${"0".repeat(64)}` }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another seal",
      "A sidecar of another instant does not touch a good seal.",
      withSidecar({ sealed_at: "2026-03-01T12:00:00.001Z" }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another business",
      "A sidecar of another business.",
      withSidecar({ business_uuid: otherUuid }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another key",
      "A sidecar that names another sealing key.",
      withSidecar({ sealed_by_key_id: business.hosted.keyId }),
      { sidecar: "key_mismatch" },
    ),
    good(
      "sidecar of another scope key",
      "A sidecar whose scope names another key.",
      withSidecar(stated({ key_id: business.hosted.keyId })),
      { sidecar: "key_mismatch" },
    ),
    good(
      "sidecar of another certificate",
      "A sidecar that names another certificate.",
      withSidecar({ cert_id: facts.sha256 }),
      { sidecar: "certificate_unknown" },
    ),
    good(
      "sidecar of another type",
      "A sidecar that names another record type.",
      withSidecar({ record_type: "events" }),
      { sidecar: "record_type_mismatch" },
    ),
    good(
      "sidecar of another AI policy",
      "A sidecar that names another AI policy version.",
      withSidecar({ ai_policy_version: 2 }),
      { sidecar: "ai_policy_version_mismatch" },
    ),
    good(
      "sidecar by another key",
      "A sidecar that the receipt key signed.",
      {
        ...single({ sidecar: sidecarEnvelope(service, facts, soleKey(service.receipt)) }),
      },
      { sidecar: "key_unknown" },
    ),
    bad(
      "out_of_scope",
      "sidecar of the other path",
      "A pushed record whose sidecar says path B.",
      withSidecar({ path: "B" }),
    ),
  ];
}

function standingCases(world: World): readonly VectorCase[] {
  const { service, business, single, pushed, keys } = makings(world);
  const { good, bad } = casesOf("seal");
  const passkey = (facts: object) => single(keys(listedKey("passkey", business.passkey, facts)));
  const next = (facts: object) =>
    issueCertificate(service, {
      ...business.certificate,
      issued_at: "2026-04-01T00:00:00.000Z",
      previous: business.issued.certId,
      ...facts,
    }).envelope;
  const after = (facts: object) => single({ certificates: [business.issued.envelope, next(facts)] });
  const before = "2026-02-01T00:00:00.000Z";
  const system = (facts: object) =>
    keys(listedKey("system", business.system, facts), listedKey("passkey", business.passkey));
  const late = { compromised_from: "2026-03-01T12:00:01.001Z" };
  const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
  const other = issueCertificate(service, {
    ...business.certificate,
    previous: business.issued.certId,
    issued_at: "2026-05-01T00:00:00.000Z",
  });
  const signedKeys = (publishedKeys(service, { ...business, issued: other }) as JsonObject)["signed"];
  return [
    bad(
      "key_not_valid",
      "key not yet valid",
      "The key begins a millisecond later.",
      passkey({ valid_from: "2026-03-01T12:00:00.001Z" }),
    ),
    bad(
      "key_not_valid",
      "key ended",
      "The key's window ended at that instant.",
      passkey({ valid_until: sealedAt }),
    ),
    bad(
      "key_not_valid",
      "key revoked",
      "The key was revoked at that instant.",
      passkey({ revoked_at: sealedAt }),
    ),
    good(
      "key revoked later",
      "The key was revoked a millisecond later.",
      passkey({ revoked_at: "2026-03-01T12:00:00.001Z" }),
    ),
    bad(
      "key_compromised",
      "key compromised",
      "The key was compromised at that instant.",
      passkey({ compromised_from: sealedAt }),
    ),
    bad(
      "key_compromised",
      "key compromised later",
      "Nothing shows that the seal is older than the compromise.",
      passkey(late),
    ),
    good(
      "key compromised later, with its sidecar",
      "The sidecar says that the service had it before.",
      pushed({ ...system(late), sidecar }),
      { sidecar: "ok" },
    ),
    bad(
      "key_compromised",
      "key compromised when it was received",
      "The sidecar's received_at is the instant of the compromise.",
      pushed({ ...system({ compromised_from: "2026-03-01T12:00:01.000Z" }), sidecar }),
    ),
    bad(
      "certificate_not_in_force",
      "certificate revoked",
      "It was revoked before the record was sealed.",
      after({ status: "revoked", status_effective_from: before }),
    ),
    bad(
      "certificate_not_in_force",
      "certificate closed",
      "The business closed before.",
      after({ status: "closed", status_effective_from: before }),
    ),
    bad(
      "certificate_withdrawn",
      "certificate withdrawn",
      "It was withdrawn before.",
      after({ status: "withdrawn", status_reason: "approval_reversed", status_effective_from: before }),
    ),
    good(
      "certificate withdrawn later",
      "It was withdrawn afterwards.",
      after({
        status: "withdrawn",
        status_reason: "approval_reversed",
        status_effective_from: "2026-04-01T00:00:00.000Z",
      }),
    ),
    bad(
      "certificate_unknown",
      "newest certificate left out",
      "The published keys name an issuance that is not among those given.",
      {
        ...single({ business_keys: { signed: signedKeys ?? null } }),
      },
    ),
    bad(
      "key_event_missing",
      "key event required",
      "The log has no leaf of the key's registration, and one is required.",
      single({ key_event: { found: false, required: true } }),
    ),
    good(
      "key event missing",
      "A missing leaf is a warning unless it is required.",
      single({ key_event: { found: false, required: false } }),
    ),
    good(
      "key event found",
      "The log has the leaf of the key's registration.",
      single({ key_event: { found: true, required: true } }),
    ),
  ];
}

function policyVersionCases(world: World): readonly VectorCase[] {
  const { business, of, pushed, service } = makings(world);
  const { good, bad } = casesOf("seal");
  const reason = "ai_policy_version_mismatch";
  const versions = [
    { version: 1, live_from: "2026-02-01T00:00:00.000Z" },
    { version: 2, live_from: sealedAt },
  ];
  const sealed = (version: number, policies: object, sealed_at = sealedAt) =>
    of(bytes, passkeySeal(business, bytes, { ai_policy_version: version, sealed_at }), { policies });
  const known = (version: number, list = versions, complete = true) =>
    sealed(version, { versions: list, complete, uncertain_ms: 0 });
  const began = [{ version: 2, live_from: sealedAt }];
  const about = (version: number, at: string) =>
    sealed(version, { versions: began, complete: false, uncertain_ms: 300_000 }, at);
  const received = {
    versions: [{ version: 1, live_from: "2026-03-01T12:00:00.500Z" }],
    complete: true,
    uncertain_ms: 0,
  };
  const policy = sealedPolicy(business);
  return [
    good("AI policy in force", "The version in force from that instant on.", known(2)),
    bad(reason, "AI policy of before", "The version before it.", known(1)),
    bad(reason, "AI policy to come", "A version that does not exist yet.", known(3)),
    good("AI policy 0", "Version 0 before the first is sealed.", known(0, [])),
    bad(reason, "AI policy 1 of none", "Version 1, and none was sealed.", known(1, [])),
    good(
      "AI policy not listed",
      "An older version may have been in force before everything listed.",
      known(2, [{ version: 3, live_from: "2026-03-01T12:00:00.001Z" }], false),
    ),
    good(
      "AI policy about its beginning: the old one",
      "Within five minutes of its own seal either version is accepted.",
      about(1, "2026-03-01T12:04:59.999Z"),
    ),
    bad(
      reason,
      "AI policy after its beginning",
      "Five minutes after its own seal only the new version is.",
      about(1, "2026-03-01T12:05:00.000Z"),
    ),
    good(
      "AI policy about its beginning: the new one",
      "Five minutes before its own seal the new version is accepted.",
      about(2, "2026-03-01T11:55:00.000Z"),
    ),
    bad(
      reason,
      "AI policy before its beginning",
      "A millisecond earlier it is not.",
      about(2, "2026-03-01T11:54:59.999Z"),
    ),
    bad(
      reason,
      "AI policy by the sealer's clock",
      "By sealed_at, version 1 was not in force.",
      pushed({ policies: received }),
    ),
    good(
      "AI policy by the service's clock",
      "By the sidecar's received_at, version 1 was in force.",
      {
        ...pushed({ policies: received, sidecar: sidecarEnvelope(service, sidecarFacts(business, bytes)) }),
      },
      { sidecar: "ok" },
    ),
    good(
      "an AI policy",
      "An AI policy record, by the seal that creates its version.",
      of(policy.bytes, policy.seal, { document: "ai_policy" }),
    ),
    bad(
      "record_type_mismatch",
      "an AI policy as a record",
      "The seal of an AI policy where that of a record is expected.",
      of(policy.bytes, policy.seal),
    ),
    bad(
      "record_type_mismatch",
      "a record as an AI policy",
      "The seal of a record where that of an AI policy is expected.",
      of(bytes, passkeySeal(business, bytes), { document: "ai_policy" }),
    ),
    bad("version_unknown", "an AI policy of another schema", "An AI policy schema that is not known.", {
      ...futurePolicy(world),
    }),
  ];
}

function futurePolicy(world: World) {
  const { business, of } = makings(world);
  const future = { ...policyRecord(), ai_policy_schema: 3 };
  const content = canonicalBytes(JSON.parse(JSON.stringify(future)) as JsonValue);
  const facts = { record_type: "ai_policy", sealed_at: "2026-02-01T00:00:00.000Z" };
  return of(content, passkeySeal(business, content, facts), { document: "ai_policy" });
}

function removalCases(world: World): readonly VectorCase[] {
  const { business, of } = makings(world);
  const { good, bad } = casesOf("seal");
  const withdraw = { record_id: recordId, action: "withdraw", at: sealedAt } as const;
  const content = withdrawalDocument(withdraw);
  const removal = (text: Uint8Array, facts: object = {}) =>
    of(text, passkeySeal(business, text, facts), { document: "withdrawal" });
  const by = (key: TestKey) =>
    of(content, document("seal.v2", sealFacts(business, key, content), key), { document: "withdrawal" });
  const text = (value: string) => new TextEncoder().encode(value);
  return [
    good("a withdrawal", "A withdrawal sealed by a passkey.", removal(content)),
    good(
      "a deletion",
      "A deletion sealed by a passkey.",
      removal(withdrawalDocument({ ...withdraw, action: "delete" })),
    ),
    good("a withdrawal by a hosted key", "A withdrawal sealed by a hosted key.", by(business.hosted)),
    good("a withdrawal by a system's key", "A withdrawal sealed by an integration key.", by(business.system)),
    bad(
      "record_type_mismatch",
      "a withdrawal of another type",
      "The record id is of another type than the seal says.",
      removal(content, { record_type: "jobs" }),
    ),
    bad(
      "payload_malformed",
      "a withdrawal that is not compact",
      "A line feed behind the document.",
      removal(text(`${JSON.stringify(withdraw)}\n`)),
    ),
    bad(
      "payload_malformed",
      "a removal of another action",
      "There is no such action.",
      removal(text(JSON.stringify({ ...withdraw, action: "hide" }))),
    ),
    bad("hash_mismatch", "another withdrawal", "The seal is over another document.", {
      ...of(withdrawalDocument({ ...withdraw, action: "delete" }), passkeySeal(business, content), {
        document: "withdrawal",
      }),
    }),
  ];
}
