import { beforeEach, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { followRegister, refreshMs } from "./allowance-keeping.ts";

let time: ManualTime;
let lines: string[];
let refreshes: number;
let refresh: () => Promise<void>;
let stop: () => Promise<void>;
beforeEach(() => {
  time = new ManualTime();
  lines = [];
  refreshes = 0;
  refresh = async () => {};
  stop = followRegister({
    register: part({
      refresh: () => {
        refreshes += 1;
        return refresh();
      },
    }),
    timers: time,
    monotonic: { nowMs: () => time.now() },
    log: ({ level, event, detail }) => void lines.push(`${level} ${event} ${detail}`),
  });
});

const away = (): Promise<void> => Promise.reject(new Error("no answer"));

it("F2: tells of a store that is away at once, then once a minute with the count, and once that it is over", async () => {
  await time.advance(10 * refreshMs);
  expect(lines).toEqual([]);
  refresh = away;
  await time.advance(130 * refreshMs);
  refresh = async () => {};
  await time.advance(10 * refreshMs);
  expect(lines).toEqual([
    "warn register.refresh_failed the register: no answer",
    "warn register.refresh_failed the register: no answer (failures since the last line: 60)",
    "warn register.refresh_failed the register: no answer (failures since the last line: 60)",
    "info register.refresh_succeeded failures: 130",
  ]);
});

it("F1: a refresh that hangs is waited for, and the next one begins a second after it", async () => {
  const hung = Promise.withResolvers<void>();
  refresh = () => hung.promise;
  await time.advance(20 * refreshMs);
  expect(refreshes).toBe(1);
  hung.resolve();
  await time.advance(refreshMs);
  expect(refreshes).toBe(2);
});

it("F3: a stop waits for the refresh under way, tells nothing of it, and nothing follows", async () => {
  const hung = Promise.withResolvers<void>();
  refresh = () => hung.promise;
  await time.advance(refreshMs);
  let isOver = false;
  const stopped = stop().then(() => {
    isOver = true;
  });
  await time.advance(refreshMs);
  expect(isOver).toBe(false);
  hung.reject(new Error("the session is closed"));
  await stopped;
  await time.advance(10 * refreshMs);
  expect(refreshes).toBe(1);
  expect(lines).toEqual([]);
});
