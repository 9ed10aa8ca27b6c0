import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import { openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";

const home = mkdtempSync(join(tmpdir(), "svc-abandoned-sweep-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const hourMs = 3_600_000;

it("a node that runs drops within the hour what was staged a day ago and never accepted", async () => {
  const timers = new ManualTime();
  const startMs = Date.now();
  let nowMs = startMs;
  const dropped = Promise.withResolvers<string>();
  await using node = await openNodeServices(
    loadConfig({ home, environment: "sandbox" }, {}),
    ({ event, detail }) => event === "push.abandoned_dropped" && dropped.resolve(detail),
    { clock: { now: () => nowMs }, timers },
  );
  const leaf = [new Uint8Array(5)];
  await node.records.stageLeaves("bat_early", 0, leaf);
  nowMs = startMs + 1;
  await node.records.stageLeaves("bat_late", 0, leaf);
  nowMs = startMs + 24 * hourMs;
  await timers.advance(hourMs);
  expect(await dropped.promise).toBe("1 pushes were never accepted");
  expect((await node.records.stagedPushes(null, 5)).pushes.map(({ push_id }) => push_id)).toEqual([
    "bat_late",
  ]);
});
