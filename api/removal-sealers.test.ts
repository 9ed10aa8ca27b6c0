// Who may seal a withdrawal or deletion, over HTTP: a person with a passkey, the key that the service holds, and an integration
// key under a mandate, for records of every type.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef, regionRef } from "../actors/messages/refs.ts";
import { hashOf } from "../protocol/bytes.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { type CollectionName, collectionNames, formatTimestamp } from "../protocol/identifiers.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { falseAssertions, newPerson, newPersonWith } from "../stories/publishing/hold-decisions.fixture.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  publishAlone,
  type RemovalSealer,
  removeOver,
  sealRemoval,
} from "../stories/publishing/removal.fixture.ts";
import { type AttackNode, giveMandate } from "../stories/retrieval/attack.fixture.ts";

import {
  newCaller,
  openSurfaces,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let company: TestCaller;

const asNode = () => part<AttackNode>({ running: part({ services: surfaces.services }) });

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  await giveMandate(asNode(), business, { scope: { record_types: collectionNames } });
  const uuid = "10000000-0000-4000-8000-000000000009";
  company = await newCaller(surfaces.services.keys.grant, "retrieval", uuid);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const fetched = async (recordId: string): Promise<number> =>
  (await send(surfaces.retrievalUrl, company, { path: `/v1/records/${recordId}` })).status;

let questions = 0;
async function isSearched(collection: CollectionName, record_id: string): Promise<boolean> {
  const { actors, config } = surfaces.services;
  questions += 1;
  const work_id = `sealers ${questions}`;
  const reply = await actors.ask(regionRef(config.region), {
    type: "rows.find",
    work_id,
    collection,
    record_id,
  });
  return reply.status === "found" && reply.found;
}

async function remove(
  type: CollectionName,
  action: Action,
  record_id: string,
  sealer: RemovalSealer,
  claims: Parameters<typeof sealRemoval>[3] = {},
): Promise<ReceivedAnswer & { readonly hash: string }> {
  const sealed = await sealRemoval(business, { record_id, action }, sealer, { record_type: type, ...claims });
  const answer = await removeOver(surfaces.businessUrl, business, { type, action }, sealed);
  return { ...answer, hash: hashOf(sealed.document) };
}
type Action = "withdraw" | "delete";
const actions: readonly Action[] = ["withdraw", "delete"];

const sealers = {
  "an owner's passkey": () => newPerson(asNode(), business, "owner"),
  "a developer's passkey": () => newPerson(asNode(), business, "developer"),
  "the key that the service holds": () => surfaces.services.hostedSigner(business.party.uuid),
  "an integration key": async () => business.signingKey,
} satisfies Record<string, () => Promise<RemovalSealer>>;

describe.each(Object.entries(sealers))("%s", (_name, open) => {
  it.each(collectionNames.flatMap((type) => actions.map((action) => [type, action] as const)))(
    "takes one of the %s out of serving: %s",
    async (type, action) => {
      const record_id = await publishAlone(surfaces.services, business, type);
      expect([await fetched(record_id), await isSearched(type, record_id)]).toEqual([200, true]);
      const sealer = await open();
      const { status, json, hash } = await remove(type, action, record_id, sealer);
      expect([status, json]).toEqual([200, { record_id, action, live_in: [] }]);
      expect([await fetched(record_id), await isSearched(type, record_id)]).toEqual([404, false]);
      const { removal } = await surfaces.services.actors.ask(businessRef(business.party.uuid), {
        type: "removal.read",
        document_hash: hash,
      });
      expect(removal).toMatchObject({ record_id, action, collection: type });
      const kept = parseEnvelope(JSON.parse(removal?.seal ?? "null"));
      expect(kept.ok && kept.value.signatures[0]?.keyid).toBe(sealer.keyId);
    },
  );
});

describe("a passkey seals nothing", () => {
  it.each(falseAssertions)("%s", async (_how, parts) => {
    const record_id = await publishAlone(surfaces.services, business, "events");
    const answer = await remove(
      "events",
      "delete",
      record_id,
      await newPersonWith(asNode(), business, parts),
    );
    expect([answer.status, answer.json]).toMatchObject([
      422,
      { code: "seal_invalid", reason: "signature_invalid" },
    ]);
    expect(await fetched(record_id)).toBe(200);
    // The same passkey may seal it rightly.
    expect(
      (await remove("events", "delete", record_id, await newPersonWith(asNode(), business))).status,
    ).toBe(200);
  });

  it("that is of another business, or was revoked", async () => {
    const record_id = await publishAlone(surfaces.services, business, "jobs");
    const uuid = "00000000-0000-4000-8000-000000000002";
    const other = await openBusiness(surfaces.services, uuid, "Pearls Ltd");
    const foreign = await newPerson(asNode(), other, "owner");
    const revoked = await newPerson(asNode(), business, "owner");
    await surfaces.services.parties.revokeKey({
      uuid: business.party.uuid,
      key_id: revoked.keyId,
      compromised_from: null,
      revoked_at: formatTimestamp(Date.now()),
    });
    expect((await remove("jobs", "withdraw", record_id, foreign)).json).toMatchObject({
      code: "seal_invalid",
      reason: "key_unknown",
    });
    expect((await remove("jobs", "withdraw", record_id, revoked)).json).toMatchObject({
      code: "seal_invalid",
      reason: "key_not_valid",
    });
    expect(await fetched(record_id)).toBe(200);
  });
});

it.each(actions)("no route takes a record of another type, nor an AI policy record: %s", async (action) => {
  const owner = await newPerson(asNode(), business, "owner");
  const job = await publishAlone(surfaces.services, business, "jobs");
  for (const record_id of [job, `aip_${"a".repeat(26)}`, `ad_${"a".repeat(26)}`]) {
    const answer = await remove("updates", action, record_id, owner);
    expect(answer.json).toMatchObject({ code: "seal_invalid", reason: "record_type_mismatch" });
  }
  expect(await fetched(job)).toBe(200);
});

it("what the mandate covers is judged behind the document, since only that says who sealed it", async () => {
  const { businessUrl, services } = surfaces;
  const narrow = await openBusiness(services, "00000000-0000-4000-8000-000000000003", "Rubies Ltd");
  await giveMandate(asNode(), narrow, { scope: { record_types: ["jobs"] } });
  const record_id = await publishAlone(services, narrow, "events");
  const route = { type: "events", action: "delete" } as const;
  const sealedBy = (sealer: RemovalSealer) =>
    sealRemoval(narrow, { record_id, action: "delete" }, sealer, { record_type: "events" });
  const malformed = await removeOver(businessUrl, narrow, route, "{ malformed");
  expect(malformed).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  const own = await removeOver(businessUrl, narrow, route, await sealedBy(narrow.signingKey));
  expect(own).toMatchObject({ status: 403, json: { code: "out_of_scope" } });
  const owner = await newPerson(asNode(), narrow, "owner");
  expect((await removeOver(businessUrl, narrow, route, await sealedBy(owner))).status).toBe(200);
});
