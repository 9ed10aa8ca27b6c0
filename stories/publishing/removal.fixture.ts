// Sealed withdrawals and deletions, as a business's system sends them. For tests.

import { freshNonce, type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { collections } from "../../collections/collections.ts";
import type { Signer } from "../../crypto/port.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import { aiPolicyBytes } from "../../protocol/ai-policy.ts";
import { hashOf, toBase64, utf8 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { contentDigest } from "../../protocol/http-signature.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { custodyRequestPayload } from "../../protocol/keys/key-directory.ts";
import { mandateLifeMaxMs } from "../../protocol/limits.ts";
import { type MandateScope, mandatePayload } from "../../protocol/mandate.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { type SealV2, sealPayload } from "../../protocol/seal.ts";
import { withdrawalDocument } from "../../protocol/withdrawal.fixture.ts";
import type { Withdrawal } from "../../protocol/withdrawal.ts";
import type { Caller, Outcome } from "../../service/answer.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { removeRecord } from "../../service/publishing/remove-record.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import { policyRecord } from "../../verifier/business.fixture.ts";
import { sealHosted, type TestBusiness } from "./publishing.fixture.ts";

export interface SealedRemoval {
  readonly document: Uint8Array;
  readonly seal: Envelope;
}

/** Any key of a business: an integration key of a test, the one that the service holds, or a person's passkey. */
export type RemovalSealer =
  | Pick<SigningKey | Signer, "keyId" | "sign">
  | { readonly keyId: string; seal(payloadType: string, payload: Uint8Array): Promise<Envelope> };

export async function sealRemoval(
  business: Pick<TestBusiness, "certId">,
  removal: Pick<Withdrawal, "record_id"> & Partial<Withdrawal>,
  key: RemovalSealer,
  changes: Partial<SealV2> & { readonly document?: Uint8Array } = {},
): Promise<SealedRemoval> {
  const now = formatTimestamp(Date.now());
  const { document = withdrawalDocument({ action: "withdraw", at: now, ...removal }), ...claims } = changes;
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: business.certId,
    hash: hashOf(document),
    sealed_at: now,
    record_type: "products",
    ai_policy_version: 0,
    ...claims,
  });
  const payloadType = payloadTypes["seal.v2"];
  if ("seal" in key) return { document, seal: await key.seal(payloadType, payload) };
  const sig = await key.sign(pae(payloadType, payload));
  return { document, seal: makeEnvelope(payloadType, payload, [{ keyid: key.keyId, sig }]) };
}

export function removalText({ document, seal }: SealedRemoval): string {
  return JSON.stringify({ document_base64: toBase64(document), seal });
}

/** Sends a body to the route of a type and an action, signed by the business's integration key. */
export function removeOver(
  base: string,
  business: Pick<TestBusiness, "signingKey">,
  route: { readonly type?: CollectionName; readonly action: Withdrawal["action"] },
  sent: SealedRemoval | string,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  const caller = { key: business.signingKey, grant: "" };
  return send(base, caller, {
    path: `/v1/publish/${collections[route.type ?? "products"].path}/${route.action}`,
    body: typeof sent === "string" ? sent : removalText(sent),
    tag: "svc-push",
    ...changes,
    headers: { "svc-sandbox-key": null, "idempotency-key": freshNonce(), ...changes.headers },
  });
}

/** The sample of a type, sealed by the key that the service holds for the business; the body that delivers it. */
export async function sealAlone(
  services: NodeServices,
  { party, certId }: Pick<TestBusiness, "party" | "certId">,
  collection: CollectionName,
  changes: JsonObject = {},
): Promise<{ readonly record: Uint8Array; readonly seal: Envelope; readonly body: string }> {
  const record = canonicalBytes({ ...sampleRecords[collection], ...changes });
  const sealed = { record, record_type: collection, ai_policy_version: 0 };
  const seal = await sealHosted(services, { uuid: party.uuid, certId }, sealed);
  return { record, seal, body: JSON.stringify({ record_base64: toBase64(record), seal }) };
}

/** The first AI policy of a business, sealed by the key that the service holds for it; the body that delivers it. */
export async function sealPolicyAlone(
  services: NodeServices,
  { party, certId }: Pick<TestBusiness, "party" | "certId">,
): Promise<string> {
  const record = aiPolicyBytes(policyRecord());
  const sealed = { record, record_type: "ai_policy", ai_policy_version: 1 };
  const seal = await sealHosted(services, { uuid: party.uuid, certId }, sealed);
  return JSON.stringify({ record_base64: toBase64(record), seal });
}

/** A mandate for the business's key, sealed by the key that the service holds for it; the body that delivers it. */
export async function sealMandate(
  services: NodeServices,
  { party, key }: Pick<TestBusiness, "party" | "key">,
  scope: Partial<MandateScope> = {},
): Promise<string> {
  const nowMs = services.clock.now();
  const payload = mandatePayload({
    v: 1,
    mandate_id: "mdt_winter",
    business_uuid: party.uuid,
    key_id: key.key_id,
    scope: {
      record_types: ["products"],
      countries: ["GB", "IE"],
      directions: ["publish"],
      caps: { records_per_hour: 10_000, bytes_per_day: 50_000_000 },
      source_ip_allow_list: ["203.0.113.0/24"],
      ...scope,
    },
    valid_from: formatTimestamp(nowMs),
    valid_until: formatTimestamp(nowMs + mandateLifeMaxMs),
  });
  const signer = await services.hostedSigner(party.uuid);
  const mandate = await signEnvelope(payloadTypes["mandate.v1"], payload, [signer]);
  return JSON.stringify({ mandate });
}

/** A request for the statement that the person's own passkey is held by the business; the body that delivers it. */
export async function sealCustodyRequest(
  { party }: Pick<TestBusiness, "party">,
  person: Extract<RemovalSealer, { seal: unknown }>,
): Promise<string> {
  const at = formatTimestamp(Date.now());
  const asked = { business_uuid: party.uuid, key_id: person.keyId, effective_from: at, at } as const;
  const payload = custodyRequestPayload({ v: 1, custody: "self", ...asked });
  return JSON.stringify({ request: await person.seal(payloadTypes["custody-request.v1"], payload) });
}

/** Publishes the sample of a type under the key that the service holds for the business, and returns its record id. */
export async function publishAlone(
  services: NodeServices,
  business: Pick<TestBusiness, "party" | "certId">,
  collection: CollectionName,
  changes: JsonObject = {},
): Promise<string> {
  const { uuid } = business.party;
  const { record, seal } = await sealAlone(services, business, collection, changes);
  const deps = services;
  const published = await publishRecord(deps, { businessUuid: uuid, collection, record, seal });
  if (!published.ok || published.value.record_id === null) throw new Error(JSON.stringify(published));
  return published.value.record_id;
}

let sent = 0;

/** Sends a sealed document to the service, without HTTP. */
export function removeBy(
  services: NodeServices,
  { key, party }: Pick<TestBusiness, "key" | "party">,
  action: Withdrawal["action"],
  sealed: SealedRemoval,
  purgeAfterMs = 86_400_000,
): Promise<Outcome> {
  sent += 1;
  const body = utf8(removalText(sealed));
  const caller: Caller = {
    key,
    party,
    nonce: `removal-${sent}`,
    expiresMs: Date.now() + 60_000,
    requestHash: "sha256:",
    tag: "svc-push",
  };
  return removeRecord(
    { ...services, purgeAfterMs },
    {
      caller,
      collection: "products",
      action,
      body,
      sourceIp: "127.0.0.1",
      contentDigest: contentDigest(body),
      idempotencyKey: `removal ${sent}`,
    },
  );
}
