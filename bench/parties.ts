// Businesses and AI companies of the benchmark. A node knows one from its first request, whose grant introduces it.

import { FileKeyStore } from "../crypto/key-store.ts";
import { createSigner, generatePrivateJwk, type PrivateJwk } from "../crypto/private-jwk.ts";
import type { Sandbox, SandboxKey } from "../node/sandbox/sandbox-file.ts";
import type { SealContext } from "../protocol/wire/push.ts";
import { issueGrant, type SandboxGrant } from "../service/register/sandbox-grant.ts";
import { ask, type Caller, callerOf } from "./requests.ts";

/** A party with its key and the grant that introduces it, in a form that another process can be given. */
export interface GrantedParty {
  readonly uuid: string;
  readonly private_jwk: PrivateJwk;
  readonly grant: string;
}

let parties = 0;

/** A new party; `keysFolder` is the nodes'. */
export async function newParty(keysFolder: string, role: SandboxGrant["role"]): Promise<GrantedParty> {
  parties += 1;
  const uuid = `00000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  const private_jwk = generatePrivateJwk("Ed25519");
  const keyStore = await FileKeyStore.open(keysFolder);
  const grantKey = createSigner(await keyStore.loadOrCreate("grant", "Ed25519"));
  const kind = role === "integration" ? "business" : "ai_company";
  const claims: SandboxGrant = {
    v: 1,
    environment: "sandbox",
    role,
    mandate_id: null,
    public_key: createSigner(private_jwk).publicJwk,
    party: { uuid, kind, legal_name: "Bench Ltd", country: "GB" },
  };
  return { uuid, private_jwk, grant: await issueGrant(claims, grantKey) };
}

export async function newCompany(keysFolder: string): Promise<Caller> {
  return callerOf(await newParty(keysFolder, "retrieval"));
}

/** The AI company that sends the requests. No sample business blocks it. */
export function companyOf(sandbox: Sandbox): Caller {
  return callerOf(ed25519Of(sandbox.ai_companies[0]?.keys));
}

function ed25519Of<Key extends Pick<SandboxKey, "alg">>(keys: readonly Key[] | undefined): Key {
  const key = keys?.find(({ alg }) => alg === "Ed25519");
  if (key === undefined) throw new Error("a party of the sandbox has no Ed25519 key");
  return key;
}

/** A business with the values that its next seal must name. */
export interface Publisher {
  readonly uuid: string;
  readonly certId: string;
  readonly aiPolicyVersion: number;
  readonly caller: Caller;
}

/** A business that the nodes at `businessUrl` know from now on and whose home is their region. */
export async function publisherOf(
  party: GrantedParty,
  businessUrl: string,
  caller = callerOf(party),
): Promise<Publisher> {
  const plan = { method: "GET", path: "/v1/seal-context", tag: "svc-business-read" } as const;
  const context = JSON.parse(await ask(businessUrl, caller, plan)) as SealContext;
  const { cert_id: certId, ai_policy_version: aiPolicyVersion } = context;
  return { uuid: party.uuid, certId, aiPolicyVersion, caller };
}

export async function newPublisher(keysFolder: string, businessUrl: string): Promise<Publisher> {
  return await publisherOf(await newParty(keysFolder, "integration"), businessUrl);
}

/** The sandbox's merchant. The AI policy version is the one that is in force for it. */
export function merchantOf({ businesses: [merchant] }: Sandbox): Publisher {
  const { business_uuid: uuid = "", cert_id: certId = "", integration_keys: keys } = merchant ?? {};
  return { uuid, certId, aiPolicyVersion: 1, caller: callerOf(ed25519Of(keys)) };
}
