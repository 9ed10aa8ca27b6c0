// The same story on a cluster of real engines: the node that serves the page is killed between the words of a mandate and their seal.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import { ceremonies, Runbook } from "../../node/keys/runbook.fixture.ts";
import type { ClusterState } from "../../ops/shapes.ts";
import type { Visitor } from "../../portal/portal.fixture.ts";
import { freshMs } from "../../service/register/register.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { joinAsGuest, traffic } from "../money/billed-cluster.fixture.ts";
import { balancedFetch } from "../regions/balancer.fixture.ts";
import { addresses, tellProductionStory } from "./production.fixture.ts";

let keys: Runbook;
let cluster: TestCluster;
/** A node in this process, at which the operators are. */
let guest: RunningNode;
/** To which the balancer leads. */
let serving: TestNode;

beforeAll(async () => {
  keys = await Runbook.open("keys.md");
  for (const title of ceremonies) await keys.playSection(title);
  const folder = join(keys.folder, "traffic");
  await mkdir(folder);
  const settings = {
    ...(await keys.settings("The issuance process")),
    ...addresses,
    ...(await traffic(folder)),
    SVC_ENVIRONMENT: "production",
    SVC_TRUSTED_PROXIES: "127.0.0.1",
  };
  // Nodes that know each other by certificate have no secret.
  const env = { ...settings, SVC_CLUSTER_SECRET: undefined };
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { "eu-west1": 2 }, env });
  guest = await joinAsGuest(cluster, join(keys.folder, "guest"), settings);
  serving = cluster.node("eu-west1-a");
}, 360_000);
afterAll(async () => {
  await guest?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
  await keys?.[Symbol.asyncDispose]();
});

/** Ends the node that serves, and has the balancer lead to another one, as it does where /readyz is not answered. */
async function killServing(visitor: Visitor): Promise<void> {
  const killed = serving;
  serving = cluster.node("eu-west1-b");
  await killed.kill();
  visitor.leadTo(serving.urls.portal);
  for (const ops of [serving.urls.ops, guest.urls.ops_url])
    await expect.poll(() => membersAt(ops), { timeout: 60_000 }).toEqual([2]);
}

/** How many nodes each region has by the account of the node with this operators' surface. */
async function membersAt(ops: string): Promise<readonly number[]> {
  const { regions } = (await (await fetch(`${ops}/ops/cluster`)).json()) as ClusterState;
  return regions.map(({ members }) => members.length);
}

it("a business and an AI company come in while a node is killed, and what the one publishes the other finds and verifies", async () => {
  await tellProductionStory({
    path: (name) => join(keys.folder, name),
    portal: {
      node: guest,
      get url() {
        return serving.urls.portal;
      },
      origin: guest.urls.portal_url,
      [Symbol.asyncDispose]: async () => {},
    },
    balanced: (url, init) => {
      const portBase = Number(new URL(serving.urls.retrieval).port);
      return balancedFetch({ ...addresses, SVC_HOST: "127.0.0.1" }, portBase)(url, init);
    },
    settled: () => delay(freshMs + 1_000),
    disturb: killServing,
  });
  expect(serving.name).toBe("eu-west1-b");
}, 420_000);
