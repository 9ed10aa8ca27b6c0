import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.ts";

/** Tasks that the test ends explicitly. */
function openTasks(count: number) {
  const ends = Array.from({ length: count }, () => Promise.withResolvers<number>());
  const begun: number[] = [];
  const tasks = ends.map((end, at) => () => {
    begun.push(at);
    return end.promise;
  });
  return { ends, begun, tasks };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

describe("a semaphore", () => {
  it("runs no more at once than it may, and all in order (P1, P2)", async () => {
    const { ends, begun, tasks } = openTasks(5);
    const results = new Semaphore(2).all(tasks);
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[1]?.resolve(11);
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    for (const [at, end] of ends.entries()) end.resolve(10 + at);
    expect(await results).toEqual([10, 11, 12, 13, 14]);
  });

  it("is shared by all who run something", async () => {
    const semaphore = new Semaphore(2);
    const { ends, begun, tasks } = openTasks(4);
    const all = [semaphore.all(tasks.slice(0, 2)), ...tasks.slice(2).map((task) => semaphore.run(task))];
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[0]?.resolve(0);
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    for (const end of ends) end.resolve(1);
    await Promise.all(all);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it("begins nothing more of what failed, and tells once the others have ended", async () => {
    const semaphore = new Semaphore(2);
    const { ends, begun, tasks } = openTasks(4);
    let told = "nothing";
    const all = semaphore.all(tasks).catch((error: Error) => {
      told = error.message;
    });
    await turns();
    ends[0]?.reject(new Error("first"));
    await turns();
    expect([told, begun]).toEqual(["nothing", [0, 1]]);
    ends[1]?.reject(new Error("second"));
    await all;
    expect([told, begun]).toEqual(["first", [0, 1]]);
    expect(await semaphore.run(async () => "free again")).toBe("free again");
  });

  it("has nothing to do for nothing", async () => {
    expect(await new Semaphore(2).all([])).toEqual([]);
  });

  it("begins at once where there is a place (P3), and hands a place on when the work failed", async () => {
    const semaphore = new Semaphore(1);
    const { ends, begun, tasks } = openTasks(3);
    const runs = tasks.map((task) => semaphore.run(task).catch((error: Error) => error.message));
    expect(begun).toEqual([0]);
    ends[0]?.reject(new Error("broken"));
    expect(await runs[0]).toBe("broken");
    await turns();
    expect(begun).toEqual([0, 1]);
    for (const end of ends) end.resolve(7);
    expect(await Promise.all(runs)).toEqual(["broken", 7, 7]);
  });

  it("never runs more than it may, whenever work ends and comes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 40 }),
        async (max, lengths) => {
          const semaphore = new Semaphore(max);
          const begun: number[] = [];
          let [running, most] = [0, 0];
          await semaphore.all(
            lengths.map((length, at) => async () => {
              begun.push(at);
              running += 1;
              most = Math.max(most, running);
              for (let turn = 0; turn < length; turn += 1) await Promise.resolve();
              running -= 1;
            }),
          );
          expect(most).toBe(Math.min(max, lengths.length));
          expect(begun).toEqual(lengths.map((_, at) => at));
        },
      ),
    );
  });
});
