// POST /v1/verify with the item of an ad, signed by the service's own keys.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAiPolicy, policyBits, policyBitsText } from "../protocol/ai-policy.ts";
import { hashOf, parseBase64, utf8 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { parseRecord } from "../protocol/records/parse-record.ts";
import { openSeal } from "../protocol/seal.ts";
import { signAdVersion } from "../protocol/sign-ad.ts";
import { sealHosted } from "../stories/publishing/publishing.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { adId, adItemOf, adRecord } from "../verifier/ad.fixture.ts";
import { held } from "../verifier/scene.fixture.ts";
import { assertReadable, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { type ReceivedAnswer, send } from "./surfaces.fixture.ts";

let world: Verifiable;
let item: JsonObject;

beforeAll(async () => {
  world = await openVerifiable();
  item = await servedAd();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

async function servedAd(sealedAtMs = Date.now()): Promise<JsonObject> {
  const { services } = world.surfaces;
  const { party, certId } = world.business;
  const bytes = utf8(JSON.stringify(adRecord));
  const parsed = parseRecord("ads", bytes);
  if (!parsed.ok) throw new Error("The sample is an ad.");
  const who = { uuid: party.uuid, certId };
  const envelope = await sealHosted(services, who, {
    record: bytes,
    record_type: "ads",
    ai_policy_version: 1,
    sealed_at: formatTimestamp(sealedAtMs),
  });
  const seal = held(openSeal(envelope));
  if (seal.v !== 2) throw new Error("Seals are made in format 2.");
  const nowMs = Date.now();
  const now = formatTimestamp(nowMs);
  const signers = { projection: services.keys.projection(now), sidecar: services.keys.sidecar(now) };
  const signed = await signAdVersion(signers, {
    ad: parsed.record,
    adId,
    businessUuid: party.uuid,
    envelope,
    seal,
    sealer: "hosted",
    generation: 1,
    change: 9,
    source: "manual",
    receivedAtMs: nowMs,
    publishedAtMs: nowMs,
  });
  const { json: certificate } = await world.get(`/v1/certificates/${party.uuid}`);
  const { json: keys } = await world.get(`/v1/certificates/${party.uuid}/keys`);
  const policy = held(parseAiPolicy(world.policy.record));
  return adItemOf({
    ad: parsed.record,
    bytes,
    signed,
    bitsText: policyBitsText(1, policyBits(policy)),
    policy: { version: 1, record: policy as unknown as JsonValue, seal: world.policy.seal },
    advertiser: party.legal_name,
    certificate: certificate["certificate"] as JsonValue,
    keys: keys["signed"] as JsonValue,
  });
}

async function verify(body: string): Promise<ReceivedAnswer> {
  const request = { path: "/v1/verify", body };
  return assertReadable(world.trust, await send(world.surfaces.verifyUrl, null, request));
}
const verifyItem = (ad: JsonObject) => verify(JSON.stringify({ ad_item: ad }));

describe("POST /v1/verify of an ad's item", () => {
  it("names each check in order, and signs what it says", async () => {
    const answer = await verifyItem(item);
    expect(answer).toMatchObject({ status: 200 });
    const { statement, checked_at: checkedAt, ...findings } = answer.json;
    const check = (name: string) => ({ name, state: "ok" });
    expect(findings).toMatchObject({
      valid: true,
      seal: null,
      log_inclusion: null,
      sidecar: null,
      projection: null,
      ai_policy_bits: null,
      ad: { valid: true, ad_id: adId, business_uuid: world.business.party.uuid },
      warnings: [],
    });
    expect((findings["ad"] as { readonly checks: readonly JsonObject[] }).checks).toMatchObject([
      ...["row", "origin_hash", "seal", "projection", "creative"].map(check),
      { name: "images", state: "not_checked" },
      check("ai_policy_bits"),
    ]);
    const { payload } = statement as { readonly payload: string };
    const signed = JSON.parse(new TextDecoder().decode(parseBase64(payload) ?? new Uint8Array()));
    const about = { v: 1, checked_at: checkedAt, sandbox: true };
    const recordHash = hashOf(utf8(JSON.stringify(adRecord)));
    expect(signed).toEqual({ ...about, record_hash: recordHash, ...findings });
  });

  it("takes the item in the exact text that was served", async () => {
    const answer = await verify(`{ "ad_item" : ${JSON.stringify(item, null, 1)}\n}`);
    expect(answer.json).toMatchObject({ valid: true, ad: { valid: true } });
  });

  it.each<[string, (ad: JsonObject) => JsonObject, string, string]>([
    [
      "another headline",
      (ad) => ({ ...ad, creative: { ...(ad["creative"] as JsonObject), headline: "Cheaper" } }),
      "creative",
      "hash_mismatch",
    ],
    ["other bytes", (ad) => ({ ...ad, record_base64: "e30=" }), "origin_hash", "hash_mismatch"],
    ["a member that no item has", (ad) => ({ ...ad, price: "1" }), "item", "payload_malformed"],
    ["nothing else", () => ({ record_base64: "e30=" }), "item", "payload_malformed"],
    [
      "a row that was not signed",
      (ad) => ({ ...ad, row: { ...(ad["row"] as JsonObject), headline: "Cheaper" } }),
      "row",
      "row_signature_invalid",
    ],
  ])("answers 200 and valid: false for %s", async (_what, change, name, reason) => {
    const answer = await verifyItem(change(item));
    expect(answer).toMatchObject({
      status: 200,
      json: { valid: false, ad: { valid: false, reason, checks: expect.any(Array) }, warnings: [] },
    });
    const { checks } = answer.json["ad"] as { readonly checks: readonly JsonObject[] };
    expect(checks.find(({ state }) => state === "failed")).toMatchObject({ name, reason });
  });

  it.each([
    [4 * 60_000, null],
    [6 * 60_000, "certificate_not_in_force"],
  ])(
    "judges a seal from %d ms ahead, of whose moment nobody knows what will be in force",
    async (aheadMs, reason) => {
      const { json } = await verifyItem(await servedAd(Date.now() + aheadMs));
      expect(json).toMatchObject({ valid: reason === null, ad: reason === null ? {} : { reason } });
    },
  );

  it("is not valid once the register says that its seal does not stand, which the item does not say", async () => {
    const at = new Date(Date.now() - 86_400_000).toISOString();
    const { services } = world.surfaces;
    const { uuid } = world.business.party;
    const { keyId } = await services.hostedSigner(uuid);
    await services.parties.revokeKey({ uuid, key_id: keyId, revoked_at: at, compromised_from: at });
    await registerInForce(services);
    const { json } = await verifyItem(item);
    expect(json).toMatchObject({ valid: false, ad: { valid: false, reason: "key_compromised" } });
    const { checks } = json["ad"] as { readonly checks: readonly JsonObject[] };
    expect(checks.filter(({ state }) => state === "failed")).toMatchObject([{ name: "seal" }]);
  });
});
