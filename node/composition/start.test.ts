import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type HeldPort, holdPort, startNode } from "./start.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "svc-start-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

it("names the ports that it got where any was asked for, the operators' too (N3)", async () => {
  vi.stubEnv("SVC_OPS_LISTEN", "127.0.0.1:0");
  await using node = await startNode({ home, portBase: 0, logLevel: "silent" });
  await node.seeded;
  const urls = Object.values(node.urls);
  expect(new Set(urls.map((url) => new URL(url).port)).size).toBe(6);
  expect((await fetch(`${node.urls.ops_url}/healthz`)).status).toBe(200);
});

it("says at once that a new sandbox cannot publish its samples while background processing is off", async () => {
  vi.stubEnv("SVC_OPS_LISTEN", "127.0.0.1:0");
  vi.stubEnv("SVC_BACKGROUND", "off");
  await using node = await startNode({ home, portBase: 0, logLevel: "silent" });
  await expect(node.seeded).rejects.toThrow(
    "SVC_BACKGROUND: is off, and a new sandbox publishes its samples",
  );
  expect((await fetch(`${node.urls.ops_url}/healthz`)).status).toBe(200);
});

/** Holds a port; the two before it and the three behind it are free. */
async function holdAmongFree(): Promise<{ readonly taken: HeldPort; readonly portBase: number }> {
  for (;;) {
    const taken = await holdPort("127.0.0.1", 0);
    const portBase = taken.port - 2;
    const others = await Promise.allSettled(
      [0, 1, 3, 4, 5].map((index) => holdPort("127.0.0.1", portBase + index)),
    );
    for (const each of others) if (each.status === "fulfilled") await each.value.release();
    if (others.every(({ status }) => status === "fulfilled")) return { taken, portBase };
    await taken.release();
  }
}

it("opens nothing where a port is taken, and holds none of the others (N3)", async () => {
  const { taken, portBase } = await holdAmongFree();
  const before = new Set(readdirSync(home));
  await expect(startNode({ home, portBase, logLevel: "silent" })).rejects.toThrow(
    `${portBase} to ${portBase + 5} are not all free (taken: ${taken.port}); choose another base`,
  );
  expect(readdirSync(home).filter((name) => !before.has(name) && /\.sqlite|\.db|keys/.test(name))).toEqual(
    [],
  );
  const again = await Promise.allSettled(
    [0, 1, 3, 4, 5].map((index) => holdPort("127.0.0.1", portBase + index)),
  );
  expect(again.map(({ status }) => status)).toEqual(Array(5).fill("fulfilled"));
  for (const each of again) if (each.status === "fulfilled") await each.value.release();
  await taken.release();
});
