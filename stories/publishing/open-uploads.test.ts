// How many uploads of a business may be open, over HTTP on a real node.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshNonce } from "../../api/surfaces.fixture.ts";
import { openUploadsMax } from "../../protocol/limits.ts";
import { type AttackNode, awaitPush, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import { askUpload, fileOf, requestImport, sendFile, stageRecords } from "./bulk.fixture.ts";
import { product } from "./publishing.fixture.ts";

let node: AttackNode;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const urls = () => node.running.urls;

it("one upload more than may be open is refused until an import is over, and repeating a request takes no place", async () => {
  const business = await newBusiness(node);
  const { body, pushId } = await stageRecords(node, business, [product("a")], { seq: 1 });
  const headers = { "idempotency-key": freshNonce() };
  const first = await askUpload(urls(), business, { headers });
  expect(first.status).toBe(201);
  for (let open = 2; open < openUploadsMax; open += 1) {
    expect((await askUpload(urls(), business, { headers })).text).toBe(first.text);
    expect(await askUpload(urls(), business)).toMatchObject({ status: 201 });
  }
  const again = { "idempotency-key": freshNonce() };
  const refused = await askUpload(urls(), business, { headers: again });
  expect(refused).toMatchObject({
    status: 429,
    json: { code: "rate_limited", reason: "uploads_open", retry_after_seconds: 3_600 },
  });
  expect(refused.headers.get("retry-after")).toBe("3600");
  // What was issued before is answered as before, and takes its file.
  expect((await askUpload(urls(), business, { headers })).text).toBe(first.text);
  expect(await sendFile(JSON.parse(first.text), fileOf([product("b")]))).toMatchObject({ status: 201 });
  expect((await askUpload(urls(), await newBusiness(node))).status).toBe(201);
  expect((await requestImport(urls(), business, body)).status).toBe(202);
  expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "complete" });
  await expect
    .poll(async () => (await askUpload(urls(), business, { headers: again })).status, { timeout: 10_000 })
    .toBe(201);
  expect((await askUpload(urls(), business)).status).toBe(429);
});
