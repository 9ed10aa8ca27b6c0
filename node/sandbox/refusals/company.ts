// Refusals of what an AI company agrees to, and of its entitlements.

import { askForGrant } from "../../../client/sandbox-grant.ts";
import type { JsonObject } from "../../../protocol/canonical-json.ts";
import { formatTimestamp } from "../../../protocol/identifiers.ts";
import { createVerifier } from "../../../verifier/verifier.ts";
import { type Attempts, type Caller, type Refused, refusedBy, type Trial } from "./trial.ts";

interface Terms {
  readonly version: number;
  readonly sha256: string;
}

/** The terms that are in force, or those of a version, as the service answers them. */
async function termsOf(trial: Trial, caller: Caller, query = ""): Promise<Terms> {
  const { json } = await trial.send({ url: `${trial.sandbox.base_url}/v1/terms${query}`, caller });
  return { version: Number(json["version"]), sha256: String(json["sha256"]) };
}

async function agree(trial: Trial, caller: Caller, terms: Terms): Promise<Refused> {
  const url = `${trial.sandbox.base_url}/v1/terms/agreements`;
  return refusedBy(await trial.send({ url, caller, body: JSON.stringify(terms) }));
}

const entitlementOf = async (trial: Trial, caller: Caller) =>
  trial.send({ url: `${trial.sandbox.base_url}/v1/entitlement`, caller });

/** That of the everyday company, which agrees to the terms in force for it. */
async function everydayEntitlement(trial: Trial): Promise<JsonObject> {
  const { searcher } = await trial.everyday;
  await agree(trial, searcher, await termsOf(trial, searcher));
  return (await entitlementOf(trial, searcher)).json;
}

/** The key of a new AI company. */
async function newSearcher(trial: Trial): Promise<Caller> {
  const key = await trial.newKey();
  const baseUrl = trial.sandbox.base_url;
  const asker = { fetch: (url: string, init: object) => fetch(url, init), baseUrl, key } as const;
  const party = { legal_name: "A newcomer", country: "IE" };
  const { grant } = await askForGrant({ ...asker, role: "retrieval" }, party);
  return { key, grant };
}

const dayMs = 86_400_000;

export const companyRefusals: Attempts = {
  terms_mismatch: async (trial) => {
    const { searcher } = await trial.everyday;
    const { version } = await termsOf(trial, searcher);
    return agree(trial, searcher, { version, sha256: `sha256:${"0".repeat(64)}` });
  },
  terms_superseded: async (trial) => {
    const { searcher } = await trial.everyday;
    return agree(trial, searcher, await termsOf(trial, searcher, "?version=1"));
  },
  terms_not_agreed: async (trial) => refusedBy(await entitlementOf(trial, await newSearcher(trial))),
  "business_not_verified/company": async (trial) =>
    refusedBy(
      await entitlementOf(trial, await trial.searcher("withdrew its certificate", "for everyday use")),
    ),
  "verify/entitlement_invalid": async (trial) => {
    const entitlement = { ...(await everydayEntitlement(trial)), legal_name: "Another Company" };
    const body = JSON.stringify({ entitlement });
    const { status, json } = await trial.send({ url: `${trial.sandbox.verify_url}/v1/verify`, body });
    const { reason = "", detail = "" } = Object(json["entitlement"]);
    return { status, code: String(reason), detail: String(detail) };
  },
  "verify/entitlement_expired": async (trial) => {
    const entitlement = await everydayEntitlement(trial);
    const { json: keySet } = await trial.send({ url: `${trial.sandbox.verify_url}/.well-known/keys` });
    const verifier = createVerifier({ anchors: trial.sandbox.anchors, keySet });
    if (!verifier.ok) return { status: null, code: verifier.code, detail: verifier.detail };
    const at = formatTimestamp(Date.now() + 2 * dayMs);
    const verdict = verifier.value.entitlement(entitlement, { at });
    return { status: null, code: verdict.ok ? "" : verdict.code, detail: verdict.ok ? "" : verdict.detail };
  },
};
