// Businesses and AI companies of the benchmark. A node knows one from its first request, whose grant introduces it, or is given it
// without a request.

import { createSigner } from "../crypto/file-signer.ts";
import { FileKeyStore } from "../crypto/key-store.ts";
import { generatePrivateJwk, type PrivateJwk } from "../crypto/private-jwk.ts";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import type { NodeServices } from "../node/services.ts";
import { type PublicJwk, thumbprint } from "../protocol/jwk.ts";
import type { SealContext } from "../protocol/wire/push.ts";
import { createGrantedKeys } from "../service/granted-keys.ts";
import { issueGrant, type SandboxGrant } from "../service/sandbox-grant.ts";
import { ask, type Caller, callerOf } from "./requests.ts";

/** A party and its key, by what identifies them. */
export interface Party {
  readonly uuid: string;
  readonly role: SandboxGrant["role"];
  readonly publicJwk: PublicJwk;
}

/** What a grant says of a party. */
export function claimsOf({ uuid, role, publicJwk }: Party): SandboxGrant {
  const kind = role === "integration" ? "business" : "ai_company";
  return {
    ...{ v: 1, environment: "sandbox", role, public_key: publicJwk, mandate_id: null },
    party: { uuid, kind, legal_name: "Bench Ltd", country: "GB" },
  };
}

/** Registers a party with a node, and returns the id of its certificate, which is empty for an AI company. */
export async function introduce(services: NodeServices, party: Party): Promise<string> {
  const keyId = thumbprint(party.publicJwk);
  const granted = await createGrantedKeys(services)(claimsOf(party), keyId);
  if (granted.status === "refused") throw new Error(granted.detail);
  const { certificate } = await services.parties.facts(party.uuid, keyId);
  return certificate?.cert_id ?? "";
}

/** A party with its key and the grant that introduces it, in a form that another process can be given. */
export interface GrantedParty {
  readonly uuid: string;
  readonly private_jwk: PrivateJwk;
  readonly grant: string;
}

let parties = 0;

/** A new party; `keysFolder` is the nodes'. */
export async function newParty(keysFolder: string, role: Party["role"]): Promise<GrantedParty> {
  parties += 1;
  const uuid = `00000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  const private_jwk = generatePrivateJwk("Ed25519");
  const keyStore = await FileKeyStore.open(keysFolder);
  const grantKey = createSigner(await keyStore.loadOrCreate("grant", "Ed25519"));
  const { publicJwk } = createSigner(private_jwk);
  return { uuid, private_jwk, grant: await issueGrant(claimsOf({ uuid, role, publicJwk }), grantKey) };
}

export async function newCompany(keysFolder: string): Promise<Caller> {
  return callerOf(await newParty(keysFolder, "retrieval"));
}

/** The AI company that sends the requests, with its Ed25519 key. No sample business blocks it. */
export function companyOf(sandbox: Sandbox): Caller {
  const key = sandbox.ai_companies[0]?.keys.find(({ alg }) => alg === "Ed25519");
  if (key === undefined) throw new Error("the sandbox has no AI company with an Ed25519 key");
  return callerOf(key);
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
export function merchantOf(sandbox: Sandbox): Publisher {
  const [business] = sandbox.businesses;
  const key = business?.integration_keys.find(({ alg }) => alg === "Ed25519");
  if (business === undefined || key === undefined)
    throw new Error("the sandbox has no business with an Ed25519 key");
  const { business_uuid: uuid, cert_id: certId } = business;
  return { uuid, certId, aiPolicyVersion: 1, caller: callerOf(key) };
}
