// ST1: what was accepted, and of which only the standing of its key, certificate or mandate changed since, has the same reason by the
// rule alone as by the verification of the whole document.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKey } from "../protocol/keys/business-keys.ts";
import { dose } from "../tools/test-dose.ts";
import {
  batchSeal,
  listedKey,
  passkeySeal,
  recordBytes,
  sealedMandate,
  sealedPolicy,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import type { CertificateHistory } from "./certificate.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import type { SealEvidence } from "./seal.ts";
import { issueCertificate } from "./service.fixture.ts";
import { type AcceptedSeal, standingFault } from "./standing.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const { issued, passkey, system, hosted, mandate } = business;

/** Every document is sealed at noon and received a second later, or by a clock that is ahead, received a second before. */
const noon = "2026-03-01T12:00:00.000Z";
const receipts = ["2026-03-01T11:59:59.000Z", "2026-03-01T12:00:01.000Z"] as const;
/** From long before to long after, with the moments on both sides of each. */
const moment = fc.constantFrom(
  "2026-01-15T00:00:00.000Z",
  "2026-02-01T00:00:00.000Z",
  "2026-02-15T00:00:00.000Z",
  "2026-03-01T11:59:58.999Z",
  receipts[0],
  "2026-03-01T11:59:59.001Z",
  noon,
  "2026-03-01T12:00:00.001Z",
  receipts[1],
  "2026-03-01T12:00:01.001Z",
  "2026-04-01T00:00:00.000Z",
);
const since = fc.option(moment);
/** What is revoked was in force when the seal came. */
const later = fc.option(fc.constantFrom("2026-03-01T12:00:02.000Z", "2026-04-01T00:00:00.000Z"));
const ended = fc.record({ revoked_at: later, compromised_from: since });

const bytes = recordBytes();
const withdrawal = utf8(`{"record_id":"svc_${"a".repeat(26)}","action":"withdraw","at":"${noon}"}`);
const policy = sealedPolicy(business, undefined, { sealed_at: noon });

interface Kind {
  readonly evidence: Pick<SealEvidence, "document" | "bytes" | "seal">;
  readonly sealer: "system" | "passkey";
  readonly hasSidecar: boolean;
}
const kinds: Readonly<Record<string, Kind>> = {
  "record of a batch": {
    evidence: { bytes, seal: batchSeal(business, [bytes, recordBytes({ on_sale: true })], 0) },
    sealer: "system",
    hasSidecar: true,
  },
  "record sealed alone": {
    evidence: { bytes, seal: passkeySeal(business, bytes) },
    sealer: "passkey",
    hasSidecar: true,
  },
  "AI policy": {
    evidence: { document: "ai_policy", bytes: policy.bytes, seal: policy.seal },
    sealer: "passkey",
    hasSidecar: false,
  },
  withdrawal: {
    evidence: { document: "withdrawal", bytes: withdrawal, seal: passkeySeal(business, withdrawal) },
    sealer: "passkey",
    hasSidecar: false,
  },
};

function sidecarOf(sealer: Kind["sealer"], received_at: string): JsonValue {
  const facts = { ...sidecarFacts(business, bytes), received_at };
  if (sealer === "system") return sidecarEnvelope(service, facts);
  const key = { sealed_by_key_id: passkey.keyId, path: "B", batch_id: null } as const;
  const scope = { ...facts.scope, basis: "role", key_id: passkey.keyId, kind: "passkey", mandate_id: null };
  return sidecarEnvelope(service, { ...facts, ...key, scope });
}

interface Ending {
  readonly status: "revoked" | "closed" | "withdrawn";
  readonly status_effective_from: string;
}
const ending: fc.Arbitrary<Ending | null> = fc.option(
  fc.record({
    status: fc.constantFrom("revoked", "closed", "withdrawn"),
    status_effective_from: moment,
  }),
);

/** Each history is signed once. */
const histories = new Map<string, CertificateHistory>();

function historyWith(last: Ending | null): CertificateHistory {
  const name = JSON.stringify(last);
  const known = histories.get(name);
  if (known !== undefined) return known;
  const place = { issued_at: "2026-05-01T00:00:00.000Z", previous: issued.certId, status_reason: "decided" };
  const later =
    last === null ? [] : [issueCertificate(service, { ...business.certificate, ...last, ...place })];
  const history = certificates(issued.envelope, ...later.map(({ envelope }) => envelope));
  histories.set(name, history);
  return history;
}

const live = { revoked_at: null, compromised_from: null };
const stands = { own: live, owner: live, mandateRevoked: null, received: receipts[1], certificate: null };
const taken = { revoked_at: null, compromised_from: "2026-02-15T00:00:00.000Z" as const };
const revoked: Ending = { status: "revoked", status_effective_from: "2026-02-15T00:00:00.000Z" };

describe.each(Object.entries(kinds))("a %s", (name, { evidence, sealer, hasSidecar }) => {
  it("stands by the rule whenever it verifies, and otherwise falls with the same reason", () => {
    const seen = new Set<string>();
    const parts = {
      own: ended,
      owner: ended,
      mandateRevoked: later,
      received: fc.constantFrom(...receipts),
      certificate: ending,
    };
    fc.assert(
      fc.property(fc.record(parts), ({ own, owner, mandateRevoked, received, certificate }) => {
        const listed: readonly BusinessKey[] = [
          listedKey("passkey", passkey, sealer === "passkey" ? own : owner),
          listedKey("hosted", hosted),
          listedKey("system", system, sealer === "system" ? own : {}),
        ];
        const history = historyWith(certificate);
        const published = keys(listed);
        const key = (id: string) => published.keys.find(({ key_id }) => key_id === id) ?? null;
        const seal: AcceptedSeal = {
          key_id: sealer === "system" ? system.keyId : passkey.keyId,
          cert_id: issued.certId,
          sealed_at: noon,
          received_at: received,
          isStated: hasSidecar,
          mandate_id: sealer === "system" ? mandate.mandate_id : null,
          ...(name === "withdrawal" ? { mayBeEnded: true } : {}),
        };
        const fault = standingFault(seal, {
          key: key(seal.key_id),
          certificates: history,
          mandate: { valid_from: mandate.valid_from, revoked_at: mandateRevoked, sealer: key(passkey.keyId) },
        });
        const verdict = verifier.seal({
          ...evidence,
          certificates: history,
          keys: published,
          ...(hasSidecar ? { sidecar: sidecarOf(sealer, received) } : { received: { at: received } }),
          ...(sealer === "system"
            ? { mandates: [{ envelope: sealedMandate(business), revoked_at: mandateRevoked }] }
            : {}),
        });
        seen.add(codeOf(verdict));
        expect(fault?.code ?? "ok").toBe(codeOf(verdict));
      }),
      {
        numRuns: dose(300),
        examples: [[stands], [{ ...stands, own: taken }], [{ ...stands, certificate: revoked }]],
      },
    );
    // A withdrawal may name a certificate that has ended.
    const ends = name === "withdrawal" ? [] : ["certificate_not_in_force"];
    expect([...seen]).toEqual(expect.arrayContaining(["ok", "key_compromised", ...ends]));
  });
});
