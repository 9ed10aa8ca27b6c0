// The entries of `sandbox.json` for each sample.

import type { Clock, Signer } from "../../crypto/port.ts";
import { createMandateRenewal } from "../../service/authentication/mandate-renewal.ts";
import type { Parties } from "../../service/register/parties.ts";
import { issueGrant, type SandboxGrant } from "../../service/register/sandbox-grant.ts";
import { allEnded } from "./all-ended.ts";
import { certificateInForce, firstMandateId, type RegisteredKey } from "./register-samples.ts";
import type { SampleBusiness, SampleCompany, SampleIntegrationKey } from "./sample.ts";
import type { OpenBusiness, OpenCompany } from "./sample-set.ts";
import type {
  SandboxBusiness,
  SandboxCompany,
  SandboxIntegrationKey,
  SandboxKey,
  SandboxMandate,
} from "./sandbox-file.ts";

export interface EntriesDeps {
  readonly clock: Clock;
  readonly parties: Parties;
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
  /** Signs sandbox grants. */
  readonly grantKey: Signer;
}

export async function sandboxBusiness(deps: EntriesDeps, open: OpenBusiness): Promise<SandboxBusiness> {
  const { uuid, legalName, country, note } = open.business;
  const keys = await allEnded(open.integration.map((key) => sandboxIntegrationKey(deps, open.business, key)));
  const inForce = await certificateInForce(deps.parties, uuid);
  return {
    business_uuid: uuid,
    legal_name: legalName,
    country,
    cert_id: inForce?.certId ?? "",
    note,
    integration_keys: keys.map(({ key }) => key),
    mandates: keys.flatMap(({ mandate }) => (mandate === null ? [] : [mandate])),
    owner: {
      key_id: open.owner.keyId,
      private_jwk: { ...open.owner.jwk },
      note: "The owner's passkey, made in software: confirms or rejects held pushes (svc hold).",
    },
  };
}

const everydayMandate = "Allows everything, and its caps are generous.";

export async function sandboxIntegrationKey(
  deps: EntriesDeps,
  business: SampleBusiness,
  key: RegisteredKey<SampleIntegrationKey>,
): Promise<{ readonly key: SandboxIntegrationKey; readonly mandate: SandboxMandate | null }> {
  const { keyId, sample } = key;
  // A mandate that is about to end is followed by another one.
  if (sample.mandate !== null) await createMandateRenewal(deps)(business.uuid, keyId);
  const { mandates } = await deps.parties.facts(business.uuid, keyId);
  const isGiven = sample.mandate !== null && sample.fate !== "ended";
  const mandate_id = isGiven ? (mandates[0]?.mandate_id ?? firstMandateId(keyId)) : null;
  const note = sample.mandate?.note ?? everydayMandate;
  const party = partyOf(business, "business");
  return {
    key: {
      ...(await sandboxKey(deps, key, { party, role: "integration", mandate_id: firstMandateId(keyId) })),
      mandate_id,
    },
    mandate: mandate_id === null ? null : { mandate_id, key_id: keyId, note },
  };
}

export async function sandboxCompany(
  deps: EntriesDeps,
  { company, keys }: OpenCompany,
): Promise<SandboxCompany> {
  const party = partyOf(company, "ai_company");
  const grant = { party, role: "retrieval", mandate_id: null } as const;
  return {
    ai_company_uuid: company.uuid,
    legal_name: company.legalName,
    note: company.note,
    keys: await allEnded(keys.map((key) => sandboxKey(deps, key, grant))),
  };
}

function partyOf(
  { uuid, legalName, country }: SampleBusiness | SampleCompany,
  kind: "business" | "ai_company",
): SandboxGrant["party"] {
  return { uuid, kind, legal_name: legalName, country };
}

async function sandboxKey(
  deps: EntriesDeps,
  key: RegisteredKey,
  facts: Pick<SandboxGrant, "party" | "role" | "mandate_id">,
): Promise<SandboxKey> {
  const grant = await issueGrant(
    { v: 1, environment: "sandbox", ...facts, public_key: key.publicJwk },
    deps.grantKey,
  );
  const { algorithm: alg, note } = key.sample;
  return { key_id: key.keyId, alg, private_jwk: { ...key.jwk }, grant, note };
}
