import { beforeAll, describe, expect, it } from "vitest";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { adId, adRecord, makeAdItem, pictures } from "./ad.fixture.ts";
import type { AdEvidence } from "./ad-item.ts";
import { publishedKeys, sidecarEnvelope, sidecarFacts } from "./business.fixture.ts";
import { makeScene } from "./scene.fixture.ts";
import { issueCertificate } from "./service.fixture.ts";

const { service, business, verifier } = makeScene();
const names = ["row", "origin_hash", "seal", "projection", "creative", "images", "ai_policy_bits"];

let item: JsonObject;
beforeAll(async () => {
  item = await makeAdItem(service, business);
});

/** `name reason` of every check that is not ok; `not_checked` for one that was not made. */
function faultsOf(value: JsonValue | Uint8Array, evidence?: AdEvidence): readonly string[] {
  return verifier
    .adItem(value, evidence)
    .checks.filter(({ state }) => state !== "ok" && state !== "unsigned")
    .map(({ name, reason = "not_checked" }) => `${name} ${reason}`);
}

const fetched = { images: new Map(pictures.map((bytes) => [hashOf(bytes), bytes])) };

function changed(path: readonly (string | number)[], by: JsonValue, of: JsonValue = item): JsonObject {
  const copy = structuredClone(of) as Record<string | number, JsonValue>;
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] as unknown as typeof at;
  at[path.at(-1) as string] = by;
  return copy;
}

