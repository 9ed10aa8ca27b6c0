// Many withdrawals in one request: each document is judged, charged and answered as if it had come alone.

import { afterAll, beforeAll, expect, it } from "vitest";
import { publishBody } from "../client/batch.ts";
import { withdrawalsMax } from "../protocol/limits.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  publishAlone,
  removalText,
  type SealedRemoval,
  sealRemoval,
} from "../stories/publishing/removal.fixture.ts";
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
let company: TestCaller;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  company = await newCaller(
    surfaces.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000009",
  );
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const post = (by: TestBusiness, path: string, body: string | Uint8Array, key = freshNonce()) =>
  send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    { path, body, tag: "svc-push", headers: { "idempotency-key": key } },
  );

/** Publishes products and returns their record ids. */
async function publish(ids: readonly string[], by = business): Promise<readonly string[]> {
  seq += 1;
  const records = ids.map((id) => product(id));
  const { batch_seal } = await seal(by, records, { seq });
  const answer = await post(by, "/v1/publish/products", publishBody(batch_seal, records));
  return (answer.json["results"] as readonly { record_id: string }[]).map(({ record_id }) => record_id);
}

const bodyOf = (sealed: readonly SealedRemoval[]): string =>
  `{"withdrawals":[${sealed.map((each) => removalText(each)).join(",")}]}`;

const withdraw = (sealed: readonly SealedRemoval[], by = business, key = freshNonce()) =>
  post(by, "/v1/withdrawals", bodyOf(sealed), key);

const sealedBy = (by: TestBusiness, ids: readonly string[]) =>
  Promise.all(ids.map((record_id) => sealRemoval(by, { record_id }, by.signingKey)));

const statuses = async (ids: readonly string[]): Promise<readonly number[]> =>
  Promise.all(
    ids.map(async (id) => (await send(surfaces.retrievalUrl, company, { path: `/v1/records/${id}` })).status),
  );

it("takes records of any type out of serving, and answers each in its place", async () => {
  const ids = await publish(Array.from({ length: 30 }, (_, index) => `all-${index}`));
  const event = await publishAlone(surfaces.services, business, "events");
  const signer = await surfaces.services.hostedSigner(business.party.uuid);
  const sealed = [
    ...(await sealedBy(business, ids)),
    await sealRemoval(business, { record_id: event }, signer, { record_type: "events" }),
  ];
  expect(new Set(await statuses([...ids, event]))).toEqual(new Set([200]));
  const key = freshNonce();
  const answer = await withdraw(sealed, business, key);
  const results = [...ids, event].map((record_id) => ({ record_id, action: "withdraw", live_in: [] }));
  expect([answer.status, answer.json]).toEqual([200, { results }]);
  expect(new Set(await statuses([...ids, event]))).toEqual(new Set([404]));
  expect((await withdraw(sealed, business, key)).text).toBe(answer.text);
  expect((await withdraw(sealed)).json).toEqual(answer.json);
});

it("refuses what is wrong with one, and does the others", async () => {
  const [good, twice, late, other] = (await publish(["one-1", "one-2", "one-3", "one-4"])) as [
    string,
    string,
    string,
    string,
  ];
  const own = (record_id: string, changes = {}) =>
    sealRemoval(business, { record_id, ...changes }, business.signingKey);
  const [first] = await sealedBy(business, [twice]);
  if (first === undefined) throw new Error("One document was sealed.");
  const sealed = [
    await own(good),
    await own(`svc_${"a".repeat(25)}a`),
    await own(late, { action: "delete" }),
    first,
    { ...(await own(other)), document: first.document },
    await sealRemoval(business, { record_id: other }, business.signingKey, { record_type: "events" }),
    first,
  ];
  const { results } = (await withdraw(sealed)).json as { results: readonly Record<string, unknown>[] };
  const problems = [null, "not_found", "request_invalid", null, "seal_invalid", "seal_invalid", null];
  expect(results.map(({ problem }) => (problem as { code?: string } | undefined)?.code ?? null)).toEqual(
    problems,
  );
  expect(results[4]?.["problem"]).toMatchObject({ reason: "hash_mismatch" });
  expect(results[5]?.["problem"]).toMatchObject({ reason: "record_type_mismatch" });
  expect(results.at(-1)).toEqual({ record_id: twice, action: "withdraw", live_in: [] });
  expect(await statuses([good, twice, late, other])).toEqual([404, 404, 200, 200]);
});

it("counts each document in the caps as one record, and those that find no room stay", async () => {
  const by = await openBusiness(surfaces.services, "00000000-0000-4000-8000-000000000077", "Capped Ltd");
  const node = part<AttackNode>({ running: part<AttackNode["running"]>({ services: surfaces.services }) });
  const caps = { records_per_hour: 13, bytes_per_day: 1_000_000 };
  await giveMandate(node, by, { scope: { countries: ["US", "CA"], caps } });
  const ids = await publish(
    Array.from({ length: 8 }, (_, index) => `capped-${index}`),
    by,
  );
  const { results } = (await withdraw(await sealedBy(by, ids), by)).json as {
    results: readonly { problem?: { code: string; reason: string } }[];
  };
  const refused = results.map(({ problem }) => problem?.reason ?? null);
  expect(refused.filter((reason) => reason === "records_per_hour")).toHaveLength(3);
  expect(await statuses(ids)).toEqual(refused.map((reason) => (reason === null ? 404 : 200)));
});

it("is refused as a whole without a document, with too many, or for what is no document", async () => {
  const [sealed] = await sealedBy(business, await publish(["form-1"]));
  if (sealed === undefined) throw new Error("One document was sealed.");
  const many = Array.from({ length: withdrawalsMax + 1 }, () => sealed);
  for (const [body, pointer] of [
    [bodyOf([]), "/withdrawals"],
    [bodyOf(many), "/withdrawals"],
    ['{"withdrawals":[{}]}', "/withdrawals/0/document_base64"],
  ] as const)
    expect(await post(business, "/v1/withdrawals", body)).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  expect((await withdraw(many.slice(1))).json).toMatchObject({ results: { length: withdrawalsMax } });
});
