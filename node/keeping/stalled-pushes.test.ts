import { expect, it } from "vitest";
import { createStalledPushes } from "./late-purges.ts";

const push = (push_id: string, since: string) => ({
  push_id,
  business_uuid: "u",
  records: 400,
  settled: 200,
  regions: ["us-east1"],
  since,
});

it("stalled pushes are listed, the oldest first, until they go on or are not reported any more", () => {
  let nowMs = 0;
  const said: string[] = [];
  const log = ({ event, actor, detail }: { event: string; actor: string; detail: string }) =>
    void said.push(`${event} ${actor}: ${detail}`);
  const stalled = createStalledPushes({ clock: { now: () => nowMs }, log });
  stalled.note(push("b", "2026-01-02T00:00:00.000Z"));
  stalled.note(push("a", "2026-01-01T00:00:00.000Z"));
  expect(stalled.list().map(({ push_id }) => push_id)).toEqual(["a", "b"]);
  expect(said[0]).toBe(
    "push.stalled push/u.b: 200 of 400 records settled, no step since 2026-01-02T00:00:00.000Z, not confirmed by us-east1",
  );
  stalled.forget("a");
  stalled.forget("unknown");
  expect(stalled.list().map(({ push_id }) => push_id)).toEqual(["b"]);
  nowMs += 1_499_999;
  stalled.note(push("c", "2026-01-03T00:00:00.000Z"));
  expect(stalled.list()).toHaveLength(2);
  nowMs += 2;
  expect(stalled.list().map(({ push_id }) => push_id)).toEqual(["c"]);
});

it("at most a thousand stalled pushes are remembered", () => {
  const stalled = createStalledPushes({ clock: { now: () => 0 }, log: () => {} });
  for (let count = 0; count < 1_500; count += 1) stalled.note(push(`p${count}`, "2026-01-01T00:00:00.000Z"));
  expect(stalled.list()).toHaveLength(1_000);
});
