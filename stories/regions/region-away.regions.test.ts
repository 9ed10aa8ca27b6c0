// A region that is away in part. Small batches while its Elasticsearch is down or unresponsive: each is answered in its request, is
// served, and is in every index once that one is back. A purge that is due while its nodes are down: it waits, operators read what it
// waits for, and it ends once the region is back.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sealRemoval } from "../../client/removal.ts";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, products } from "./cluster-load.fixture.ts";
import { publicationFaults } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
const regions = [home, other] as const;
/** Indexes are awaited for two seconds; the rest allows for a slow machine. */
const answeredMaxMs = 8_000;
const catchUpMaxMs = 180_000;
const testMaxMs = 300_000;
let cluster: TestCluster;

beforeAll(async () => {
  const env = { SVC_PURGE_AFTER_HOURS: "0" };
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 1, [other]: 1 }, env });
});
afterEach(() => {
  for (const { links } of cluster.nodes) links.elastic.heal();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.each([
  ["of another region is gone", other, "cut"],
  ["of another region answers nobody", other, "silence"],
  ["of its own region is gone", home, "cut"],
  ["of its own region answers nobody", home, "silence"],
] as const)("while the Elasticsearch %s", (name, region, fault) => {
  it("batches of ten records are answered, and found everywhere once it is back", {
    timeout: testMaxMs,
  }, async () => {
    const business = await openBusiness(cluster, home);
    const company = await cluster.newCompany();
    const prefix = name.replaceAll(" ", "-");
    const published: Uint8Array[][] = [];
    const pushes = [];
    for (const { links } of cluster.nodesOf(region)) links.elastic[fault]();
    for (let seq = 1; seq <= 3; seq += 1) {
      const records = products(`${prefix}-${seq}`, 10);
      const push = await business.push(seq, records);
      const sentMs = performance.now();
      const answer = await push.send({ patienceMs: 0 });
      const tookMs = Math.round(performance.now() - sentMs);
      console.log(`${name}: answered after ${tookMs} ms`);
      expect(tookMs).toBeLessThan(answeredMaxMs);
      const results = answer.json["results"] as readonly { outcome: string; record_id: string }[];
      expect(results.map(({ outcome }) => outcome)).toEqual(Array(10).fill("accepted"));
      expect(await push.status()).toMatchObject({
        state: "processing",
        progress: { settled: 10, total: 10 },
      });
      for (const served of regions) {
        const path = `/v1/records/${results[0]?.record_id}`;
        await createClient(company, cluster.nodesOf(served)).expectAnswer(200, "retrieval", {
          path,
          tag: "svc-retrieval",
        });
      }
      pushes.push(push);
      published.push(...records.map((bytes) => [bytes]));
    }
    for (const { links } of cluster.nodesOf(region)) links.elastic.heal();
    for (const push of pushes) await push.untilComplete();
    const faults = () => publicationFaults(cluster, { business: business.caller.uuid, published });
    await expect.poll(faults, { timeout: catchUpMaxMs, interval: 500 }).toEqual([]);
  });
});

async function opsRead({ urls }: TestNode, path: string): Promise<unknown> {
  return (await fetch(`${urls.ops}${path}`)).json();
}

it("a purge waits for a region that is away, says so to operators, and ends when the region is back", async () => {
  const [here, there] = cluster.nodes as readonly [TestNode, TestNode];
  const business = await openBusiness(cluster, home);
  const { key, uuid } = business.caller;
  const pushed = await (await business.push(1, products("away", 2))).send();
  const [first] = pushed.json["results"] as readonly { readonly record_id: string }[];
  const recordId = first?.record_id ?? "";
  const { json: context } = await business.client.expectAnswer(200, "business", {
    path: "/v1/seal-context",
    tag: "svc-business-read",
  });
  await there.kill();

  const facts = {
    recordId,
    action: "delete",
    certId: String(context["cert_id"]),
    aiPolicyVersion: 0,
  } as const;
  const { document, seal } = await sealRemoval({ ...facts, atMs: Date.now() }, key);
  const answer = await business.client.expectAnswer(
    200,
    "business",
    {
      path: "/v1/publish/products/delete",
      tag: "svc-push",
      body: JSON.stringify({ document_base64: toBase64(document), seal }),
      headers: { "idempotency-key": `delete ${recordId}` },
    },
    { patienceMs: catchUpMaxMs, attemptMs: 60_000 },
  );
  expect(answer.json).toMatchObject({ record_id: recordId, live_in: [other] });

  await expect
    .poll(() => opsRead(here, "/ops/purges"), { timeout: catchUpMaxMs, interval: 500 })
    .toMatchObject({ late: [{ business_uuid: uuid, purges: 1, waits_for: "region", regions: [other] }] });
  const ofBusiness = () => opsRead(here, `/ops/purges/${uuid}`);
  expect(await ofBusiness()).toMatchObject({ purges: [{ record_id: recordId, state: "due", proof: null }] });

  await there.start();
  await expect
    .poll(ofBusiness, { timeout: catchUpMaxMs, interval: 500 })
    .toMatchObject({ purges: [{ state: "purged", proof: { versions: [{ generation: 1 }] } }] });
  const { purges } = (await ofBusiness()) as { purges: readonly { proof: { regions: readonly string[] } }[] };
  expect(purges.map(({ proof }) => proof.regions.toSorted())).toEqual([[home, other]]);
  expect(await opsRead(here, "/ops/purges")).toEqual({ late: [] });
}, 600_000);
