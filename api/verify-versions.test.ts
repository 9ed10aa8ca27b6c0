// What POST /v1/verify says about documents that are each genuine but of different versions, or about altered bytes: the
// statement is signed, so none of its sentences may be false.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBase64, toBase64 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../protocol/json/canonical-json.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { publishRecord } from "../service/publishing/publish-record.ts";
import { sealText } from "../service/retrieval/fetched-record.ts";
import { product, sealAndPublish, sealHosted } from "../stories/publishing/publishing.fixture.ts";
import { assertReadable, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { type ReceivedAnswer, send } from "./surfaces.fixture.ts";

/** Everything that is served of one version. */
interface Version {
  readonly record_base64: string;
  readonly seal: JsonObject;
  readonly sidecar: JsonObject;
  readonly row: JsonObject;
}

let world: Verifiable;
/** Version 1, version 2, and version 3 with the bytes of version 2 under another seal. */
let pushed: readonly Version[];
let alone: readonly Version[];

beforeAll(async () => {
  world = await openVerifiable();
  const recordId = String(world.row["record_id"]);
  const id = String((world.fetched.json["record"] as JsonObject)["business_product_id"]);
  const [first, changed] = [await served(recordId), product(id, { product_name: "Another name" })];
  const versions = [first];
  for (const seq of [2, 3]) {
    const records = [product("other", { tags: [`seq ${seq}`] }), changed, product("third")];
    const policy = { seq, aiPolicyVersion: 1 };
    expect((await sealAndPublish(world.surfaces.services, world.business, records, policy)).kind).toBe(
      "answer",
    );
    versions.push(await served(recordId));
  }
  pushed = versions;
  alone = [await publishFile({}), await publishFile({ year_established: 1988 })];
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

async function served(recordId: string): Promise<Version> {
  const found = await world.surfaces.services.records.readServed(recordId);
  if (found === null) throw new Error(`${recordId} is not served.`);
  const { version, seal } = found;
  return {
    record_base64: toBase64(version.bytes),
    seal: JSON.parse(sealText(version, seal)) as JsonObject,
    sidecar: JSON.parse(version.sidecar) as JsonObject,
    row: JSON.parse(version.row) as JsonObject,
  };
}

/** A record sealed alone, by the key that the service holds for the business. */
async function publishFile(changes: object): Promise<Version> {
  const { services } = world.surfaces;
  const { party, certId } = world.business;
  const record = canonicalBytes(rubbish({ ...sampleRecords.business_files, ...changes }));
  const sealed = { record, record_type: "business_files", ai_policy_version: 1 } as const;
  const outcome = await publishRecord(services, {
    businessUuid: party.uuid,
    collection: "business_files",
    record,
    seal: await sealHosted(services, { uuid: party.uuid, certId }, sealed),
  });
  if (!outcome.ok || outcome.value.record_id === null) throw new Error(JSON.stringify(outcome));
  return served(outcome.value.record_id);
}

async function verify(body: object): Promise<Record<string, JsonValue>> {
  const answer: ReceivedAnswer = await send(world.surfaces.verifyUrl, null, {
    path: "/v1/verify",
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  // What is signed is what is answered.
  const { statement, ...findings } = answer.json as { statement: { payload: string } };
  const signed = JSON.parse(new TextDecoder().decode(parseBase64(statement.payload) ?? undefined));
  expect(signed).toMatchObject(findings);
  assertReadable(world.trust, answer);
  return answer.json as Record<string, JsonValue>;
}

/** The version at this index, which must exist. */
function of(versions: readonly Version[], index: number): Version {
  const version = versions[index];
  if (version === undefined) throw new Error(`There is no version ${index + 1}.`);
  return version;
}

describe.each([
  ["a pushed record", () => pushed],
  ["a record sealed alone", () => alone],
] as const)("%s, genuine and with its genuine seal", (_name, versions) => {
  it("has a valid seal beside a genuine row of another version: the projection alone is refused", async () => {
    for (const [of0, of1] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { record_base64, seal } = of(versions(), of0);
      const answer = await verify({ record_base64, seal, row: of(versions(), of1).row });
      expect(answer).toMatchObject({
        valid: false,
        seal: { valid: true, checks: { certificate: "ok", ai_policy: "ok", scope: "ok" } },
        projection: {
          valid: false,
          reason: "hash_mismatch",
          row_signature: { valid: true },
          projection: { valid: false, reason: "hash_mismatch" },
        },
      });
    }
  });

  it("has a valid seal beside a genuine sidecar of another version: the sidecar alone is refused", async () => {
    const { record_base64, seal, row } = of(versions(), 1);
    const answer = await verify({ record_base64, seal, row, sidecar: of(versions(), 0).sidecar });
    expect(answer).toMatchObject({
      valid: false,
      seal: { valid: true },
      sidecar: { valid: false, reason: "hash_mismatch" },
      projection: { valid: true },
    });
  });

  it("has a valid seal beside a row that nobody signed, whatever origin that names", async () => {
    const { record_base64, seal, row } = of(versions(), 1);
    const forged = { ...row, adl_origin: `sha256:${"0".repeat(64)}` };
    expect(await verify({ record_base64, seal, row: forged })).toMatchObject({
      valid: false,
      seal: { valid: true },
      projection: { valid: false, reason: "row_signature_invalid" },
    });
  });
});

describe("a sidecar", () => {
  it("is judged in a section of its own, with its seal and without", async () => {
    const { record_base64, seal, sidecar } = of(pushed, 1);
    const whole = await verify({ record_base64, seal, sidecar });
    expect(whole).toMatchObject({
      valid: true,
      seal: { valid: true },
      sidecar: { valid: true, generation: 2 },
    });
    expect(await verify({ record_base64, sidecar })).toMatchObject({
      valid: true,
      seal: null,
      sidecar: { valid: true, generation: 2 },
    });
  });

  it("about the same bytes under another seal is refused, and the seal is not", async () => {
    const { record_base64, seal } = of(pushed, 2);
    expect(record_base64).toBe(of(pushed, 1).record_base64);
    expect(await verify({ record_base64, seal, sidecar: of(pushed, 1).sidecar })).toMatchObject({
      valid: false,
      seal: { valid: true },
      sidecar: { valid: false, reason: "hash_mismatch", pointer: "/sealed_at" },
    });
  });

  it("that was changed says nothing about the seal: neither its mandate nor its hash", async () => {
    const { record_base64, seal, sidecar } = of(pushed, 1);
    const stated = JSON.parse(atob(String(sidecar["payload"]))) as { scope: JsonObject };
    const changed = {
      ...stated,
      sha256: `sha256:${"0".repeat(64)}`,
      scope: { ...stated.scope, mandate_id: "man_another" },
    };
    const forged = { ...sidecar, payload: toBase64(canonicalBytes(rubbish(changed))) };
    expect(await verify({ record_base64, seal, sidecar: forged })).toMatchObject({
      valid: false,
      seal: { valid: true, checks: { scope: "ok" } },
      sidecar: { valid: false, reason: "signature_invalid" },
    });
  });

  it("is not refused for what a forged seal says", async () => {
    const { record_base64, seal, sidecar } = of(alone, 1);
    const payload = JSON.parse(atob(String(seal["payload"]))) as JsonObject;
    const moved = { ...payload, sealed_at: "2026-01-01T00:00:00.000Z" };
    const forged = { ...seal, payload: toBase64(canonicalBytes(moved)) };
    expect(await verify({ record_base64, seal: forged, sidecar })).toMatchObject({
      valid: false,
      seal: { valid: false, reason: "signature_invalid" },
      sidecar: { valid: true },
    });
  });
});

describe("a seal by a key that nobody has", () => {
  it("is held against no business that a row or a sidecar names", async () => {
    const { record_base64, seal, sidecar, row } = of(alone, 1);
    const { surfaces, business } = world;
    const keyid = "A".repeat(43);
    const payload = JSON.parse(atob(String(seal["payload"]))) as JsonObject;
    const forged = {
      ...seal,
      payload: toBase64(canonicalBytes({ ...payload, key_id: keyid })),
      signatures: [{ keyid, sig: "AAAA" }],
    };
    await surfaces.services.parties.issueCertificate({
      uuid: business.party.uuid,
      kind: "business",
      legal_name: business.party.legal_name,
      country: business.party.country,
      verified_since: "2026-01-01T00:00:00.000Z",
      status: "closed",
      status_effective_from: new Date(Date.now() + 1_000).toISOString(),
      status_reason: null,
    });
    const answer = await verify({ record_base64, seal: forged, sidecar, row });
    expect(answer).toMatchObject({
      seal: { valid: false, reason: "key_unknown" },
      warnings: [expect.stringContaining("register of this region")],
    });
    // The same documents under the seal that the business made.
    const genuine = await verify({ record_base64, seal, sidecar, row });
    expect(genuine).toMatchObject({ seal: { valid: true } });
    expect(genuine["warnings"]).toContainEqual(
      expect.stringMatching(new RegExp(`${business.party.uuid}.* is closed from`)),
    );
  });
});
