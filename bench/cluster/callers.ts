// Businesses and AI companies that are unknown to the nodes until their first request.

import { createSigner } from "../../crypto/file-signer.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { issueGrant, type SandboxGrant } from "../../service/sandbox-grant.ts";
import type { Publisher } from "../publishing.ts";
import { ask, type Caller } from "../requests.ts";

let parties = 0;

/** A key of a new party, with the grant that introduces it; `keysFolder` is the nodes'. */
async function newCaller(
  keysFolder: string,
  role: SandboxGrant["role"],
): Promise<{ readonly uuid: string; readonly caller: Caller }> {
  parties += 1;
  const uuid = `00000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  const key = createSigner(generatePrivateJwk("Ed25519"));
  const kind = role === "integration" ? "business" : "ai_company";
  const party = { uuid, kind, legal_name: `Bench ${kind} ${parties}`, country: "GB" } as const;
  const keyStore = await FileKeyStore.open(keysFolder);
  const grantKey = createSigner(await keyStore.loadOrCreate("grant", "Ed25519"));
  const grant = await issueGrant(
    { v: 1, environment: "sandbox", party, role, public_key: key.publicJwk, mandate_id: null },
    grantKey,
  );
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
