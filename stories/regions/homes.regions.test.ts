// Homes and what follows them. Of companies, in regions that share a host name and bind keys: a search captured in one is not accepted
// in the other, and a company whose home moves is answered in its new region, and no longer in the old one. Of the transparency log,
// which operators move: those who follow it see one tree (region-loss.regions.test.ts loses its home).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendRaw } from "../../api/raw-request.fixture.ts";
import { signed, type TestCaller } from "../../api/surfaces.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import { ordered } from "../../node/composition/cluster-ops.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { followLog } from "../verification/log-followed.fixture.ts";
import { productSearch, until } from "./cluster-load.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
const sharedHost = "api.svc.example";
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({
    engines: enginesUnderTest(),
    nodes: { [home]: 1, [other]: 1 },
    env: {
      SVC_KEY_REGION_BINDING: "home",
      SVC_RETRIEVAL_URL: `https://${sharedHost}`,
      SVC_LOG_INTERVAL_SECONDS: "0",
    },
  });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** A search in wire format, for any node of any region. */
async function search({ key, grant }: TestCaller, withGrant = false): Promise<string> {
  const { headers } = await signed(`https://${sharedHost}`, { key, grant }, productSearch);
  const all: Record<string, string> = {
    ...headers,
    host: sharedHost,
    "content-type": "application/json",
    "content-length": String(productSearch.body.length),
    ...(withGrant ? { "svc-sandbox-key": grant } : {}),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${productSearch.path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${productSearch.body}`;
}

async function send(node: TestNode, bytes: string): Promise<object> {
  const { status, body } = await sendRaw(node.urls.retrieval, bytes);
  const { code, region } = JSON.parse(body) as { readonly code?: string; readonly region?: string };
  return { status, ...(code === undefined ? {} : { code }), ...(region === undefined ? {} : { region }) };
}

const node = (region: string): TestNode => cluster.node(`${region}-a`);
const misdirected = (region: string) => ({ status: 421, code: "region_misdirected", region });
const reused = { status: 401, code: "nonce_reused" };

describe("regions that share a host name and bind keys to their homes", () => {
  it("take a captured search once altogether, and name the region of the key", async () => {
    const company = await cluster.newCompany();
    expect(await send(node(home), await search(company, true))).toEqual({ status: 200 });
    const captured = await search(company);
    // The other region learns of the key a moment later.
    await until(
      async () => (await sendRaw(node(other).urls.retrieval, await search(company))).status !== 401,
    );
    expect(await send(node(other), captured)).toEqual(misdirected(home));
    expect(await send(node(home), captured)).toEqual({ status: 200 });
    expect(await send(node(home), captured)).toEqual(reused);
    expect(await send(node(other), captured)).toEqual(misdirected(home));
  });

  it("follow a company whose home moves", async () => {
    const company = await cluster.newCompany();
    expect(await send(node(home), await search(company, true))).toEqual({ status: 200 });
    expect(await ordered(node(home), "moves", { party: company.uuid, to: other })).toBe("moved");
    await until(async () => (await sendRaw(node(home).urls.retrieval, await search(company))).status === 421);
    expect(await send(node(home), await search(company))).toEqual(misdirected(other));
    await until(
      async () => (await sendRaw(node(other).urls.retrieval, await search(company))).status === 200,
    );
  });
});

describe("the home of the transparency log", () => {
  it("is moved by operators, and the log goes on", { timeout: 300_000 }, async () => {
    const log = followLog(cluster);
    const before = await log.grow(home, "before");
    expect(await ordered(node(home), "moves", { party: "svc-log", to: other })).toBe("moved");
    await log.grow(other, "moved");
    expect(await log.continues(other, before)).toBe(true);
    expect(await ordered(node(other), "moves", { party: "svc-log", to: home })).toBe("moved");
    await log.grow(home, "back");
    expect(await log.continues(home, before)).toBe(true);
    const note = await log.note(other);
    expect(await ordered(node(other), "log-checkpoint", { checkpoint: note })).toBe("log_not_held");
    const changed = note.replace("\n", "x\n");
    expect(await ordered(node(other), "log-checkpoint", { checkpoint: changed })).toBe("checkpoint_invalid");
  });
});
