// What does not stand any more (verifier/standing.ts): the page of a record and POST /v1/verify say the same of it at any moment (VP1 of
// service/verify-page.ts), and it is served nowhere.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CertificateStatus } from "../actors/messages/business.ts";
import { pushRef } from "../actors/messages/refs.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import {
  jsonOf,
  openBusiness,
  product,
  sealAndPublish,
  sealHosted,
  type TestBusiness,
} from "../node/publishing.fixture.ts";
import { registerInForce } from "../node/register-in-force.fixture.ts";
import { publishAlone, removeBy, sealRemoval } from "../node/removal.fixture.ts";
import { createSoftwarePasskey } from "../node/sandbox/sealer.ts";
import { toBase64 } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { sealPayload } from "../protocol/seal.ts";
import { sealText } from "../service/fetched-record.ts";
import { sandboxKeyFacts } from "../service/sandbox-keys.ts";
import { newCaller, productSearch, type ReceivedAnswer, send, type TestCaller } from "./surfaces.fixture.ts";
import { openVerifiable, type Verifiable } from "./verification.fixture.ts";

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

/** A version, and the document that took it out of serving if there is one, as a checker holds them. */
interface Held {
  readonly name: string;
  readonly recordId: string;
  readonly bytes: Uint8Array;
  readonly seal: unknown;
  readonly sidecar: unknown;
}

/** What a business published, and the moments before, between and after. */
interface Story {
  readonly business: TestBusiness;
  readonly held: readonly Held[];
  readonly moments: readonly [before: string, between: string, after: string];
  readonly removal: { readonly document: Uint8Array; readonly seal: object };
}

let opened = 0;

async function tellStory(): Promise<Story> {
  opened += 1;
  const { services } = world.surfaces;
  const uuid = `00000000-0000-4000-8000-0000000007${String(opened).padStart(2, "0")}`;
  const business = await openBusiness(services, uuid, `Standing ${opened} Ltd`);
  const { party, certId, signingKey } = business;
  const held: Held[] = [];
  const hold = async (name: string, recordId: string) => {
    const served = await services.records.readServed(recordId);
    if (served === null) throw new Error(`${name} is not served.`);
    const { version, seal } = served;
    const documents = { seal: JSON.parse(sealText(version, seal)), sidecar: JSON.parse(version.sidecar) };
    held.push({ name, recordId, bytes: version.bytes, ...documents });
  };
  const id = (name: string) => services.recordIdOf(uuid, "products", name);
  const now = async () => {
    const at = Date.now();
    while (Date.now() < at + 3) await new Promise(setImmediate);
    const moment = formatTimestamp(at + 1);
    while (Date.now() < at + 6) await new Promise(setImmediate);
    return moment;
  };
  const before = await now();
  const names = ["current", "superseded", "removed"];
  await sealAndPublish(
    services,
    business,
    names.map((name) => product(name)),
    { seq: 1 },
  );
  for (const name of names) await hold(name, id(name));
  const between = await now();
  await sealAndPublish(services, business, [product("superseded", { brand: "New" })], { seq: 2 });
  await hold("superseding", id("superseded"));
  await hold(
    "alone",
    await publishAlone(services, { party, certId }, "products", { business_product_id: "b" }),
  );
  const removal = await sealRemoval(business, { record_id: id("removed"), action: "withdraw" }, signingKey);
  expect(await removeBy(services, business, "withdraw", removal)).toMatchObject({ status: 200 });
  return { business, held, removal, moments: [before, between, await now()] };
}

const page = (recordId: string, bytes: Uint8Array, more = ""): Promise<ReceivedAnswer> =>
  world.get(`/v1/verify/${recordId}?origin=${hashOf(bytes)}${more}`);

async function verified(document: object): Promise<{ readonly valid: boolean; readonly reason?: string }> {
  const body = JSON.stringify(document);
  const { json } = await send(world.surfaces.verifyUrl, null, { path: "/v1/verify", body });
  return json["seal"] as unknown as { readonly valid: boolean; readonly reason?: string };
}

