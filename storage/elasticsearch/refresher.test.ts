import { describe, expect, it } from "vitest";
import { Semaphore } from "../../std/semaphore.ts";
import { EngineRefusal } from "./engine.ts";
import { Refresher } from "./row-index.ts";

/** Requests that end when the test lets them. */
function gated() {
  const open: PromiseWithResolvers<unknown>[] = [];
  return {
    open,
    write: () => {
      const gate = Promise.withResolvers<unknown>();
      open.push(gate);
      return gate.promise;
    },
  };
}

const done = { _shards: { failed: 0 } };

/** Time that passes while somebody waits, and otherwise when the test advances it. */
function testTime() {
  const waits: number[] = [];
  const time = {
    waits,
    nowMs: 0,
    now: () => time.nowMs,
    delay: async (ms: number) => {
      waits.push(ms);
      time.nowMs += ms;
    },
  };
  return time;
}

/** Resolves once everything that does not wait for anything external has run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("the refresher", () => {
  it("answers for what was written before a refresh began, and shares one among all that wait (V1)", async () => {
    const engine = gated();
    const refresher = new Refresher(engine, testTime());
    const told: string[] = [];
    const ask = (name: string) => refresher.refresh("g").then(() => void told.push(name));
    const all = [ask("first")];
    await settle();
    all.push(ask("second"), ask("third"));
    await settle();
    expect(engine.open).toHaveLength(1);
    engine.open[0]?.resolve(done);
    await settle();
    expect(told).toEqual(["first"]);
    expect(engine.open).toHaveLength(2);
    // While the second is under way it is too late to join it.
    all.push(ask("fourth"));
    engine.open[1]?.resolve(done);
    await settle();
    expect(told.toSorted()).toEqual(["first", "second", "third"]);
    engine.open[2]?.resolve(done);
    await Promise.all(all);
    const last = ask("fifth");
    await settle();
    expect(engine.open).toHaveLength(4);
    engine.open[3]?.resolve(done);
    await last;
  });

  it("tells a failure to those that waited for it, and goes on", async () => {
    const engine = gated();
    const refresher = new Refresher(engine, testTime());
    const first = refresher.refresh("g").catch((error: unknown) => error);
    await settle();
    const second = refresher.refresh("g");
    engine.open[0]?.reject(new Error("broken"));
    expect(await first).toMatchObject({ message: "broken" });
    await settle();
    engine.open[1]?.reject(new EngineRefusal(404, "index_not_found_exception", "gone"));
    expect(await second).toBe(false);
    const third = refresher.refresh("g").catch((error: unknown) => error);
    await settle();
    engine.open[2]?.resolve({ _shards: { failed: 1 } });
    expect(await third).toMatchObject({ name: "Unavailable" });
  });

  it("refreshes generations apart", async () => {
    const engine = gated();
    const refresher = new Refresher(engine, testTime());
    const both = [refresher.refresh("g"), refresher.refresh("h")];
    await settle();
    expect(engine.open).toHaveLength(2);
    for (const gate of engine.open) gate.resolve(done);
    expect(await Promise.all(both)).toEqual([true, true]);
  });
});

describe("refreshes that follow one another", () => {
  it("begin some time apart, and at once after a pause (V2)", async () => {
    const engine = gated();
    const time = testTime();
    const refresher = new Refresher(engine, time);
    const all = [refresher.refresh("g")];
    await settle();
    time.nowMs = 20;
    engine.open[0]?.resolve(done);
    await settle();
    all.push(refresher.refresh("g"), refresher.refresh("g"));
    await settle();
    expect([time.waits, engine.open.length]).toEqual([[130], 2]);
    engine.open[1]?.resolve(done);
    await settle();
    time.nowMs = 1_000;
    all.push(refresher.refresh("g"));
    await settle();
    expect([time.waits, engine.open.length]).toEqual([[130], 3]);
    engine.open[2]?.resolve(done);
    expect(await Promise.all(all)).toEqual([true, true, true, true]);
  });
});

describe("slots", () => {
  it("let so many work at once, the others in their order, also after a failure", async () => {
    const slots = new Semaphore(2);
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    const begun: number[] = [];
    const work = gates.map((gate, n) =>
      slots
        .run(() => {
          begun.push(n);
          return gate.promise;
        })
        .catch(() => {}),
    );
    await settle();
    expect(begun).toEqual([0, 1]);
    gates[1]?.reject(new Error("one failed"));
    await settle();
    expect(begun).toEqual([0, 1, 2]);
    gates[0]?.resolve();
    gates[2]?.resolve();
    await settle();
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    gates[3]?.resolve();
    gates[4]?.resolve();
    await Promise.all(work);
  });
});
