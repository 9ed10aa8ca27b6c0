import { describe, expect, it } from "vitest";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type Certificate, certificatePayload } from "../../protocol/keys/certificate.ts";
import { keyCustodyPayload } from "../../protocol/keys/key-directory.ts";
import { createIssuance, judgeIssuable } from "./issuance.ts";

const nowMs = Date.UTC(2026, 5, 1);
const now = formatTimestamp(nowMs);
const uuid = "11111111-1111-4111-8111-111111111111";

const certificate = (changes: Partial<Certificate> = {}) => ({
  payloadType: payloadTypes["certificate.v1"],
  payload: certificatePayload({
    v: 1,
    subject: { kind: "business", uuid },
    legal_name: "Nordlicht GmbH",
    country: "DE",
    verified_since: now,
    status: "active",
    status_effective_from: now,
    issued_at: now,
    previous: null,
    ...changes,
  }),
});

const custody = (changes: object = {}) => ({
  payloadType: payloadTypes["key-custody.v1"],
  payload: keyCustodyPayload({
    v: 1,
    business_uuid: uuid,
    key_id: "k".repeat(43),
    custody: "hosted",
    issued_at: now,
    effective_from: now,
    ...changes,
  } as Parameters<typeof keyCustodyPayload>[0]),
});

const production = { environment: "production", nowMs } as const;
const sandbox = { environment: "sandbox", nowMs } as const;

describe("the issuance key", () => {
  it("signs certificates and custody statements of its environment, issued now", () => {
    expect(judgeIssuable(certificate(), production)).toEqual({
      ok: true,
      value: { kind: "certificate", subject: uuid, says: "active", issued_at: now },
    });
    expect(judgeIssuable(custody({ sandbox: true }), sandbox)).toMatchObject({
      value: { kind: "key_custody", subject: uuid, says: "hosted" },
    });
    for (const ms of [-300_000, 300_000])
      expect(judgeIssuable(certificate(), { ...production, nowMs: nowMs + ms }).ok).toBe(true);
  });

  it.each([
    ["of a sandbox in production", certificate({ sandbox: true }), production, /not marked .* production/],
    ["of production in a sandbox", custody(), sandbox, /not marked .* sandbox/],
    ["withdrawn without a reason", certificate({ status: "withdrawn" }), production, /must state its reason/],
    ["active with a reason", certificate({ status_reason: "x" }), production, /must have no reason/],
    ["of five minutes ago", certificate(), { ...production, nowMs: nowMs + 300_001 }, /must be now/],
    ["of a time to come", custody(), { ...production, nowMs: nowMs - 300_001 }, /must be now/],
    [
      "in effect later",
      custody({ effective_from: formatTimestamp(nowMs + 1) }),
      production,
      /must take effect/,
    ],
    [
      "under another type",
      { ...custody(), payloadType: payloadTypes["certificate.v1"] },
      production,
      /cannot be read/,
    ],
    [
      "that is a receipt",
      { ...certificate(), payloadType: payloadTypes["receipt.v3"] },
      production,
      /does not sign documents/,
    ],
    [
      "that is a key set",
      { ...certificate(), payloadType: payloadTypes["key-set.v1"] },
      production,
      /does not sign documents/,
    ],
  ])("signs no document %s", (_what, document, at, message) => {
    expect(judgeIssuable(document, at)).toEqual({
      ok: false,
      code: "issuance_refused",
      detail: expect.stringMatching(message),
    });
  });

  it("is not asked for what may not be issued", async () => {
    const pair = [
      createSigner(generatePrivateJwk("ES256")),
      createSigner(generatePrivateJwk("ML-DSA-65")),
    ] as const;
    const issuance = createIssuance(pair, { environment: "production", clock: { now: () => nowMs } });
    const good = certificate();
    const issued = await issuance.issue(good.payloadType, good.payload);
    expect(issued).toMatchObject({ value: { signatures: pair.map(({ keyId }) => ({ keyid: keyId })) } });
    const bad = certificate({ status: "withdrawn" });
    expect(await issuance.issue(bad.payloadType, bad.payload)).toMatchObject({ code: "issuance_refused" });
  });
});
