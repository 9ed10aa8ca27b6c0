import { expect, it } from "vitest";
import type { MandateFacts } from "../../actors/messages/business.ts";
import { ok } from "../../protocol/result.ts";
import type { SealV2 } from "../../protocol/seal.ts";
import type { Sidecar } from "../../protocol/signed-version.ts";
import type { Trust } from "../../verifier/trust.ts";
import type { Standing } from "../register/standing.ts";
import { sealEvidence, type VerifyInput } from "./verify-evidence.ts";

const keyId = "A".repeat(43);
const uuid = "00000000-0000-4000-8000-000000000001";
const input: VerifyInput = {
  bytes: new Uint8Array(),
  hash: `sha256:${"1".repeat(64)}`,
  seal: null,
  sidecar: null,
  row: null,
  policyBits: null,
  keyEvents: "warn",
};
const seal: SealV2 = {
  v: 2,
  key_id: keyId,
  cert_id: `sha256:${"0".repeat(64)}`,
  hash: `sha256:${"1".repeat(64)}`,
  sealed_at: "2026-03-10T00:00:00.000Z",
  record_type: "products",
  ai_policy_version: 0,
};

function mandate(id: string, from: string, revokedAt: string | null = null): MandateFacts {
  return {
    mandate_id: id,
    business_uuid: uuid,
    key_id: keyId,
    scope: {
      record_types: ["products"],
      countries: ["US"],
      directions: ["publish"],
      caps: { records_per_hour: 1, bytes_per_day: 1 },
      source_ip_allow_list: null,
    },
    valid_from: from,
    valid_until: "2026-05-01T00:00:00.000Z",
    revoked_at: revokedAt,
    accepted_at: from,
    envelope: JSON.stringify({ of: id }),
  };
}

/** A sidecar of the version that the seal covers, published under a mandate. */
function sidecarUnder(mandateId: string): Sidecar {
  return {
    v: 2,
    action: "publish",
    ai_policy_version: 0,
    batch_id: null,
    business_uuid: uuid,
    cert_id: seal.cert_id,
    change: 1,
    generation: 1,
    path: "A",
    record_id: `svc_${"a".repeat(26)}`,
    published_at: seal.sealed_at,
    received_at: seal.sealed_at,
    sealed_at: seal.sealed_at,
    record_type: "products",
    record_version: 1,
    seal_ok: true,
    sealed_by_key_id: keyId,
    sha256: input.hash,
    source: "api",
    scope: {
      basis: "mandate",
      key_id: keyId,
      kind: "system",
      mandate_id: mandateId,
      permissions: ["publish:products"],
    },
  };
}

function mandateOf(
  mandates: readonly MandateFacts[],
  sidecar: Sidecar | null = null,
  receivedAt?: string,
): unknown {
  const standing: Standing = {
    uuid,
    certificates: { uuid, issuances: [] },
    keys: { v: 1, uuid, cert_id: seal.cert_id, issued_at: seal.sealed_at, keys: [] },
    policies: { versions: [], isComplete: true },
    mandates,
  };
  const claimed = { seal, sidecar: sidecar === null ? null : ok(sidecar), row: null };
  const logged = { seal: { kind: "absent" }, keyEvent: { kind: "absent" } } as const;
  // Its mandates are not envelopes: none of them gets as far as being verified.
  const receipt = receivedAt === undefined ? undefined : { received_at: receivedAt, isPublished: true };
  const facts = { claimed, standing, logged, at: seal.sealed_at };
  return sealEvidence({} as Trust, input, facts, receipt).mandates?.[0]?.envelope;
}

it("a seal without its sidecar is judged by the mandate that it was published under: of those in force then, the last to begin", () => {
  const replaced = mandate("replaced", "2026-03-01T00:00:00.000Z", "2026-03-20T00:00:00.000Z");
  const ended = mandate("ended", "2026-03-08T00:00:00.000Z", "2026-03-09T00:00:00.000Z");
  const replacing = mandate("replacing", "2026-03-05T00:00:00.000Z");
  const later = mandate("later", "2026-03-11T00:00:00.000Z");
  expect(mandateOf([later, replaced, ended, replacing])).toEqual({ of: "replacing" });
  expect(mandateOf([replacing, later, replaced])).toEqual({ of: "replacing" });
  expect(mandateOf([later, replaced])).toEqual({ of: "replaced" });
});

it("a sidecar names the mandate of its own seal, and of no other", () => {
  const earlier = mandate("earlier", "2026-03-01T00:00:00.000Z");
  const newest = mandate("newest", "2026-03-05T00:00:00.000Z");
  expect(mandateOf([newest, earlier], sidecarUnder("earlier"))).toEqual({ of: "earlier" });
  const others = [{ sha256: `sha256:${"2".repeat(64)}` }, { sealed_at: "2026-03-09T00:00:00.000Z" }];
  for (const other of others) {
    const sidecar = { ...sidecarUnder("earlier"), ...other };
    expect(mandateOf([newest, earlier], sidecar)).toEqual({ of: "newest" });
  }
  // A mandate that this register has not heard of is no reason to judge by another.
  expect(mandateOf([newest, earlier], sidecarUnder("elsewhere"))).toBeUndefined();
});

it("a mandate that the register took later, though it begins earlier, is not the one that an older seal was published under", () => {
  const then = mandate("then", "2026-03-01T00:00:00.000Z");
  const late = { ...mandate("late", "2026-03-05T00:00:00.000Z"), accepted_at: "2026-03-11T00:00:00.000Z" };
  expect(mandateOf([late, then])).toEqual({ of: "then" });
  // Sealed before the mandate was accepted but pushed afterwards: the mandate counts.
  expect(mandateOf([late, then], null, "2026-03-11T00:00:00.000Z")).toEqual({ of: "late" });
  expect(mandateOf([late])).toEqual({ of: "late" });
});
