import { describe, expect, it } from "vitest";
import { createLanes } from "./lanes.ts";

/** Tasks that end when told to. */
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

describe("lanes", () => {
  it("run no more at once than they are, and all in order", async () => {
    const { ends, begun, tasks } = openTasks(5);
    const results = createLanes(2).all(tasks);
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[1]?.resolve(11);
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    for (const [at, end] of ends.entries()) end.resolve(10 + at);
    expect(await results).toEqual([10, 11, 12, 13, 14]);
  });

  it("are shared by all who run something", async () => {
    const lanes = createLanes(2);
    const { ends, begun, tasks } = openTasks(4);
    const all = [lanes.all(tasks.slice(0, 2)), ...tasks.slice(2).map((task) => lanes.run(task))];
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[0]?.resolve(0);
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    for (const end of ends) end.resolve(1);
    await Promise.all(all);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it("begin nothing more of what failed, and tell once the others have ended", async () => {
    const lanes = createLanes(2);
    const { ends, begun, tasks } = openTasks(4);
    let told = "nothing";
    const all = lanes.all(tasks).catch((error: Error) => {
      told = error.message;
    });
    await turns();
    ends[0]?.reject(new Error("first"));
    await turns();
    expect([told, begun]).toEqual(["nothing", [0, 1]]);
    ends[1]?.reject(new Error("second"));
    await all;
    expect([told, begun]).toEqual(["first", [0, 1]]);
    expect(await lanes.run(async () => "free again")).toBe("free again");
  });

  it("have nothing to do for nothing", async () => {
    expect(await createLanes(2).all([])).toEqual([]);
  });
});
