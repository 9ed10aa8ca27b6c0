import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import { openBusiness, product, sealAndPublish, type TestBusiness } from "../node/publishing.fixture.ts";
import { actionNames, aiPolicyBytes, blockedNames, useNames } from "../protocol/ai-policy.ts";
import { parseBase64, toBase64 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { exactMember } from "../protocol/exact-member.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { sealPayload } from "../protocol/seal.ts";
import { signEnvelope } from "../service/sign-envelope.ts";
import { ownTrust } from "../service/standing.ts";
import { verifyBusinessKeys } from "../verifier/business-keys.ts";
import { certificateEnvelopes, verifyCertificates } from "../verifier/certificate.ts";
import { verifyKeyCustody } from "../verifier/key-custody.ts";
import type { Trust } from "../verifier/trust.ts";
import { verifyWorking } from "../verifier/working-signature.ts";
import {
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let trust: Trust;
let company: TestCaller;
let fetched: ReceivedAnswer;
let row: Record<string, JsonValue>;
let policy: { readonly record: Uint8Array; readonly seal: JsonValue };
const companyUuid = "10000000-0000-4000-8000-000000000001";
const nobody = "90000000-0000-4000-8000-000000000009";

const get = (path: string, headers: Record<string, string> = {}): Promise<ReceivedAnswer> =>
  send(surfaces.verifyUrl, null, { path, headers });

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  trust = ownTrust(services.anchors, services.keys.keySet, nativeCrypto);
  company = await newCaller(services.keys.grant, "retrieval", companyUuid);
  business = await openBusiness(services);
  policy = await sealPolicy();
  await services.parties.acceptPolicy({
    uuid: business.party.uuid,
    record: policy.record,
    seal: policy.seal as never,
  });
  await sealAndPublish(services, business, [product("a"), product("b")], { aiPolicyVersion: 1 });
  const found = await send(surfaces.retrievalUrl, company, {
    path: "/v1/products/search",
    body: JSON.stringify(productSearch),
  });
  row = (found.json["rows"] as Record<string, JsonValue>[])[0] ?? {};
  fetched = await send(surfaces.retrievalUrl, company, { path: `/v1/records/${row["record_id"]}` });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

async function sealPolicy(): Promise<typeof policy> {
  const all = <N extends string>(names: readonly N[], value: boolean) =>
    Object.fromEntries(names.map((name) => [name, value])) as Record<N, boolean>;
  const record = aiPolicyBytes({
    schema: "svc/ai_policy/1",
    ai_policy_schema: 2,
    use: all(useNames, true),
    action: all(actionNames, true),
    blocked: { ...all(blockedNames, false), alcohol: true },
  });
  const signer = await surfaces.services.hostedSigner(business.party.uuid);
  const payload = sealPayload({
    v: 2,
    key_id: signer.keyId,
    cert_id: business.certId,
    hash: hashOf(record),
    sealed_at: formatTimestamp(Date.now()),
    record_type: "ai_policy",
    ai_policy_version: 1,
  });
  return {
    record,
    seal: (await signEnvelope(payloadTypes["seal.v2"], payload, [signer])) as unknown as JsonValue,
  };
}

describe("the reads of a business", () => {
  it("give a certificate that verifies under the anchors", async () => {
    const answer = await get(`/v1/certificates/${business.party.uuid}`);
    expect(answer.json).toMatchObject({
      subject: { kind: "business", uuid: business.party.uuid, legal_name: "Diamonds Ltd", country: "GB" },
      status: "active",
      cert_id: business.certId,
      history: [],
      statement: expect.stringContaining("Diamonds Ltd"),
    });
    const envelopes = certificateEnvelopes(answer.json as never);
    expect(envelopes.ok && verifyCertificates(trust, business.party.uuid, envelopes.value)).toMatchObject({
      ok: true,
    });
  });

  it("give the history newest first once another certificate is issued", async () => {
    const { services } = surfaces;
    const uuid = "00000000-0000-4000-8000-0000000000aa";
    await openBusiness(services, uuid);
    const facts = {
      uuid,
      kind: "business",
      legal_name: "Diamonds Ltd",
      country: "GB",
      verified_since: formatTimestamp(Date.now()),
    } as const;
    const from = formatTimestamp(Date.now());
    await services.parties.issueCertificate({
      ...facts,
      status: "withdrawn",
      status_effective_from: from,
      status_reason: "approval_reversed",
    });
    const answer = await get(`/v1/certificates/${uuid}`);
    expect(answer.json).toMatchObject({
      status: "withdrawn",
      status_reason: "approval_reversed",
      history: [{ status: "active" }],
    });
    const envelopes = certificateEnvelopes(answer.json as never);
    expect(envelopes.ok && verifyCertificates(trust, uuid, envelopes.value)).toMatchObject({ ok: true });
  });

  it("give a page to a person, without script, with everything escaped", async () => {
    const uuid = "00000000-0000-4000-8000-0000000000bb";
    const facts = { uuid, kind: "business", legal_name: '<script>"&', country: "GB" } as const;
    await surfaces.services.parties.open({ ...facts, group: uuid, blocked_groups: [] });
    const at = formatTimestamp(Date.now());
    await surfaces.services.parties.issueCertificate({
      ...facts,
      verified_since: at,
      status: "active",
      status_effective_from: at,
      status_reason: null,
    });
    for (const answer of [
      await get(`/v1/certificates/${uuid}?format=html`),
      await get(`/v1/certificates/${uuid}`, { accept: "text/html,*/*" }),
    ]) {
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("vary")).toBe("accept");
      expect(answer.text).toContain("&lt;script&gt;&quot;&amp;");
      expect(answer.text).not.toMatch(/<script/i);
    }
    const json = await get(`/v1/certificates/${uuid}?format=json`, { accept: "text/html" });
    expect(json.json).toMatchObject({ subject: { legal_name: '<script>"&' } });
  });

  it("give its keys, signed, and nothing of other roles", async () => {
    const answer = await get(`/v1/certificates/${business.party.uuid}/keys`);
    const verified = verifyBusinessKeys(trust, business.party.uuid, answer.json as JsonValue);
    expect(verified).toMatchObject({ ok: true, value: { cert_id: business.certId } });
    expect(verified.ok && verified.value.keys.map((key) => key.kind).sort()).toEqual(["hosted", "system"]);
    expect(verified.ok && verified.value.keys).toEqual(answer.json["keys"]);
  });

  it("give custody statements that verify", async () => {
    const signer = await surfaces.services.hostedSigner(business.party.uuid);
    const at = formatTimestamp(Date.now());
    await surfaces.services.parties.stateCustody({
      uuid: business.party.uuid,
      key_id: signer.keyId,
      custody: "hosted",
      effective_from: at,
    });
    const answer = await get(`/v1/certificates/${business.party.uuid}/key-custody`);
    const statements = answer.json["statements"] as {
      readonly statement: JsonValue;
      readonly key_id: string;
    }[];
    expect(statements.length).toBeGreaterThan(0);
    for (const each of statements)
      expect(verifyKeyCustody(trust, each.statement)).toMatchObject({
        ok: true,
        value: { key_id: each.key_id },
      });
  });

  it.each(["", "/keys", "/key-custody"])("of nobody are 404: /v1/certificates/{uuid}%s", async (suffix) => {
    expect(await get(`/v1/certificates/${nobody}${suffix}`)).toMatchObject({
      status: 404,
      json: { code: "not_found" },
    });
    if (suffix !== "")
      expect(await get(`/v1/certificates/${companyUuid}${suffix}`)).toMatchObject({ status: 404 });
  });

  it("of nobody are a page to a person", async () => {
    const answer = await get(`/v1/certificates/${nobody}`, { accept: "text/html" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  });
});

describe("the reads of the service", () => {
  it.each([
    ["/.well-known/keys", { signed: { payloadType: payloadTypes["key-set.v1"] } }],
    [
      "/.well-known/svc-keys",
      { v: 1, companies: [], statement: { payloadType: payloadTypes["key-directory.v1"] } },
    ],
    [
      "/v1/projections/products/1",
      { version: "products/1", sha256: expect.stringMatching(/^sha256:/), unsigned_fields: ["adl_row_sig"] },
    ],
    [
      "/v1/ai-policy-key",
      {
        current_ai_policy_schema: 2,
        blocked: expect.arrayContaining([expect.objectContaining({ code: "bc2", name: "alcohol" })]),
      },
    ],
    ["/v1/vocabularies/countries", { name: "countries", version: 1 }],
  ])("%s", async (path, members) => {
    expect(await get(path)).toMatchObject({ status: 200, json: members });
    expect((await send(surfaces.retrievalUrl, null, { path })).json).toMatchObject(members);
  });

  it.each([
    "/v1/projections/products/2",
    "/v1/projections/products/0",
    "/v1/projections/Products/1",
    "/v1/log/checkpoint",
    "/v1/vocabularies/dragons",
    "/v1/vocabularies/countries?version=9",
  ])("%s is 404", async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, json: { code: "not_found" } });
  });

  it("a vocabulary is answered 304 to whoever has it", async () => {
    const etag = (await get("/v1/vocabularies/currencies")).headers.get("etag") ?? "";
    const again = await get("/v1/vocabularies/currencies", { "if-none-match": etag });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
  });

  it.each([
    ["/v1/vocabularies/countries?version=0", "/query/version", undefined],
    ["/v1/vocabularies/countries?verison=1", "/query", "version"],
    [`/v1/certificates/${nobody}?format=pdf`, "/query/format", undefined],
  ])("%s is refused", async (path, pointer, suggestion) => {
    const answer = await get(path);
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid", pointer } });
    expect(answer.json["suggestion"]).toBe(suggestion);
  });
});

