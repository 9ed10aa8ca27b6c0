// Fills a new sandbox with the samples and writes `sandbox.json`.
//   Z1. Killed at any moment and started again, it goes on: keys and instants are kept before they are used, so the
//       same documents are sealed again, and what was published is not published twice.
//   Z2. A sandbox that is complete only gets mandates that are in force and a `sandbox.json` with today's addresses.
//   Z3. A filling that failed has ended: nothing that it began runs on, so it can be begun again at once.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { PublishOutcome } from "../../actors/messages/push.ts";
import { runPush } from "../../client/push-run.ts";
import type { PushJournal, PushState } from "../../client/push-state.ts";
import type { Fetch } from "../../client/sender.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { Clock, Signer } from "../../crypto/port.ts";
import type { Anchors } from "../../protocol/anchors.ts";
import { canonicalBytes } from "../../protocol/canonical-json.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { algorithmOf } from "../../protocol/jwk.ts";
import type { Result } from "../../protocol/result.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { Parties } from "../../service/parties.ts";
import type { PublishRecordRequest } from "../../service/publish-record.ts";
import { issueGrant, type SandboxGrant } from "../../service/sandbox-grant.ts";
import { sampleBusinesses } from "./businesses.ts";
import { sampleCompanies } from "./companies.ts";
import { stoneShop } from "./diamond-merchant.ts";
import { diamondProduct, parseStones } from "./diamonds.ts";
import {
  ensureMandate,
  type RegisterDeps,
  type RegisteredKey,
  registerBusiness,
  registerCompany,
  registeredKey,
  registerPolicies,
} from "./register-samples.ts";
import {
  calendarFrom,
  type SampleAlgorithm,
  type SampleBusiness,
  type SampleCompany,
  type SampleRecord,
} from "./sample.ts";
import type { Sandbox, SandboxBusiness, SandboxCompany, SandboxKey } from "./sandbox-file.ts";
import { createHostedSealer, createSoftwarePasskey, type Sealer } from "./sealer.ts";
import { openSeedJournal, type SealingInstants, type SeedJournal, sealingInstants } from "./seed-state.ts";
import { together } from "./together.ts";

export type SandboxUrls = Pick<Sandbox, "base_url" | "business_url" | "verify_url" | "mcp_url" | "ops_url">;

export interface SeedDeps {
  /** The node's home folder. */
  readonly home: string;
  readonly urls: SandboxUrls;
  readonly anchors: Anchors;
  readonly clock: Clock;
  readonly parties: Parties;
  readonly keyStore: Pick<FileKeyStore, "loadOrCreate">;
  /** Signs sandbox grants. */
  readonly grantKey: Signer;
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
  readonly publishRecord: (request: PublishRecordRequest) => Promise<Result<PublishOutcome>>;
  /** Reaches `urls.business_url`: the catalogue is pushed the way any business's system would push it. */
  readonly fetch: Fetch;
}

export interface SeedOutcome {
  readonly sandbox: Sandbox;
  /** A published record, to try things with. */
  readonly exampleRecordId: string;
}

interface OpenBusiness {
  readonly business: SampleBusiness;
  readonly sealer: Sealer;
  readonly integration: readonly RegisteredKey[];
  readonly certId: string;
}

interface OpenCompany {
  readonly company: SampleCompany;
  readonly keys: readonly RegisteredKey[];
}

/** Needs the business surface to be listening. Throws when a sample is refused: that is a fault of this program. */
export async function seedSandbox(deps: SeedDeps): Promise<SeedOutcome> {
  const journal = await openSeedJournal(
    join(deps.home, "sandbox-seed.json"),
    formatTimestamp(deps.clock.now()),
  );
  const register: RegisterDeps = {
    parties: deps.parties,
    now: deps.clock.now,
    validFrom: journal.state.first_started_at,
  };
  const businesses = await together(
    sampleBusinesses.map((business) => openBusiness(deps, register, business)),
  );
  const companies = await together(sampleCompanies.map((company) => openCompany(deps, register, company)));
  if (journal.state.sealing_at === null) {
    await journal.advance({ sealing_at: formatTimestamp(deps.clock.now()) });
  }
  const sandbox: Sandbox = {
    environment: "sandbox",
    ...deps.urls,
    anchors: deps.anchors,
    businesses: await together(businesses.map((open) => sandboxBusiness(deps, register, open))),
    ai_companies: await together(companies.map((open) => sandboxCompany(deps, open))),
  };
  if (!journal.state.is_complete) await publishSamples(deps, { register, journal, businesses, sandbox });
  const { example_record_id: exampleRecordId } = journal.state;
  if (exampleRecordId === null) throw new Error("A complete sandbox has an example record.");
  await replaceFile(join(deps.home, "sandbox.json"), `${JSON.stringify(sandbox, null, 2)}\n`);
  return { sandbox, exampleRecordId };
}

