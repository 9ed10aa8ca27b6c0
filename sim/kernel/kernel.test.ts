import { describe, expect, it } from "vitest";
import { Kernel, Trace } from "./kernel.ts";
import { Life } from "./life.ts";
import { Random } from "./random.ts";

function newKernel(): Kernel {
  return new Kernel({ startMs: 1_000, trace: new Trace({ story: false }) });
}

describe("the kernel", () => {
  it("runs an event with everything that it made ready before the next (K1)", async () => {
    const kernel = newKernel();
    const seen: string[] = [];
    const chain = async (name: string, links: number): Promise<void> => {
      for (let link = 0; link < links; link += 1) await null;
      seen.push(`${name} at ${kernel.now()}`);
    };
    kernel.after(5, "long", () => void chain("long", 500));
    kernel.after(5, "short", () => void chain("short", 1));
    kernel.after(9, "last", () => void chain("last", 1));
    expect(await kernel.run(() => false)).toBe("nothing left");
    expect(seen).toEqual(["long at 1005", "short at 1005", "last at 1009"]);
  });

  it("runs what falls on one instant in the order asked for, and nothing cancelled (K2)", async () => {
    const kernel = newKernel();
    const seen: number[] = [];
    const delays = [3, 1, 2, 1, 3, 1];
    for (const [index, delay] of delays.entries()) kernel.after(delay, "event", () => seen.push(index));
    kernel.after(2, "cancelled", () => seen.push(99))();
    await kernel.run(() => false);
    expect(seen).toEqual([1, 3, 5, 2, 0, 4]);
  });

  it("lets nothing happen to a life that is over, and to one that slept when it wakes (K3)", async () => {
    const kernel = newKernel();
    const [dead, asleep] = [new Life(kernel, "dead"), new Life(kernel, "asleep")];
    const seen: string[] = [];
    dead.after(2, "never", () => seen.push("dead"));
    asleep.after(2, "late", () => seen.push(`first at ${kernel.now()}`));
    asleep.after(3, "late", () => seen.push(`second at ${kernel.now()}`));
    kernel.after(1, "blow", () => {
      dead.end();
      asleep.sleep();
    });
    kernel.after(10, "wake", () => asleep.wake());
    await kernel.run(() => false);
    expect(seen).toEqual(["first at 1010", "second at 1010"]);
  });

  it("says when nothing is left although somebody waits (K4)", async () => {
    const kernel = newKernel();
    let isDone = false;
    void new Promise(() => {}).then(() => {
      isDone = true;
    });
    expect(await kernel.run(() => isDone)).toBe("nothing left");
  });

  it("rejects with what an event throws", async () => {
    const kernel = newKernel();
    kernel.after(1, "throws", () => {
      throw new Error("an event failed");
    });
    await expect(kernel.run(() => false)).rejects.toThrow("an event failed");
  });
});

describe("seeded chance", () => {
  it("is forked by purpose: what one draws never shifts another", () => {
    const [quiet, busy] = [Random.of(7), Random.of(7)];
    for (let draw = 0; draw < 100; draw += 1) busy.fork("faults").next();
    for (let draw = 0; draw < 100; draw += 1) busy.next();
    expect(busy.fork("workload").hex(32)).toBe(quiet.fork("workload").hex(32));
    expect(quiet.fork("faults").hex(32)).not.toBe(quiet.fork("workload").hex(32));
    expect(Random.of(8).fork("workload").hex(32)).not.toBe(quiet.fork("workload").hex(32));
  });

  it("is spread evenly", () => {
    const random = Random.of(1);
    const counts = new Array<number>(10).fill(0);
    for (let draw = 0; draw < 10_000; draw += 1)
      counts[random.below(10)] = (counts[random.below(10)] ?? 0) + 1;
    const most = Math.max(...counts);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(most).toBeLessThan(2_000);
  });
});
