import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import type { InsightCount, InsightKind } from "../../storage/insight-store.ts";
import { createInsight, flushEveryMs, flushRegularly, subjectsPerCompanyMax } from "./insight.ts";
import { sessionSubjectsMax } from "./topic-screening.ts";

const dayMs = 86_400_000;
const startMs = Date.parse("2026-03-04T10:00:00.000Z");

function world() {
  const puts: (readonly [InsightKind, readonly InsightCount[]])[] = [];
  const forgotten: string[] = [];
  const state = { nowMs: startMs, isAway: false, old: 0 };
  const clock = { now: () => state.nowMs };
  const timers: { readonly atMs: number; readonly run: () => void }[] = [];
  const insight = createInsight({
    store: {
      put: async (kind, counts) => {
        if (state.isAway) throw new Error("away");
        puts.push([kind, counts]);
      },
      readShown: async () => [],
      readDemand: async () => [],
      forget: async (day, limit) => {
        forgotten.push(day);
        const gone = Math.min(state.old, limit);
        state.old -= gone;
        return gone;
      },
    },
    crypto: nativeCrypto,
    clock,
    incarnation: "i1",
    retentionDays: 400,
  });
  const failures: unknown[] = [];
  const stop = flushRegularly({
    insight,
    clock,
    timers: {
      schedule: (delayMs, run) => {
        const timer = { atMs: state.nowMs + delayMs, run };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    },
    failed: (error) => void failures.push(error),
  });
  const pass = async (ms: number): Promise<void> => {
    state.nowMs += ms;
    for (const timer of timers.splice(0)) {
      if (timer.atMs <= state.nowMs) timer.run();
      else timers.push(timer);
    }
    for (let turn = 0; turn < 20; turn += 1) await null;
  };
  const search = (session: string | null, ...subjects: string[]) =>
    insight.searched({
      company: "c1",
      servedAt: new Date(state.nowMs).toISOString(),
      collection: "products",
      country: "US",
      businesses: ["b1"],
      asked: { session: session === null ? null : insight.markOf("c1", session), subjects },
    });
  return { insight, puts, forgotten, state, timers, failures, stop, pass, search };
}

const named = (puts: ReturnType<typeof world>["puts"], kind: InsightKind) =>
  puts.flatMap(([of, counts]) => (of === kind ? counts.map(({ name, searches }) => [name, searches]) : []));

describe("insight", () => {
  it("is written every few seconds, and once more at the end", async () => {
    const { puts, stop, pass, search } = world();
    search(null, "Kettle");
    await pass(flushEveryMs - 1);
    expect(puts).toEqual([]);
    await pass(1);
    expect(named(puts, "shown")).toEqual([["b1", 1]]);
    expect(named(puts, "demand")).toEqual([["kettle", 1]]);
    await pass(flushEveryMs);
    expect(puts).toHaveLength(2);
    search(null);
    await stop();
    expect(named(puts, "shown")).toEqual([
      ["b1", 1],
      ["b1", 2],
    ]);
  });

  it("loses nothing of a thousand searches a second whose rows are of different businesses (N4)", async () => {
    const { insight, puts, state } = world();
    const searched = (n: number): void =>
      insight.searched({
        company: "c1",
        servedAt: new Date(state.nowMs).toISOString(),
        collection: "products" as const,
        country: "US",
        businesses: Array.from({ length: 50 }, (_, row) => `b${n * 50 + row}`),
        asked: { session: null, subjects: [] },
      });
    for (let n = 0; n < 5_000; n += 1) {
      searched(n);
      await null;
    }
    await insight.flush();
    expect([insight.figures().lost, insight.figures().waiting]).toEqual([0, 0]);
    expect(named(puts, "shown")).toHaveLength(250_000);
    // A store that is away is asked again by who flushes regularly, and not with every search.
    state.isAway = true;
    let puttings = puts.length;
    for (let n = 5_000; n < 6_000; n += 1) searched(n);
    await expect(insight.flush()).rejects.toThrow("away");
    expect([puts.length, insight.figures().waiting]).toEqual([puttings, 50_000]);
    state.isAway = false;
    puttings = puts.length;
    searched(6_000);
    expect(puts).toHaveLength(puttings);
    await insight.flush();
    expect(insight.figures()).toMatchObject({ lost: 0, waiting: 0 });
  });

  it("survives a store that is away", async () => {
    const { puts, state, failures, pass, search, insight } = world();
    search(null);
    state.isAway = true;
    await pass(flushEveryMs);
    search(null);
    await pass(flushEveryMs);
    expect(failures).toHaveLength(2);
    expect(insight.figures().waiting).toBe(1);
    state.isAway = false;
    await pass(flushEveryMs);
    expect(named(puts, "shown")).toEqual([["b1", 2]]);
  });

  it("keeps of what was asked for only what is not personal, each subject once in a session", async () => {
    const { puts, pass, search, insight } = world();
    search("chat", "Kettle", "KETTLE", "anna@example.com", "Anna Berg", "+44 20 7946 0958");
    search("chat", "kettle", "tea");
    search("other chat", "kettle");
    search(null, "kettle");
    await pass(flushEveryMs);
    expect(named(puts, "demand")).toEqual([
      ["kettle", 3],
      ["tea", 1],
    ]);
    const written = JSON.stringify(puts);
    for (const trace of ["chat", "anna", "7946", insight.markOf("c1", "chat")])
      expect(written.toLowerCase()).not.toContain(trace.toLowerCase());
  });

  it("has bounds that no company passes, whatever it sends, and counts the others all the same", async () => {
    const { insight, puts } = world();
    const searched = (company: string, index: number, subjects: readonly string[], session: string | null) =>
      insight.searched({
        company,
        servedAt: new Date(startMs).toISOString(),
        collection: "products" as const,
        country: String.fromCharCode(65 + (index % 26), 65 + (Math.floor(index / 26) % 26)),
        businesses: [],
        asked: { session: session === null ? null : insight.markOf(company, session), subjects },
      });
    const letters = (index: number) =>
      [...String(index)].map((digit) => String.fromCharCode(97 + Number(digit))).join("");
    // New subjects without end, in every country, each in a session of its own.
    for (let index = 0; index < 12_000; index += 1)
      searched("flood", index, [`kettle q${letters(index)}`], `session ${index}`);
    // One session without end.
    for (let index = 0; index < 700; index += 1) searched("one", index, [`pot q${letters(index)}`], "s");
    // What speaks of people.
    for (const subject of ["ada@example.com", "+44 20 7946 0958", "Anna Berg", "4111 1111 1111 1111"])
      searched("personal", 0, [subject], null);
    searched("honest", 0, ["teapot"], "s");
    await insight.flush();
    const counts = puts.flatMap(([kind, each]) => (kind === "demand" ? each : []));
    const of = (wanted: string) => counts.filter(({ company }) => company === wanted).length;
    expect([of("flood"), of("one"), of("personal"), of("honest")]).toEqual([
      subjectsPerCompanyMax,
      sessionSubjectsMax,
      0,
      1,
    ]);
    expect(insight.figures()).toMatchObject({ lost: 12_000 - subjectsPerCompanyMax, excessive: 200 });
  });

  it("ends the sessions of a day even if nobody asks any more", async () => {
    const { insight, pass, search } = world();
    search("chat");
    expect(insight.figures().sessionDay).toBe("2026-03-04");
    const mark = insight.markOf("c1", "chat");
    await pass(dayMs);
    expect(insight.figures().sessionDay).toBe("2026-03-05");
    expect(insight.markOf("c1", "chat")).not.toBe(mark);
  });

  it("removes what is over its retention, a few at a time, once an hour", async () => {
    const { forgotten, state, pass } = world();
    state.old = 700;
    await pass(flushEveryMs);
    await pass(flushEveryMs);
    expect([forgotten, state.old]).toEqual([["2025-01-28", "2025-01-28"], 0]);
    for (let n = 0; n < 5; n += 1) await pass(flushEveryMs);
    expect(forgotten).toHaveLength(2);
    await pass(3_600_000);
    expect(forgotten).toHaveLength(3);
  });
});
