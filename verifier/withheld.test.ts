// Evidence comes from a party that wants to be believed: leaving out a newer certificate, or newer keys, is detected.

import { describe, expect, it } from "vitest";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import type { Certificate } from "../protocol/keys/certificate.ts";
import { publishedKeys, recordBytes, sealedMandate } from "./business.fixture.ts";
import { evidenceText } from "./evidence.ts";
import { callerKeyId, fetchBody, servedAt } from "./retrieval.fixture.ts";
import { codeOf, held, makeScene } from "./scene.fixture.ts";
import {
  asJson,
  certificateAnswer,
  document,
  issueCertificate,
  keySetAnswer,
  soleKey,
} from "./service.fixture.ts";
import { verifyEvidence } from "./verifier.ts";

const { service, business, verifier } = makeScene();
const bytes = recordBytes();
const body = fetchBody(service, business, bytes);

const next = (facts: Partial<Certificate>) =>
  issueCertificate(service, {
    ...business.certificate,
    issued_at: "2026-03-04T00:00:00.000Z",
    previous: business.issued.certId,
    ...facts,
  });
/** Ends the business before the record was sealed. */
const revoked = next({
  status: "revoked",
  status_effective_from: "2026-02-20T00:00:00.000Z",
  status_reason: "fraud",
});

const keysAs = (changes: Partial<BusinessKeys>) => {
  const { signed: _, ...payload } = publishedKeys(service, business) as unknown as Omit<BusinessKeys, "v"> & {
    signed: unknown;
  };
  return asJson({
    signed: document("business-keys.v1", { v: 1, ...payload, ...changes }, soleKey(service.statement)),
  });
};
const old = certificateAnswer(business.issued.envelope);
const whole = certificateAnswer(revoked.envelope, business.issued.envelope);

function report(certificate: typeof old, businessKeys: ReturnType<typeof keysAs>) {
  const evidence = { certificate, businessKeys, mandate: sealedMandate(business), callerKeyId };
  const found = verifier.fetchAnswer(new TextEncoder().encode(body), evidence);
  const of = (name: string) => found.checks.find((check) => check.name === name);
  return { found, of };
}

describe("a certificate answer whose newest issuance is left out", () => {
  it("is certificate_unknown: the keys of the business name another one", () => {
    const honest = report(whole, keysAs({ cert_id: revoked.certId }));
    expect(honest.of("seal")).toMatchObject({ state: "failed", reason: "certificate_not_in_force" });
    const frozen = report(old, keysAs({ cert_id: revoked.certId }));
    expect(frozen.found.valid).toBe(false);
    expect(frozen.of("certificate")).toEqual({
      name: "certificate",
      state: "failed",
      reason: "certificate_unknown",
      detail: `The published keys name ${revoked.certId} as the certificate at 2026-06-01T00:00:00.000Z, and it is not among those given: a later issuance is left out.`,
    });
    expect(frozen.of("seal")).toMatchObject({ state: "not_checked" });
  });

  it("is noticed by whoever verifies a seal by itself, too", () => {
    const evidence = {
      bytes,
      seal: (JSON.parse(body) as { seal: typeof old }).seal,
      certificates: held(verifier.certificates(business.uuid, [business.issued.envelope])),
    };
    const codeWith = (certId: string) =>
      codeOf(
        verifier.seal({
          ...evidence,
          keys: held(verifier.businessKeys(business.uuid, keysAs({ cert_id: certId }))),
        }),
      );
    expect(codeWith(business.issued.certId)).toBe("ok");
    expect(codeWith(revoked.certId)).toBe("certificate_unknown");
  });

  it("is no concern where the certificates are newer than the keys: nothing is left out of them", () => {
    const renamed = next({ legal_name: "Nordlicht SE" });
    const newer = certificateAnswer(renamed.envelope, business.issued.envelope);
    expect(report(newer, keysAs({})).of("certificate")).toMatchObject({ state: "ok" });
  });
});

describe("keys of a business that are older than the answer", () => {
  const dayBefore = "2026-03-04T10:00:00.000Z";

  it("count for a day, and then say nothing of what was revoked since", () => {
    expect(Date.parse(servedAt) - Date.parse(dayBefore)).toBe(86_400_000);
    const near = report(old, keysAs({ issued_at: dayBefore }));
    expect(near.found).toMatchObject({ valid: true });
    expect(near.of("seal")).toMatchObject({ state: "ok" });
    const far = report(old, keysAs({ issued_at: "2026-03-04T09:59:59.999Z" }));
    expect(far.of("business_keys")).toEqual({
      name: "business_keys",
      state: "not_checked",
      detail: `They are as of 2026-03-04T09:59:59.999Z, more than a day before the answer was served (${servedAt}): what was revoked since is not in them.`,
    });
    for (const name of ["certificate", "seal", "ai_policy", "key_custody"])
      expect(far.of(name), name).toMatchObject({ state: "not_checked" });
    expect(far.found.complete).toBe(false);
  });

  it("still show a certificate that is left out", () => {
    const frozen = report(old, keysAs({ cert_id: revoked.certId, issued_at: "2026-02-25T00:00:00.000Z" }));
    expect(frozen.of("certificate")).toMatchObject({ state: "failed", reason: "certificate_unknown" });
  });
});

describe("a report", () => {
  it("says as of when each part of the evidence is", () => {
    const text = evidenceText({
      environment: "production",
      answer: { kind: "fetched", text: body },
      keySet: JSON.stringify(keySetAnswer(service)),
      certificate: JSON.stringify(old),
      businessKeys: JSON.stringify(publishedKeys(service, business)),
    });
    const { checks } = verifyEvidence({ anchors: service.anchors }, new TextEncoder().encode(text));
    const details = Object.fromEntries(checks.map(({ name, detail }) => [name, detail]));
    expect(details).toMatchObject({
      key_set: expect.stringMatching(/^Issued at 2026-\S+Z\.$/),
      certificate: expect.stringMatching(/ Complete as of 2026-06-01T00:00:00\.000Z\.$/),
      business_keys: "Issued at 2026-06-01T00:00:00.000Z.",
    });
  });

  it("says where nothing shows that a certificate is the newest", () => {
    const found = verifier.fetchAnswer(new TextEncoder().encode(body), { certificate: old });
    expect(found.checks.find((check) => check.name === "certificate")).toMatchObject({
      state: "ok",
      detail: expect.stringMatching(/ Nothing given says whether it is the newest\.$/),
    });
  });
});
