// Requests for custody statements that an owner or admin sealed, delivered over HTTP by an integration key (DD1 to DD3 in
// service/register/deliver-document.ts).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { createHostedSealer, createSoftwarePasskey, type Sealer } from "../node/sandbox/sealer.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { type CustodyRequest, custodyRequestPayload } from "../protocol/keys/key-directory.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { falseAssertions, newPerson, newPersonWith } from "../stories/publishing/hold-decisions.fixture.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import type { AttackNode } from "../stories/retrieval/attack.fixture.ts";
import { openSurfaces, send, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let owner: Sealer;

const asNode = () => part<AttackNode>({ running: part({ services: surfaces.services }) });

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  owner = await newPerson(asNode(), business, "owner");
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** A request that says of the owner's passkey that the business holds it, since a moment. */
const sealed = (changes: Partial<CustodyRequest> = {}, by: Pick<Sealer, "seal"> = owner) => {
  const now = formatTimestamp(Date.now());
  const payload = custodyRequestPayload({
    v: 1,
    business_uuid: business.party.uuid,
    key_id: owner.keyId,
    custody: "self",
    effective_from: now,
    at: now,
    ...changes,
  });
  return by.seal(payloadTypes["custody-request.v1"], payload);
};

const deliver = (document: unknown, by: Pick<TestBusiness, "signingKey"> = business) =>
  send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    { path: "/v1/key-custody", body: JSON.stringify({ request: document }), tag: "svc-push" },
  );

const published = () =>
  send(surfaces.verifyUrl, null, { path: `/v1/certificates/${business.party.uuid}/key-custody` });

const refused = (reason: string) => ({
  status: 422,
  json: { code: "seal_invalid", reason, pointer: "/request" },
});

describe("a request for a custody statement", () => {
  it("is answered with the statement, which is published, and answered again", async () => {
    const effective_from = formatTimestamp(Date.now() - 1_000);
    const document = await sealed({ effective_from });
    const stated = await deliver(document);
    expect(stated).toMatchObject({
      status: 200,
      json: { key_id: owner.keyId, custody: "self", effective_from },
    });
    const statements = async () => {
      await surfaces.services.register.refresh();
      return (await published()).json["statements"];
    };
    await expect.poll(statements).toContainEqual(stated.json);
    expect((await deliver(document)).json).toEqual(stated.json);
    const admin = await newPerson(asNode(), business, "admin");
    expect((await deliver(await sealed({ effective_from }, admin))).json).toEqual(stated.json);
  });

  it("says of the key that the service holds that it is hosted, and nothing else of any key", async () => {
    const hosted = await surfaces.services.hostedSigner(business.party.uuid);
    const of = { key_id: hosted.keyId };
    expect((await deliver(await sealed({ ...of, custody: "hosted" }))).status).toBe(200);
    expect(await deliver(await sealed(of))).toMatchObject(refused("custody_mismatch"));
    expect(await deliver(await sealed({ custody: "hosted" }))).toMatchObject(refused("custody_mismatch"));
    expect(await deliver(await sealed({}, createHostedSealer(hosted)))).toMatchObject(refused("key_unknown"));
  });

  it("is refused of a key that is none of the business, or from before it was valid", async () => {
    expect(await deliver(await sealed({ key_id: "A".repeat(43) }))).toMatchObject(
      refused("stated_key_unknown"),
    );
    const effective_from = formatTimestamp(Date.now() - 86_400_000);
    expect(await deliver(await sealed({ effective_from }))).toMatchObject(refused("stated_key_not_valid"));
    const later = formatTimestamp(Date.now() + 1_000);
    expect(await deliver(await sealed({ effective_from: later }))).toMatchObject(
      refused("payload_malformed"),
    );
  });

  it("is refused from a developer, a stranger, a passkey that was revoked, and for another business (DD2)", async () => {
    const { services } = surfaces;
    const developer = await newPerson(asNode(), business, "developer");
    expect(await deliver(await sealed({}, developer))).toMatchObject({
      status: 403,
      json: { code: "role_not_allowed" },
    });
    const stranger = createSoftwarePasskey(generatePrivateJwk("ES256"), services.anchors.passkeys);
    expect(await deliver(await sealed({}, stranger))).toMatchObject(refused("key_unknown"));
    const gone = await newPerson(asNode(), business, "owner");
    const revoked_at = formatTimestamp(Date.now());
    await services.parties.revokeKey({
      uuid: business.party.uuid,
      key_id: gone.keyId,
      revoked_at,
      compromised_from: null,
    });
    expect(await deliver(await sealed({}, gone))).toMatchObject(refused("key_not_valid"));
    const other = await openBusiness(services, "00000000-0000-4000-8000-000000000002", "Others Ltd");
    expect(await deliver(await sealed(), other)).toMatchObject(refused("key_unknown"));
    expect(await deliver(await sealed({ business_uuid: other.party.uuid }))).toMatchObject(
      refused("out_of_scope"),
    );
  });

  it("is refused if it was sealed at another time than it is received", async () => {
    for (const ms of [-301_000, 301_000]) {
      const at = formatTimestamp(Date.now() + ms);
      expect(await deliver(await sealed({ at, effective_from: at }))).toMatchObject(
        refused("sealed_at_skew"),
      );
    }
  });

  it("changed after sealing, or in another envelope, is refused", async () => {
    const document = await sealed();
    const other = await sealed({ custody: "hosted" });
    expect(await deliver({ ...document, payload: other.payload })).toMatchObject(
      refused("signature_invalid"),
    );
    expect(
      await deliver({ ...document, signatures: [...document.signatures, ...document.signatures] }),
    ).toMatchObject(refused("envelope_malformed"));
    expect(await deliver({ ...document, payloadType: payloadTypes["hold-decision.v1"] })).toMatchObject(
      refused("payload_type_mismatch"),
    );
    const forged = document.signatures.map((each) => ({ ...each, keyid: "B".repeat(43) }));
    expect(await deliver({ ...document, signatures: forged })).toMatchObject(refused("key_unknown"));
    expect(await deliver({})).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/request/payloadType" },
    });
  });

  it.each(falseAssertions)("is refused %s", async (_how, parts) => {
    const person = await newPersonWith(asNode(), business, parts);
    expect(await deliver(await sealed({}, person))).toMatchObject(refused("signature_invalid"));
  });
});
