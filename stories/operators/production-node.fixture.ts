// A production node in this process, with its own parties, and what a company gets from it. For tests.

import { randomInt, randomUUID } from "node:crypto";
import { contractFetch } from "../../api/contract.fixture.ts";
import { publishBody, sealBatch } from "../../client/batch.ts";
import { evidenceOf, verifyEvidenceFile } from "../../client/evidence.ts";
import { createSvcClient, type SvcClient } from "../../client/service-client.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { ConfigError } from "../../node/configuration/config-error.ts";
import {
  certificateInForce,
  type RegisteredKey,
  registerBusiness,
  registerCompany,
  registeredKey,
} from "../../node/sandbox/register-samples.ts";
import type { SampleAlgorithm, SampleBusiness, SampleCompany, SampleKey } from "../../node/sandbox/sample.ts";
import { createSoftwarePasskey, type Sealer } from "../../node/sandbox/sealer.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { evidenceText } from "../../verifier/evidence.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";

const attemptsMax = 20;

/** Starts a node whose keys are in the folder `keys` of its home; `settings` are environment variables (SVC_…). */
export async function startProductionNode(
  home: string,
  region: string,
  settings: Readonly<Record<string, string>> = {},
  platform: Parameters<typeof startNode>[1] = {},
): Promise<RunningNode> {
  const before = { ...process.env };
  // A test asks nobody on the Internet, whatever it publishes.
  const env = { SVC_DOMAIN_CHECKS: "no", ...settings };
  Object.assign(process.env, env);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const portBase = 20_000 + 5 * randomInt(2_000);
      try {
        const quiet = { logLevel: "silent", logTo: "file" } as const;
        return await startNode({ home, region, portBase, environment: "production", ...quiet }, platform);
      } catch (error) {
        const isTaken = error instanceof ConfigError && error.message.startsWith("--port-base");
        if (!isTaken || attempt === attemptsMax) throw error;
      }
    }
  } finally {
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}

export interface ProductionParties {
  readonly businessUuid: string;
  readonly certId: string;
  readonly integration: SigningKey;
  /** The passkey of the business's owner. */
  readonly owner: Sealer;
  readonly company: SigningKey;
  readonly companyUuid: string;
}

/** A business that may push, and a company that may ask: registered with documents that the issuance key signed. */
export async function registerParties(node: RunningNode): Promise<ProductionParties> {
  const { parties, anchors } = node.services;
  const since = formatTimestamp(Date.now());
  const deps = { parties, now: Date.now, since, endedAt: since };
  const business: SampleBusiness = {
    name: "test",
    uuid: randomUUID(),
    legalName: "Diamonds Ltd",
    country: "GB",
    note: "",
    integrationKeys: [],
    sealer: "passkey",
    policies: [],
    blocks: [],
    records: () => [],
  };
  const company: SampleCompany = {
    name: "asker",
    uuid: randomUUID(),
    legalName: "Asker Inc",
    country: "US",
    note: "",
    keys: [],
  };
  const sealer = createSoftwarePasskey(generatePrivateJwk("ES256"), anchors.passkeys);
  const [integration, asker] = [newKey(), newKey()];
  await registerBusiness(deps, business, { sealer, integration: [integration] });
  await registerCompany(deps, company, [asker]);
  await registerInForce(node.services);
  const certId = (await certificateInForce(parties, business.uuid))?.certId ?? "";
  return {
    businessUuid: business.uuid,
    certId,
    integration: await signingKeyOf(integration),
    owner: sealer,
    company: await signingKeyOf(asker),
    companyUuid: company.uuid,
  };
}

function newKey(): RegisteredKey {
  return registeredKey(everydayKey("Ed25519"), generatePrivateJwk("Ed25519"));
}

async function signingKeyOf({ jwk }: RegisteredKey): Promise<SigningKey> {
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(key.detail);
  return key.value;
}