describe("POST /v1/verify", () => {
  const record = (): string => toBase64(new TextEncoder().encode(exactMember(fetched.text, "record") ?? ""));
  const verify = (body: object): Promise<ReceivedAnswer> =>
    send(surfaces.verifyUrl, null, { path: "/v1/verify", body: JSON.stringify(body) });
  const whole = () => ({
    record_base64: record(),
    seal: fetched.json["seal"],
    sidecar: fetched.json["sidecar"],
    row,
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
        business_uuid: business.party.uuid,
        key_id: business.signingKey.keyId,
        cert_id: business.certId,
        ai_policy_version: 1,
        custody: expect.stringMatching(/^(self|unstated)$/),
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
      record_hash: row["adl_origin"],
      sandbox: true,
      ...findings,
    });
    const at = { use: "statement", region: null, at: String(answer.json["checked_at"]) } as const;
    expect(statement.payloadType).toBe(payloadTypes["verify-statement.v1"]);
    expect(verifyWorking(trust, statement as never, at)).toMatchObject({ ok: true });
  });

  const sealOf = (): Record<string, unknown> =>
    structuredClone(fetched.json["seal"]) as Record<string, unknown>;
  it.each<readonly [string, string, string, () => object]>([
    ["a flipped bit", "seal", "hash_mismatch", () => ({ ...whole(), record_base64: flipped() })],
    [
      "a flipped bit and no sidecar",
      "seal",
      "inclusion_invalid",
      () => ({ record_base64: flipped(), seal: fetched.json["seal"] }),
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
      () => ({ ...whole(), row: { ...row, brand: "Other" } }),
    ],
    [
      "a row of an unknown projection",
      "projection",
      "projection_unknown",
      () => ({ ...whole(), row: { ...row, adl_proj: "products/9" } }),
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

  it("judges bits against the sealed AI policy", async () => {
    const bits = { ...(row["ai_policy_bits"] as Record<string, number>) };
    const body = { record_base64: toBase64(policy.record), seal: policy.seal, ai_policy_bits: bits };
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
    ["an ad item with more", { ad_item: {}, row: {} }, "/ad_item", undefined],
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

  it("says that ads are not offered", async () => {
    expect(await verify({ ad_item: {} })).toMatchObject({ status: 501, json: { code: "not_offered" } });
  });

  it("answers any origin, its preflight and its refusals too, and never allows credentials", async () => {
    for (const base of [surfaces.verifyUrl, surfaces.retrievalUrl]) {
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
    const signedRoute = await send(surfaces.retrievalUrl, null, { path: "/v1/search", body: "{}" });
    expect(signedRoute.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("GET /v1/verify/{record_id}", () => {
  const page = (query: Record<string, string>, id = String(row["record_id"])): Promise<ReceivedAnswer> =>
    get(`/v1/verify/${id}?${new URLSearchParams(query)}`);
  const origin = (): string => String(row["adl_origin"]);

  it("is what the source line of a fetch leads to", async () => {
    const line = String((fetched.json["provenance"] as Record<string, unknown>)["source_line"]);
    const url = new URL(/verify=(\S+)$/.exec(line)?.[1] ?? "");
    const answer = await get(`${url.pathname}${url.search}`);
    expect(answer.json).toMatchObject({
      v: 1,
      record_id: row["record_id"],
      adl_origin: origin(),
      valid: true,
      status: "current",
      business: { business_uuid: business.party.uuid, certificate: { status: "active" } },
      version: { generation: 1, sealed_under_cert_id: business.certId },
      checks: { cert: "matches", served_at: "within" },
      source_line: line,
    });
    const { statement, ...findings } = answer.json as { statement: { payload: string; payloadType: string } };
    expect(JSON.parse(atob(statement.payload))).toEqual(findings);
    const at = { use: "statement", region: null, at: String(answer.json["checked_at"]) } as const;
    expect(verifyWorking(trust, statement as never, at)).toMatchObject({ ok: true });
  });

  it("tells another certificate and another time apart", async () => {
    const other = `sha256:${"0".repeat(64)}`;
    expect((await page({ origin: origin(), cert: other })).json).toMatchObject({
      valid: false,
      checks: { cert: "differs", served_at: "not_given" },
    });
    expect((await page({ origin: origin(), served_at: "2020-01-01T00:00:00Z" })).json).toMatchObject({
      valid: false,
      checks: { served_at: "outside" },
    });
  });

  it("answers an unknown id and a hash that does not match alike", async () => {
    const known = await page({ origin: `sha256:${"0".repeat(64)}` });
    const unknown = await page({ origin: origin() }, `svc_${"a".repeat(26)}`);
    expect([known.status, known.text]).toEqual([404, unknown.text]);
  });

  it("knows a version that was replaced", async () => {
    await sealAndPublish(
      surfaces.services,
      business,
      [product("a", { brand: "New" }), product("b", { brand: "New" })],
      { seq: 2, aiPolicyVersion: 1 },
    );
    expect((await page({ origin: origin() })).json).toMatchObject({ status: "superseded", valid: true });
  });

  it("is a page for a person", async () => {
    const answer = await page({ origin: origin(), format: "html" });
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.text).toContain("Diamonds Ltd");
  });

  it.each([
    [{}, "/query/origin"],
    [{ origin: "x" }, "/query/origin"],
    [{ origin: `sha256:${"0".repeat(64)}`, cert: "x" }, "/query/cert"],
    [{ origin: `sha256:${"0".repeat(64)}`, served_at: "yesterday" }, "/query/served_at"],
  ])("refuses %j", async (query, pointer) => {
    expect(await page(query as Record<string, string>)).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  });
});
