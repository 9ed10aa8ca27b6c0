// POST /v1/verify for seals by keys that were revoked or declared compromised: anyone who had the key could write
// `sealed_at`, so only what the service received before the key ended is valid (R1 to R3 of service/verification/verify-evidence.ts).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishBody } from "../client/batch.ts";
import { actionNames, aiPolicyBytes, blockedNames, useNames } from "../protocol/ai-policy.ts";
import { toBase64 } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { publishRecord } from "../service/publishing/publish-record.ts";
import { createStandings } from "../service/register/standing.ts";
import { createVerify, type VerifyServices } from "../service/verification/verify.ts";
import { StoreError } from "../storage/actor-store.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealHosted,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";

let node: PublishingNode;
let businesses = 0;

beforeAll(async () => {
  node = await openPublishingNode();
});
afterAll(() => node.close());

/** Long after everything that is sealed and received here. */
const later = new Date(Date.now() + 3_600_000).toISOString();

async function newBusiness(): Promise<TestBusiness> {
  businesses += 1;
  const uuid = `00000000-0000-4000-8000-0000000001${String(businesses).padStart(2, "0")}`;
  const business = await openBusiness(node.services, uuid, `Revoked ${businesses} Ltd`);
  await registerInForce(node.services);
  return business;
}

async function verified(
  record: Uint8Array,
  sealed: unknown,
  more: { readonly body?: object; readonly deps?: Partial<VerifyServices> } = {},
): Promise<{ readonly seal: JsonObject; readonly warnings: readonly string[] }> {
  const { register, trust } = node.services;
  const verify = createVerify({
    ...node.services,
    standings: createStandings({ register, trust }),
    ...more.deps,
  });
  const body = { record_base64: toBase64(record), seal: sealed as JsonValue, ...more.body };
  const answer = jsonOf(await verify(body as JsonObject));
  return { seal: answer["seal"] as JsonObject, warnings: answer["warnings"] as readonly string[] };
}

const soleLeaf = (envelope: Envelope) => ({ batch_seal: envelope, leaf_index: 0, tree_size: 1, proof: [] });

interface Sealed {
  readonly record: Uint8Array;
  readonly sealed: ReturnType<typeof soleLeaf>;
}

async function sealedRecord(business: TestBusiness, id: string, sealedAtMs = Date.now()): Promise<Sealed> {
  const record = product(id);
  const { batch_seal } = await seal(business, [record], { seq: sealedAtMs % 1_000_000_000, sealedAtMs });
  return { record, sealed: soleLeaf(batch_seal) };
}

async function pushed(
  business: TestBusiness,
  id: string,
  sealedAtMs = Date.now(),
): Promise<Sealed & { readonly recordId: string }> {
  const made = await sealedRecord(business, id, sealedAtMs);
  const outcome = jsonOf(
    await publish(node.services, business, publishBody(made.sealed.batch_seal, [made.record])),
  );
  const [result] = outcome["results"] as readonly { readonly outcome: string; readonly record_id: string }[];
  expect(result).toMatchObject({ outcome: "accepted" });
  return { ...made, recordId: result?.record_id ?? "" };
}

async function sidecarOf(recordId: string): Promise<JsonObject> {
  const served = await node.services.records.readServed(recordId);
  return JSON.parse(served?.version.sidecar ?? "null") as JsonObject;
}

async function end(
  { party, key }: Pick<TestBusiness, "party"> & { readonly key: { readonly key_id: string } },
  compromisedFrom: string | null,
  revokedAt = later,
): Promise<void> {
  const revocation = { uuid: party.uuid, key_id: key.key_id, revoked_at: revokedAt };
  await node.services.parties.revokeKey({ ...revocation, compromised_from: compromisedFrom });
  await registerInForce(node.services);
}