/** What a company keeps of an answer as later proof: evidence files of a fetch and of a search. */
export interface KeptAnswers {
  readonly fetched: string;
  readonly searched: string;
}

let seqs = 0;

/** The client of a party of this node. */
export function clientOf({ urls, services }: RunningNode, key: SigningKey): SvcClient {
  const { base_url: baseUrl, business_url: businessUrl, verify_url: verifyUrl } = urls;
  const { now } = services.clock;
  return createSvcClient({ fetch: contractFetch, key, baseUrl, businessUrl, verifyUrl, now });
}

/** Publishes a product of its own brand over HTTP. */
export async function publishOne(
  node: RunningNode,
  parties: ProductionParties,
): Promise<{ readonly brand: string; readonly recordId: string }> {
  seqs += 1;
  // It has its own brand, so that the search finds only this one.
  const brand = `Brand ${seqs}`;
  const records = [product(`stone-${seqs}`, { brand })];
  const facts = { businessUuid: parties.businessUuid, certId: parties.certId, aiPolicyVersion: 0 };
  const batch = await sealBatch(
    records,
    { ...facts, recordType: "products", seq: seqs, sealedAtMs: Date.now() },
    parties.integration,
  );
  const published = await clientOf(node, parties.integration).publishProducts({
    body: publishBody(batch.batch_seal, records),
    idempotencyKey: `key-${seqs}`,
  });
  const [outcome] = published.body.results;
  if (typeof outcome?.record_id !== "string") throw new Error(published.text);
  return { brand, recordId: outcome.record_id };
}

/** Publishes a product over HTTP, then searches and fetches it. */
export async function publishAndAsk(node: RunningNode, parties: ProductionParties): Promise<KeptAnswers> {
  const { brand, recordId } = await publishOne(node, parties);
  const asker = clientOf(node, parties.company);
  const caller = { environment: "production", keyId: parties.company.keyId } as const;
  const fetched = await evidenceOf(asker, await asker.fetchRecord(recordId), caller);
  const search = await asker.search({
    collection: "products",
    filter: { all: [{ country: "US" }, { brand }] },
    sort_by: "published_at:desc",
  });
  const searched = evidenceText({
    environment: "production",
    answer: { kind: "search", text: search.text },
    keySet: (await asker.verificationRead("/.well-known/keys")).text,
    callerKeyId: caller.keyId,
  });
  if (search.body.rows.length !== 1) throw new Error(`the search found ${search.body.rows.length} rows`);
  return { fetched, searched };
}

/**
 * What the offline verifier says of kept answers, under today's anchors and with today's key set: the reason of each failed
 * check, by its name. Empty if all pass.
 */
export function judge(
  kept: KeptAnswers,
  given: { readonly anchorsText: string; readonly keySetText: string },
): Readonly<Record<string, string>> {
  const failed: Record<string, string> = {};
  for (const file of [kept.fetched, kept.searched]) {
    const outcome = verifyEvidenceFile(utf8(withKeySet(file, given.keySetText)), {
      anchorsText: given.anchorsText,
      allowSandbox: false,
    });
    if (!outcome.ok) throw new Error(outcome.detail);
    const checks = outcome.value.checks.filter(({ state }) => ["ok", "failed"].includes(state));
    if (checks.length < 2 && outcome.value.valid) throw new Error("nothing was checked");
    for (const { name, state, reason } of checks) if (state === "failed") failed[name] = reason ?? "";
  }
  return failed;
}

/** An evidence file under another key set; the answer in it stays exactly as it was received. */
function withKeySet(file: string, keySetText: string): string {
  return file
    .split("\n")
    .map((line) => (line.startsWith('  "key_set": ') ? `  "key_set": ${keySetText.trim()},` : line))
    .join("\n");
}

function everydayKey(algorithm: SampleAlgorithm): SampleKey {
  return { algorithm, note: `${algorithm === "ES256" ? "P-256" : "Ed25519"}, for everyday use.` };
}
