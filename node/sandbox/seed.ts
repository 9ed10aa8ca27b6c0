// Seeds a new sandbox with the samples and writes `sandbox.json`.
//   Z1. Killed at any moment and restarted, it continues: keys and instants are stored before they are used, so the same
//       documents are sealed again, and nothing is published twice.
//   Z2. A complete sandbox only gets mandates that are in force and a `sandbox.json` with today's addresses.
//   Z3. A seeding that failed has ended: nothing that it started is still running, so it can be retried at once.
//   Z4. What operators revoked in the meantime is left out, and does not prevent the rest from being seeded.

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
import type { Clock } from "../../crypto/port.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import type { Result } from "../../protocol/result.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { PublishRecordRequest } from "../../service/publishing/publish-record.ts";
import { allEnded } from "./all-ended.ts";
import {
  sampleBusinesses,
  sampleCompanies,
  stoneShop,
  trialBusinesses,
  trialCompanies,
} from "./businesses.ts";
import { diamondProduct, parseStones } from "./diamonds.ts";
import { certificateInForce, endCertificate, registerPolicies } from "./register-samples.ts";
import { calendarFrom, type SampleRecord } from "./sample.ts";
import {
  type OpenBusiness,
  type OpenSet,
  openSampleSet,
  type SampleSet,
  type SampleSetDeps,
} from "./sample-set.ts";
import {
  type EntriesDeps,
  sandboxBusiness,
  sandboxCompany,
  sandboxIntegrationKey,
} from "./sandbox-entries.ts";
import type { Sandbox, SandboxKey } from "./sandbox-file.ts";
import { type SeedAdsDeps, seedAds } from "./seed-ads.ts";
import { type SealingInstants, sealingInstants } from "./seed-state.ts";

export type SandboxUrls = Pick<
  Sandbox,
  "base_url" | "business_url" | "verify_url" | "mcp_url" | "ops_url" | "portal_url"
>;

export interface SeedDeps extends SampleSetDeps, EntriesDeps, SeedAdsDeps {
  readonly urls: SandboxUrls;
  readonly publishRecord: (request: PublishRecordRequest) => Promise<Result<PublishOutcome>>;
  /**
   * A fetch function that reaches `urls.business_url`: the catalogue is pushed the way any business's system would push it.
   */
  readonly fetch: Fetch;
}

export interface SeedOutcome {
  readonly sandbox: Sandbox;
  /** A published record to try things with; null if none could be published (Z4). */
  readonly exampleRecordId: string | null;
}

const everydaySamples: SampleSet = {
  journalFile: "sandbox-seed.json",
  businesses: sampleBusinesses,
  companies: sampleCompanies,
};
const trialSamples: SampleSet = {
  journalFile: "sandbox-trials.json",
  businesses: trialBusinesses,
  companies: trialCompanies,
};

/** Requires the business surface to be listening. Throws if a sample is refused, because that is a bug of this program. */
export async function seedSandbox(deps: SeedDeps): Promise<SeedOutcome> {
  const sets = await allEnded([openSampleSet(deps, everydaySamples), openSampleSet(deps, trialSamples)]);
  const [everyday, trials] = sets;
  await allEnded([
    fillSet(deps, everyday, (failed) => pushFirstCatalogue(deps, everyday, failed)).then(() =>
      seedAds(deps, everyday.businesses),
    ),
    fillSet(deps, trials, async () => {}),
  ]);
  const sandbox: Sandbox = {
    environment: "sandbox",
    ...deps.urls,
    anchors: deps.anchors,
    businesses: await allEnded(
      sets.flatMap((set) => set.businesses.map((open) => sandboxBusiness(deps, open))),
    ),
    ai_companies: await allEnded(
      sets.flatMap((set) => set.companies.map((open) => sandboxCompany(deps, open))),
    ),
  };
  const { example_record_id: exampleRecordId } = everyday.journal.state;
  await replaceFile(join(deps.home, "sandbox.json"), `${JSON.stringify(sandbox, null, 2)}\n`);
  return { sandbox, exampleRecordId };
}

async function pushFirstCatalogue(
  deps: SeedDeps,
  { businesses }: OpenSet,
  failed: AbortSignal,
): Promise<void> {
  const [open] = businesses;
  const [key] = open?.integration ?? [];
  if (open === undefined || key === undefined) throw new Error("The first sample business has no key.");
  // The pushes of the first key are valid by the mandate that the second one sealed.
  if ((await isRevoked(deps, open, key.keyId)) || (await isRevoked(deps, open, open.sealer.keyId))) return;
  const { key: pusher } = await sandboxIntegrationKey(deps, open.business, key);
  await pushCatalogue({ ...deps, businessUrl: deps.urls.business_url }, pusher, failed);
}

/** Publishes what is not published yet; then ends the certificates that are meant to end. */
async function fillSet(
  deps: SeedDeps,
  set: OpenSet,
  pushCatalogue: (failed: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!set.journal.state.is_complete) await publishSamples(deps, set, pushCatalogue);
  const parties = [
    ...set.businesses.map(({ business }) => ({ party: business, kind: "business" as const })),
    ...set.companies.map(({ company }) => ({ party: company, kind: "ai_company" as const })),
  ];
  await allEnded(
    parties.map(async ({ party, kind }) => {
      const { ending } = party;
      if (ending !== undefined) await endCertificate(set.register, party, { kind, ending });
    }),
  );
}

