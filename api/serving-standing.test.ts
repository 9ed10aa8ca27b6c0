// What does not stand any more (verifier/standing.ts) is served nowhere, wherever the review of its business is.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowPut } from "../collections/row-change.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { createSoftwarePasskey } from "../node/sandbox/sealer.ts";
import { hashOf, toBase64 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { sealPayload } from "../protocol/seal.ts";
import { sandboxKeyFacts } from "../service/authentication/sandbox-grants.ts";
import { product, sealAndPublish, sealHosted } from "../stories/publishing/publishing.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { type Story, storiesIn } from "./standing-story.fixture.ts";
import { newCaller, productSearch, send, type TestCaller } from "./surfaces.fixture.ts";

let world: Verifiable;
let company: TestCaller;

beforeAll(async () => {
  world = await openVerifiable();
  company = await newCaller(
    world.surfaces.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000071",
  );
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

const { tellStory, statementOf, endKey, endCertificate } = storiesIn(() => world);

describe("what does not stand any more", () => {
  const rowsOf = async ({ business }: Story): Promise<readonly JsonObject[]> => {
    const body = JSON.stringify({ ...productSearch, limit: 50 });
    const { json } = await send(world.surfaces.retrievalUrl, company, { path: "/v1/products/search", body });
    const rows = json["rows"] as readonly JsonObject[];
    return rows.filter((row) => row["business_uuid"] === business.party.uuid);
  };
  /** What is said of each row that somebody kept, beside the record and without its seal. */
  const vouchedFor = async ({ held }: Story, rows: readonly JsonObject[]) => {
    const said: Record<string, string> = {};
    for (const { name, bytes } of held) {
      const row = rows.find((each) => each["adl_origin"] === hashOf(bytes));
      if (row === undefined) continue;
      const { valid, projection } = await statementOf({ record_base64: toBase64(bytes), row });
      const { reason, ...found } = projection as JsonObject;
      expect(found).toMatchObject({ valid, row_signature: { valid: true }, projection: { valid: true } });
      said[name] = valid === true ? "ok" : String(reason);
    }
    return said;
  };
  const served = async (story: Story) => {
    const { business, held } = story;
    const { retrievalUrl, services } = world.surfaces;
    const found = await rowsOf(story);
    const ids = new Set(held.map(({ recordId }) => recordId));
    const fetched: string[] = [];
    for (const id of ids) {
      const answer = await send(retrievalUrl, company, { path: `/v1/records/${id}` });
      if (answer.status === 200) fetched.push(id);
      else expect([answer.status, answer.json["code"]]).toEqual([404, "not_found"]);
    }
    const page = await services.records.listCatalogue(business.party.uuid, null, 100);
    const listed = page.heads.filter(({ live }) => live).map(({ record_id }) => record_id);
    const sorted = (each: readonly unknown[]) => each.map(String).sort();
    expect(sorted(found.map((row) => row["record_id"]))).toEqual(sorted(fetched));
    expect(sorted(listed)).toEqual(sorted(fetched));
    return fetched.length;
  };

  it("is found, fetched and listed no more, and is again once it is published again", async () => {
    const story = await tellStory();
    expect(await served(story)).toBe(3);
    const rows = await rowsOf(story);
    expect(await vouchedFor(story, rows)).toEqual({ current: "ok", superseding: "ok", alone: "ok" });
    await endCertificate(story, "revoked", story.moments[1]);
    expect(await served(story)).toBe(1);
    const reason = "certificate_not_in_force";
    expect(await vouchedFor(story, rows)).toEqual({ current: "ok", superseding: reason, alone: reason });
    const keyed = await tellStory();
    const { keyId } = await world.surfaces.services.hostedSigner(keyed.business.party.uuid);
    await endKey(keyed, keyed.moments[0], keyId);
    expect(await served(keyed)).toBe(2);
    const changes = { seq: 3 };
    const again = [product("b")];
    expect(await sealAndPublish(world.surfaces.services, keyed.business, again, changes)).toMatchObject({
      status: 200,
    });
    expect(await served(keyed)).toBe(3);
  });

  it("is served nowhere as soon as the register has the end, wherever the review of its business is", async () => {
    const story = await tellStory();
    const { services, businessUrl } = world.surfaces;
    const { business, held, moments } = story;
    await endCertificate(story, "revoked", moments[1]);
    // The store and the index of a region that the review has not reached: they serve what they served before.
    const current = held.filter(({ name }) => name === "superseding" || name === "current");
    for (const { recordId } of current) {
      const [newest] = await services.records.listVersions(recordId, null, 1);
      const head = await services.records.readHead(recordId);
      if (newest === undefined || head === null) throw new Error("The record was published.");
      const published = await services.records.readPublished({ record_id: recordId, ...newest });
      const change = head.change + 1_000;
      await services.records.putHeads([{ ...head, change, live: true }]);
      const row = rowPut(
        "products",
        { record_id: recordId, generation: newest.generation, change },
        published?.row ?? "",
      );
      await services.index.apply([row]);
    }
    const caller: TestCaller = { key: business.signingKey, grant: "" };
    const stand = services.recordIdOf(business.party.uuid, "products", "current");
    const fell = services.recordIdOf(business.party.uuid, "products", "superseded");
    for (const _ of ["first", "kept"]) {
      expect((await rowsOf(story)).map((row) => row["record_id"])).toEqual(expect.arrayContaining([stand]));
      expect((await rowsOf(story)).map((row) => row["record_id"])).not.toContain(fell);
      const fetched = (id: string) =>
        send(world.surfaces.retrievalUrl, company, { path: `/v1/records/${id}` });
      expect([(await fetched(stand)).status, (await fetched(fell)).status]).toEqual([200, 404]);
    }
    const own = (path: string) =>
      send(businessUrl, caller, { path: `/v1/catalogue${path}`, tag: "svc-business-read" });
    const { json } = await own("");
    const ids = (json["entries"] as readonly JsonObject[]).map((entry) => entry["record_id"]);
    expect([ids.includes(stand), ids.includes(fell)]).toEqual([true, false]);
    expect([(await own(`/${stand}`)).status, (await own(`/${fell}`)).status]).toEqual([200, 404]);
  });

  it("leaves the AI policy that is in force on rows and records to the newest one that stands", async () => {
    const { services } = world.surfaces;
    const story = await tellStory();
    const { party, certId } = story.business;
    const { keyId } = await services.hostedSigner(party.uuid);
    const sealed = { record: world.policy.record, record_type: "ai_policy", ai_policy_version: 1 } as const;
    const seal = await sealHosted(services, { uuid: party.uuid, certId }, sealed);
    const { record } = world.policy;
    await services.parties.acceptPolicy({ uuid: party.uuid, record, seal: rubbish(seal) });
    await registerInForce(services);
    expect(services.register.policyInForce(party.uuid).version).toBe(1);
    const [current] = story.held;
    const fetched = async () => {
      const path = `/v1/records/${current?.recordId}`;
      const { json } = await send(world.surfaces.retrievalUrl, company, { path });
      return json["ai_policy"];
    };
    expect(await fetched()).toMatchObject({ version: 1 });
    await endKey(story, story.moments[2], keyId);
    expect(services.register.policyInForce(party.uuid).version).toBe(0);
    expect(await fetched()).toMatchObject({ version: 0, record: null });
    // What was sealed under it stays as it was then.
    expect(await services.register.policies(party.uuid)).toMatchObject([{ version: 1 }]);
    const { policy } = await services.parties.facts(party.uuid, "");
    expect(policy).toMatchObject({ version: 0, newest: 1 });
    // The owner seals the same record with another passkey: as the next version, and as no other.
    const owner = createSoftwarePasskey(generatePrivateJwk("ES256"), services.anchors.passkeys);
    const { keyId: ownersId, publicJwk: jwk, cose } = owner;
    const facts = { keyId: ownersId, jwk, partyUuid: party.uuid, role: "integration" } as const;
    const validFrom = formatTimestamp(Date.now() - 1_000);
    const key = { ...sandboxKeyFacts({ ...facts, validFrom }), role: "sealing", cose } as const;
    await services.parties.registerKey({ ...key, person_role: "owner" });
    const accept = async (ai_policy_version: number) => {
      const payload = sealPayload({
        v: 2,
        key_id: ownersId,
        cert_id: certId,
        hash: hashOf(record),
        ai_policy_version,
        sealed_at: formatTimestamp(Date.now()),
        record_type: "ai_policy",
      });
      const sealedAgain = await owner.seal(payloadTypes["seal.v2"], payload);
      return services.parties.acceptPolicy({ uuid: party.uuid, record, seal: sealedAgain });
    };
    await expect(accept(1)).rejects.toMatchObject({ code: "ai_policy_version_used" });
    expect(await accept(2)).toMatchObject({ version: 2 });
    await registerInForce(services);
    expect(await fetched()).toMatchObject({ version: 2 });
  });
});
