// Test support: an ad that a business sealed, as a pool serves it.

import { noPolicyMasks, policyBits, policyBitsText } from "../protocol/ai-policy.ts";
import { hashOf, toBase64, utf8 } from "../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { parseRecord } from "../protocol/records/parse-record.ts";
import { sampleAd } from "../protocol/records/records.fixture.ts";
import { serveRow } from "../protocol/row.ts";
import { type SealV2, sealPayload } from "../protocol/seal.ts";
import { signAdVersion } from "../protocol/sign-ad.ts";
import type { PackedMessages } from "../protocol/signed-version.ts";
import { policyRecord, publishedKeys, sealedPolicy, type TestBusiness } from "./business.fixture.ts";
import { asJson, soleKey, type TestService } from "./service.fixture.ts";
import { seal, sealWithPasskey, signBytes, type TestKey } from "./signing.fixture.ts";

export const adId = `ad_${"c".repeat(26)}`;

/** The pictures of the sample, whose hashes the ad names. */
export const pictures = [utf8("the first picture"), utf8("the second picture")] as const;

export const adRecord: JsonObject = {
  ...sampleAd,
  images: (sampleAd["images"] as readonly JsonObject[]).map((image, index) => ({
    ...image,
    sha256: hashOf(pictures[index] as Uint8Array),
  })),
};

export interface AdParts {
  readonly record?: JsonObject;
  /** The exact bytes, if they are not the plain text of the record. */
  readonly bytes?: Uint8Array;
  readonly facts?: Partial<SealV2>;
  /** What the row and the sidecar state of the seal, where it is not what the seal says. */
  readonly stated?: Partial<SealV2>;
  readonly sealer?: "passkey" | "hosted";
  readonly hasPolicy?: boolean;
  readonly certificate?: JsonValue;
  readonly history?: readonly JsonValue[];
  readonly keys?: JsonValue;
}

/** The item of an ad under AI policy version 1, or under none. */
export async function makeAdItem(
  service: TestService,
  business: TestBusiness,
  parts: AdParts = {},
): Promise<JsonObject> {
  const { record = adRecord, hasPolicy = true, sealer = "passkey" } = parts;
  const bytes = parts.bytes ?? utf8(JSON.stringify(record));
  const version = hasPolicy ? 1 : 0;
  const { envelope, payload } = sealAd(business, sealer, {
    hash: hashOf(bytes),
    ai_policy_version: version,
    ...parts.facts,
  });
  const parsed = parseRecord("ads", bytes);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const signers = {
    projection: manySigner(soleKey(service.projection)),
    sidecar: manySigner(soleKey(service.sidecar)),
  };
  const signed = await signAdVersion(signers, {
    ad: parsed.record,
    adId,
    businessUuid: business.uuid,
    envelope,
    sealer,
    generation: 1,
    change: 7,
    source: "manual",
    seal: { ...payload, ...parts.stated },
    receivedAtMs: Date.parse("2026-03-01T12:00:01.000Z"),
    publishedAtMs: Date.parse("2026-03-01T12:00:02.250Z"),
  });
  const masks = hasPolicy ? policyBits(policyRecord()) : noPolicyMasks;
  const policy = sealedPolicy(business);
  const keys = publishedKeys(service, business) as JsonObject;
  return adItemOf({
    ad: parsed.record,
    bytes,
    signed,
    bitsText: policyBitsText(version, masks),
    policy: hasPolicy
      ? { version, record: asJson(policyRecord()), seal: policy.seal }
      : { version, record: null, seal: null },
    advertiser: business.certificate.legal_name,
    certificate: parts.certificate ?? business.issued.envelope,
    ...(parts.history === undefined ? {} : { history: parts.history }),
    keys: parts.keys ?? (keys["signed"] as JsonValue),
  });
}

/** The item of a signed version, as a pool puts it together. */
export function adItemOf(parts: {
  readonly ad: JsonObject;
  readonly bytes: Uint8Array;
  readonly signed: { readonly row: string; readonly sidecar: string };
  readonly bitsText: string;
  readonly policy: JsonObject;
  readonly advertiser: string;
  readonly certificate: JsonValue;
  readonly history?: readonly JsonValue[];
  readonly keys: JsonValue;
}): JsonObject {
  const row = JSON.parse(serveRow(parts.signed.row, parts.bitsText)) as JsonObject;
  return {
    ad_id: row["record_id"] as JsonValue,
    creative: creativeOf(parts.ad),
    label: { text: "Sponsored", advertiser: parts.advertiser },
    net_price: { amount: "0.25", currency: "EUR" },
    keyword_matches: 1,
    render_token: "token",
    row,
    record_base64: toBase64(parts.bytes),
    sidecar: JSON.parse(parts.signed.sidecar),
    ai_policy: parts.policy,
    certificate: parts.certificate,
    ...(parts.history === undefined ? {} : { certificate_history: parts.history }),
    keys: parts.keys,
  };
}

function creativeOf(ad: JsonObject): JsonObject {
  const images = (ad["images"] as readonly JsonObject[]).map((image, index) => ({
    ...image,
    url: `https://images.test/${index}?token=t`,
  }));
  const { headline, body, call_to_action: call = null, display_domain, destination_url } = ad;
  return asJson({
    headline,
    body,
    call_to_action: call,
    display_domain,
    destination_url,
    images,
  }) as JsonObject;
}

function sealAd(
  business: TestBusiness,
  sealer: "passkey" | "hosted",
  facts: Pick<SealV2, "hash" | "ai_policy_version"> & Partial<SealV2>,
): { readonly envelope: Envelope; readonly payload: SealV2 } {
  const key = business[sealer];
  const payload: SealV2 = {
    v: 2,
    key_id: key.keyId,
    cert_id: business.issued.certId,
    sealed_at: "2026-03-01T12:00:00.000Z",
    record_type: "ads",
    ...facts,
  };
  const make = sealer === "passkey" ? sealWithPasskey : seal;
  return { envelope: make(payloadTypes["seal.v2"], sealPayload(payload), key), payload };
}

function manySigner(key: TestKey) {
  return {
    keyId: key.keyId,
    signMany: async ({ bytes, ends }: PackedMessages) =>
      [...ends].map((end, index) => signBytes(key, bytes.slice(index === 0 ? 0 : ends[index - 1], end))),
  };
}