describe("a key that is said to be compromised", () => {
  it("makes no valid seal any more that the service did not receive before", async () => {
    const business = await newBusiness();
    const genuine = await pushed(business, "genuine");
    const stolen = await sealedRecord(business, "stolen");
    expect((await verified(stolen.record, stolen.sealed)).seal).toMatchObject({ valid: true });
    await end(business, later);
    const refused = await verified(stolen.record, stolen.sealed);
    expect(refused.seal).toMatchObject({
      valid: false,
      reason: "key_compromised",
      claimed: { key_id: business.key.key_id },
    });
    // What the service has on record is valid, with and without the sidecar.
    expect((await verified(genuine.record, genuine.sealed)).seal).toMatchObject({ valid: true });
    const sidecar = await sidecarOf(genuine.recordId);
    expect((await verified(genuine.record, genuine.sealed, { body: { sidecar } })).seal).toMatchObject({
      valid: true,
    });
    // The sidecar of another record is not evidence for this one.
    expect((await verified(stolen.record, stolen.sealed, { body: { sidecar } })).seal).toMatchObject({
      valid: false,
      reason: "key_compromised",
    });
  });

  it("had made none that were received from the moment of the compromise on, whatever they say of themselves", async () => {
    const business = await newBusiness();
    const sealedAtMs = Date.now();
    // A few milliseconds must pass before it is received.
    while (Date.now() < sealedAtMs + 5) await new Promise(setImmediate);
    const made = await pushed(business, "late", sealedAtMs);
    const sidecar = await sidecarOf(made.recordId);
    const payload = JSON.parse(
      new TextDecoder().decode(Buffer.from(String(sidecar["payload"]), "base64")),
    ) as {
      readonly received_at: string;
    };
    await end(business, payload.received_at);
    for (const body of [{}, { sidecar }])
      expect((await verified(made.record, made.sealed, { body })).seal).toMatchObject({
        valid: false,
        reason: "key_compromised",
      });
  });

  it("refuses a record sealed alone, and an AI policy, that the service never received", async () => {
    const { services } = node;
    const business = await newBusiness();
    const who = { uuid: business.party.uuid, certId: business.certId };
    const hosted = { party: business.party, key: { key_id: (await services.hostedSigner(who.uuid)).keyId } };
    const sealAlone = async (id: string) => {
      const record = product(id);
      const about = { record, record_type: "products", ai_policy_version: 0 };
      return { record, sealed: await sealHosted(services, who, about) };
    };
    const [genuine, stolen] = [await sealAlone("alone"), await sealAlone("alone-stolen")];
    const published = await publishRecord(services, {
      businessUuid: who.uuid,
      collection: "products",
      record: genuine.record,
      seal: genuine.sealed,
    });
    expect(published).toMatchObject({ ok: true, value: { outcome: "accepted" } });
    const policyOf = async (isPermitted: boolean) => {
      const all = <N extends string>(names: readonly N[]) =>
        Object.fromEntries(names.map((name) => [name, isPermitted])) as Record<N, boolean>;
      const record = aiPolicyBytes({
        schema: "svc/ai_policy/1",
        ai_policy_schema: 2,
        use: all(useNames),
        action: all(actionNames),
        blocked: all(blockedNames),
      });
      return {
        record,
        sealed: await sealHosted(services, who, { record, record_type: "ai_policy", ai_policy_version: 1 }),
      };
    };
    const [policy, forged] = [await policyOf(false), await policyOf(true)];
    await services.parties.acceptPolicy({ uuid: who.uuid, record: policy.record, seal: policy.sealed });
    await end(hosted, later);
    for (const { record, sealed } of [genuine, policy])
      expect((await verified(record, sealed)).seal).toMatchObject({ valid: true });
    for (const { record, sealed } of [stolen, forged])
      expect((await verified(record, sealed)).seal).toMatchObject({
        valid: false,
        reason: "key_compromised",
      });
  });

  it("is no reason to call a seal bad while nobody can be asked whether it was received", async () => {
    const business = await newBusiness();
    const genuine = await pushed(business, "away");
    await end(business, later);
    const away = async (): Promise<never> => {
      throw new StoreError("not_applied", "the store is away");
    };
    const asked = verified(genuine.record, genuine.sealed, { deps: { actors: part({ ask: away }) } });
    await expect(asked).rejects.toThrow(StoreError);
  });
});

describe("a key that was revoked without a compromise", () => {
  it("is not valid for what the service did not receive before", async () => {
    const business = await newBusiness();
    const genuine = await pushed(business, "before");
    const unseen = await sealedRecord(business, "unseen");
    await end(business, null);
    expect((await verified(genuine.record, genuine.sealed)).seal).toMatchObject({ valid: true });
    expect((await verified(unseen.record, unseen.sealed)).seal).toMatchObject({
      valid: false,
      reason: "key_not_valid",
    });
  });
});

describe("a seal that stands", () => {
  const warning = expect.stringContaining("not published through this service");

  it("says when the record was not published through this service under it", async () => {
    const business = await newBusiness();
    const unseen = await sealedRecord(business, "never-sent");
    expect((await verified(unseen.record, unseen.sealed)).warnings).toContainEqual(warning);
    const rejected = product("rejected", { language: "xx-nonsense" });
    const { batch_seal } = await seal(business, [rejected], { seq: 1 });
    await publish(node.services, business, publishBody(batch_seal, [rejected]));
    expect((await verified(rejected, soleLeaf(batch_seal))).warnings).toContainEqual(warning);
    const genuine = await pushed(business, "sent");
    expect((await verified(genuine.record, genuine.sealed)).warnings).not.toContainEqual(warning);
  });

  it("stands without that warning while nobody can be asked", async () => {
    const business = await newBusiness();
    const genuine = await pushed(business, "unasked");
    const away = async (): Promise<never> => {
      throw new StoreError("not_applied", "the store is away");
    };
    const found = await verified(genuine.record, genuine.sealed, { deps: { actors: part({ ask: away }) } });
    expect(found.seal).toMatchObject({ valid: true });
    expect(found.warnings).not.toContainEqual(warning);
  });
});
