// Mandates that an owner or admin sealed, delivered over HTTP by an integration key (DD1 to DD3 in
// service/register/deliver-document.ts).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishBody } from "../client/batch.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { createHostedSealer, createSoftwarePasskey, type Sealer } from "../node/sandbox/sealer.ts";
import { makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { type Mandate, mandatePayload } from "../protocol/mandate.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { falseAssertions, newPerson, newPersonWith } from "../stories/publishing/hold-decisions.fixture.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import type { AttackNode } from "../stories/retrieval/attack.fixture.ts";
import { freshNonce, openSurfaces, send, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let owner: Sealer;

const asNode = () => part<AttackNode>({ running: part({ services: surfaces.services }) });
const dayMs = 86_400_000;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  owner = await newPerson(asNode(), business, "owner");
});
afterAll(() => surfaces[Symbol.asyncDispose]());

let count = 0;

/** A mandate for the business's key, from a moment ago until tomorrow. */
function mandate(changes: Partial<Mandate> = {}): Mandate {
  count += 1;
  const nowMs = Date.now();
  return {
    v: 1,
    mandate_id: `mdt_delivered_${count}`,
    business_uuid: business.party.uuid,
    key_id: business.key.key_id,
    scope: {
      record_types: ["products"],
      countries: ["US", "CA"],
      directions: ["publish"],
      caps: { records_per_hour: 1_000, bytes_per_day: 1_000_000 },
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(nowMs - 1_000),
    valid_until: formatTimestamp(nowMs + dayMs),
    ...changes,
  };
}

const sealed = (changes: Partial<Mandate> = {}, by: Pick<Sealer, "seal"> = owner) =>
  by.seal(payloadTypes["mandate.v1"], mandatePayload(mandate(changes)));

const deliver = (document: unknown, by: Pick<TestBusiness, "signingKey"> = business) =>
  send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    { path: "/v1/mandates", body: JSON.stringify({ mandate: document }), tag: "svc-push" },
  );

const refused = (reason: string) => ({
  status: 422,
  json: { code: "seal_invalid", reason, pointer: "/mandate" },
});

/** A further key of the business, whose grant's mandate is revoked. */
async function keyWithoutMandate(): Promise<TestBusiness> {
  const { services } = surfaces;
  const further = await openBusiness(services, business.party.uuid);
  const { mandates } = await services.parties.facts(business.party.uuid, further.key.key_id);
  for (const { mandate_id } of mandates)
    await services.parties.revokeMandate({
      uuid: business.party.uuid,
      mandate_id,
      revoked_at: formatTimestamp(Date.now()),
    });
  return further;
}

async function publishOne(by: TestBusiness, seq: number) {
  const records = [product("delivered")];
  const { batch_seal } = await seal(by, records, { seq });
  return send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    {
      path: "/v1/publish/products",
      body: publishBody(batch_seal, records),
      tag: "svc-push",
      headers: { "idempotency-key": freshNonce() },
    },
  );
}