describe("an ad's item", () => {
  it("verifies alone, as the text served or as JSON", () => {
    const report = verifier.adItem(item, fetched);
    expect(report).toMatchObject({ valid: true, complete: true });
    expect(report.checks.flatMap(({ name, state }) => (state === "unsigned" ? [] : name))).toEqual(names);
    expect(report.checks.flatMap(({ name, state }) => (state === "unsigned" ? name : []))).toEqual([
      "unsigned/creative/images/*/url",
      "unsigned/net_price",
      "unsigned/keyword_matches",
      "unsigned/render_token",
      "unsigned/row/ai_policy_bits/action",
    ]);
    expect(faultsOf(utf8(JSON.stringify(item)), fetched)).toEqual([]);
    expect(faultsOf(utf8(JSON.stringify(item, null, 1)), fetched)).toEqual([]);
    expect(faultsOf(item)).toEqual(["images not_checked"]);
    expect(verifier.adItem(item)).toMatchObject({ valid: true, complete: false });
  });

  it("verifies when a hosted key sealed, without a policy, and without optional members", async () => {
    const { call_to_action: _, subdivisions: __, allow_repeats: ___, ...rest } = adRecord;
    const record = { ...rest, images: [], body: "" };
    const plain = await makeAdItem(service, business, { record, sealer: "hosted", hasPolicy: false });
    expect(faultsOf(plain)).toEqual([]);
    expect(plain["creative"]).toMatchObject({ call_to_action: null, body: "" });
    expect(plain["row"]).not.toHaveProperty("call_to_action");
  });

  it("verifies over any spelling of the sealed bytes", async () => {
    const bytes = utf8(JSON.stringify(adRecord, null, 2));
    expect(faultsOf(await makeAdItem(service, business, { bytes }), fetched)).toEqual([]);
  });

  it("verifies where the certificate was issued again later, with the issuance that the seal names", async () => {
    const facts = { issued_at: "2026-04-01T00:00:00.000Z", previous: business.issued.certId };
    const renewed = issueCertificate(service, { ...business.certificate, ...facts });
    const keys = (publishedKeys(service, { ...business, issued: renewed }) as JsonObject)[
      "signed"
    ] as JsonValue;
    const parts = { certificate: renewed.envelope, keys };
    const history = [business.issued.envelope];
    expect(faultsOf(await makeAdItem(service, business, { ...parts, history }), fetched)).toEqual([]);
    expect(faultsOf(await makeAdItem(service, business, parts), fetched)).toContain(
      "seal certificate_unknown",
    );
    const swapped = { ...parts, certificate: business.issued.envelope, history: [renewed.envelope] };
    expect(faultsOf(await makeAdItem(service, business, swapped), fetched)).toContain(
      "seal certificate_unknown",
    );
    const withheld = { keys };
    expect(faultsOf(await makeAdItem(service, business, withheld), fetched)).toContain(
      "seal certificate_unknown",
    );
  });

  it.each<[string, readonly (string | number)[], JsonValue, readonly string[]]>([
    ["another headline", ["creative", "headline"], "Cheaper", ["creative hash_mismatch"]],
    ["another body", ["creative", "body"], "", ["creative hash_mismatch"]],
    ["another call", ["creative", "call_to_action"], null, ["creative hash_mismatch"]],
    ["another domain", ["creative", "display_domain"], "other.example", ["creative hash_mismatch"]],
    ["another link", ["creative", "destination_url"], "https://harrier.example/", ["creative hash_mismatch"]],
    ["another text of a picture", ["creative", "images", 1, "alt"], "Else.", ["creative hash_mismatch"]],
    ["no pictures", ["creative", "images"], [], ["creative hash_mismatch", "images hash_mismatch"]],
    ["another id", ["ad_id"], `ad_${"d".repeat(26)}`, ["row hash_mismatch"]],
    [
      "another headline on the row",
      ["row", "headline"],
      "Cheaper",
      ["row row_signature_invalid", "projection hash_mismatch"],
    ],
    [
      "a policy version that is not sealed",
      ["ai_policy", "version"],
      2,
      ["ai_policy_bits ai_policy_version_mismatch"],
    ],
    ["other bits", ["row", "ai_policy_bits", "blocked"], 0, ["ai_policy_bits ai_policy_bits_mismatch"]],
    [
      "a policy record that was not sealed",
      ["ai_policy", "record", "use", "cite_as_source"],
      false,
      ["ai_policy_bits hash_mismatch"],
    ],
    ["a member that no item has", ["price"], "1.00", ["item payload_malformed"]],
    ["another label", ["label", "text"], "Recommended", ["item payload_malformed"]],
    ["a sponsored row", ["row", "sponsored"], true, ["item payload_malformed"]],
    ["a projection that is not known", ["row", "adl_proj"], "ads/2", ["row projection_unknown"]],
    ["the projection of another type", ["row", "adl_proj"], "products/1", ["item payload_malformed"]],
    ["a policy without a seal", ["ai_policy", "seal"], null, ["item payload_malformed"]],
    [
      "keys of nobody",
      ["keys"],
      { payloadType: "x", payload: "", signatures: [] },
      ["item payload_malformed"],
    ],
  ])("with %s is refused", (_what, path, by, expected) => {
    expect(faultsOf(changed(path, by), fetched)).toEqual(expected);
  });

  it("is refused with bytes other than the row's, and then nothing shown counts as sealed", () => {
    const other = { ...adRecord, headline: "Cheaper" };
    const bytes = new TextEncoder().encode(JSON.stringify(other)).toBase64();
    const swapped = changed(["creative", "headline"], "Cheaper", changed(["record_base64"], bytes));
    expect(faultsOf(swapped, fetched)).toEqual([
      "origin_hash hash_mismatch",
      "seal hash_mismatch",
      "projection hash_mismatch",
      "creative not_checked",
    ]);
  });

  it.each<[string, object, string]>([
    ["of another type", { record_type: "products" }, "record_type_mismatch"],
    ["over other bytes", { hash: `sha256:${"0".repeat(64)}` }, "hash_mismatch"],
    ["under no certificate of the business", { cert_id: `sha256:${"0".repeat(64)}` }, "certificate_unknown"],
    ["under a policy that was not in force", { ai_policy_version: 2 }, "ai_policy_version_mismatch"],
  ])("with a seal %s is refused", async (_what, facts, reason) => {
    const wrong = await makeAdItem(service, business, { facts });
    expect(faultsOf(wrong, fetched)).toContain(`seal ${reason}`);
  });

  it("is refused with a row that states another certificate or AI policy version than its seal", async () => {
    const cert = { cert_id: `sha256:${"0".repeat(64)}` };
    for (const [stated, reason] of [
      [cert, "certificate_unknown"],
      [{ ai_policy_version: 0 }, "ai_policy_version_mismatch"],
    ] as const) {
      const made = await makeAdItem(service, business, { stated });
      const right = { ...made, sidecar: item["sidecar"] as JsonValue };
      expect(faultsOf(right, fetched)).toEqual([`seal ${reason}`]);
    }
  });

  it("is refused with a sidecar of something else", () => {
    const bytes = utf8(JSON.stringify(adRecord));
    const key = business.passkey.keyId;
    const right = {
      ...sidecarFacts(business, bytes),
      batch_id: null,
      change: 7,
      path: "B",
      record_id: adId,
      record_type: "ads",
      sealed_by_key_id: key,
      published_at: "2026-03-01T12:00:02.999Z",
      scope: { basis: "role", key_id: key, kind: "passkey", mandate_id: null, permissions: ["publish:ads"] },
    };
    const under = (facts: object) =>
      faultsOf(changed(["sidecar"], sidecarEnvelope(service, { ...right, ...facts })), fetched);
    expect(under({})).toEqual([]);
    expect(under({ record_id: `ad_${"d".repeat(26)}` })).toEqual(["seal hash_mismatch"]);
    expect(under({ published_at: "2026-03-01T12:00:03.000Z" })).toEqual(["seal hash_mismatch"]);
    expect(under({ sealed_at: "2026-03-01T12:00:00.001Z" })).toEqual(["seal hash_mismatch"]);
    expect(under({ record_type: "products" })).toEqual(["seal record_type_mismatch"]);
    expect(under({ scope: { ...right.scope, permissions: ["publish:products"] } })).toEqual([
      "seal out_of_scope",
    ]);
  });

  it("is not judged by keys of more than a day before the pool was served", () => {
    const dayAfter = { ...fetched, servedAt: "2026-06-02T00:00:00.000Z" };
    expect(faultsOf(item, dayAfter)).toEqual([]);
    const later = { ...fetched, servedAt: "2026-06-02T00:00:00.001Z" };
    expect(faultsOf(item, later)).toEqual(["seal not_checked", "ai_policy_bits not_checked"]);
  });

  it("compares each picture that was fetched with the one sealed", () => {
    const [first, second] = pictures;
    const urls = ["https://images.test/0?token=t", "https://images.test/1?token=t"] as const;
    const given = (...entries: readonly (readonly [string, Uint8Array])[]) =>
      faultsOf(item, { images: new Map(entries) });
    expect(given([urls[0], first], [urls[1], second])).toEqual([]);
    expect(given([urls[0], first])).toEqual(["images not_checked"]);
    expect(given([urls[0], second], [urls[1], first])).toEqual(["images hash_mismatch"]);
    expect(given([hashOf(first), second])).toEqual(["images hash_mismatch"]);
  });
});