async function openBusiness(
  deps: SeedDeps,
  register: RegisterDeps,
  business: SampleBusiness,
): Promise<OpenBusiness> {
  const integration = await loadKeys(deps, business.name, business.integrationKeys);
  const sealer = await openSealer(deps, business);
  const certId = await registerBusiness(register, business, { sealer, integration });
  return { business, sealer, integration, certId };
}

async function openCompany(
  deps: SeedDeps,
  register: RegisterDeps,
  company: SampleCompany,
): Promise<OpenCompany> {
  const keys = await loadKeys(deps, company.name, company.keys);
  await registerCompany(register, company, keys);
  return { company, keys };
}

async function loadKeys(
  deps: SeedDeps,
  name: string,
  algorithms: readonly SampleAlgorithm[],
): Promise<readonly RegisteredKey[]> {
  const keys: RegisteredKey[] = [];
  for (const [index, algorithm] of algorithms.entries()) {
    keys.push(registeredKey(await deps.keyStore.loadOrCreate(`sample-${name}-${index + 1}`, algorithm)));
  }
  return keys;
}

async function openSealer(deps: SeedDeps, business: SampleBusiness): Promise<Sealer> {
  if (business.sealer === "hosted") return createHostedSealer(await deps.hostedSigner(business.uuid));
  const jwk = await deps.keyStore.loadOrCreate(`sample-${business.name}-passkey`, "ES256");
  return createSoftwarePasskey(jwk, deps.anchors.passkeys);
}

async function sandboxBusiness(
  deps: SeedDeps,
  register: RegisterDeps,
  open: OpenBusiness,
): Promise<SandboxBusiness> {
  const { business, sealer, certId } = open;
  const party = partyOf(business, "business");
  const integration_keys = await together(
    open.integration.map(async (key) => {
      const mandate_id = await ensureMandate(register, business, { sealer, key });
      return { ...(await sandboxKey(deps, key, { party, role: "integration", mandate_id })), mandate_id };
    }),
  );
  const { uuid, legalName, country } = business;
  return { business_uuid: uuid, legal_name: legalName, country, cert_id: certId, integration_keys };
}

async function sandboxCompany(deps: SeedDeps, { company, keys }: OpenCompany): Promise<SandboxCompany> {
  const party = partyOf(company, "ai_company");
  const grant = { party, role: "retrieval", mandate_id: null } as const;
  return {
    ai_company_uuid: company.uuid,
    legal_name: company.legalName,
    keys: await together(keys.map((key) => sandboxKey(deps, key, grant))),
  };
}

function partyOf(
  { uuid, legalName, country }: SampleBusiness | SampleCompany,
  kind: "business" | "ai_company",
): SandboxGrant["party"] {
  return { uuid, kind, legal_name: legalName, country };
}

async function sandboxKey(
  deps: SeedDeps,
  key: RegisteredKey,
  facts: Pick<SandboxGrant, "party" | "role" | "mandate_id">,
): Promise<SandboxKey> {
  const grant = await issueGrant(
    { v: 1, environment: "sandbox", ...facts, public_key: key.publicJwk },
    deps.grantKey,
  );
  const alg = algorithmOf(key.publicJwk) === "ES256" ? "ES256" : "Ed25519";
  return { key_id: key.keyId, alg, private_jwk: { ...key.jwk }, grant };
}

interface Filling {
  readonly register: RegisterDeps;
  readonly journal: SeedJournal;
  readonly businesses: readonly OpenBusiness[];
  readonly sandbox: Sandbox;
}

async function publishSamples(
  deps: SeedDeps,
  { register, journal, businesses, sandbox }: Filling,
): Promise<void> {
  const instants = sealingInstants(journal, deps.clock);
  const firstStartMs = parseTimestamp(journal.state.first_started_at) ?? deps.clock.now();
  const liveFrom = await together(businesses.map((open) => registerPolicies(register, open.business, open)));
  const failed = new AbortController();
  const [published] = await together(
    [
      together(
        businesses.map((open, index) =>
          publishRecords(deps, open, { instants, firstStartMs, liveFrom: liveFrom[index] ?? null }),
        ),
      ),
      pushCatalogue(deps, sandbox, failed.signal),
    ],
    (error) => failed.abort(error),
  );
  await journal.advance({ is_complete: true, example_record_id: published.flat()[0] ?? null });
}

interface Sealing {
  readonly instants: SealingInstants;
  /** When the AI policy that the records name came into force. */
  readonly liveFrom: string | null;
}

