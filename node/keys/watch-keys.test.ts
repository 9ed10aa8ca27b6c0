import { beforeEach, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import { lookEveryMs, type TakeOver, watchKeys } from "./current-keys.ts";

let time: ManualTime;
let lines: string[];
let outcome: Promise<TakeOver>;
let stop: () => Promise<void>;

beforeEach(() => {
  time = new ManualTime();
  lines = [];
  outcome = Promise.resolve({ status: "same" });
  stop = watchKeys({ takeOver: () => outcome }, time, ({ level, event, detail }) => {
    lines.push(`${level} ${event} ${detail}`);
  });
});

it("tells of keys that were taken over or refused, and of nothing else", async () => {
  await time.advance(3 * lookEveryMs);
  outcome = Promise.resolve({ status: "taken_over", issuedAt: "2026-01-01T00:00:00.000Z" });
  await time.advance(lookEveryMs);
  outcome = Promise.resolve({ status: "refused", detail: "no key set" });
  await time.advance(lookEveryMs);
  expect(lines).toEqual([
    "info keys.taken_over issued at 2026-01-01T00:00:00.000Z",
    "error keys.not_taken_over no key set",
  ]);
});

it("a stop waits for the look under way and tells nothing of it: the files may go once the node has left", async () => {
  const looking = Promise.withResolvers<TakeOver>();
  outcome = looking.promise;
  await time.advance(lookEveryMs);
  let isOver = false;
  const stopped = stop().then(() => {
    isOver = true;
  });
  await time.advance(lookEveryMs);
  expect(isOver).toBe(false);
  looking.resolve({ status: "refused", detail: "the file is missing" });
  await stopped;
  expect(lines).toEqual([]);
});
