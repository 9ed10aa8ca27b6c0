import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startNode } from "./start.ts";

it("a node shows its requests, its actors, and the process that it is", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-metrics-"));
  try {
    await using node = await startNode({ home, portBase: 0, logLevel: "silent" });
    await node.seeded;
    await fetch(`${node.urls.verify_url}/v1/keys`);
    const text = await (await fetch(`${node.urls.ops_url}/metrics`)).text();
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
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
