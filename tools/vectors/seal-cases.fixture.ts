// Cases about seals: what stood when they were made, AI policy versions, and removals.

import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { withdrawalDocument } from "../../protocol/withdrawal.fixture.ts";
import {
  listedKey,
  passkeySeal,
  policyRecord,
  publishedKeys,
  recordId,
  sealedAt,
  sealedPolicy,
  sealFacts,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { document, issueCertificate } from "../../verifier/service.fixture.ts";
import type { TestKey } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { aloneCases, assertionCases, payloadCases } from "./seal-alone-cases.fixture.ts";
import { bytes, makings } from "./seal-makings.fixture.ts";
import { pushedCases, scopeCases } from "./seal-pushed-cases.fixture.ts";
import { casesOf, type World } from "./world.fixture.ts";

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
  const { business, service, of } = makings(world);
  const { good, bad } = casesOf("seal");
  const withdraw = { record_id: recordId, action: "withdraw", at: sealedAt } as const;
  const content = withdrawalDocument(withdraw);
  const removal = (text: Uint8Array, facts: object = {}) =>
    of(text, passkeySeal(business, text, facts), { document: "withdrawal" });
  const by = (key: TestKey) =>
    of(content, document("seal.v2", sealFacts(business, key, content), key), { document: "withdrawal" });
  const text = (value: string) => new TextEncoder().encode(value);
  const ended = (facts: object) =>
    issueCertificate(service, {
      ...business.certificate,
      issued_at: "2026-02-01T00:00:00.000Z",
      previous: business.issued.certId,
      status_effective_from: "2026-02-01T00:00:00.000Z",
      ...facts,
    });
  const under = (next: ReturnType<typeof ended>) => ({
    ...removal(content, { cert_id: next.certId }),
    certificates: [business.issued.envelope, next.envelope],
  });
  return [
    good(
      "a withdrawal under a certificate that has ended",
      "The business closed before: what it published, it still takes back.",
      under(ended({ status: "closed" })),
    ),
    good(
      "a withdrawal under the certificate before the one that ended it",
      "It names the issuance that was active.",
      {
        ...removal(content),
        certificates: [business.issued.envelope, ended({ status: "closed" }).envelope],
      },
    ),
    bad(
      "certificate_not_in_force",
      "a withdrawal under a certificate that another has replaced",
      "A later certificate was active when it was sealed.",
      {
        ...removal(content),
        certificates: [business.issued.envelope, ended({ status: "active" }).envelope],
      },
    ),
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
