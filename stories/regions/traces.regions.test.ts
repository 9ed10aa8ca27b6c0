// One push over two regions, as a collector of traces sees it; and the queries of the alerts and the dashboard, held to what the
// nodes of a cluster show.

import { afterAll, beforeAll, expect, it } from "vitest";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import { type OtlpReceiver, openOtlpReceiver } from "../../node/telemetry/otlp-receiver.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { expressionFaults } from "../../tools/telemetry/expression-faults.fixture.ts";
import {
  type ShownMetric,
  shownIn,
  shownOfLowAccounts,
} from "../../tools/telemetry/shown-metrics.fixture.ts";
import { readAlerts, readDashboard } from "../../tools/telemetry/telemetry-files.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, products } from "./cluster-load.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
let collector: OtlpReceiver;
let cluster: TestCluster;

beforeAll(async () => {
  collector = await openOtlpReceiver();
  const env = { SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "1", SVC_DOMAIN_CHECKS: "yes" };
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 1, [other]: 1 }, env });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

it("a push is one trace from the node that took it to the index of each region", async () => {
  const business = await openBusiness(cluster, home);
  const [away] = cluster.nodesOf(other) as readonly [TestNode];
  const push = await business.push(1, products("traced", 3), away);
  await push.send();
  await push.untilComplete();
  const ids = () =>
    collector.spans
      .filter(({ attributes }) => String(attributes["svc.actor.id"]).endsWith(push.pushId))
      .map(({ traceId }) => traceId);
  const spansOf = (name: string) =>
    collector.spans.filter((span) => span.name === name && ids().includes(span.traceId));
  const placesOf = (name: string) => [...new Set(spansOf(name).map(({ node }) => node["svc.region"]))].sort();
  // Each node hands its spans on by itself, some at a time, so each is waited for.
  const shows = <T>(read: () => T) => expect.poll(read, { timeout: 30_000 });
  await shows(() => placesOf("region indexRows")).toContain(other);
  await shows(() => placesOf("POST /v1/publish/products")).toEqual([other]);
  await shows(() => placesOf("push push.accept")).toEqual([home]);
  await shows(() => placesOf("region applyRows")).toEqual([home]);
  const [traceId] = spansOf("region indexRows").map((span) => span.traceId);
  const road = "POST /v1/publish/products > push push.accept > push processInlineChunk";
  await shows(() => collector.roads(traceId ?? "")).toEqual(
    expect.arrayContaining([
      `${road} > business chunk.assign`,
      `${road} > region rows.apply > region applyRows`,
      `${road} > region rows.index > region indexRows`,
    ]),
  );
});

it("the nodes of a cluster show what the alerts and the dashboard ask for", async () => {
  const company = await cluster.newCompany();
  const shown = new Map<string, ShownMetric>(shownOfLowAccounts());
  for (const node of cluster.nodes) {
    await createClient(company, [node]).request("retrieval", {
      path: "/v1/records/svc_aaaaaaaaaaaaaaaaaaaaaaaaaa",
      tag: "svc-retrieval",
    });
    await fetch(`${node.urls.retrieval}/v1/search`, { method: "POST" });
    await fetch(`${node.urls.business}/v1/publish/products`, { method: "POST" });
    const text = await (await fetch(`${node.urls.ops}/metrics`)).text();
    for (const [name, metric] of shownIn(text))
      shown.set(name, { ...metric, series: [...(shown.get(name)?.series ?? []), ...metric.series] });
  }
  const asked = [...readDashboard(), ...readAlerts().map(({ alert: title, expr }) => ({ title, expr }))];
  expect(
    asked.flatMap(({ title, expr }) => expressionFaults(expr, shown).map((each) => `${title}: ${each}`)),
  ).toEqual([]);
  expect(shown.get("svc_cluster_lease_held")?.series).toHaveLength(2);
  expect(shown.get("svc_ready_check")?.series).toContainEqual({ check: "clock" });
  expect(shown.get("svc_index_lag_seconds")?.series).toContainEqual({ region: other });
});
