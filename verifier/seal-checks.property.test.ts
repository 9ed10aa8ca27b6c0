// The named checks of a seal under every combination of faults: each has the value that it has on its own, whatever else
// is wrong, and the reason is that of the first fault.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ReasonCode } from "../protocol/reason-codes.ts";
import { dose } from "../tools/test-dose.ts";
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
import { altered, makeScene } from "./scene.fixture.ts";
import type { SealEvidence } from "./seal.ts";
import type { CheckState, SealChecks } from "./seal-report.ts";
import { asJson, document, issueCertificate } from "./service.fixture.ts";
import { makeKey } from "./signing.fixture.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();
const abroad = recordBytes({ countries: ["US"] });
const { issued, passkey, system, hosted } = business;

interface World {
  readonly evidence: SealEvidence;
  /** The reason of the first fault; null for a good seal. */
  readonly reason: ReasonCode | null;
}

/** A way in which one ingredient may be wrong, with the reason that it gives, or null where nothing is wrong with it. */
type Fault<T> = readonly [value: T, reason: ReasonCode | null];

const signers = {
  own: null,
  forged: "signature_invalid",
  "another key of the business": "key_mismatch",
} as const satisfies Record<string, ReasonCode | null>;
type Signer = keyof typeof signers;

/** Every seal is made once: only evidence varies. */
function sealBy(path: "batch" | "single", signer: Signer) {
  const key = path === "batch" ? system : passkey;
  const maker = signer === "own" ? key : { ...makeKey(key.alg), keyId: key.keyId };
  const by = signer === "another key of the business" ? { ...maker, keyId: hosted.keyId } : maker;
  if (path === "single") {
    const facts = sealFacts(business, passkey, bytes);
    return passkeySeal({ ...business, passkey: by }, bytes, facts);
  }
  return batchSeal(business, [bytes, abroad], 0, { key: by, facts: { key_id: system.keyId } });
}

const seals = {
  batch: {
    own: sealBy("batch", "own"),
    forged: sealBy("batch", "forged"),
    "another key of the business": sealBy("batch", "another key of the business"),
  },
  single: {
    own: sealBy("single", "own"),
    forged: sealBy("single", "forged"),
    "another key of the business": sealBy("single", "another key of the business"),
  },
};

const key: readonly Fault<Partial<ReturnType<typeof listedKey>> | "unknown">[] = [
  [{}, null],
  ["unknown", "key_unknown"],
  [{ valid_until: sealedAt }, "key_not_valid"],
  [{ revoked_at: "2026-02-01T00:00:00.000Z" }, "key_not_valid"],
  [{ compromised_from: "2026-02-01T00:00:00.000Z" }, "key_compromised"],
];

const later = (facts: object) =>
  issueCertificate(service, { ...business.certificate, ...facts, previous: issued.certId }).envelope;
const certificate: readonly Fault<SealEvidence["certificates"]>[] = [
  [certificates(issued.envelope), null],
  [
    certificates(
      issued.envelope,
      later({
        issued_at: "2026-05-01T00:00:00.000Z",
        status: "closed",
        status_effective_from: "2026-05-01T00:00:00.000Z",
      }),
    ),
    null,
  ],
  [certificates(issued.envelope, later({ issued_at: sealedAt })), "certificate_not_in_force"],
  [
    certificates(
      issued.envelope,
      later({
        issued_at: sealedAt,
        status: "withdrawn",
        status_reason: "approval_reversed",
        status_effective_from: sealedAt,
      }),
    ),
    "certificate_withdrawn",
  ],
];

const since = "2026-01-02T00:00:00.000Z";
const policy: readonly Fault<NonNullable<SealEvidence["policies"]>>[] = [
  [{ versions: [{ version: 1, live_from: since }], isComplete: true }, null],
  [{ versions: [{ version: 2, live_from: since }], isComplete: true }, "ai_policy_version_mismatch"],
];

const { scope } = business.mandate;
const mandate: readonly Fault<NonNullable<SealEvidence["mandates"]>[number]>[] = [
  [{ envelope: sealedMandate(business), revoked_at: null }, null],
  [{ envelope: sealedMandate(business), revoked_at: sealedAt }, "out_of_scope"],
  [
    {
      envelope: sealedMandate(business, { scope: { ...scope, record_types: ["events"] } }),
      revoked_at: null,
    },
    "out_of_scope",
  ],
  [{ envelope: sealedMandate(business, { key_id: hosted.keyId }), revoked_at: null }, "out_of_scope"],
];

const event: readonly (readonly [SealEvidence["keyEvent"], CheckState, ReasonCode | null])[] = [
  [undefined, "not_checked", null],
  [{ found: true, isRequired: true }, "ok", null],
  [{ found: false, isRequired: false }, "missing", null],
  [{ found: false, isRequired: true }, "missing", "key_event_missing"],
];