async function publishSamples(
  deps: SeedDeps,
  { register, journal, businesses }: OpenSet,
  pushCatalogue: (failed: AbortSignal) => Promise<void>,
): Promise<void> {
  const instants = sealingInstants(journal, deps.clock);
  const firstStartMs = parseTimestamp(journal.state.first_started_at) ?? deps.clock.now();
  const publishing = await allEnded(
    businesses.map(async (open) => {
      const inForce = await certificateInForce(deps.parties, open.business.uuid);
      // Another node that seeds the same sandbox has completed it.
      if (inForce?.status !== "active" || (await isRevoked(deps, open, open.sealer.keyId))) return [];
      const certified = { ...open, certId: inForce.certId };
      const policyLiveFrom = await registerPolicies(register, open.business, certified);
      return [{ ...certified, policyLiveFrom }];
    }),
  );
  const failed = new AbortController();
  const [published] = await allEnded(
    [
      allEnded(publishing.flat().map((open) => publishRecords(deps, open, { instants, firstStartMs }))),
      pushCatalogue(failed.signal),
    ],
    (error) => failed.abort(error),
  );
  await journal.advance({ is_complete: true, example_record_id: published.flat()[0] ?? null });
}

async function isRevoked({ parties }: SeedDeps, { business }: OpenBusiness, keyId: string): Promise<boolean> {
  return (await parties.facts(business.uuid, keyId)).key === "revoked";
}

interface CertifiedBusiness extends OpenBusiness {
  readonly certId: string;
  /** When the AI policy that its records name came into force. */
  readonly policyLiveFrom: string | null;
}

/** Publishes a business's own records one by one (path B); returns their ids. */
async function publishRecords(
  deps: SeedDeps,
  open: CertifiedBusiness,
  at: { readonly instants: SealingInstants; readonly firstStartMs: number },
): Promise<readonly string[]> {
  const records = open.business.records(calendarFrom(at.firstStartMs));
  return await allEnded(records.map((sample) => publishOne(deps, open, { ...at, sample })));
}

/**
 * An identical seal is recognised however old it is; a new one is accepted only for some minutes. So what an interrupted
 * seeding published is found under one of its instants, and the rest is sealed at one more.
 */
async function publishOne(
  deps: SeedDeps,
  open: CertifiedBusiness,
  { instants, sample }: { readonly instants: SealingInstants; readonly sample: SampleRecord },
): Promise<string> {
  let tried = 0;
  const attempt = async (): Promise<Result<PublishOutcome> | null> => {
    for (const instant of instants.kept().slice(tried)) {
      tried += 1;
      // The instant must be after the business's last AI policy, which the record names.
      const after = formatTimestamp((parseTimestamp(instant) ?? 0) + open.business.policies.length);
      const { policyLiveFrom: liveFrom } = open;
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
  if (record_id === null || !isOvertaken(errors))
    throw new Error(`The sample ${name} was rejected: ${JSON.stringify(errors)}`);
  return record_id;
}

async function sealAndPublish(
  deps: SeedDeps,
  { business, sealer, certId }: CertifiedBusiness,
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

// The diamond merchant's catalogue, pushed by its system (path A) over HTTP like anyone else's.

export interface CatalogueDeps {
  /** The node's home folder. */
  readonly home: string;
  readonly businessUrl: string;
  readonly clock: Clock;
  /** A fetch function that reaches `businessUrl`. */
  readonly fetch: Fetch;
}

/** The round trip is short: the service's own retry advice is meant for remote clients. */
const waitMsMax = 50;
const patienceMs = 30_000;

/** An accepted push is awaited for as long as it takes, so the caller aborts it when it is no longer needed. */
async function pushCatalogue(deps: CatalogueDeps, pusher: SandboxKey, failed: AbortSignal): Promise<void> {
  const key = await parseSigningKey(pusher.private_jwk);
  if (!key.ok) throw new Error(`A sample key cannot be used: ${key.detail}`);
  const csv = await readFile(join(import.meta.dirname, "data", "diamonds-slice.csv"), "utf8");
  const records = parseStones(csv).map((stone, index) =>
    canonicalBytes(diamondProduct(stone, index, stoneShop)),
  );
  const client = createSvcClient({
    fetch: deps.fetch,
    key: key.value,
    grant: pusher.grant,
    baseUrl: null,
    businessUrl: deps.businessUrl,
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
  const faulty = batches.find(
    ({ result }) => result?.state !== "complete" || !result.faults.every(({ errors }) => isOvertaken(errors)),
  );
  if (faulty !== undefined)
    throw new Error(`The sample catalogue was not published: ${JSON.stringify(faulty.result)}`);
}

/** Whether nothing else is wrong than that a push of another node, which fills the same sandbox, has published the record. */
function isOvertaken(errors: readonly { readonly code: string }[]): boolean {
  return errors.every(({ code }) => code === "superseded");
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
