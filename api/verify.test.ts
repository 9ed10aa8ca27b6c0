import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSigningKey } from "../client/signing-key.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { actionNames, aiPolicyBytes, blockedNames, useNames } from "../protocol/ai-policy.ts";
import { parseBase64, toBase64 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { product, seal, sealHosted } from "../stories/publishing/publishing.fixture.ts";
import { verifyStatement } from "../verifier/service-statements.ts";
import { assertReadable, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { type ReceivedAnswer, send } from "./surfaces.fixture.ts";

let world: Verifiable;

beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

describe("POST /v1/verify", () => {
  const record = (): string =>
    toBase64(new TextEncoder().encode(exactMember(world.fetched.text, "record") ?? ""));
  const verify = async (body: object): Promise<ReceivedAnswer> => {
    const request = { path: "/v1/verify", body: JSON.stringify(body) };
    return assertReadable(world.trust, await send(world.surfaces.verifyUrl, null, request));
  };
  const whole = () => ({
    record_base64: record(),
    seal: world.fetched.json["seal"],
    sidecar: world.fetched.json["sidecar"],
    row: world.row,
  });
  const flipped = (): string => {
    const bytes = parseBase64(record()) ?? new Uint8Array();
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    return toBase64(bytes);
  };

  it("finds a pushed record in order, names each check, and signs what it says", async () => {
    const answer = await verify(whole());
    expect(answer.json).toMatchObject({
      valid: true,
      seal: {
        valid: true,
        business_uuid: world.business.party.uuid,
        key_id: world.business.signingKey.keyId,
        cert_id: world.business.certId,
        ai_policy_version: 1,
        custody: "self",
        checks: { certificate: "ok", ai_policy: "ok", scope: "ok", key_event: "missing" },
      },
      log_inclusion: { status: "not_in_log" },
      projection: { valid: true, row_signature: { valid: true }, projection: { valid: true } },
      ai_policy_bits: null,
      ad: null,
    });
    expect(answer.json["warnings"]).toEqual(
      expect.arrayContaining([expect.stringContaining("transparency log")]),
    );
    const { statement, ...findings } = answer.json as { statement: { payload: string; payloadType: string } };
    expect(JSON.parse(new TextDecoder().decode(parseBase64(statement.payload) ?? new Uint8Array()))).toEqual({
      v: 1,
      record_hash: world.row["adl_origin"],
      sandbox: true,
      ...findings,
    });
    expect(statement.payloadType).toBe(payloadTypes["verify-statement.v1"]);
    const bytes = parseBase64(record()) ?? new Uint8Array();
    expect(verifyStatement(world.trust, rubbish(statement), { bytes })).toMatchObject({ ok: true });
  });

  const sealOf = (): Record<string, unknown> =>
    structuredClone(world.fetched.json["seal"]) as Record<string, unknown>;
  it.each<readonly [string, string, string, () => object]>([
    ["a flipped bit", "seal", "hash_mismatch", () => ({ ...whole(), record_base64: flipped() })],
    [
      "a flipped bit and no sidecar",
      "seal",
      "hash_mismatch",
      () => ({ record_base64: flipped(), seal: world.fetched.json["seal"] }),
    ],
    [
      "another leaf",
      "seal",
      "inclusion_invalid",
      () => ({ ...whole(), seal: { ...sealOf(), leaf_index: 1 - Number(sealOf()["leaf_index"]) } }),
    ],
    [
      "a member that envelopes do not have",
      "seal",
      "envelope_malformed",
      () => ({ ...whole(), seal: { ...sealOf(), extra: 1 } }),
    ],
    [
      "no leaf of the key, which is required",
      "seal",
      "key_event_missing",
      () => ({ ...whole(), key_events: "require" }),
    ],
    [
      "a row that was changed",
      "projection",
      "row_signature_invalid",
      () => ({ ...whole(), row: { ...world.row, brand: "Other" } }),
    ],
    [
      "a row of an unknown projection",
      "projection",
      "projection_unknown",
      () => ({ ...whole(), row: { ...world.row, adl_proj: "products/9" } }),
    ],
    [
      "a seal by a key that nobody has",
      "seal",
      "key_unknown",
      () => {
        const seal = sealOf() as { batch_seal: { payload: string; signatures: { keyid: string }[] } };
        const payload = JSON.parse(atob(seal.batch_seal.payload)) as Record<string, unknown>;
        const keyid = "A".repeat(43);
        seal.batch_seal.payload = btoa(JSON.stringify({ ...payload, key_id: keyid }));
        for (const signature of seal.batch_seal.signatures) signature.keyid = keyid;
        return { record_base64: record(), seal };
      },
    ],
  ])("answers 200 and valid: false for %s", async (_name, section, reason, body) => {
    const answer = await verify(body());
    expect(answer).toMatchObject({
      status: 200,
      json: { valid: false, [section]: { valid: false, reason } },
    });
  });

  it("says of a refused seal what it claims, apart from what was verified, and what each check is", async () => {
    const members = {
      key_id: world.business.signingKey.keyId,
      cert_id: world.business.certId,
      record_type: "products",
      format: 2,
      ai_policy_version: 1,
      leaf: { index: expect.any(Number), tree_size: 2, root: expect.stringMatching(/^sha256:/) },
    };
    const altered = await verify({ ...whole(), record_base64: flipped() });
    const { valid, reason, claimed, checks, detail, ...rest } = altered.json["seal"] as JsonObject;
    expect([valid, reason, typeof detail, rest]).toEqual([
      false,
      "hash_mismatch",
      "string",
      { key_event: null },
    ]);
    expect(claimed).toEqual({ ...members, hash: null, sealed_at: expect.stringMatching(/Z$/) });
    const stands = { certificate: "ok", ai_policy: "ok", scope: "ok", key_event: "missing" };
    expect(checks).toEqual(stands);
    const required = await verify({ ...whole(), key_events: "require" });
    expect(required.json["seal"]).toMatchObject({
      claimed: members,
      checks: stands,
    });
    const unread = await verify({ ...whole(), seal: { ...sealOf(), extra: 1 } });
    expect(unread.json["seal"]).toMatchObject({ reason: "envelope_malformed", claimed: null });
  });

  it("judges bits against the sealed AI policy", async () => {
    const bits = { ...(world.row["ai_policy_bits"] as Record<string, number>) };
    const body = {
      record_base64: toBase64(world.policy.record),
      seal: world.policy.seal,
      ai_policy_bits: bits,
    };
    const answer = await verify(body);
    expect(answer.json).toMatchObject({
      valid: true,
      ai_policy_bits: { valid: true, blocked: [{ code: "bc2", name: "alcohol" }] },
    });
    const wrong = await verify({ ...body, ai_policy_bits: { ...bits, blocked: 0 } });
    expect(wrong.json).toMatchObject({
      valid: false,
      ai_policy_bits: { valid: false, reason: "ai_policy_bits_mismatch" },
    });
    const purchaseWithheld = await verify({
      ...body,
      ai_policy_bits: { ...bits, action: (bits["action"] ?? 0) & ~8 },
    });
    expect(purchaseWithheld.json).toMatchObject({ valid: true, ai_policy_bits: { purchase_withheld: true } });
  });

  it("refuses what a key sealed that never had a mandate", async () => {
    const { business, surfaces } = world;
    const { services } = surfaces;
    const parsed = await parseSigningKey(generatePrivateJwk("Ed25519"));
    if (!parsed.ok) throw new Error(parsed.detail);
    const { keyId, publicJwk } = parsed.value;
    await services.parties.registerKey({
      key_id: keyId,
      party_uuid: business.party.uuid,
      role: "integration",
      alg: "Ed25519",
      public_key: rubbish(publicJwk),
      cose: null,
      valid_until: null,
      revoked_at: null,
      valid_from: business.key.valid_from,
      compromised_from: null,
    });
    const bytes = product("without a mandate");
    const { batch_seal } = await seal({ ...business, signingKey: parsed.value }, [bytes], {
      aiPolicyVersion: 1,
    });
    const sealed = { batch_seal, leaf_index: 0, tree_size: 1, proof: [] };
    const answer = await verify({ record_base64: toBase64(bytes), seal: sealed });
    expect(answer.json).toMatchObject({
      valid: false,
      seal: { reason: "out_of_scope", checks: { certificate: "ok", ai_policy: "ok", scope: "failed" } },
    });
    // Whether it also covers what is not at hand makes no difference.
    const elsewhere = await verify({ record_base64: toBase64(product("another")), seal: sealed });
    expect(elsewhere.json["seal"]).toMatchObject({ checks: { scope: "failed" } });
  });

  it("refuses an AI policy that is not what the register accepted as that version", async () => {
    const { business, policy, surfaces } = world;
    const who = { uuid: business.party.uuid, certId: business.certId };
    const accepted = await verify({ record_base64: toBase64(policy.record), seal: policy.seal });
    expect(accepted.json).toMatchObject({ valid: true, seal: { checks: { ai_policy: "ok" } } });
    const all = <N extends string>(names: readonly N[]) =>
      Object.fromEntries(names.map((name) => [name, true])) as Record<N, boolean>;
    const record = aiPolicyBytes({
      schema: "svc/ai_policy/1",
      ai_policy_schema: 2,
      use: all(useNames),
      action: all(actionNames),
      blocked: all(blockedNames),
    });
    const bits = world.row["ai_policy_bits"];
    for (const [bytes, version] of [
      [record, 1],
      [record, 9],
      [policy.record, 9],
    ] as const) {
      const about = { record: bytes, record_type: "ai_policy", ai_policy_version: version };
      const sealed = await sealHosted(surfaces.services, who, about);
      const answer = await verify({ record_base64: toBase64(bytes), seal: sealed, ai_policy_bits: bits });
      expect(answer.json, `version ${version}`).toMatchObject({
        valid: false,
        seal: { reason: "ai_policy_version_mismatch", checks: { ai_policy: "failed", scope: "ok" } },
        ai_policy_bits: { valid: false, reason: "ai_policy_version_mismatch" },
      });
    }
  });

  it("refuses a seal from more than five minutes ahead", async () => {
    const { business, surfaces } = world;
    const who = { uuid: business.party.uuid, certId: business.certId };
    const about = { record: product("ahead"), record_type: "products", ai_policy_version: 1 };
    const verdictAhead = async (aheadMs: number): Promise<JsonObject> => {
      const clock = { now: () => surfaces.services.clock.now() + aheadMs };
      const sealed = await sealHosted({ ...surfaces.services, clock }, who, about);
      const { json } = await verify({ record_base64: toBase64(about.record), seal: sealed });
      return json["seal"] as JsonObject;
    };
    expect(await verdictAhead(290_000)).toMatchObject({ valid: true, checks: { certificate: "ok" } });
    for (const aheadMs of [330_000, 60 * 86_400_000])
      expect(await verdictAhead(aheadMs)).toMatchObject({
        valid: false,
        reason: "certificate_not_in_force",
        checks: { certificate: "failed", ai_policy: "not_checked", scope: "not_checked" },
      });
  });

  it.each<readonly [string, object, string | undefined, string | undefined]>([
    ["a bare id", { record_id: `svc_${"a".repeat(26)}` }, "/record_id", undefined],
    ["a misspelt member", { record_bas64: "AAAA" }, "/record_bas64", "record_base64"],
    ["nothing", {}, "/record_base64", undefined],
    ["a record alone", { record_base64: "AAAA" }, undefined, undefined],
    ["bits without a seal", { record_base64: "AAAA", row: {}, ai_policy_bits: {} }, "/seal", undefined],
    ["no base64", { record_base64: "A", seal: {} }, "/record_base64", undefined],
    ["204,804 characters", { record_base64: "A".repeat(204_804), seal: {} }, "/record_base64", undefined],
    ["a seal that is no object", { record_base64: "AAAA", seal: "x" }, "/seal", undefined],
    [
      "another word for key_events",
      { record_base64: "AAAA", seal: {}, key_events: "maybe" },
      "/key_events",
      undefined,
    ],
    ["an ad item with more", { ad_item: { record_base64: "AAAA" }, row: {} }, "/ad_item", undefined],
    ["an ad item without its bytes", { ad_item: {} }, "/ad_item/record_base64", undefined],
  ])("refuses %s", async (_name, body, pointer, suggestion) => {
    const answer = await verify(body);
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    expect([answer.json["pointer"], answer.json["suggestion"]]).toEqual([pointer, suggestion]);
  });

  it("tells all faults of a body at once", async () => {
    const answer = await verify({ seal: 1, row: 2, other: 3 });
    expect((answer.json["errors"] as { pointer: string }[]).map((fault) => fault.pointer).sort()).toEqual([
      "/other",
      "/row",
      "/seal",
    ]);
  });

  it("says long words of the caller's in a bounded length, and counts values before it makes anything of them", async () => {
    const named = await verify({ [`${"A".repeat(200_000)}`]: 0 });
    expect(named).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    expect(named.text.length).toBeLessThan(4_096);
    const typed = await verify({
      ...whole(),
      seal: { ...(whole().seal as object), ["B".repeat(100_000)]: 1 },
    });
    expect(typed.text.length).toBeLessThan(32_768);
    const row = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`m${index}`, {}]));
    expect(await verify({ ...whole(), row })).toMatchObject({
      status: 400,
      json: {
        code: "request_invalid",
        detail: "The body is not strict JSON: The JSON has more than 4096 values.",
      },
    });
  });

  it("answers any origin, its preflight and its refusals too, and never allows credentials", async () => {
    for (const base of [world.surfaces.verifyUrl, world.surfaces.retrievalUrl]) {
      const preflight = await send(base, null, {
        path: "/v1/verify",
        method: "OPTIONS",
        headers: {
          origin: "https://anyone.test",
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
        },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get("access-control-allow-methods")).toBe("POST, OPTIONS");
      expect(preflight.headers.get("access-control-allow-headers")).toContain("content-type");
      const refused = await send(base, null, { path: "/v1/verify", body: "{}" });
      const read = await send(base, null, { path: "/.well-known/keys" });
      for (const answer of [preflight, refused, read]) {
        expect(answer.headers.get("access-control-allow-origin")).toBe("*");
        expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
      }
    }
    const signedRoute = await send(world.surfaces.retrievalUrl, null, { path: "/v1/search", body: "{}" });
    expect(signedRoute.headers.get("access-control-allow-origin")).toBeNull();
  });
});
