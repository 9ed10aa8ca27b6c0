// A node without HTTP in its own folder, a business in it, and what the business's system would send. For tests.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { KeyFacts, PartyFacts } from "../../actors/messages/business.ts";
import { publishBody, type SealedBatch, sealBatch } from "../../client/batch.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { type NodePlatform, type NodeServices, openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { contentDigest } from "../../protocol/http-signature.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { type SealV2, sealPayload } from "../../protocol/seal.ts";
import type { Caller, Outcome } from "../../service/answer.ts";
import { createGrantedKeys } from "../../service/authentication/sandbox-grants.ts";
import { publishBatch } from "../../service/publishing/publish.ts";
import { validateBatch } from "../../service/publishing/validate-batch.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";

export interface PublishingNode {
  services: NodeServices;
  readonly home: string;
  /** Closes the node and opens another on the same home. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function openPublishingNode(
  env: Readonly<Record<string, string>> = {},
  platform: NodePlatform = {},
): Promise<PublishingNode> {
  const home = await mkdtemp(join(tmpdir(), "svc-node-"));
  const config = loadConfig({ home, environment: "sandbox" }, env);
  const node: PublishingNode = {
    home,
    services: await openNodeServices(config, undefined, platform),
    restart: async () => {
      await node.services[Symbol.asyncDispose]();
      node.services = await openNodeServices(config, undefined, platform);
      await node.services.actors.start();
    },
    close: async () => {
      await node.services[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
  await node.services.actors.start();
  return node;
}

export interface TestBusiness {
  readonly party: PartyFacts;
  readonly key: KeyFacts;
  readonly signingKey: SigningKey;
  readonly certId: string;
}

export async function openBusiness(
  services: NodeServices,
  uuid = "00000000-0000-4000-8000-000000000001",
  legalName = "Diamonds Ltd",
): Promise<TestBusiness> {
  const parsed = await parseSigningKey(generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  const signingKey = parsed.value;
  const register = createGrantedKeys(services);
  const granted = await register(
    {
      v: 1,
      environment: "sandbox",
      party: { uuid, kind: "business", legal_name: legalName, country: "GB" },
      role: "integration",
      public_key: signingKey.publicJwk,
      mandate_id: null,
    },
    signingKey.keyId,
  );
  if (granted.status === "refused") throw new Error(granted.detail);
  const facts = await services.parties.facts(uuid, signingKey.keyId);
  while ((await services.register.mandates(uuid)).length === 0) {
    await turn();
    await services.register.refresh();
  }
  return { party: granted.party, key: granted.key, signingKey, certId: facts.certificate?.cert_id ?? "" };
}

/** The exact bytes of a product; `changes` replace members of the sample, or leave them out if undefined. */
export function product(id: string, changes: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const record = { ...sampleRecords.products, business_product_id: id, ...changes };
  const members = Object.entries(record).filter(([, value]) => value !== undefined);
  return canonicalBytes(rubbish(Object.fromEntries(members)));
}

export function seal(
  business: TestBusiness,
  records: readonly Uint8Array[],
  changes: Partial<{
    seq: number;
    sealedAtMs: number;
    certId: string;
    aiPolicyVersion: number;
    recordType: string;
  }> = {},
): Promise<SealedBatch> {
  return sealBatch(
    records,
    {
      businessUuid: business.party.uuid,
      certId: business.certId,
      aiPolicyVersion: 0,
      recordType: "products",
      seq: 1,
      sealedAtMs: Date.now(),
      ...changes,
    },
    business.signingKey,
  );
}

let idempotencyKeys = 0;

export function publish(
  services: NodeServices,
  business: TestBusiness,
  body: Uint8Array,
  {
    isOnlyValidated = false,
    ...changes
  }: Partial<{
    idempotencyKey: string | null;
    collection: string;
    sourceIp: string;
    isOnlyValidated: boolean;
  }> = {},
): Promise<Outcome> {
  idempotencyKeys += 1;
  const caller: Caller = {
    key: business.key,
    party: business.party,
    nonce: `nonce-${idempotencyKeys}`,
    expiresMs: Date.now() + 60_000,
    requestHash: "sha256:",
    tag: "svc-push",
  };
  return (isOnlyValidated ? validateBatch : publishBatch)(services, {
    caller,
    collection: "products",
    idempotencyKey: `key-${idempotencyKeys}`,
    contentDigest: contentDigest(body),
    body,
    sourceIp: "127.0.0.1",
    ...changes,
  });
}

export async function sealAndPublish(
  services: NodeServices,
  business: TestBusiness,
  records: readonly Uint8Array[],
  changes: Parameters<typeof seal>[2] = {},
): Promise<Outcome> {
  const batch = await seal(business, records, changes);
  return publish(services, business, publishBody(batch.batch_seal, records));
}

/** The JSON of an answer; a problem document for a refusal. */
export function jsonOf(outcome: Outcome): Record<string, unknown> & { status: number } {
  if (outcome.kind === "problem")
    return { ...outcome.problem } as unknown as Record<string, unknown> & { status: number };
  return { status: outcome.status, ...(JSON.parse(String(outcome.body)) as Record<string, unknown>) };
}

/** The seal of a record by the key that the service holds for the business. */
export async function sealHosted(
  services: NodeServices,
  business: { readonly uuid: string; readonly certId: string },
  sealed: Pick<SealV2, "record_type" | "ai_policy_version"> &
    Partial<Pick<SealV2, "sealed_at">> & { readonly record: Uint8Array },
): Promise<Envelope> {
  const { record, record_type, ai_policy_version } = sealed;
  const { sealed_at = formatTimestamp(services.clock.now()) } = sealed;
  const signer = await services.hostedSigner(business.uuid);
  const payload = sealPayload({
    v: 2,
    key_id: signer.keyId,
    cert_id: business.certId,
    hash: hashOf(record),
    sealed_at,
    record_type,
    ai_policy_version,
  });
  return signEnvelope(payloadTypes["seal.v2"], payload, [signer]);
}
