// Whether the dashboard and the alerts ask for what a running node really shows: every metric, label and value that they name.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { clusterReadings } from "../../node/composition/node-readings.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { root } from "../process.ts";
import { expressionFaults } from "./expression-faults.fixture.ts";
import { type ShownMetric, shownIn, shownOfLowAccounts } from "./shown-metrics.fixture.ts";
import { readAlerts, readDashboard } from "./telemetry-files.fixture.ts";

const home = mkdtempSync(join(tmpdir(), "svc-telemetry-"));
let node: RunningNode;
let shown: ReadonlyMap<string, ShownMetric>;

beforeAll(async () => {
  // A sandbox does not look at domains unless it is told to.
  vi.stubEnv("SVC_DOMAIN_CHECKS", "yes");
  const domainProbe = { probe: async () => ({ kind: "unanswered" }) as const };
  node = await startNode({ home, portBase: 0, logLevel: "silent" }, { domainProbe: rubbish(domainProbe) });
  await node.seeded;
  const { base_url, business_url, ops_url } = node.urls;
  // Refused without a signature, and counted under their routes all the same.
  await fetch(`${base_url}/v1/search`, { method: "POST" });
  await fetch(`${base_url}/v1/records/svc_none`);
  await fetch(`${business_url}/v1/publish/products`, { method: "POST" });
  const text = await (await fetch(`${ops_url}/metrics`)).text();
  shown = new Map([...shownIn(text), ...ofCluster(), ...shownOfLowAccounts()]);
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

/** What only a cluster node shows; stories/regions/traces.regions.test.ts holds the same queries to nodes on real engines. */
function ofCluster(): readonly (readonly [string, ShownMetric])[] {
  const membership = { view: () => ({ members: [] }), holdsLease: () => true };
  const parts = { membership, regionNames: ["eu-west1"], transportStats: () => null };
  return clusterReadings(rubbish(parts)).map(({ name, kind, help }) => [name, { kind, help, series: [{}] }]);
}

const faultsOf = (expr: string) => expressionFaults(expr, shown);

describe("a dashboard's query", () => {
  it("asks for what a node shows", () => {
    const queries = readDashboard();
    expect(queries.length).toBeGreaterThan(40);
    const faults = queries.flatMap(({ title, expr }) => faultsOf(expr).map((fault) => `${title}: ${fault}`));
    expect(faults).toEqual([]);
  });
});

describe("an alert", () => {
  it("asks for what a node shows", () => {
    const alerts = readAlerts();
    expect(alerts.length).toBeGreaterThan(40);
    const faults = alerts.flatMap(({ alert, expr }) => faultsOf(expr).map((fault) => `${alert}: ${fault}`));
    expect(faults).toEqual([]);
  });

  it("is found to ask for something else, whatever part of it is wrong", () => {
    expect(faultsOf("svc_pushes_stuck > 0")).toEqual(["svc_pushes_stuck is not shown"]);
    expect(faultsOf('svc_ready_check{name="disk"}')).toEqual(["svc_ready_check has no label name"]);
    expect(faultsOf('svc_ready_check{check="dusk"}')).toEqual(["no check is dusk"]);
    expect(faultsOf("sum by (sort) (svc_actors_active)")).toEqual(["no metric has the label sort"]);
    expect(faultsOf("rate(svc_actors_active[5m])")).toEqual(["rate of svc_actors_active, which is a gauge"]);
    expect(faultsOf('svc_http_refusals_total{code=~"unavailable|lost"}')).toEqual(["no code is lost"]);
    expect(() => faultsOf("sum(svc_actors_active")).toThrow("not PromQL");
  });

  it("names the section that says what to do, and each section has its alert", () => {
    const page = readFileSync(join(root, "docs/alerts.md"), "utf8");
    const sections = [...page.matchAll(/^### (Svc\w+)\n\n(.+)$/gm)].map(([, name]) => name);
    const alerts = readAlerts();
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations, labels } of alerts) {
      expect(annotations.runbook).toBe(`docs/alerts.md#${alert.toLowerCase()}`);
      expect(["page", "look"]).toContain(labels.severity);
    }
  });
});

describe("a metric of a node", () => {
  it("is named as Prometheus names things", () => {
    const own = [...shown].filter(([name]) => name.startsWith("svc_"));
    expect(own.length).toBeGreaterThan(60);
    const odd = own.flatMap(([name, { kind, help }]) => {
      const base = name.replace(/_(bucket|sum|count)$/, "");
      const isTotal = base.endsWith("_total");
      return [
        ...(isTotal === (kind === "counter") ? [] : [`${name}: a ${kind}`]),
        ...(/_(ms|millis|minutes|hours|mb|mib|percent)(_|$)/.test(base) ? [`${name}: not a base unit`] : []),
        ...(kind === "histogram" && !base.endsWith("_seconds") ? [`${name}: has no unit`] : []),
        ...(/^\S.*\.$/.test(help) ? [] : [`${name}: its help is no sentence`]),
      ];
    });
    expect(odd).toEqual([]);
  });

  it("has few series, whose labels are none of a caller's choice", () => {
    const labels = new Set<string>();
    let count = 0;
    for (const [name, { series }] of shown) {
      if (!name.startsWith("svc_")) continue;
      count += series.length;
      for (const each of series) for (const label of Object.keys(each)) labels.add(label);
    }
    const known = ["surface", "method", "route", "status", "code", "kind", "region", "environment"];
    // Of companies, those alone whose accounts run low, 20 of a node at most.
    const more = ["version", "check", "place", "reason", "le", "company"];
    expect([...labels].sort()).toEqual([...known, ...more].sort());
    expect(count).toBeLessThan(1_000);
  });
});
