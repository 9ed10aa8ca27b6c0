import { expect, it } from "vitest";
import type { LatePurges, Purge } from "../../actors/messages/removal.ts";
import { createLatePurges, latePurgeReadings } from "./late-purges.ts";

const dayMs = 86_400_000;
const nowMs = Date.parse("2026-06-01T00:00:00.000Z");

const purge = (deletedDaysAgo: number): Purge => ({
  record_id: "svc_a",
  collection: "products",
  generation: 1,
  document_hash: "d",
  number: 1,
  due_ms: nowMs - dayMs,
  deleted_at_ms: nowMs - deletedDaysAgo * dayMs,
});
const late = (business_uuid: string, days: readonly number[], region = "us-east1"): LatePurges => ({
  business_uuid,
  purges: days.map(purge),
  waits_for: "region",
  regions: [region],
  push_id: null,
  detail: `The index of region ${region} has not purged yet.`,
});

function open() {
  let atMs = nowMs;
  const said: string[] = [];
  const watch = createLatePurges({
    clock: { now: () => atMs },
    log: ({ event, actor, detail }) => void said.push(`${event} ${actor}: ${detail}`),
  });
  const wait = (ms: number): void => {
    atMs += ms;
  };
  const readings = () => latePurgeReadings(watch.list(), atMs).map(({ name, value }) => [name, value]);
  return { watch, said, readings, wait };
}

it("late purges are listed by business with what they wait for, the oldest deletion first, until they are done", () => {
  const { watch, readings } = open();
  expect(readings()).toEqual([
    ["svc_purges_late", 0],
    ["svc_purge_oldest_seconds", 0],
  ]);
  watch.note(late("b", [29, 28]));
  watch.note(late("a", [29.5, 30]));
  expect(watch.list()).toMatchObject([
    { business_uuid: "a", purges: 2, regions: ["us-east1"], limit_at: "2026-06-01T00:00:00.000Z" },
    { business_uuid: "b", oldest_deleted_at: "2026-05-03T00:00:00.000Z", waits_for: "region" },
  ]);
  expect(readings()).toEqual([
    ["svc_purges_late", 4],
    ["svc_purge_oldest_seconds", (30 * dayMs) / 1_000],
  ]);
  watch.forget("a");
  watch.forget("unknown");
  expect(watch.list().map(({ business_uuid }) => business_uuid)).toEqual(["b"]);
});

it("a business that is not reported for ten minutes is over, or elsewhere", () => {
  const { watch, wait } = open();
  watch.note(late("a", [29]));
  wait(599_999);
  expect(watch.list()).toHaveLength(1);
  watch.note(late("b", [29]));
  wait(1);
  expect(watch.list().map(({ business_uuid }) => business_uuid)).toEqual(["b"]);
});

it("the log says it once, again when the reason changes, and once an hour", () => {
  const { watch, said, wait } = open();
  const report = (region?: string) => {
    watch.note(late("a", [29], region));
    wait(60_000);
  };
  report();
  report();
  expect(said).toEqual([
    "purge.late business/a: 1 due, the oldest deletion is of 2026-05-03T00:00:00.000Z: The index of region us-east1 has not purged yet.",
  ]);
  report("eu-west1");
  expect(said).toHaveLength(2);
  for (let minutes = 0; minutes < 59; minutes += 1) report("eu-west1");
  expect(said).toHaveLength(2);
  report("eu-west1");
  expect(said).toHaveLength(3);
});

it("at most a thousand businesses are remembered", () => {
  const { watch } = open();
  for (let count = 0; count < 1_500; count += 1) watch.note(late(`b${count}`, [29]));
  expect(watch.list()).toHaveLength(1_000);
});
