// Test support: a business with a sealed AI policy and two published products, and what a company was served of it.

import type { NodeServices } from "../../node/composition/services.ts";
import { actionNames, aiPolicyBytes, blockedNames, useNames } from "../../protocol/ai-policy.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  sealHosted,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import { verifyKeyDirectory, verifyPage, verifyStatement } from "../../verifier/service-statements.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestSurfaces,
} from "../surfaces.fixture.ts";

export const companyUuid = "10000000-0000-4000-8000-000000000001";
export const nobody = "90000000-0000-4000-8000-000000000009";

export interface SealedPolicy {
  readonly record: Uint8Array;
  readonly seal: JsonValue;
}

export interface Verifiable {
  readonly surfaces: TestSurfaces;
  readonly business: TestBusiness;
  readonly trust: Trust;
  readonly policy: SealedPolicy;
  readonly row: Readonly<Record<string, JsonValue>>;
  readonly otherRow: Readonly<Record<string, JsonValue>>;
  /** The fetched record of `row`. */
  readonly fetched: ReceivedAnswer;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ReceivedAnswer>;
}

export async function openVerifiable(): Promise<Verifiable> {
  // However long a test takes, nothing is in the transparency log yet.
  const surfaces = await openSurfaces({}, {}, {}, { SVC_LOG_INTERVAL_SECONDS: "86400" });
  const { services } = surfaces;
  const company = await newCaller(services.keys.grant, "retrieval", companyUuid);
  const business = await openBusiness(services);
  const policy = await sealPolicy(services, business);
  const uuid = business.party.uuid;
  await services.parties.acceptPolicy({ uuid, record: policy.record, seal: rubbish(policy.seal) });
  await sealAndPublish(services, business, [product("a"), product("b")], { aiPolicyVersion: 1 });
  const body = JSON.stringify(productSearch);
  const found = await send(surfaces.retrievalUrl, company, { path: "/v1/products/search", body });
  const [row = {}, otherRow = {}] = found.json["rows"] as Record<string, JsonValue>[];
  return {
    surfaces,
    business,
    trust: services.trust(),
    policy,
    row,
    otherRow,
    fetched: await send(surfaces.retrievalUrl, company, { path: `/v1/records/${row["record_id"]}` }),
    get: async (path, headers = {}) =>
      assertReadable(services.trust(), await send(surfaces.verifyUrl, null, { path, headers })),
  };
}

const readers = {
  "verify-statement": verifyStatement,
  "verify-page": verifyPage,
  "key-directory": verifyKeyDirectory,
};

/** An answer that the service signed is one that the offline verifier reads, and shows nothing else. */
export function assertReadable(trust: Trust, answer: ReceivedAnswer): ReceivedAnswer {
  const { json } = answer;
  const type = (json["statement"] as { readonly payloadType?: string } | undefined)?.payloadType ?? "";
  const name = /^application\/vnd\.svc\.([a-z-]+)\.v1\+json$/.exec(type)?.[1] ?? "";
  const read = Object.entries(readers).find(([kind]) => kind === name)?.[1];
  const verdict = read?.(trust, json as JsonObject);
  if (verdict?.ok === false)
    throw new Error(`${type}: ${verdict.code}: ${verdict.detail} ${verdict.pointer ?? ""}`);
  return answer;
}

async function sealPolicy(services: NodeServices, business: TestBusiness): Promise<SealedPolicy> {
  const all = <N extends string>(names: readonly N[], value: boolean) =>
    Object.fromEntries(names.map((name) => [name, value])) as Record<N, boolean>;
  const record = aiPolicyBytes({
    schema: "svc/ai_policy/1",
    ai_policy_schema: 2,
    use: all(useNames, true),
    action: all(actionNames, true),
    blocked: { ...all(blockedNames, false), alcohol: true },
  });
  const who = { uuid: business.party.uuid, certId: business.certId };
  const seal = await sealHosted(services, who, { record, record_type: "ai_policy", ai_policy_version: 1 });
  return { record, seal: seal as unknown as JsonValue };
}