const facts = { ...sidecarFacts(business, bytes), batch_id: null };
const sidecars = {
  batch: sidecarEnvelope(service, facts),
  single: sidecarEnvelope(service, {
    ...facts,
    path: "B",
    source: "manual",
    sealed_by_key_id: passkey.keyId,
    scope: { ...facts.scope, basis: "role", key_id: passkey.keyId, kind: "passkey", mandate_id: null },
  }),
};

/** The first one, with which nothing is wrong, comes most often: otherwise most worlds would end at an early fault. */
const mostly = <T>(good: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

type Drawable<L extends readonly unknown[]> = readonly [L[number], ...L];

const worlds = fc.record({
  path: fc.constantFrom("batch" as const, "single" as const),
  bytes: mostly(bytes, altered(bytes), abroad),
  signer: mostly<Signer>("own", "forged", "another key of the business"),
  key: mostly(...(key as Drawable<typeof key>)),
  certificate: mostly(...(certificate as Drawable<typeof certificate>)),
  policy: mostly(...(policy as Drawable<typeof policy>)),
  mandate: fc.constantFrom(...mandate),
  event: fc.constantFrom(...event),
  hasSidecar: fc.boolean(),
});
type Drawn = Parameters<
  Parameters<typeof fc.property<[typeof worlds extends fc.Arbitrary<infer T> ? T : never]>>[1]
>[0];

function worldOf(drawn: Drawn): World {
  const { path, signer } = drawn;
  const named = path === "batch" ? system : passkey;
  const kind = path === "batch" ? "system" : "passkey";
  const [window, keyReason] = drawn.key;
  const listed = [
    ...business.listed.filter(({ key_id: id }) => id !== named.keyId),
    ...(window === "unknown" ? [] : [listedKey(kind, named, window)]),
  ];
  const isBytes = drawn.bytes === bytes;
  const maker = signer === "another key of the business" ? "key_mismatch" : null;
  const forged = signer === "forged" ? "signature_invalid" : null;
  const reasons = [
    // A path that does not lead from other bytes to the root looks like a wrong path, unless the sidecar names the right bytes.
    isBytes ? null : path === "batch" && !drawn.hasSidecar ? "inclusion_invalid" : "hash_mismatch",
    maker,
    keyReason === "key_unknown" ? keyReason : null,
    forged,
    keyReason,
    drawn.certificate[1],
    drawn.policy[1],
    path === "batch" ? drawn.mandate[1] : null,
    drawn.event[2],
  ] as const;
  const [keyEvent] = drawn.event;
  return {
    evidence: {
      bytes: drawn.bytes,
      seal: seals[path][signer],
      certificates: drawn.certificate[0],
      keys: keys(listed),
      policies: drawn.policy[0],
      mandates: [drawn.mandate[0]],
      ...(keyEvent === undefined ? {} : { keyEvent }),
      ...(drawn.hasSidecar ? { sidecar: sidecars[path] } : {}),
    },
    reason: reasons.find((each) => each !== null) ?? null,
  };
}

/** What each check is by its own ingredient. Without the sealed bytes or the service's word, the countries are unknown. */
function checksOf({ path, key: [window], mandate: [, outOfScope], ...drawn }: Drawn): SealChecks {
  const isScopeKnown = path === "single" || drawn.bytes === bytes || drawn.hasSidecar;
  const scoped = path === "batch" && outOfScope !== null ? "failed" : isScopeKnown ? "ok" : "not_checked";
  return {
    certificate: drawn.certificate[1] === null ? "ok" : "failed",
    ai_policy: drawn.policy[1] === null ? "ok" : "failed",
    scope: window === "unknown" ? "not_checked" : scoped,
    key_event: drawn.event[1],
  };
}

describe("each named check", () => {
  it("has the value that it has on its own, and the first fault is the reason", () => {
    fc.assert(
      fc.property(worlds, (drawn) => {
        const { evidence, reason } = worldOf(drawn);
        const verdict = verifier.seal(evidence);
        expect([
          verdict.ok ? null : verdict.code,
          verdict.ok ? verdict.value.checks : verdict.checks,
        ]).toEqual([reason, checksOf(drawn)]);
      }),
      { numRuns: dose(600) },
    );
  }, 60_000);
});

it("a sidecar of another seal says nothing of this one, and neither does one of nobody", () => {
  const evidence = {
    bytes: altered(bytes),
    seal: seals.batch.own,
    certificates: certificates(issued.envelope),
    keys: keys(),
    mandates: [{ envelope: sealedMandate(business), revoked_at: null }],
  };
  const scopeWith = (sidecar: SealEvidence["sidecar"]) => {
    const verdict = verifier.seal({ ...evidence, ...(sidecar === undefined ? {} : { sidecar }) });
    return verdict.ok ? "ok" : verdict.checks.scope;
  };
  expect(scopeWith(sidecars.batch)).toBe("ok");
  expect(scopeWith(sidecarEnvelope(service, { ...facts, sealed_at: "2026-03-01T12:00:00.001Z" }))).toBe(
    "not_checked",
  );
  expect(scopeWith(asJson(document("sidecar.v2", facts, makeKey("Ed25519")) as object))).toBe("not_checked");
});
