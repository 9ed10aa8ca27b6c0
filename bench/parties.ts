// Businesses and AI companies of the benchmark. A node knows one from its first request, whose grant introduces it, or is given it
// without a request.

import { createSigner } from "../crypto/file-signer.ts";
import { FileKeyStore } from "../crypto/key-store.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import type { NodeServices } from "../node/services.ts";
import { type PublicJwk, thumbprint } from "../protocol/jwk.ts";
import { createGrantedKeys } from "../service/granted-keys.ts";
import { issueGrant, type SandboxGrant } from "../service/sandbox-grant.ts";
import type { Publisher } from "./publishing.ts";
import { ask, type Caller } from "./requests.ts";

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

let parties = 0;

/** A key of a new party, with the grant that introduces it; `keysFolder` is the nodes'. */
async function newCaller(
  keysFolder: string,
  role: Party["role"],
): Promise<{ readonly uuid: string; readonly caller: Caller }> {
  parties += 1;
  const uuid = `00000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  const key = createSigner(generatePrivateJwk("Ed25519"));
  const keyStore = await FileKeyStore.open(keysFolder);
  const grantKey = createSigner(await keyStore.loadOrCreate("grant", "Ed25519"));
  const grant = await issueGrant(claimsOf({ uuid, role, publicJwk: key.publicJwk }), grantKey);
  return { uuid, caller: { key, grant } };
}

export async function newCompany(keysFolder: string): Promise<Caller> {
  return (await newCaller(keysFolder, "retrieval")).caller;
}

/** A new business, which the nodes at `businessUrl` know from now on and whose home is their region. */
export async function newPublisher(keysFolder: string, businessUrl: string): Promise<Publisher> {
  const { uuid, caller } = await newCaller(keysFolder, "integration");
  const plan = { method: "GET", path: "/v1/seal-context", tag: "svc-business-read" } as const;
  const context = JSON.parse(await ask(businessUrl, caller, plan)) as {
    readonly cert_id: string;
    readonly ai_policy_version: number;
  };
  return { uuid, certId: context.cert_id, aiPolicyVersion: context.ai_policy_version, caller };
}
