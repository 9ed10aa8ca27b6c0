// Samples that are registered and published together, with their own journal in the home folder.

import { join } from "node:path";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { Clock, Signer } from "../../crypto/port.ts";
import type { PrivateJwk } from "../../crypto/private-jwk.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import type { Parties } from "../../service/register/parties.ts";
import { allEnded } from "./all-ended.ts";
import {
  certificateInForce,
  type RegisterDeps,
  type RegisteredKey,
  registerBusiness,
  registerCompany,
  registeredKey,
  registerOwner,
} from "./register-samples.ts";
import type { SampleBusiness, SampleCompany, SampleIntegrationKey, SampleKey } from "./sample.ts";
import { createHostedSealer, createSoftwarePasskey, type Sealer } from "./sealer.ts";
import { openSeedJournal, type SeedJournal } from "./seed-state.ts";

export interface SampleSetDeps {
  /** The node's home folder. */
  readonly home: string;
  readonly anchors: Anchors;
  readonly clock: Clock;
  readonly parties: Parties;
  readonly keyStore: FileKeyStore;
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
}

export interface SampleSet {
  /** The name of the journal in the home folder. */
  readonly journalFile: string;
  readonly businesses: readonly SampleBusiness[];
  readonly companies: readonly SampleCompany[];
}

export interface OpenBusiness {
  readonly business: SampleBusiness;
  readonly sealer: Sealer;
  /** The passkey of its owner, who decides about held pushes even where the service holds the key that seals. */
  readonly owner: Sealer & { readonly jwk: PrivateJwk };
  readonly integration: readonly RegisteredKey<SampleIntegrationKey>[];
}

export interface OpenCompany {
  readonly company: SampleCompany;
  readonly keys: readonly RegisteredKey[];
}

export interface OpenSet {
  readonly journal: SeedJournal;
  readonly register: RegisterDeps;
  readonly businesses: readonly OpenBusiness[];
  readonly companies: readonly OpenCompany[];
}

/**
 * Everything came into force this long before the first start, so that trials with earlier instants are not refused for
 * their age.
 */
const inForceForMs = 3_600_000;

/** Registers everything that a seal names; what an earlier run registered is not registered again. */
export async function openSampleSet(deps: SampleSetDeps, set: SampleSet): Promise<OpenSet> {
  const nowMs = deps.clock.now();
  const journal = await openSeedJournal(join(deps.home, set.journalFile), {
    now: formatTimestamp(nowMs),
    since: formatTimestamp(nowMs - inForceForMs),
  });
  const register = registerDeps(deps, journal);
  const parts = { deps, register, isRegistered: journal.state.sealing_at !== null };
  const businesses = await allEnded(set.businesses.map((business) => openBusiness(parts, business)));
  const companies = await allEnded(set.companies.map((company) => openCompany(parts, company)));
  if (journal.state.sealing_at === null) {
    await journal.advance({ sealing_at: formatTimestamp(deps.clock.now()) });
  }
  return { journal, register, businesses, companies };
}

function registerDeps(deps: SampleSetDeps, { state }: SeedJournal): RegisterDeps {
  const { first_started_at, since = first_started_at } = state;
  const sinceMs = parseTimestamp(since) ?? 0;
  const startedMs = parseTimestamp(first_started_at) ?? sinceMs;
  return {
    parties: deps.parties,
    now: deps.clock.now,
    since,
    endedAt: formatTimestamp(sinceMs + Math.max(1, Math.floor((startedMs - sinceMs) / 2))),
  };
}

interface Opening {
  readonly deps: SampleSetDeps;
  readonly register: RegisterDeps;
  /** Whether an earlier run registered the samples. */
  readonly isRegistered: boolean;
}

async function openBusiness(
  { deps, register, isRegistered }: Opening,
  business: SampleBusiness,
): Promise<OpenBusiness> {
  const integration = await loadKeys(deps, business.name, business.integrationKeys);
  const owner = await openOwner(deps, business);
  const isHosted = business.sealer === "hosted";
  const sealer = isHosted ? createHostedSealer(await deps.hostedSigner(business.uuid)) : owner;
  const inForce = isRegistered ? await certificateInForce(deps.parties, business.uuid) : null;
  // The store may differ from that of the earlier run.
  if (inForce === null) {
    await registerBusiness(register, business, { sealer, integration });
    if (isHosted) await registerOwner(register, business.uuid, owner);
  }
  return { business, sealer, owner, integration };
}

async function openCompany(
  { deps, register, isRegistered }: Opening,
  company: SampleCompany,
): Promise<OpenCompany> {
  const keys = await loadKeys(deps, company.name, company.keys);
  const inForce = isRegistered ? await certificateInForce(deps.parties, company.uuid) : null;
  if (inForce === null) await registerCompany(register, company, keys);
  return { company, keys };
}

async function loadKeys<K extends SampleKey>(
  deps: SampleSetDeps,
  name: string,
  samples: readonly K[],
): Promise<readonly RegisteredKey<K>[]> {
  return await allEnded(
    samples.map(async (sample, index) =>
      registeredKey(
        sample,
        await deps.keyStore.loadOrCreate(`sample-${name}-${index + 1}`, sample.algorithm),
      ),
    ),
  );
}

async function openOwner(deps: SampleSetDeps, business: SampleBusiness): Promise<OpenBusiness["owner"]> {
  const jwk = await deps.keyStore.loadOrCreate(`sample-${business.name}-passkey`, "ES256");
  return { ...createSoftwarePasskey(jwk, deps.anchors.passkeys), jwk };
}
