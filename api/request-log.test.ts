import { afterAll, beforeAll, expect, it } from "vitest";
import { openBusiness, product, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { freshNonce, newCaller, openSurfaces, send, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const answered = () => surfaces.log.filter(({ msg }) => msg === "answered").at(-1);

it("the line of a request names its key, its caller's address and the code of a refusal, and nothing that it said", async () => {
  const caller = { key: business.signingKey, grant: "" };
  const secret = "what only the record says";
  const headers = { "idempotency-key": freshNonce() };
  const body = JSON.stringify({ batch_seal: {}, records: [btoa(String(product(secret)))] });
  const request = { path: "/v1/publish/products", body, tag: "svc-push", headers } as const;
  const refused = await send(surfaces.businessUrl, caller, request);
  const key_id = business.key.key_id;
  expect(answered()).toMatchObject({ status: 422, code: refused.json["code"], key_id, from: "127.0.0.1" });
  const read = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
  await send(surfaces.businessUrl, caller, read);
  expect(answered()).toMatchObject({ status: 200, code: null, key_id, from: "127.0.0.1" });
  // The key is also named if somebody else signed in its name.
  const { key: other } = await newCaller(surfaces.services.keys.grant, "integration", business.party.uuid);
  await send(surfaces.businessUrl, { key: { ...other, keyId: key_id }, grant: "" }, read);
  expect(answered()).toMatchObject({ status: 401, code: "signature_invalid", key_id });
  await send(surfaces.verifyUrl, null, { path: "/nowhere" });
  expect(answered()).toMatchObject({ status: 404, code: "not_found", key_id: null, from: "127.0.0.1" });
  const text = JSON.stringify(surfaces.log);
  for (const word of [secret, btoa(secret), "sig1=", headers["idempotency-key"]])
    expect(text).not.toContain(word);
});
