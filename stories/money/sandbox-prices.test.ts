// A sandbox of which an operator set prices: it charges nothing all the same.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  newCaller,
  productSearch,
  type SentRequest,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import { jsonOf, product, sealAndPublish } from "../publishing/publishing.fixture.ts";
import { type AttackNode, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import { prices } from "./billed-node.fixture.ts";

let folder: string;
let node: AttackNode;
let company: TestCaller;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-sandbox-prices-"));
  const file = join(folder, "prices.json");
  await writeFile(file, JSON.stringify(prices));
  vi.stubEnv("SVC_SAMPLES", "no");
  vi.stubEnv("SVC_PRICES", file);
  node = await openAttackNode();
  const { services } = node.running;
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-0000000000c1");
  const outcome = await sealAndPublish(services, await newBusiness(node), [product("a")]);
  expect(jsonOf(outcome)).toMatchObject({ results: [{ outcome: "accepted" }] });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await node?.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (request: SentRequest) => send(node.running.urls.base_url, company, request);

it("serves rows and records without an allowance, and nothing of it is billable", async () => {
  expect(node.running.services.operatorFiles.prices()).toMatchObject({ currency: "EUR" });
  const body = JSON.stringify(productSearch);
  const found = await ask({ path: "/v1/products/search", body });
  const [row] = found.json["rows"] as readonly { readonly record_id: string }[];
  expect([found.status, row?.record_id]).toEqual([200, expect.stringMatching(/^svc_/)]);
  expect((await ask({ path: `/v1/records/${row?.record_id}` })).status).toBe(200);
  const { json: listed } = await ask({ path: "/v1/receipts" });
  const receipts = listed["receipts"] as readonly { readonly kind: string; readonly billable: boolean }[];
  expect(receipts.map(({ kind, billable }) => [kind, billable]).sort()).toEqual([
    ["fetch", false],
    ["search", false],
  ]);
  expect((await ask({ path: "/v1/usage" })).json["total"]).toEqual({ requests: 2, billable: 0, rows: 2 });
  expect((await ask({ path: "/v1/allowance" })).json).toEqual({ billed: false, account: null, prices: null });
});
