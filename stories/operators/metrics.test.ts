// A node really emits what the pages tell operators to watch.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { clusterReadings } from "../../node/composition/node-readings.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";

const docs = join(import.meta.dirname, "../..", "docs");
const pages = readdirSync(docs)
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, text: readFileSync(join(docs, name), "utf8") }));
const home = mkdtempSync(join(tmpdir(), "svc-metrics-"));
let node: RunningNode;
let text = "";

beforeAll(async () => {
  node = await startNode({ home, portBase: 0, logLevel: "silent" });
  await node.seeded;
  await fetch(`${node.urls.base_url}/nowhere`);
  text = await (await fetch(`${node.urls.ops_url}/metrics`)).text();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

/** The names of all metrics that a standalone node or a cluster node exposes. */
function emitted(): readonly string[] {
  const alone = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name);
  const membership = { view: () => ({ members: [] }), holdsLease: () => true };
  const cluster = { membership, regionNames: ["eu-west1"], transportStats: () => null };
  return [...alone, ...clusterReadings(rubbish(cluster)).map(({ name }) => name)];
}

it("shows every metric that a page names", () => {
  const named = pages.flatMap(({ name, text: page }) =>
    [
      ...page.matchAll(
        /\b(?:svc_(?:http|actors|cluster|fence|process|index|trace|log|allowance|receipt|receipts|disk|ready|pushes)|nodejs|process)_[a-z_]+[a-z]\b(?!…|_)/g,
      ),
    ].map(([metric]) => `${name}: ${metric}`),
  );
  expect(named.length).toBeGreaterThan(8);
  const known = emitted();
  expect(named.filter((each) => !known.includes(each.split(": ")[1] ?? ""))).toEqual([]);
});

it("counts refusals by surface and code", () => {
  expect(text).toContain('svc_http_refusals_total{surface="retrieval",code="not_found"} 1');
});

it("shows what kind each metric is, each once, and those of the process that it is", () => {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", kind = ""]) => [name, kind]),
  );
  expect(text.match(/^# TYPE /gm)).toHaveLength(types.size);
  expect(types.get("svc_http_requests_total")).toBe("counter");
  expect(types.get("svc_actors_active")).toBe("gauge");
  expect(types.get("svc_actors_commits_total")).toBe("counter");
  expect(types.get("svc_http_refused_connections_total")).toBe("counter");
  expect(types.get("nodejs_eventloop_lag_p99_seconds")).toBe("gauge");
  expect(types.get("nodejs_gc_duration_seconds")).toBe("histogram");
  expect(types.get("process_cpu_seconds_total")).toBe("counter");
});
