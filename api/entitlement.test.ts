// Who gets an entitlement, what it says, and what POST /v1/verify says of it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyFacts } from "../actors/messages/business.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { termsOf } from "../node/composition/retrieval-surface.ts";
import { sandboxTerms } from "../node/configuration/versioned-file.ts";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import type { Entitlement } from "../protocol/entitlement.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../protocol/json/canonical-json.ts";
import { part, rubbish } from "../protocol/rubbish.fixture.ts";
import type { Register } from "../service/register/register.ts";
import { createReadEntitlement, type EntitlementDeps } from "../service/register/terms.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { held } from "../verifier/scene.fixture.ts";
import { verifyEntitlement } from "../verifier/service-statements.ts";
import { assertReadable } from "./routes/verification.fixture.ts";
import { newCaller, openSurfaces, send, type TestCaller, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;
const uuid = "10000000-0000-4000-8000-000000000001";
const dayMs = 86_400_000;

beforeAll(async () => {
  surfaces = await openSurfaces();
  company = await callerOf(uuid);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const callerOf = (of: string) => newCaller(surfaces.services.keys.grant, "retrieval", of);
const ask = (by: TestCaller | null = company) => send(surfaces.retrievalUrl, by, { path: "/v1/entitlement" });
const inForce = { version: 2, sha256: hashOf(utf8(sandboxTerms[1]?.text ?? "")) };
const agree = (by: TestCaller) =>
  send(surfaces.retrievalUrl, by, { path: "/v1/terms/agreements", body: JSON.stringify(inForce) });
const verify = async (entitlement: unknown, more: object = {}) => {
  const body = JSON.stringify({ entitlement, ...more });
  const answer = await send(surfaces.verifyUrl, null, { path: "/v1/verify", body });
  return assertReadable(surfaces.services.trust(), answer);
};

describe("an entitlement", () => {
  it("is refused until the company agreed to the terms in force", async () => {
    expect(await ask()).toMatchObject({ status: 403, json: { code: "terms_not_agreed" } });
    expect((await ask(null)).status).toBe(401);
    await agree(company);
    expect((await ask()).status).toBe(200);
    const another = await callerOf("10000000-0000-4000-8000-000000000002");
    expect((await ask(another)).json).toMatchObject({ code: "terms_not_agreed" });
  });

  it("says who the company is, by which keys it asks, and what it agreed to, for a day", async () => {
    const second = await callerOf(uuid);
    await ask(second);
    await registerInForce(surfaces.services);
    const { json, headers } = await ask();
    expect(headers.get("cache-control")).toBe("no-store");
    const { statement: _, ...shown } = json;
    const { valid_from: from, valid_until: until } = shown as unknown as Entitlement;
    expect(shown).toEqual({
      ai_company_uuid: uuid,
      legal_name: "Test ai_company",
      billing: "none",
      cert_id: expect.stringMatching(/^sha256:/),
      key_ids: [company.key.keyId, second.key.keyId].sort(),
      terms: { ...inForce, agreed_at: expect.stringMatching(/Z$/) },
      valid_from: expect.stringMatching(/Z$/),
      valid_until: formatTimestamp(Date.parse(from) + dayMs),
    });
    const trust = surfaces.services.trust();
    const subject = { keyId: second.key.keyId, aiCompanyUuid: uuid };
    const whole = held(verifyEntitlement(trust, rubbish(json), { at: from, ...subject }));
    expect(whole).toEqual({ v: 1, sandbox: true, ...shown });
    expect(verifyEntitlement(trust, rubbish(json), { at: until })).toMatchObject({
      code: "entitlement_expired",
    });
  });
});

describe("who gets one", () => {
  const nowMs = Date.parse("2026-03-01T12:00:00.000Z");
  const at = formatTimestamp(nowMs);
  const text = (version: number, effective_from: string) =>
    ({ version, effective_from, language: "en", text: `# ${version}` }) as const;
  const agreement = { version: 1, sha256: hashOf(utf8("# 1")), agreed_at: at };
  const key = (key_id: string, changes: Partial<KeyFacts> = {}) =>
    part<KeyFacts>({
      key_id,
      valid_from: "2026-01-01T00:00:00.000Z",
      valid_until: null,
      revoked_at: null,
      compromised_from: null,
      ...changes,
    });

  async function answered(changes: {
    readonly terms?: Partial<EntitlementDeps["terms"]>;
    readonly register?: Partial<EntitlementDeps["register"]>;
    readonly prices?: EntitlementDeps["prices"];
  }) {
    const { services } = surfaces;
    const { register } = services;
    const clock = { now: () => nowMs };
    const agreements = { find: async () => agreement, agree: async () => agreement };
    const terms = {
      ...termsOf(services),
      terms: () => [text(1, "2026-01-01T00:00:00.000Z")],
      clock,
      agreements,
    };
    const read = createReadEntitlement({
      clock,
      terms: { ...terms, ...changes.terms },
      prices: changes.prices ?? (() => null),
      keys: part({
        environment: "sandbox",
        statement: () => services.keys.statement(formatTimestamp(Date.now())),
      }),
      register: { ...register, keys: async () => [], ...changes.register } as Register,
    });
    const outcome = await read({ caller: { key: key("own"), party: rubbish({ uuid }) } });
    return outcome.kind === "answer" ? JSON.parse(String(outcome.body)) : outcome.problem;
  }

  it("ends with the terms that it names", async () => {
    const all = [text(1, "2026-01-01T00:00:00.000Z"), text(2, "2026-03-02T00:00:00.000Z")];
    const answer = await answered({ terms: { terms: () => all } });
    expect(answer).toMatchObject({ terms: agreement, valid_until: "2026-03-02T00:00:00.000Z" });
    const later = await answered({
      terms: { terms: () => all.with(1, text(2, "2026-03-02T12:00:00.001Z")) },
    });
    expect(later).toMatchObject({ valid_until: "2026-03-02T12:00:00.000Z" });
  });

  it("needs no agreement where no terms are in force", async () => {
    const agreements = { find: async () => null, agree: async () => agreement };
    for (const all of [[], [text(1, "2026-03-02T00:00:00.000Z")]])
      expect(await answered({ terms: { terms: () => all, agreements } })).toMatchObject({ terms: null });
  });

  it("needs an agreement to the text in force, and not to another one of its number", async () => {
    const agreements = {
      find: async () => ({ ...agreement, sha256: inForce.sha256 }),
      agree: async () => agreement,
    };
    expect(await answered({ terms: { agreements } })).toMatchObject({
      code: "terms_not_agreed",
      status: 403,
    });
  });

  it.each(["revoked", "closed", "withdrawn"] as const)(
    "needs a certificate that is not %s",
    async (status) => {
      const certificates = async () => [rubbish({ status })];
      expect(await answered({ register: { certificates } })).toMatchObject({
        code: "business_not_verified",
        status: 403,
        detail: expect.stringContaining(status),
      });
    },
  );

  it("needs a certificate", async () => {
    expect(await answered({ register: { certificates: async () => [] } })).toMatchObject({
      code: "business_not_verified",
      detail: expect.stringContaining("It has none."),
    });
  });

  it("names the keys in force, a hundred at most, and that of the caller", async () => {
    const over = formatTimestamp(nowMs);
    const keys = async () => [
      key("revoked", { revoked_at: over }),
      key("ended", { valid_until: over }),
      key("compromised", { compromised_from: over }),
      key("coming", { valid_from: formatTimestamp(nowMs + 1) }),
      key("ends later", { valid_until: formatTimestamp(nowMs + 1) }),
      key("other"),
    ];
    expect((await answered({ register: { keys } })).key_ids).toEqual(["ends later", "other", "own"]);
    const many = Array.from({ length: 120 }, (_, n) =>
      key(`key-${n}`, { valid_from: formatTimestamp(nowMs - 1_000 * n) }),
    );
    const { key_ids: named } = await answered({ register: { keys: async () => [...many, key("own")] } });
    expect(named).toHaveLength(100);
    for (const newest of ["own", "key-0", "key-98"]) expect(named).toContain(newest);
    expect(named).not.toContain("key-99");
  });

  it("is told to pay in advance where there are prices", async () => {
    expect(await answered({ prices: () => rubbish({}) })).toMatchObject({ billing: "prepaid" });
  });
});

describe("POST /v1/verify of an entitlement", () => {
  it("says what it says, and signs the hash of what was given", async () => {
    const { json } = await ask();
    const { statement, ...members } = json;
    for (const given of [json, statement as JsonObject]) {
      const answer = await verify(given);
      expect(answer).toMatchObject({
        status: 200,
        json: { valid: true, warnings: [], ad: null, seal: null },
      });
      expect(answer.json["entitlement"]).toEqual({ valid: true, ...members });
      const { payload } = answer.json["statement"] as { readonly payload: string };
      const signed = JSON.parse(Buffer.from(payload, "base64").toString());
      const record_hash = hashOf(canonicalBytes(given as JsonObject), nativeCrypto.sha256);
      expect(signed).toMatchObject({ record_hash, entitlement: answer.json["entitlement"] });
    }
  });

  it("answers why it is refused", async () => {
    const { json } = await ask();
    for (const given of [{ ...json, legal_name: "Another" }, {}, { statement: null }])
      expect((await verify(given)).json).toMatchObject({
        valid: false,
        entitlement: { valid: false, reason: "entitlement_invalid", detail: expect.any(String) },
      });
  });

  it("takes it alone, and as an object", async () => {
    const { json } = await ask();
    expect(await verify(json, { record_base64: "e30=" })).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/entitlement" },
    });
    expect(await verify("x")).toMatchObject({ status: 400, json: { pointer: "/entitlement" } });
  });

  it("warns of a key and a certificate that have ended since, and refuses it from its end on", async () => {
    const { json } = await ask();
    const { services } = surfaces;
    const key_id = company.key.keyId;
    const now = formatTimestamp(Date.now());
    await services.parties.revokeKey({ uuid, key_id, revoked_at: now, compromised_from: null });
    await services.parties.issueCertificate({
      uuid,
      kind: "ai_company",
      legal_name: "Test ai_company",
      country: "GB",
      verified_since: now,
      status: "withdrawn",
      status_effective_from: now,
      status_reason: "approval_reversed",
    });
    await registerInForce(services);
    expect((await verify(json)).json).toMatchObject({
      valid: true,
      warnings: [
        `The certificate of AI company ${uuid} is withdrawn from ${now} on.`,
        `Key ${key_id} is revoked from ${now} on.`,
      ],
    });
    surfaces.skipMs(dayMs);
    expect((await verify(json)).json).toMatchObject({
      valid: false,
      entitlement: { valid: false, reason: "entitlement_expired", pointer: "/valid_until" },
    });
  });
});