const why = (reason: string | undefined) => (reason === undefined ? {} : { reason });

/** A whole verification, as its statement signs it. */
async function statementOf(document: object): Promise<ReceivedAnswer["json"]> {
  const body = JSON.stringify(document);
  return (await send(world.surfaces.verifyUrl, null, { path: "/v1/verify", body })).json;
}

/** What page and verification say of everything of the story: they must agree. */
async function said({ held, removal }: Story): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { name, recordId, bytes, seal, sidecar } of held) {
    const { json } = await page(recordId, bytes);
    const document = { record_base64: toBase64(bytes), seal, sidecar };
    const { valid, reason } = await verified(document);
    expect([name, json["valid"], json["reason"]]).toEqual([name, valid, reason]);
    // What vouches for a version by itself is judged like its seal.
    const vouched = await statementOf({ record_base64: toBase64(bytes), sidecar });
    expect([name, vouched.valid, vouched.sidecar]).toMatchObject([name, valid, { valid, ...why(reason) }]);
    found[name] = `${String(json["status"])} ${reason ?? "ok"}`;
    const shown = json["removal"] as { readonly reason?: string } | null;
    if (shown === null) continue;
    const about = await verified({ record_base64: toBase64(removal.document), seal: removal.seal });
    expect(shown.reason).toBe(about.reason);
    found["removal"] = about.reason ?? "ok";
  }
  return found;
}

const whole = {
  ...{ current: "current ok", superseded: "superseded ok", superseding: "current ok", alone: "current ok" },
  ...{ removed: "withdrawn ok", removal: "ok" },
};

async function endKey({ business }: Story, compromised_from: string | null, key_id = business.key.key_id) {
  const { services } = world.surfaces;
  const revoked_at = formatTimestamp(Date.now());
  await services.parties.revokeKey({ uuid: business.party.uuid, key_id, revoked_at, compromised_from });
  await registerInForce(services);
}

async function endCertificate(
  { business }: Story,
  status: Exclude<CertificateStatus, "active">,
  status_effective_from: string,
) {
  const { services } = world.surfaces;
  const { uuid, legal_name, country } = business.party;
  await services.parties.issueCertificate({
    ...{ uuid, kind: "business", legal_name, country, verified_since: "2025-01-01T00:00:00.000Z" },
    ...{ status, status_effective_from, status_reason: "decided" },
  });
  await registerInForce(services);
}

