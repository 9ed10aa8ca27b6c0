// Samples that are refused: parties, keys and mandates, each for trying one refusal. What is tried with them, and the
// answers: refusals/ and docs/sandbox.md.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import {
  aiPolicy,
  everydayKey,
  type SampleBusiness,
  type SampleCompany,
  type SampleEnding,
  type SampleIntegrationKey,
  type SampleKey,
  sampleRecord,
} from "./sample.ts";

/** These parties' records are published where no other sample is, so that searches elsewhere find what they always found. */
const country = "IE";

const policy = aiPolicy({
  use: ["cite_as_source", "include_in_recommendations", "prices_indicative"],
  action: ["answer", "quote", "contact"],
  blocked: ["alcohol", "politics_elections"],
});

const unregistered = "No request has brought its grant yet: without it every request is key_unknown";

const unregisteredKeys = [
  {
    algorithm: "Ed25519",
    fate: "unregistered",
    note: `${unregistered}; the first one with it registers the key.`,
  },
  { algorithm: "ES256", fate: "unregistered", note: `${unregistered}. P-256.` },
] as const satisfies readonly SampleKey[];

const refusedKeys: readonly SampleIntegrationKey[] = [
  ...unregisteredKeys,
  {
    algorithm: "Ed25519",
    note: "May publish for two countries only.",
    mandate: {
      note: "For IE and NZ only: a record for any other country is rejected with out_of_scope.",
      scope: { countries: [country, "NZ"] },
    },
  },
  {
    algorithm: "ES256",
    note: "May not publish products.",
    mandate: {
      note: "For every type but products: publishing products is 403 out_of_scope.",
      scope: { record_types: ["business_files", "events", "jobs", "updates"] },
    },
  },
  {
    algorithm: "Ed25519",
    note: "May publish two records an hour.",
    mandate: {
      note: "Two records an hour: then 429 rate_limited, with the reason records_per_hour.",
      scope: { caps: { records_per_hour: 2, bytes_per_day: 1_048_576 } },
    },
  },
  {
    algorithm: "Ed25519",
    note: "May send 512 bytes a day.",
    mandate: {
      note: "512 bytes a day: any batch is 429 rate_limited, with the reason bytes_per_day.",
      scope: { caps: { records_per_hour: 1_000, bytes_per_day: 512 } },
    },
  },
  {
    algorithm: "Ed25519",
    note: "May publish from two networks only, which are set apart for documentation.",
    mandate: {
      note: "From 192.0.2.0/24 and 2001:db8::/32 only: from anywhere else 403 source_not_allowed.",
      scope: { source_ip_allow_list: ["192.0.2.0/24", "2001:db8::/32"] },
    },
  },
  {
    algorithm: "Ed25519",
    fate: "revoked",
    note: "Revoked: every request is key_unknown, and what it seals now is key_not_valid.",
  },
  {
    algorithm: "ES256",
    fate: "compromised",
    note: "Revoked as compromised: every request is key_unknown, and what it seals now is key_compromised.",
  },
  {
    algorithm: "Ed25519",
    fate: "ended",
    mandate: null,
    note: "Its time is over: every request is key_unknown, and what it seals now is key_not_valid.",
  },
  {
    algorithm: "Ed25519",
    note: "Its mandate was revoked: it may read, and not publish.",
    mandate: { fate: "revoked", note: "Revoked: publishing is 403 mandate_missing." },
  },
  {
    algorithm: "ES256",
    note: "Its mandate has ended: it may read, and not publish.",
    mandate: { fate: "ended", note: "Its time is over: publishing is 403 mandate_missing." },
  },
  {
    algorithm: "Ed25519",
    mandate: null,
    note: "Nobody gave it a mandate: it may read, and publishing is 403 mandate_missing.",
  },
];

