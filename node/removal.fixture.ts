// Sealed withdrawals and deletions, as a business's system sends them. For tests.

import { freshNonce, type ReceivedAnswer, type SentRequest, send } from "../api/surfaces.fixture.ts";
import type { SigningKey } from "../client/signing-key.ts";
import { collections } from "../collections/collections.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Signer } from "../crypto/port.ts";
import { toBase64 } from "../protocol/bytes.ts";
import { canonicalBytes } from "../protocol/canonical-json.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { type CollectionName, formatTimestamp } from "../protocol/identifiers.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { type SealV2, sealPayload } from "../protocol/seal.ts";
import { withdrawalDocument } from "../protocol/withdrawal.fixture.ts";
import type { Withdrawal } from "../protocol/withdrawal.ts";
import { publishRecord } from "../service/publish-record.ts";
import { sealHosted, type TestBusiness } from "./publishing.fixture.ts";
import type { NodeServices } from "./services.ts";

export interface SealedRemoval {
  readonly document: Uint8Array;
  readonly seal: Envelope;
}

/** Any key that signs: an integration key of a test, or the one that the service holds. */
type Key = Pick<SigningKey | Signer, "keyId" | "sign">;

export async function sealRemoval(
  business: Pick<TestBusiness, "certId">,
  removal: Pick<Withdrawal, "record_id"> & Partial<Withdrawal>,
  key: Key,
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

/** Publishes the sample of a type under the key that the service holds for the business, and returns its record id. */
export async function publishAlone(
  services: NodeServices,
  { party, certId }: Pick<TestBusiness, "party" | "certId">,
  collection: CollectionName,
): Promise<string> {
  const { uuid } = party;
  const record = canonicalBytes(sampleRecords[collection]);
  const sealed = { record, record_type: collection, ai_policy_version: 0 };
  const seal = await sealHosted(services, { uuid, certId }, sealed);
  const deps = { ...services, crypto: nativeCrypto };
  const published = await publishRecord(deps, { businessUuid: uuid, collection, record, seal });
  if (!published.ok || published.value.record_id === null) throw new Error(JSON.stringify(published));
  return published.value.record_id;
}
