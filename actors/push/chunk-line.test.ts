import { describe, expect, it } from "vitest";
import { createChunkLine } from "./chunk-line.ts";

const limits = { chunksMax: 2, pushesMax: 2 };

/** Notes what is begun; each chunk has its generations, and is made, when told so. */
function maker() {
  const begun: number[] = [];
  const assign = new Map<number, () => void>();
  const settle = new Map<number, PromiseWithResolvers<string>>();
  const make = (chunk: number, assigned: () => void): Promise<string> => {
    begun.push(chunk);
    assign.set(chunk, assigned);
    const made = Promise.withResolvers<string>();
    settle.set(chunk, made);
    return made.promise;
  };
  return {
    begun,
    make,
    assign: (chunk: number) => assign.get(chunk)?.(),
    finish: (chunk: number) => settle.get(chunk)?.resolve(`made ${chunk}`),
    fail: (chunk: number) => settle.get(chunk)?.reject(new Error(`no ${chunk}`)),
  };
}

const place = (chunk: number) => ({ chunk, chunks: 5 });

describe("the chunks of a push", () => {
  it("are begun in order, each once the one in front of it has its generations (L1)", async () => {
    const line = createChunkLine<string>(limits);
    const { begun, make, assign } = maker();
    void line.take("p", place(0), make);
    expect(begun).toEqual([0]);
    assign(0);
    expect(begun).toEqual([0, 1]);
    assign(0);
    expect(begun).toEqual([0, 1]);
    assign(1);
    expect(begun).toEqual([0, 1, 2]);
  });

  it("are begun no further ahead than the bound, and go on as chunks are taken (L2)", async () => {
    const line = createChunkLine<string>(limits);
    const { begun, make, assign, finish } = maker();
    const first = line.take("p", place(0), make);
    for (const chunk of [0, 1, 2]) assign(chunk);
    expect(begun).toEqual([0, 1, 2]);
    for (const chunk of [0, 1, 2]) finish(chunk);
    expect(await first).toBe("made 0");
    expect(await line.take("p", place(1), make)).toBe("made 1");
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(await line.take("p", place(2), make)).toBe("made 2");
    assign(3);
    assign(4);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it("are made anew when they failed early, and then show their failure (L3)", async () => {
    const line = createChunkLine<string>(limits);
    const { begun, make, assign, finish, fail } = maker();
    const first = line.take("p", place(0), make);
    assign(0);
    fail(1);
    finish(0);
    await first;
    const second = line.take("p", place(1), make);
    await expect.poll(() => begun).toEqual([0, 1, 1]);
    assign(1);
    expect(begun).toEqual([0, 1, 1, 2]);
    fail(1);
    await expect(second).rejects.toThrow("no 1");
  });

  it("are taken up in the middle by a node that begins there", async () => {
    const line = createChunkLine<string>(limits);
    const { begun, make, assign, finish } = maker();
    const taken = line.take("p", place(3), make);
    assign(3);
    finish(3);
    expect(await taken).toBe("made 3");
    expect(begun).toEqual([3, 4]);
  });

  it("end with the last one: none behind it is begun", async () => {
    const line = createChunkLine<string>(limits);
    const { begun, make, assign } = maker();
    void line.take("p", place(3), make);
    for (const chunk of [3, 4]) assign(chunk);
    expect(begun).toEqual([3, 4]);
  });

  it("are kept of a bounded number of pushes, those that were asked for last (L2)", async () => {
    const line = createChunkLine<string>(limits);
    const makers = ["a", "b", "c"].map((push) => ({ push, ...maker() }));
    for (const { push, make, assign, finish } of makers) {
      const first = line.take(push, place(0), make);
      assign(0);
      finish(0);
      finish(1);
      await first;
    }
    const again = makers.toReversed().map(({ push, make, finish, begun }) => {
      const taken = line.take(push, place(1), make);
      finish(1);
      return taken.then(() => begun.filter((chunk) => chunk === 1).length);
    });
    expect(await Promise.all(again)).toEqual([1, 1, 2]);
  });
});
