// Records and AI policies that were sealed alone, delivered over HTTP by an integration key (SA1, SA2 in
// service/publishing/publish-record.ts).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collections } from "../collections/collections.ts";
import { aiPolicyBytes } from "../protocol/ai-policy.ts";
import { toBase64 } from "../protocol/bytes.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { canonicalBytes } from "../protocol/json/canonical-json.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { newPerson } from "../stories/publishing/hold-decisions.fixture.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { type RemovalSealer, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import type { AttackNode } from "../stories/retrieval/attack.fixture.ts";
import { policyRecord } from "../verifier/business.fixture.ts";
import { newCaller, openSurfaces, send, type TestCaller, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let owner: RemovalSealer;
let company: TestCaller;

const asNode = () => part<AttackNode>({ running: part({ services: surfaces.services }) });

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  owner = await newPerson(asNode(), business, "owner");
  const uuid = "10000000-0000-4000-8000-000000000009";
  company = await newCaller(surfaces.services.keys.grant, "retrieval", uuid);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

interface Sealed {
  readonly document: Uint8Array;
  readonly seal: unknown;
}

const sealedBy = (
  sealer: RemovalSealer,
  document: Uint8Array,
  claims: Parameters<typeof sealRemoval>[3] = {},
): Promise<Sealed> => sealRemoval(business, { record_id: "" }, sealer, { document, ...claims });

const deliver = (path: string, { document, seal }: Sealed, by = business) =>
  send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    { path, body: JSON.stringify({ record_base64: toBase64(document), seal }), tag: "svc-push" },
  );

const pathOf = (type: CollectionName): string => `/v1/publish/${collections[type].path}/record`;
const sample = (type: CollectionName, changes: object = {}): Uint8Array =>
  canonicalBytes({ ...sampleRecords[type], ...changes });

describe("a record sealed alone by a person", () => {
  it.each(collectionNames)("is published, whatever its type, and answered again: %s", async (type) => {
    const record = sample(type);
    const sealed = await sealedBy(owner, record, { record_type: type });
    const first = await deliver(pathOf(type), sealed);
    expect(first).toMatchObject({ status: 200, json: { outcome: "accepted", version: 1, errors: [] } });
    expect((await deliver(pathOf(type), sealed)).json).toEqual(first.json);
    const path = `/v1/records/${String(first.json["record_id"])}`;
    const fetched = await send(surfaces.retrievalUrl, company, { path });
    expect(fetched.status).toBe(200);
    expect(fetched.text).toContain(new TextDecoder().decode(record));
  });

  it("that is faulty is answered with its faults", async () => {
    const record = sample("events", { starts_at: "soon" });
    const answer = await deliver(pathOf("events"), await sealedBy(owner, record, { record_type: "events" }));
    expect(answer).toMatchObject({
      status: 200,
      json: { outcome: "rejected", record_id: null, version: null },
    });
    expect(answer.json["errors"]).toMatchObject([{ pointer: "/starts_at" }]);
  });

  it("is refused for another type, other bytes and another business's route", async () => {
    const record = sample("jobs");
    const sealed = await sealedBy(owner, record, { record_type: "jobs" });
    const reasonOf = async (path: string, sent: Sealed, by = business) =>
      (await deliver(path, sent, by)).json;
    expect(await reasonOf(pathOf("events"), sealed)).toMatchObject({
      code: "seal_invalid",
      reason: "record_type_mismatch",
    });
    expect(await reasonOf(pathOf("jobs"), { ...sealed, document: sample("jobs", { a: 1 }) })).toMatchObject({
      code: "seal_invalid",
      reason: "hash_mismatch",
    });
    const other = await openBusiness(surfaces.services, "00000000-0000-4000-8000-000000000002", "Others Ltd");
    expect(await reasonOf(pathOf("jobs"), sealed, other)).toMatchObject({
      code: "seal_invalid",
      reason: "key_unknown",
    });
  });

  it("is refused if an integration key sealed it, mandate or not (SA2)", async () => {
    const sealed = await sealedBy(business.signingKey, sample("products"));
    expect(await deliver(pathOf("products"), sealed)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "key_unknown" },
    });
  });

  it("is refused where the body is none", async () => {
    const sealed = await sealedBy(owner, sample("products"));
    for (const body of ["{}", JSON.stringify({ record_base64: "*", seal: sealed.seal }), "no"])
      expect(
        await send(
          surfaces.businessUrl,
          { key: business.signingKey, grant: "" },
          { path: pathOf("products"), body, tag: "svc-push" },
        ),
      ).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });
});

describe("an AI policy sealed by a person", () => {
  const policy = (isBlocked: boolean): Uint8Array => {
    const record = policyRecord();
    return aiPolicyBytes({ ...record, blocked: { ...record.blocked, alcohol: isBlocked } });
  };

  it("is in force from its acceptance, once for each version", async () => {
    const context = () =>
      send(
        surfaces.businessUrl,
        { key: business.signingKey, grant: "" },
        { path: "/v1/seal-context", tag: "svc-business-read" },
      );
    const before = Number((await context()).json["ai_policy_version"]);
    const ai_policy_version = before + 1;
    const claims = { record_type: "ai_policy", ai_policy_version } as const;
    const sealed = await sealedBy(owner, policy(true), claims);
    const accepted = await deliver("/v1/ai-policies", sealed);
    expect(accepted).toMatchObject({ status: 200, json: { version: ai_policy_version } });
    expect((await context()).json["ai_policy_version"]).toBe(ai_policy_version);
    expect((await deliver("/v1/ai-policies", sealed)).json).toEqual(accepted.json);
    const other = await sealedBy(owner, policy(false), claims);
    expect(await deliver("/v1/ai-policies", other)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "ai_policy_version_used" },
    });
    const bySystem = await sealedBy(business.signingKey, policy(true), {
      ...claims,
      ai_policy_version: ai_policy_version + 1,
    });
    expect(await deliver("/v1/ai-policies", bySystem)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "key_unknown" },
    });
    const developer = await newPerson(asNode(), business, "developer");
    const byDeveloper = await sealedBy(developer, policy(true), {
      ...claims,
      ai_policy_version: ai_policy_version + 1,
    });
    expect(await deliver("/v1/ai-policies", byDeveloper)).toMatchObject({
      status: 403,
      json: { code: "role_not_allowed", detail: expect.not.stringContaining("role_not_allowed") },
    });
    expect((await context()).json["ai_policy_version"]).toBe(ai_policy_version);
  });
});
