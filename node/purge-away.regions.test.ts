// A purge that is due while a region is away: it waits, operators read what it waits for, and it ends once the region is back.

import { afterAll, beforeAll, expect, it } from "vitest";
import { sealRemoval } from "../client/removal.ts";
import { toBase64 } from "../protocol/bytes.ts";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "./cluster.fixture.ts";
import { openBusiness, products } from "./cluster-load.fixture.ts";

const home = "eu-west1";
const away = "us-east1";
const waitMaxMs = 180_000;

let cluster: TestCluster;
beforeAll(async () => {
  const env = { SVC_PURGE_AFTER_HOURS: "0" };
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 1, [away]: 1 }, env });
}, 300_000);
afterAll(() => cluster?.[Symbol.asyncDispose](), 120_000);

async function opsRead({ urls }: TestNode, path: string): Promise<unknown> {
  return (await fetch(`${urls.ops}${path}`)).json();
}

it("waits for a region that is away, says so to operators, and ends when the region is back", async () => {
  const [here, there] = cluster.nodes as readonly [TestNode, TestNode];
  const business = await openBusiness(cluster, home);
  const { key, uuid } = business.caller;
  const pushed = await (await business.push(1, products("away", 2))).send();
  const [first] = pushed.json["results"] as readonly { readonly record_id: string }[];
  const recordId = first?.record_id ?? "";
  const { json: context } = await business.client.expectAnswer(200, "business", {
    ...{ path: "/v1/seal-context", tag: "svc-business-read" },
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
      ...{ path: "/v1/publish/products/delete", tag: "svc-push" },
      body: JSON.stringify({ document_base64: toBase64(document), seal }),
      headers: { "idempotency-key": `delete ${recordId}` },
    },
    { patienceMs: waitMaxMs, attemptMs: 60_000 },
  );
  expect(answer.json).toMatchObject({ record_id: recordId, live_in: [away] });

  await expect
    .poll(() => opsRead(here, "/ops/purges"), { timeout: waitMaxMs, interval: 500 })
    .toMatchObject({ late: [{ business_uuid: uuid, purges: 1, waits_for: "region", regions: [away] }] });
  const ofBusiness = () => opsRead(here, `/ops/purges/${uuid}`);
  expect(await ofBusiness()).toMatchObject({ purges: [{ record_id: recordId, state: "due", proof: null }] });

  await there.start();
  await expect
    .poll(ofBusiness, { timeout: waitMaxMs, interval: 500 })
    .toMatchObject({ purges: [{ state: "purged", proof: { versions: [{ generation: 1 }] } }] });
  const { purges } = (await ofBusiness()) as { purges: readonly { proof: { regions: readonly string[] } }[] };
  expect(purges.map(({ proof }) => proof.regions.toSorted())).toEqual([[home, away]]);
  expect(await opsRead(here, "/ops/purges")).toEqual({ late: [] });
}, 600_000);