/** Publishes a business's own records one by one (path B); answers their ids. */
async function publishRecords(
  deps: SeedDeps,
  open: OpenBusiness,
  at: Sealing & { readonly firstStartMs: number },
): Promise<readonly string[]> {
  const records = open.business.records(calendarFrom(at.firstStartMs));
  return await together(records.map((sample) => publishOne(deps, open, { ...at, sample })));
}

/**
 * The same seal again is recognised however old it is; a new one is taken for some minutes only. So what was published by an
 * interrupted filling is found under an instant of its own, and the rest is sealed at one more.
 */
async function publishOne(
  deps: SeedDeps,
  open: OpenBusiness,
  { instants, liveFrom, sample }: Sealing & { readonly sample: SampleRecord },
): Promise<string> {
  let tried = 0;
  const attempt = async (): Promise<Result<PublishOutcome> | null> => {
    for (const instant of instants.kept().slice(tried)) {
      tried += 1;
      // After the business's last AI policy, which the record names.
      const after = formatTimestamp((parseTimestamp(instant) ?? 0) + open.business.policies.length);
      const sealedAt = liveFrom !== null && liveFrom > after ? liveFrom : after;
      const outcome = await sealAndPublish(deps, open, { sample, sealedAt });
      if (outcome.ok || outcome.code !== "sealed_at_skew") return outcome;
    }
    return null;
  };
  let outcome = await attempt();
  if (outcome === null) {
    await instants.another();
    outcome = await attempt();
  }
  const name = `${open.business.name}: ${sample.collection} ${String(sample.record["business_product_id"])}`;
  if (outcome === null) throw new Error(`The sample ${name} was sealed too late.`);
  if (!outcome.ok) throw new Error(`The sample ${name} was refused: ${outcome.code}, ${outcome.detail}`);
  const { record_id, errors } = outcome.value;
  if (record_id === null || errors.length > 0)
    throw new Error(`The sample ${name} was rejected: ${JSON.stringify(errors)}`);
  return record_id;
}

async function sealAndPublish(
  deps: SeedDeps,
  { business, sealer, certId }: OpenBusiness,
  { sample, sealedAt }: { readonly sample: SampleRecord; readonly sealedAt: string },
): Promise<Result<PublishOutcome>> {
  const record = canonicalBytes(sample.record);
  const payload = sealPayload({
    v: 2,
    key_id: sealer.keyId,
    cert_id: certId,
    hash: hashOf(record),
    sealed_at: sealedAt,
    record_type: sample.collection,
    ai_policy_version: business.policies.length,
  });
  const seal = await sealer.seal(payloadTypes["seal.v2"], payload);
  return deps.publishRecord({ businessUuid: business.uuid, collection: sample.collection, record, seal });
}

/** The way is short: the service's own advice when to ask again is for clients elsewhere. */
const waitMsMax = 50;
const patienceMs = 30_000;

/**
 * The diamond merchant's system pushes its catalogue (path A), over HTTP like anybody's. A push that is accepted is
 * waited for as long as it takes, so it is told when there is no more use in it.
 */
async function pushCatalogue(deps: SeedDeps, sandbox: Sandbox, failed: AbortSignal): Promise<void> {
  const chosen = sandbox.businesses[0]?.integration_keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The first sample business has no key.");
  const csv = await readFile(join(import.meta.dirname, "data", "diamonds-slice.csv"), "utf8");
  const records = parseStones(csv).map((stone, index) =>
    canonicalBytes(diamondProduct(stone, index, stoneShop)),
  );
  const client = createSvcClient({
    fetch: deps.fetch,
    key: key.value,
    grant: chosen.grant,
    baseUrl: null,
    businessUrl: sandbox.business_url,
    verifyUrl: null,
  });
  const folder = join(deps.home, "pushes");
  await mkdir(folder, { recursive: true });
  const { batches } = await runPush(
    {
      client,
      key: key.value,
      journal: fileJournal(join(folder, "sandbox-catalogue.json")),
      now: deps.clock.now,
      wait: (delayMs) => delay(Math.min(delayMs, waitMsMax), undefined, { signal: failed }),
      patienceMs,
      runId: "seed",
    },
    records,
  );
  const faulty = batches.find((batch) => batch.result?.state !== "complete" || batch.result.rejected > 0);
  if (faulty !== undefined)
    throw new Error(`The sample catalogue was not published: ${JSON.stringify(faulty.result)}`);
}

function fileJournal(path: string): PushJournal {
  return {
    load: async () => {
      const text = await readFileIfThere(path);
      return text === null ? null : (JSON.parse(text) as PushState);
    },
    save: (state) => replaceFile(path, `${JSON.stringify(state)}\n`),
  };
}
