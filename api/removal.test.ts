// Withdrawal and deletion by sealed documents, over HTTP.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { hashOf } from "../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { type CollectionName, collectionNames, formatTimestamp } from "../protocol/identifiers.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { sealPayload } from "../protocol/seal.ts";
import { withdrawalDocument } from "../protocol/withdrawal.fixture.ts";
import type { Withdrawal } from "../protocol/withdrawal.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { publishAlone, removalText, removeOver, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { type AttackNode, giveMandate } from "../stories/retrieval/attack.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let other: TestBusiness;
let company: TestCaller;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  other = await openBusiness(surfaces.services, "00000000-0000-4000-8000-000000000002", "Pearls Ltd");
  const uuid = "10000000-0000-4000-8000-000000000009";
  company = await newCaller(surfaces.services.keys.grant, "retrieval", uuid);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** Publishes a product and returns its record id. */
async function publish(
  id: string,
  by = business,
  changes: Readonly<Record<string, unknown>> = {},
  sealedAtMs = Date.now(),
): Promise<string> {
  seq += 1;
  const records = [product(id, changes)];
  const { batch_seal } = await seal(by, records, { seq, sealedAtMs });
  const answer = await send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    {
      path: "/v1/publish/products",
      body: publishBody(batch_seal, records),
      tag: "svc-push",
      headers: { "idempotency-key": freshNonce() },
    },
  );
  const [result] = answer.json["results"] as readonly { record_id: string }[];
  return result?.record_id ?? "";
}

const remove = (
  action: Withdrawal["action"],
  sent: Parameters<typeof removeOver>[3],
  changes: Parameters<typeof removeOver>[4] & { readonly type?: CollectionName } = {},
  by = business,
) => {
  const { type = "products", ...rest } = changes;
  return removeOver(surfaces.businessUrl, by, { type, action }, sent, rest);
};

const fetched = (recordId: string) =>
  send(surfaces.retrievalUrl, company, { path: `/v1/records/${recordId}` });

const isFound = async (recordId: string): Promise<boolean> => (await fetched(recordId)).status === 200;

const removalOf = async (document: Uint8Array, by = business) =>
  (
    await surfaces.services.actors.ask(businessRef(by.party.uuid), {
      type: "removal.read",
      document_hash: hashOf(document),
    })
  ).removal;

