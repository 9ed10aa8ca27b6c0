import { expect, it } from "vitest";
import type { NodeState } from "../../ops/inspection-shapes.ts";
import { nodesAttention } from "./inspection.ts";

const node: NodeState = {
  incarnation: "f00d",
  region: "eu-west1",
  address: "10.0.0.5:7390",
  state: "active",
  is_self: true,
  reachable: true,
  detail: null,
  version: "1.2.3",
  started_at: null,
  lease: null,
  load: null,
  readiness: { ready: true, degraded: [], checks: { store: "ok" }, disks: [] },
};
const away = { ...node, reachable: false, detail: "no answer", readiness: null };
const full = { store: "ok", disk: "home has 3 MiB left" };

it("names a region of which no node answers once and first, then nodes that do not answer, then what fails", () => {
  const found = nodesAttention([
    { ...node, incarnation: "well" },
    { ...node, incarnation: "full", readiness: { ready: false, degraded: [], checks: full, disks: [] } },
    {
      ...node,
      incarnation: "off",
      readiness: { ready: true, degraded: ["clock"], checks: { clock: "9000 ms off" }, disks: [] },
    },
    { ...away, incarnation: "dead" },
    { ...away, region: "us-east1", incarnation: "a", address: "10.1.0.5:7390" },
    { ...away, region: "us-east1", incarnation: "b", address: "10.1.0.6:7390", state: "gone" },
  ]);
  expect(found.map(({ region, incarnation, reason }) => [region, incarnation, reason])).toEqual([
    ["us-east1", null, "region_away"],
    ["eu-west1", "dead", "away"],
    ["eu-west1", "full", "not_ready"],
    ["eu-west1", "off", "degraded"],
  ]);
  expect(found[0]?.words).toMatch(/^No node of us-east1 answers \(10\.1\.0\.5:7390: no answer; 10\.1\.0\.6/);
  expect(found.map(({ words }) => words).join()).toMatch(/disk: home has 3 MiB left.*clock: 9000 ms off/);
  expect(nodesAttention([node])).toEqual([]);
});
