// By which mandates a key publishes, and a pushed seal is judged: one of them has to allow a record alone, and where it is not
// stated under which it was published, any may have been it. A mandate whose sealer turns out to have been compromised earlier has authorised nothing, and does not
// affect any other.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ListedMandate } from "../actors/messages/business.ts";
import { createSigner, generatePrivateJwk } from "../crypto/private-jwk.ts";
import { toBase64 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { type MandateScope, mandatePayload } from "../protocol/mandate.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { sealContext } from "../service/publishing/seal-context.ts";
import { signEnvelope } from "../service/register/service-keys.ts";
import { sealText } from "../service/retrieval/fetched-record.ts";
import { jsonOf, openBusiness, product, sealAndPublish } from "../stories/publishing/publishing.fixture.ts";
import { openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { send } from "./surfaces.fixture.ts";

let world: Verifiable;
beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

const facts = () =>
  world.surfaces.services.parties.facts(world.business.party.uuid, world.business.key.key_id);

/** A mandate like the one in force, sealed by a second key held for the business, which is then declared compromised. */
async function acceptAndFell(): Promise<void> {
  const { services } = world.surfaces;
  const uuid = world.business.party.uuid;
  const [standing] = (await facts()).mandates;
  if (standing === undefined) throw new Error("The business has no mandate.");
  const sealer = createSigner(generatePrivateJwk("Ed25519"));
  await services.parties.registerKey({
    key_id: sealer.keyId,
    party_uuid: uuid,
    role: "hosted",
    alg: "Ed25519",
    public_key: rubbish({ ...sealer.publicJwk }),
    cose: null,
    valid_from: standing.valid_from,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  });
  const payload = mandatePayload({
    v: 1,
    mandate_id: "mdt_fallen",
    business_uuid: uuid,
    key_id: world.business.key.key_id,
    scope: standing.scope,
    valid_from: formatTimestamp(Date.now()),
    valid_until: standing.valid_until,
  });
  await services.parties.acceptMandate(await signEnvelope(payloadTypes["mandate.v1"], payload, [sealer]));
  expect((await facts()).mandates[0]?.mandate_id).toBe("mdt_fallen");
  await services.parties.revokeKey({
    uuid,
    key_id: sealer.keyId,
    revoked_at: formatTimestamp(Date.now()),
    compromised_from: standing.valid_from,
  });
}

it("a mandate that has fallen is passed over: by publishing, by the seal context and by a verification", async () => {
  await acceptAndFell();
  const { services, verifyUrl } = world.surfaces;
  const standing = (await facts()).mandates.find(({ mandate_id }) => mandate_id !== "mdt_fallen");
  const record = product("under-the-other");
  const answer = jsonOf(
    await sealAndPublish(services, world.business, [record, product("second")], {
      seq: 9,
      aiPolicyVersion: 1,
    }),
  );
  expect(answer).toMatchObject({ status: 200, results: [{ outcome: "accepted" }, { outcome: "accepted" }] });

  const { key, party } = world.business;
  const caller = { key, party, nonce: "", expiresMs: 0, requestHash: "", tag: "svc-business-read" };
  const context = jsonOf(await sealContext(services, { caller }));
  expect(context["mandates"]).toMatchObject([{ mandate_id: standing?.mandate_id }]);

  const [{ record_id: id }] = answer["results"] as [{ record_id: string }];
  const served = await services.records.readServed(id);
  if (served === null) throw new Error("The record is not served.");
  const seal = JSON.parse(sealText(served.version, served.seal)) as JsonValue;
  const sidecar = JSON.parse(served.version.sidecar) as JsonValue;
  for (const evidence of [{ seal }, { seal, sidecar }]) {
    const body = JSON.stringify({ record_base64: toBase64(record), ...evidence });
    const { json } = await send(verifyUrl, null, { path: "/v1/verify", body });
    expect(json).toMatchObject({ valid: true, seal: { valid: true, checks: { scope: "ok" } } });
  }
});

/** Replaces the mandates of a new business's key by these. */
async function underMandates(scopes: readonly (readonly [id: string, scope: Partial<MandateScope>])[]) {
  const { services } = world.surfaces;
  const business = await openBusiness(services, randomUUID());
  const { uuid } = business.party;
  const { mandates } = await services.parties.facts(uuid, business.key.key_id);
  const sealer = await services.hostedSigner(uuid);
  for (const [at, [mandate_id, changes]] of scopes.entries()) {
    const [{ valid_from, valid_until, scope }] = mandates as [ListedMandate];
    const payload = mandatePayload({
      v: 1,
      mandate_id,
      business_uuid: uuid,
      key_id: business.key.key_id,
      valid_until,
      scope: { ...scope, ...changes },
      valid_from: formatTimestamp(Date.parse(valid_from) + at),
    });
    await services.parties.acceptMandate(await signEnvelope(payloadTypes["mandate.v1"], payload, [sealer]));
  }
  for (const { mandate_id } of mandates)
    await services.parties.revokeMandate({ uuid, mandate_id, revoked_at: formatTimestamp(Date.now()) });
  return business;
}

const pricedIn = (id: string, ...countries: readonly ("US" | "GB")[]): Uint8Array =>
  product(id, {
    countries,
    prices: countries.map((country) => ({
      country,
      currency: country === "US" ? "USD" : "GBP",
      amount: "5.00",
    })),
  });

it("of several mandates of a key, one allows a record alone, and is named as the one that it was published under", async () => {
  const { services, verifyUrl } = world.surfaces;
  const caps = (records_per_hour: number) => ({ records_per_hour, bytes_per_day: 1_000_000 });
  const business = await underMandates([
    ["in-us", { countries: ["US"], caps: caps(4) }],
    ["in-gb", { countries: ["GB"], caps: caps(3) }],
    ["events", { record_types: ["events"], countries: ["US", "GB"], caps: caps(1_000) }],
    ["elsewhere", { countries: ["US", "GB"], source_ip_allow_list: ["192.0.2.0/24"], caps: caps(1_000) }],
  ]);
  const records = [pricedIn("us", "US"), pricedIn("gb", "GB"), pricedIn("both", "US", "GB")];
  const answer = jsonOf(await sealAndPublish(services, business, records, { seq: 1 }));
  expect(answer).toMatchObject({
    status: 200,
    results: [
      { outcome: "accepted" },
      { outcome: "accepted" },
      { outcome: "rejected", errors: [{ code: "out_of_scope", pointer: "/countries/0" }] },
    ],
  });
  const results = answer["results"] as { record_id: string }[];
  for (const [at, mandateId] of ["in-us", "in-gb"].entries()) {
    const served = await services.records.readServed(results[at]?.record_id ?? "");
    if (served === null) throw new Error("The record is not served.");
    const seal = JSON.parse(sealText(served.version, served.seal)) as JsonValue;
    const sidecar = JSON.parse(served.version.sidecar) as JsonValue;
    const stated = JSON.parse(Buffer.from((sidecar as { payload: string }).payload, "base64").toString());
    expect(stated.scope.mandate_id).toBe(mandateId);
    for (const evidence of [{ seal }, { seal, sidecar }]) {
      const body = JSON.stringify({ record_base64: toBase64(records[at] as Uint8Array), ...evidence });
      const { json } = await send(verifyUrl, null, { path: "/v1/verify", body });
      expect(json).toMatchObject({ valid: true, seal: { valid: true, checks: { scope: "ok" } } });
    }
  }
  // Three of four records an hour are used: the caps are the largest of those that allow the request, and not their sum.
  const two = jsonOf(await sealAndPublish(services, business, records.slice(0, 2), { seq: 2 }));
  expect(two).toMatchObject({ status: 429, reason: "records_per_hour" });
  const one = jsonOf(await sealAndPublish(services, business, records.slice(0, 1), { seq: 2 }));
  expect(one).toMatchObject({ status: 200 });
});
