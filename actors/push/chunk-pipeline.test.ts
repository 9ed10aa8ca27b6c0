import { describe, expect, it } from "vitest";
import { type ChunkStages, chunkPipeline, createChunkPipelines } from "./process-chunk.ts";

const limits = { chunksMax: 2, pushesMax: 2 };

/** Records what is started and finished; each chunk gets its generations, and is made, when the test says so. */
function maker() {
  const begun: number[] = [];
  const finishing: number[] = [];
  const assigned = new Map<number, PromiseWithResolvers<number>>();
  const made = new Map<number, PromiseWithResolvers<string>>();
  const wait = <V>(waiting: Map<number, PromiseWithResolvers<V>>, chunk: number): Promise<V> => {
    const waits = Promise.withResolvers<V>();
    waiting.set(chunk, waits);
    return waits.promise;
  };
  const stages: ChunkStages<number, string> = {
    begin: (chunk) => {
      begun.push(chunk);
      return wait(assigned, chunk);
    },
    finish: (chunk) => {
      finishing.push(chunk);
      return wait(made, chunk);
    },
  };
  const soon = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    begun,
    finishing,
    stages,
    soon,
    assign: (chunk: number) =>
      soon()
        .then(() => assigned.get(chunk)?.resolve(chunk))
        .then(soon),
    finish: (chunk: number) =>
      soon()
        .then(() => made.get(chunk)?.resolve(`made ${chunk}`))
        .then(soon),
    fail: (chunk: number) =>
      soon()
        .then(() => made.get(chunk)?.reject(new Error(`no ${chunk}`)))
        .then(soon),
  };
}

const place = (chunk: number) => ({ chunk, chunks: 5 });

describe("the chunks of a push", () => {
  it("come in their order, each once, and end with the last one", async () => {
    const begun: number[] = [];
    const stages = {
      begin: async (chunk: number) => begun.push(chunk) && chunk,
      finish: async (chunk: number) => `made ${chunk}`,
    };
    const made: string[] = [];
    for await (const chunk of chunkPipeline(stages, { chunk: 2, chunks: 5 }, 2)) made.push(chunk);
    expect([made, begun]).toEqual([
      ["made 2", "made 3", "made 4"],
      [2, 3, 4],
    ]);
  });

  it("are begun in order, each once the one in front of it has its generations (L1)", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { begun, stages, soon, assign } = maker();
    void pipelines.take("p", place(0), stages);
    await soon();
    expect(begun).toEqual([0]);
    await assign(0);
    expect(begun).toEqual([0, 1]);
    await assign(0);
    expect(begun).toEqual([0, 1]);
    await assign(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  it("are finished only after the one behind was begun, which reads its leaves meanwhile", async () => {
    const order: string[] = [];
    const stages = {
      begin: async (chunk: number) => order.push(`begin ${chunk}`) && chunk,
      finish: async (chunk: number) => order.push(`finish ${chunk}`),
    };
    await createChunkPipelines<number>(limits).take("p", place(0), stages);
    expect(order.slice(0, 3)).toEqual(["begin 0", "begin 1", "finish 0"]);
  });

  it("are begun no further ahead than the bound, and go on as chunks are taken (L2)", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { begun, stages, assign, finish } = maker();
    const first = pipelines.take("p", place(0), stages);
    for (const chunk of [0, 1, 2]) await assign(chunk);
    expect(begun).toEqual([0, 1, 2]);
    for (const chunk of [0, 1, 2]) await finish(chunk);
    expect(await first).toBe("made 0");
    expect(await pipelines.take("p", place(1), stages)).toBe("made 1");
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(await pipelines.take("p", place(2), stages)).toBe("made 2");
    await assign(3);
    await assign(4);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it("are made again when they failed early, and then show their failure (L3)", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { begun, stages, soon, assign, finish, fail } = maker();
    const first = pipelines.take("p", place(0), stages);
    for (const chunk of [0, 1]) await assign(chunk);
    await fail(1);
    await finish(0);
    await first;
    const second = pipelines.take("p", place(1), stages).catch((error: Error) => error.message);
    await soon();
    expect(begun).toEqual([0, 1, 2, 1]);
    await assign(1);
    await fail(1);
    expect(await second).toBe("no 1");
  });

  it("are made where they are asked for when their pipeline ended with a failure before", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { stages, assign, finish, fail } = maker();
    const failed = pipelines.take("p", place(2), stages).catch((error: Error) => error.message);
    await assign(2);
    await fail(2);
    expect(await failed).toBe("no 2");
    // Another node made chunk 2 in the meantime.
    const next = pipelines.take("p", place(3), stages);
    await assign(3);
    await finish(3);
    expect(await next).toBe("made 3");
  });

  it("are taken up in the middle by a node that begins there", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { begun, stages, assign, finish } = maker();
    const taken = pipelines.take("p", place(3), stages);
    await assign(3);
    await finish(3);
    expect(await taken).toBe("made 3");
    expect(begun).toEqual([3, 4]);
  });

  it("end with the last one: none behind it is begun", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const { begun, stages, assign } = maker();
    void pipelines.take("p", place(3), stages);
    for (const chunk of [3, 4]) await assign(chunk);
    expect(begun).toEqual([3, 4]);
  });

  it("are kept of a bounded number of pushes, those that were asked for last (L2)", async () => {
    const pipelines = createChunkPipelines<string>(limits);
    const makers = ["a", "b", "c"].map((push) => ({ push, ...maker() }));
    for (const { push, stages, assign, finish } of makers) {
      const first = pipelines.take(push, place(0), stages);
      for (const chunk of [0, 1]) await assign(chunk);
      for (const chunk of [0, 1]) await finish(chunk);
      await first;
    }
    const again: number[] = [];
    for (const { push, stages, begun, assign, finish } of makers.toReversed()) {
      const taken = pipelines.take(push, place(1), stages);
      await assign(1);
      await finish(1);
      await taken;
      again.push(begun.filter((chunk) => chunk === 1).length);
    }
    expect(again).toEqual([1, 1, 2]);
  });
});