describe("page and verification", () => {
  it("say the same as long as nothing ended, and after an ordinary end of the key or its mandate", async () => {
    const story = await tellStory();
    expect(await said(story)).toEqual(whole);
    const { services } = world.surfaces;
    const { uuid } = story.business.party;
    const mandate_id = `mdt_${story.business.key.key_id}`;
    await services.parties.revokeMandate({ uuid, mandate_id, revoked_at: formatTimestamp(Date.now()) });
    await endKey(story, null);
    expect(await said(story)).toEqual(whole);
  });

  it.each([
    [
      0,
      { current: "invalidated", superseded: "superseded", superseding: "invalidated", removed: "withdrawn" },
    ],
    [1, { superseding: "invalidated" }],
    [2, {}],
  ] as const)("say of each version whether its key was compromised before: moment %i", async (at, fallen) => {
    const story = await tellStory();
    await endKey(story, story.moments[at]);
    const expected = Object.entries(fallen).map(([name, status]) => [name, `${status} key_compromised`]);
    const removal = at === 2 ? "ok" : "key_compromised";
    expect(await said(story)).toEqual({ ...whole, ...Object.fromEntries(expected), removal });
  });

  it("say so of what a key sealed alone", async () => {
    const story = await tellStory();
    const { keyId } = await world.surfaces.services.hostedSigner(story.business.party.uuid);
    await endKey(story, story.moments[1], keyId);
    expect(await said(story)).toEqual({ ...whole, alone: "invalidated key_compromised" });
  });

  it("say so of everything under a mandate whose sealer was compromised before", async () => {
    const story = await tellStory();
    const { keyId } = await world.surfaces.services.hostedSigner(story.business.party.uuid);
    await endKey(story, "2024-01-01T00:00:00.000Z", keyId);
    const reason = "key_compromised";
    expect(await said(story)).toEqual({
      ...{ current: `invalidated ${reason}`, superseded: `superseded ${reason}`, removal: reason },
      ...{
        superseding: `invalidated ${reason}`,
        alone: `invalidated ${reason}`,
        removed: `withdrawn ${reason}`,
      },
    });
  });

  it.each([
    ["revoked", "certificate_not_in_force"],
    ["closed", "certificate_not_in_force"],
    ["withdrawn", "certificate_withdrawn"],
  ] as const)("say of each version whether its certificate was %s before", async (status, reason) => {
    const story = await tellStory();
    await endCertificate(story, status, story.moments[1]);
    expect(await said(story)).toEqual({
      // What was published is taken back under an ended certificate as well.
      ...whole,
      ...{ superseding: `invalidated ${reason}`, alone: `invalidated ${reason}` },
    });
    const later = await tellStory();
    await endCertificate(later, status, later.moments[2]);
    expect(await said(later)).toEqual(whole);
  });

  it("say it in the headline, in the colour for bad, and nothing there is called genuine", async () => {
    const story = await tellStory();
    const [current] = story.held;
    if (current === undefined) throw new Error("Nothing was published.");
    const html = async () => (await page(current.recordId, current.bytes, "&format=html")).text;
    expect(await html()).toContain("Genuine and current");
    await endKey(story, story.moments[0]);
    expect(await html()).toContain("Do not rely on it: sealed with a key that was in other hands");
    expect(await html()).not.toMatch(/genuine/i);
    const other = await tellStory();
    await endCertificate(other, "revoked", other.moments[0]);
    const [fallen] = other.held;
    expect(
      (await page(String(fallen?.recordId), fallen?.bytes ?? current.bytes, "&format=html")).text,
    ).toContain("Not valid: the business was not verified when it was sealed");
  });
});

describe("a push under way whose key turns out to have been in other hands before", () => {
  it("ends as failed with the reason, and what it published before that is served nowhere", async () => {
    const { services } = world.surfaces;
    const { business, moments } = await tellStory();
    const { uuid } = business.party;
    const records = Array.from({ length: 3_000 }, (_, at) => product(`stone-${at}`));
    const answer = jsonOf(await sealAndPublish(services, business, records, { seq: 3 }));
    expect(answer.status).toBe(202);
    await services.parties.revokeKey({
      ...{ uuid, key_id: business.key.key_id },
      ...{ revoked_at: formatTimestamp(Date.now()), compromised_from: moments[2] },
    });
    const push = pushRef(uuid, String(answer["push_id"]));
    const over = await services.actors.ask(
      push,
      { type: "push.await", until: "over" },
      { timeoutMs: 60_000 },
    );
    expect(over).toMatchObject({ state: "failed", error: { code: "key_compromised" } });
    expect(over?.counts.rejected).toBeGreaterThan(0);
    const last = { type: "push.status", outcome: null, from_leaf: 2_999, limit: 1 } as const;
    expect((await services.actors.ask(push, last))?.results).toMatchObject([
      { outcome: "rejected", version: null, errors: [{ code: "key_compromised" }] },
    ]);
    await registerInForce(services);
    const live: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page = await services.records.listCatalogue(uuid, cursor, 1_000);
      live.push(...page.heads.filter((head) => head.live).map(({ record_id }) => record_id));
      cursor = page.cursor;
      if (cursor === null) break;
    }
    const kept = ["current", "superseded", "b"].map((id) => services.recordIdOf(uuid, "products", id));
    expect(live.sort()).toEqual(kept.sort());
  });
});

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
        ...{ v: 2, key_id: ownersId, cert_id: certId, hash: hashOf(record), ai_policy_version },
        ...{ sealed_at: formatTimestamp(Date.now()), record_type: "ai_policy" },
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