describe.each(["withdraw", "delete"] as const)("%s", (action) => {
  it("takes the record out of fetch and search at once, and keeps the document and its seal", async () => {
    const record_id = await publish(`${action}-1`);
    expect(await isFound(record_id)).toBe(true);
    const sealed = await sealRemoval(business, { record_id, action }, business.signingKey);
    const answer = await remove(action, sealed);
    expect([answer.status, answer.json]).toEqual([200, { record_id, action, live_in: [] }]);
    expect(await isFound(record_id)).toBe(false);
    expect(await removalOf(sealed.document)).toMatchObject({
      record_id,
      action,
      collection: "products",
      generation: 1,
      document: new TextDecoder().decode(sealed.document),
      seal: JSON.stringify(sealed.seal),
    });
  });

  it("is answered again without effect, also when the record was published again since and the document is old", async () => {
    const record_id = await publish(`${action}-2`);
    const sealed = await sealRemoval(business, { record_id, action }, business.signingKey);
    const first = await remove(action, sealed);
    expect((await remove(action, sealed)).json).toEqual(first.json);
    await publish(`${action}-2`);
    const again = await remove(action, sealed);
    expect([again.status, again.json]).toEqual([
      200,
      { record_id, action, live_in: [surfaces.services.config.region] },
    ]);
    expect(await isFound(record_id)).toBe(true);
    surfaces.skipMs(3_600_000);
    try {
      const created = Math.floor(Date.now() / 1_000) + 3_600;
      expect((await remove(action, sealed, { created })).json).toEqual(again.json);
      const { document, seal: envelope } = await sealRemoval(
        business,
        { record_id, action },
        business.signingKey,
      );
      const late = await remove(action, { document, seal: envelope }, { created });
      expect(late.json).toMatchObject({ code: "seal_invalid", reason: "sealed_at_skew" });
    } finally {
      surfaces.skipMs(-3_600_000);
    }
  });

  it("replays its answer under the same Idempotency-Key, which publishing may use as well", async () => {
    const record_id = await publish(`${action}-3`);
    const sealed = await sealRemoval(business, { record_id, action }, business.signingKey);
    const headers = { "idempotency-key": `the key of a ${action}` };
    const first = await remove(action, sealed, { headers });
    expect((await remove(action, sealed, { headers })).text).toBe(first.text);
    const another = await sealRemoval(business, { record_id, action }, business.signingKey);
    expect((await remove(action, another, { headers })).json).toMatchObject({
      code: "idempotency_key_reused",
    });
    const without = await remove(action, sealed, { headers: { "idempotency-key": null } });
    expect(without.json).toMatchObject({ status: 400, pointer: "/headers/idempotency-key" });
  });

  it("of a record that never was and of another business's record is answered alike", async () => {
    const foreign = await publish(`${action}-4`, other);
    const answers = [];
    for (const record_id of [foreign, `svc_${"a".repeat(26)}`]) {
      const answer = await remove(
        action,
        await sealRemoval(business, { record_id, action }, business.signingKey),
      );
      answers.push([answer.status, answer.text]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[0]).toBe(404);
    expect(await isFound(foreign)).toBe(true);
  });

  it("says what is wrong with its document or its seal, and changes nothing", async () => {
    const record_id = await publish(`${action}-5`);
    const now = Date.now();
    const key = business.signingKey;
    const removal = { record_id, action };
    const wrong = action === "delete" ? "withdraw" : "delete";
    const at = (ms: number) => formatTimestamp(now + ms);
    const bytes = withdrawalDocument({ ...removal, at: at(0) });
    const spaced = new TextEncoder().encode(new TextDecoder().decode(bytes).replace(",", ", "));
    const cases = [
      [{ ...removal, at: at(-301_000) }, {}, "seal_invalid", "at_skew"],
      [{ ...removal, at: at(301_000) }, {}, "seal_invalid", "at_skew"],
      [{ ...removal, at: at(-120_000) }, {}, "seal_invalid", "at_not_later"],
      [removal, { sealed_at: at(-301_000) }, "seal_invalid", "sealed_at_skew"],
      [{ ...removal, action: wrong }, {}, "request_invalid", undefined],
      [removal, { hash: hashOf(spaced) }, "seal_invalid", "hash_mismatch"],
      [removal, { document: spaced }, "seal_invalid", "payload_malformed"],
      [removal, { record_type: "events" }, "seal_invalid", "record_type_mismatch"],
      [removal, { cert_id: `sha256:${"0".repeat(64)}` }, "seal_invalid", "certificate_unknown"],
      [removal, { ai_policy_version: 7 }, "seal_invalid", "ai_policy_version_mismatch"],
      [removal, { key_id: other.key.key_id }, "seal_invalid", "key_mismatch"],
    ] as const;
    for (const [told, claims, code, reason] of cases) {
      const answer = await remove(action, await sealRemoval(business, told, key, claims));
      expect([claims, told, answer.json["code"], answer.json["reason"]]).toEqual([
        claims,
        told,
        code,
        reason,
      ]);
    }
    const foreign = await remove(action, await sealRemoval(business, removal, other.signingKey));
    expect(foreign.json).toMatchObject({ code: "seal_invalid", reason: "key_unknown" });
    const policy = await remove(action, await sealRemoval(business, removal, key, { ai_policy_version: 7 }));
    expect(policy.json["ai_policy_version"]).toBe(0);
    for (const body of [
      "{",
      "{}",
      JSON.stringify({ ...JSON.parse(removalText(await sealRemoval(business, removal, key))), more: 1 }),
    ]) {
      expect((await remove(action, body)).json).toMatchObject({ status: 400, code: "request_invalid" });
    }
    expect(await isFound(record_id)).toBe(true);
  });
});

it.each(collectionNames)("%s are withdrawn and deleted by the key that the service holds", async (type) => {
  const { services } = surfaces;
  const signer = await services.hostedSigner(business.party.uuid);
  for (const action of ["withdraw", "delete"] as const) {
    const record_id = await publishAlone(services, business, type);
    expect(await isFound(record_id)).toBe(true);
    const sealed = await sealRemoval(business, { record_id, action }, signer, { record_type: type });
    const answer = await remove(action, sealed, { type });
    expect([answer.status, answer.json]).toEqual([200, { record_id, action, live_in: [] }]);
    expect(await isFound(record_id)).toBe(false);
  }
});

describe("a removal needs", () => {
  const node = () =>
    part<AttackNode>({ running: part<AttackNode["running"]>({ services: surfaces.services }) });
  let merchants = 100;
  const merchant = (): Promise<TestBusiness> => {
    merchants += 1;
    return openBusiness(surfaces.services, `00000000-0000-4000-8000-000000000${merchants}`, "Opals Ltd");
  };

  it("a mandate that covers the type, only where an integration key seals it", async () => {
    const by = await merchant();
    const signer = await surfaces.services.hostedSigner(by.party.uuid);
    const record_id = await publish("mandate-1", by);
    await giveMandate(node(), by, { scope: { record_types: ["jobs"] } });
    const own = await remove("withdraw", await sealRemoval(by, { record_id }, by.signingKey), {}, by);
    expect(own.json).toMatchObject({ status: 403, code: "out_of_scope" });
    expect(await isFound(record_id)).toBe(true);
    const held = await remove("withdraw", await sealRemoval(by, { record_id }, signer), {}, by);
    expect(held.json).toMatchObject({ live_in: [] });
  });

  it("a request from inside the mandate's allow-list", async () => {
    const by = await merchant();
    const record_id = await publish("mandate-2", by);
    await giveMandate(node(), by, { scope: { source_ip_allow_list: ["203.0.113.0/24"] } });
    const answer = await remove(
      "delete",
      await sealRemoval(by, { record_id, action: "delete" }, by.signingKey),
      {},
      by,
    );
    expect(answer.json).toMatchObject({ status: 403, code: "source_not_allowed" });
  });

  it("room in the mandate's caps, of which it takes one record; an accepted one needs none", async () => {
    const by = await merchant();
    await giveMandate(node(), by, {
      scope: { countries: ["US", "CA"], caps: { records_per_hour: 3, bytes_per_day: 1_000_000 } },
    });
    const ids = [await publish("caps-1", by), await publish("caps-2", by)];
    const [first, second] = await Promise.all(
      ids.map((record_id) => sealRemoval(by, { record_id }, by.signingKey)),
    );
    if (!first || !second) throw new Error("Two documents were sealed.");
    expect((await remove("withdraw", first, {}, by)).json).toMatchObject({ live_in: [] });
    expect((await remove("withdraw", second, {}, by)).json).toMatchObject({
      status: 429,
      code: "rate_limited",
      reason: "records_per_hour",
    });
    expect((await remove("withdraw", first, {}, by)).json).toMatchObject({ live_in: [] });
  });

  it("room in the mandate's caps for each of many that are sent at once", async () => {
    const by = await merchant();
    await giveMandate(node(), by, {
      scope: { countries: ["US", "CA"], caps: { records_per_hour: 9, bytes_per_day: 1_000_000 } },
    });
    const ids: string[] = [];
    for (let index = 0; index < 8; index += 1) ids.push(await publish(`many-${index}`, by));
    const sealed = await Promise.all(ids.map((record_id) => sealRemoval(by, { record_id }, by.signingKey)));
    const answers = await Promise.all(sealed.map((each) => remove("withdraw", each, {}, by)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(429)]);
    expect(await Promise.all(ids.map(isFound))).toEqual(answers.map(({ status }) => status === 429));
  });

  it("to be written after the version that is served was sealed, not at the same instant", async () => {
    const sealedAtMs = Date.now();
    const record_id = await publish("instant-1", business, {}, sealedAtMs);
    const removeAt = async (ms: number) =>
      remove(
        "withdraw",
        await sealRemoval(business, { record_id, at: formatTimestamp(ms) }, business.signingKey),
      );
    expect((await removeAt(sealedAtMs)).json).toMatchObject({ code: "seal_invalid", reason: "at_not_later" });
    expect(await isFound(record_id)).toBe(true);
    expect((await removeAt(sealedAtMs + 1)).status).toBe(200);
  });

  it("to be written after the version was received, even if the clock that sealed the version was ahead", async () => {
    const record_id = await publish("ahead-1", business, {}, Date.now() + 240_000);
    const claims = { record_id, at: formatTimestamp(Date.now()) };
    const answer = await remove("withdraw", await sealRemoval(business, claims, business.signingKey));
    expect(answer.status).toBe(200);
    expect(await isFound(record_id)).toBe(false);
  });

  it("a seal of format 2, although one of format 1 is good", async () => {
    const record_id = await publish("format-1");
    const { document } = await sealRemoval(business, { record_id }, business.signingKey);
    const payload = sealPayload({
      v: 1,
      terms_version: 0,
      key_id: business.key.key_id,
      cert_id: business.certId,
      hash: hashOf(document),
      sealed_at: formatTimestamp(Date.now()),
      record_type: "products",
    });
    const type = payloadTypes["seal.v1"];
    const sig = await business.signingKey.sign(pae(type, payload));
    const envelope = makeEnvelope(type, payload, [{ keyid: business.key.key_id, sig }]);
    const answer = await remove("withdraw", { document, seal: envelope });
    expect(answer.json).toMatchObject({ code: "seal_invalid", reason: "version_unknown" });
    expect(await isFound(record_id)).toBe(true);
  });

  it("a seal made while the mandate of the integration key that made it was valid", async () => {
    const by = await merchant();
    const before = Date.now();
    const record_id = await publish("before-1", by);
    await giveMandate(node(), by, {});
    const sealedAt = (ms: number) =>
      sealRemoval(by, { record_id }, by.signingKey, { sealed_at: formatTimestamp(ms) });
    const early = await remove("withdraw", await sealedAt(before), {}, by);
    expect(early.json).toMatchObject({ detail: expect.stringContaining("not valid at that time") });
    expect(await isFound(record_id)).toBe(true);
    expect((await remove("withdraw", await sealedAt(Date.now()), {}, by)).status).toBe(200);
  });

  it("a live sealing key", async () => {
    const by = await merchant();
    const successor = await openBusiness(surfaces.services, by.party.uuid);
    const [one, two] = [await publish("keys-1", by), await publish("keys-2", by)];
    const sealed = await sealRemoval(by, { record_id: one }, successor.signingKey);
    expect((await remove("withdraw", sealed, {}, by)).json).toMatchObject({ live_in: [] });
    const early = await sealRemoval(by, { record_id: two }, successor.signingKey);
    await surfaces.services.parties.revokeKey({
      uuid: by.party.uuid,
      key_id: successor.key.key_id,
      compromised_from: null,
      revoked_at: formatTimestamp(Date.now()),
    });
    expect((await remove("withdraw", early, {}, by)).json).toMatchObject({
      status: 401,
      code: "key_unknown",
    });
    expect(await isFound(two)).toBe(true);
    // What was accepted while the key was live is answered again.
    expect((await remove("withdraw", sealed, {}, by)).status).toBe(200);
  });

  it("a document: a bare DELETE is refused", async () => {
    const record_id = await publish("bare-1");
    const headers = { "idempotency-key": freshNonce() };
    for (const path of [
      "/v1/publish/products",
      "/v1/publish/products/delete",
      `/v1/catalogue/${record_id}`,
    ]) {
      const caller = { key: business.signingKey, grant: "" };
      const answer = await send(surfaces.businessUrl, caller, {
        method: "DELETE",
        path,
        tag: "svc-push",
        headers,
      });
      expect([answer.status, answer.json["code"]]).toEqual([405, "method_not_allowed"]);
    }
    expect(await isFound(record_id)).toBe(true);
  });
});

it("lists the documents of a business in their order", async () => {
  const home = businessRef(business.party.uuid);
  const { actors } = surfaces.services;
  const { places } = await actors.ask(home, { type: "removals.list", after: 0, limit: 3 });
  expect(places).toHaveLength(3);
  const { places: more } = await actors.ask(home, {
    type: "removals.list",
    after: places[1]?.number ?? 0,
    limit: 100,
  });
  expect(more[0]).toEqual(places[2]);
  const numbers = more.map(({ number }) => number);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
});
