// Cases about certificates, and about their histories.

import { payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Certificate } from "../../protocol/keys/certificate.ts";
import { issueCertificate, soleKey } from "../../verifier/service.fixture.ts";
import type { TestKey } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import {
  casesOf,
  otherUuid,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
} from "./world.fixture.ts";

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
      "another form of a reason",
      "A reason is a word in lower case.",
      of({ status: "withdrawn", status_reason: "Approval reversed" }),
    ),
    bad("payload_malformed", "a long name", "A legal name of 257 characters.", {
      ...of({ legal_name: "x".repeat(257) }),
    }),
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