const trialBusiness: SampleBusiness = {
  name: "trials",
  uuid: "06eab74c-c609-418f-bc43-f8139bc659eb",
  legalName: "Brightwater Trial Goods Ltd",
  country,
  note: "For trying what is refused: beside two everyday keys it has one for each way in which a key or a mandate is refused.",
  integrationKeys: [everydayKey("Ed25519"), everydayKey("ES256"), ...refusedKeys],
  sealer: "passkey",
  policies: [policy],
  blocks: [],
  records: () => [product("trial-lamp", "Trial lamp", "brightwater-trials.example")],
};

function endedBusiness(
  party: Pick<SampleBusiness, "name" | "uuid" | "legalName" | "note"> & { readonly ending: SampleEnding },
): SampleBusiness {
  const host = `${party.name}.example`;
  return {
    ...party,
    country,
    integrationKeys: [everydayKey("Ed25519")],
    sealer: "passkey",
    policies: [policy],
    blocks: [],
    records: () => [product(`${party.name}-lantern`, `Lantern of ${party.name}`, host)],
  };
}

const revokedBusiness = endedBusiness({
  name: "tidewrack",
  uuid: "9bda676d-6435-40b2-8f2c-a4a48eacc212",
  legalName: "Tidewrack Lanterns Ltd",
  note: "Its certificate is revoked from before its records were sealed: none of them stands or is served, and it publishes nothing more.",
  ending: { status: "revoked", reason: "key_compromise", reachesBack: true },
});

const closedBusiness = endedBusiness({
  name: "lastlight",
  uuid: "03a819d9-03ab-4e64-ab9e-d8ab357a81eb",
  legalName: "Lastlight Lanterns Ltd",
  note: "Closed: what it published before stands, and it publishes nothing more (403 business_not_verified).",
  ending: { status: "closed", reason: "business_closed", reachesBack: false },
});

const withdrawnBusiness = endedBusiness({
  name: "overmoor",
  uuid: "8e278746-7176-4a43-941e-b9b03f845317",
  legalName: "Overmoor Lanterns Ltd",
  note: "The service withdrew its certificate: what it published before stands, what it seals now is certificate_withdrawn.",
  ending: { status: "withdrawn", reason: "approval_reversed", reachesBack: false },
});

function product(id: string, name: string, host: string) {
  const members: JsonObject = {
    product_name: name,
    vertical: "home_garden",
    category: "lighting",
    channel: "online",
    brand: "Trial",
    tags: ["trial"],
    short_description: "It is not for sale. It is here to be verified.",
    prices: [{ country, currency: "EUR", amount: "19.00" }],
    on_sale: false,
    availability: "in_stock",
    product_url: `https://${host}/${id}`,
  };
  return sampleRecord("products", { id, countries: [country] }, members);
}

const trialCompany: SampleCompany = {
  name: "trial-company",
  uuid: "4ed794f4-76be-492f-a744-04975e490598",
  legalName: "Brightwater Trial Answers Ltd",
  country,
  note: "For trying what is refused: each of its keys is refused for a reason of its own.",
  keys: [
    ...unregisteredKeys,
    { algorithm: "Ed25519", fate: "revoked", note: "Revoked: every request is key_unknown." },
    { algorithm: "ES256", fate: "ended", note: "Its time is over: every request is key_unknown." },
  ],
};

const withdrawnCompany: SampleCompany = {
  name: "withdrawn-company",
  uuid: "de4fc776-4910-4b16-a90e-17b0e0a31e2b",
  legalName: "Overmoor Answers Ltd",
  country,
  note: "The service withdrew its certificate, which says so. A company without an active one is never in the key directory.",
  keys: [everydayKey("Ed25519")],
  ending: { status: "withdrawn", reason: "approval_reversed", reachesBack: false },
};

export const trialBusinesses: readonly SampleBusiness[] = [
  trialBusiness,
  revokedBusiness,
  closedBusiness,
  withdrawnBusiness,
];

export const trialCompanies: readonly SampleCompany[] = [trialCompany, withdrawnCompany];
