// Who is in the key directory: companies that chose to be, by a signed request of their own.

import { afterAll, beforeAll, expect, it } from "vitest";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { KeyDirectory } from "../protocol/keys/key-directory.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { verifyKeyDirectory } from "../verifier/service-statements.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  type ReceivedAnswer,
  send,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
type Caller = Awaited<ReturnType<typeof newCaller>>;
const uuidOf = (n: number): string => `10000000-0000-4000-8000-0000000000d${n}`;

beforeAll(async () => {
  surfaces = await openSurfaces();
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const company = (n: number): Promise<Caller> =>
  newCaller(surfaces.services.keys.grant, "retrieval", uuidOf(n));
const choose = (by: Caller | null, body: unknown): Promise<ReceivedAnswer> =>
  send(surfaces.retrievalUrl, by, { path: "/v1/key-directory/listing", body: JSON.stringify(body) });

/** The directory as anyone reads it once what was decided has reached this region, and verifies it. */
async function directory(): Promise<KeyDirectory["companies"]> {
  const { services } = surfaces;
  await registerInForce(services);
  const answer = await send(surfaces.verifyUrl, null, { path: "/.well-known/svc-keys" });
  const verified = verifyKeyDirectory(services.trust(), rubbish(answer.json));
  if (!verified.ok) throw new Error(`${verified.code}: ${verified.detail}`);
  return verified.value.companies;
}

it("lists nobody who did not choose so, and a company with its keys once it did", async () => {
  const [chooses, waits] = [await company(1), await company(2)];
  // Both have registered by their first request.
  for (const by of [chooses, waits])
    await send(surfaces.retrievalUrl, by, { path: "/v1/events", body: null });
  expect(await directory()).toEqual([]);
  const answer = await choose(chooses, { listed: true });
  expect([answer.status, answer.json]).toEqual([200, { ai_company_uuid: uuidOf(1), listed: true }]);
  const [listed, ...others] = await directory();
  expect(others).toEqual([]);
  expect(listed).toEqual({
    ai_company_uuid: uuidOf(1),
    name: "Test ai_company",
    certificate_url: expect.stringMatching(new RegExp(`/v1/certificates/${uuidOf(1)}$`)),
    keys: [
      {
        key_id: chooses.key.keyId,
        alg: "Ed25519",
        public_key: chooses.key.publicJwk,
        source: "portal",
        valid_from: expect.stringMatching(/Z$/),
        valid_until: null,
      },
    ],
  });
  const certificate = await send(surfaces.verifyUrl, null, {
    path: new URL(listed?.certificate_url ?? "").pathname,
  });
  expect(certificate.json).toMatchObject({ status: "active", subject: { uuid: uuidOf(1) } });
});

it("lists every key that a company has or had, with where it comes from and when it ended", async () => {
  const by = await company(3);
  await choose(by, { listed: true });
  const { parties } = surfaces.services;
  const { key } = await company(3);
  const { key: es256 } = await newCaller(surfaces.services.keys.grant, "retrieval", uuidOf(3), "ES256");
  const from = formatTimestamp(Date.now() - 86_400_000);
  const until = formatTimestamp(Date.now() + 86_400_000);
  const revoked = formatTimestamp(Date.now() + 1_000);
  for (const [{ keyId: key_id, publicJwk: public_key }, alg, source] of [
    [key, "Ed25519", "directory_import"],
    [es256, "ES256", undefined],
  ] as const)
    await parties.registerKey({
      key_id,
      party_uuid: uuidOf(3),
      role: "retrieval",
      alg,
      public_key,
      cose: null,
      valid_from: from,
      valid_until: until,
      revoked_at: null,
      compromised_from: null,
      ...(source === undefined ? {} : { source }),
    });
  const revocation = { uuid: uuidOf(3), key_id: es256.keyId, revoked_at: revoked };
  await parties.revokeKey({ ...revocation, compromised_from: from });
  const listed = (await directory()).find((each) => each.ai_company_uuid === uuidOf(3));
  const facts = listed?.keys.map(({ key_id, alg, source, valid_until }) => ({
    key_id,
    alg,
    source,
    valid_until,
  }));
  expect(facts).toHaveLength(3);
  expect(facts).toEqual(
    expect.arrayContaining([
      { key_id: by.key.keyId, alg: "Ed25519", source: "portal", valid_until: null },
      { key_id: key.keyId, alg: "Ed25519", source: "directory_import", valid_until: until },
      { key_id: es256.keyId, alg: "ES256", source: "portal", valid_until: from },
    ]),
  );
});

it("lists a company no more once it chooses so, or its certificate is not active any more", async () => {
  const [leaves, ends] = [await company(4), await company(5)];
  for (const by of [leaves, ends]) for (const listed of [true, true]) await choose(by, { listed });
  const isListed = async (n: number) =>
    (await directory()).some((each) => each.ai_company_uuid === uuidOf(n));
  expect([await isListed(4), await isListed(5)]).toEqual([true, true]);
  expect((await choose(leaves, { listed: false })).json).toMatchObject({ listed: false });
  const now = formatTimestamp(Date.now());
  await surfaces.services.parties.issueCertificate({
    kind: "ai_company",
    uuid: uuidOf(5),
    legal_name: "Test ai_company",
    country: "GB",
    verified_since: now,
    status: "withdrawn",
    status_effective_from: now,
    status_reason: "approval_reversed",
  });
  expect([await isListed(4), await isListed(5)]).toEqual([false, false]);
  await choose(leaves, { listed: true });
  expect(await isListed(4)).toBe(true);
});

it("keeps the choice when the party is opened again", async () => {
  const by = await company(6);
  await choose(by, { listed: true });
  await surfaces.services.parties.open({
    uuid: uuidOf(6),
    kind: "ai_company",
    legal_name: "Test ai_company",
    country: "GB",
    group: uuidOf(6),
    blocked_groups: [],
  });
  expect((await directory()).map((each) => each.ai_company_uuid)).toContain(uuidOf(6));
});

it("is refused to everyone but a company by its own signed request", async () => {
  expect((await choose(null, { listed: true })).status).toBe(401);
  const business = await newCaller(
    surfaces.services.keys.grant,
    "integration",
    "00000000-0000-4000-8000-0000000000d1",
  );
  expect((await choose(business, { listed: true })).status).toBe(403);
  const by = await company(7);
  const nonce = freshNonce();
  const once = { path: "/v1/key-directory/listing", body: JSON.stringify({ listed: false }), nonce };
  const codes = [];
  for (let times = 0; times < 2; times += 1)
    codes.push((await send(surfaces.retrievalUrl, by, once)).json["code"]);
  expect(codes).toEqual([undefined, "nonce_reused"]);
  for (const body of [{}, { listed: "yes" }, { listed: true, more: 1 }, []])
    expect(await choose(by, body)).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  expect((await directory()).map((each) => each.ai_company_uuid)).not.toContain(uuidOf(7));
});