describe("a delivered mandate", () => {
  it("lets the very key publish that delivers it, and is answered again", async () => {
    const further = await keyWithoutMandate();
    expect(await publishOne(further, 1)).toMatchObject({ status: 403, json: { code: "mandate_missing" } });
    const document = await sealed({ key_id: further.key.key_id });
    const accepted = await deliver(document, further);
    expect(accepted).toMatchObject({ status: 200, json: { key_id: further.key.key_id, beside: [] } });
    expect((await deliver(document)).json).toEqual(accepted.json);
    expect((await publishOne(further, 2)).status).toBe(200);
  });

  it("says which others it stands beside, by an admin as well", async () => {
    const first = await deliver(await sealed({}, await newPerson(asNode(), business, "admin")));
    expect(first.status).toBe(200);
    const { json } = await deliver(await sealed());
    expect(json["beside"]).toContainEqual({
      mandate_id: first.json["mandate_id"],
      scope: mandate().scope,
      valid_from: first.json["valid_from"],
      valid_until: first.json["valid_until"],
    });
  });

  it.each([["of a developer", async () => sealed({}, await newPerson(asNode(), business, "developer"))]])(
    "%s is refused",
    async (_name, document) => {
      expect(await deliver(await document())).toMatchObject({
        status: 403,
        json: { code: "role_not_allowed" },
      });
    },
  );

  it("that the key sealed which it is for is refused", async () => {
    const payload = mandatePayload(mandate());
    const type = payloadTypes["mandate.v1"];
    const { signingKey } = business;
    const sig = await signingKey.sign(pae(type, payload));
    const document = makeEnvelope(type, payload, [{ keyid: signingKey.keyId, sig }]);
    expect(await deliver(document)).toMatchObject(refused("key_unknown"));
  });

  it("of more than 92 days, for nothing, or another payload is refused", async () => {
    const { scope, valid_from } = mandate();
    const until = (ms: number) => formatTimestamp(Date.parse(valid_from) + ms);
    expect((await deliver(await sealed({ valid_from, valid_until: until(92 * dayMs) }))).status).toBe(200);
    const wrong: readonly Partial<Mandate>[] = [
      { valid_from, valid_until: until(92 * dayMs + 1) },
      { valid_from, valid_until: valid_from },
      { scope: { ...scope, countries: [] } },
      { scope: { ...scope, record_types: [] } },
      { scope: { ...scope, directions: ["read"] } },
      { scope: { ...scope, caps: { records_per_hour: -1, bytes_per_day: 0 } } },
      { scope: { ...scope, source_ip_allow_list: ["anywhere"] } },
      { scope: { ...scope, source_ip_allow_list: [] } },
    ];
    for (const each of wrong)
      expect(await deliver(await sealed(each))).toMatchObject(refused("payload_malformed"));
    const other = await owner.seal(payloadTypes["hold-decision.v1"], mandatePayload(mandate()));
    expect(await deliver(other)).toMatchObject(refused("payload_type_mismatch"));
  });

  it("changed after sealing, or with another's signature, is refused", async () => {
    const document = await sealed();
    const wide = await sealed({ scope: { ...mandate().scope, countries: ["US", "CA", "GB"] } });
    expect(await deliver({ ...document, payload: wide.payload })).toMatchObject(refused("signature_invalid"));
    expect(
      await deliver({ ...document, signatures: [...document.signatures, ...document.signatures] }),
    ).toMatchObject(refused("envelope_malformed"));
    const { anchors } = surfaces.services;
    const stranger = createSoftwarePasskey(generatePrivateJwk("ES256"), anchors.passkeys);
    expect(await deliver(await sealed({}, stranger))).toMatchObject(refused("key_unknown"));
    const elsewhere = await newPerson(asNode(), business, "owner");
    const forged = document.signatures.map((each) => ({ ...each, keyid: elsewhere.keyId }));
    expect(await deliver({ ...document, signatures: forged })).toMatchObject(refused("signature_invalid"));
  });

  it("for a key that is none of the business, or has ended, is refused", async () => {
    const further = await keyWithoutMandate();
    const { parties } = surfaces.services;
    const uuid = business.party.uuid;
    await parties.revokeKey({
      uuid,
      key_id: further.key.key_id,
      revoked_at: formatTimestamp(Date.now()),
      compromised_from: null,
    });
    expect(await deliver(await sealed({ key_id: further.key.key_id }))).toMatchObject(
      refused("mandated_key_not_valid"),
    );
    expect(await deliver(await sealed({ key_id: owner.keyId }))).toMatchObject(
      refused("mandated_key_unknown"),
    );
    expect(await deliver(await sealed({ key_id: "A".repeat(43) }))).toMatchObject(
      refused("mandated_key_unknown"),
    );
  });

  it("of another business is refused, whoever delivers it (DD2)", async () => {
    const { services } = surfaces;
    const other = await openBusiness(services, "00000000-0000-4000-8000-000000000002", "Others Ltd");
    expect(await deliver(await sealed(), other)).toMatchObject(refused("key_unknown"));
    const named = await sealed({ business_uuid: other.party.uuid, key_id: other.key.key_id });
    expect(await deliver(named)).toMatchObject(refused("out_of_scope"));
    expect(await deliver(named, other)).toMatchObject(refused("key_unknown"));
  });

  it("under the mandate_id of another one is refused, and one too many as well", async () => {
    const mandate_id = "mdt_twice";
    await deliver(await sealed({ mandate_id }));
    const other = await sealed({ mandate_id, scope: { ...mandate().scope, countries: ["US"] } });
    expect(await deliver(other)).toMatchObject(refused("mandate_id_taken"));
    const further = await keyWithoutMandate();
    const { key_id } = further.key;
    for (let each = 0; each < 50; each += 1)
      expect((await deliver(await sealed({ key_id }))).status).toBe(200);
    expect(await deliver(await sealed({ key_id }))).toMatchObject(refused("too_many_mandates"));
  });

  it("by a passkey that was revoked, or registered later than it begins, is refused", async () => {
    const gone = await newPerson(asNode(), business, "owner");
    const document = await sealed({}, gone);
    await surfaces.services.parties.revokeKey({
      uuid: business.party.uuid,
      key_id: gone.keyId,
      revoked_at: formatTimestamp(Date.now()),
      compromised_from: null,
    });
    expect(await deliver(document)).toMatchObject(refused("key_not_valid"));
    const early = await sealed({ valid_from: formatTimestamp(Date.now() - 2 * dayMs) });
    expect(await deliver(early)).toMatchObject(refused("key_not_valid"));
  });

  it("may be the hosted key's in a sandbox, where trying it out needs no portal", async () => {
    const hosted = createHostedSealer(await surfaces.services.hostedSigner(business.party.uuid));
    expect((await deliver(await sealed({}, hosted))).status).toBe(200);
  });

  it("is refused where the body is none", async () => {
    expect(await deliver({})).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/mandate/payloadType" },
    });
  });

  it.each(falseAssertions)("is refused %s", async (_how, parts) => {
    const person = await newPersonWith(asNode(), business, parts);
    expect(await deliver(await sealed({}, person))).toMatchObject(refused("signature_invalid"));
  });
});
