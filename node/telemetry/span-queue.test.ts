import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { SpanQueue } from "./span-queue.ts";

type Done = (result: { readonly code: number; readonly error?: Error }) => void;

function world(spansMax?: number) {
  const time = new ManualTime();
  const batches: { readonly spans: readonly ReadableSpan[]; readonly done: Done }[] = [];
  const changes: (readonly [boolean, string])[] = [];
  let isClosed = false;
  const queue = new SpanQueue({
    exporter: {
      export: (spans, done) => void batches.push({ spans, done }),
      shutdown: () => {
        isClosed = true;
        // It waits for the batch under way, which is never answered.
        return batches.length > 0 ? new Promise(() => {}) : Promise.resolve();
      },
    },
    timers: time,
    ...(spansMax === undefined ? {} : { spansMax }),
    onChange: (isTaken, detail) => changes.push([isTaken, detail]),
  });
  const end = (count: number): void => {
    for (let n = 0; n < count; n += 1) queue.onEnd(rubbish({ n }));
  };
  return { time, batches, changes, queue, end, isClosed: () => isClosed };
}

describe("the queue of spans", () => {
  it("gathers spans for a second, and sends a full batch at once", async () => {
    const { time, batches, queue, end } = world();
    end(3);
    await time.advance(999);
    expect(batches).toEqual([]);
    await time.advance(1);
    expect(batches.map(({ spans }) => spans.length)).toEqual([3]);
    batches[0]?.done({ code: 0 });
    await time.settle();
    end(512);
    expect(batches.map(({ spans }) => spans.length)).toEqual([3, 512]);
    expect(queue.figures()).toEqual({ sent: 3, overflowed: 0, refused: 0, waiting: 0 });
  });

  it("drops and counts what is too much while the collector takes nothing (SQ1, SQ2)", async () => {
    const { time, batches, queue, end } = world(600);
    end(512);
    end(700);
    await time.advance(60_000);
    expect(batches).toHaveLength(1);
    expect(queue.figures()).toEqual({ sent: 0, overflowed: 100, refused: 0, waiting: 600 });
    batches[0]?.done({ code: 0 });
    await time.settle();
    expect(batches.map(({ spans }) => spans.length)).toEqual([512, 512]);
    expect(queue.figures()).toMatchObject({ sent: 512, waiting: 88 });
  });

  it("drops a batch that is not taken, and says so once until one is taken again (SQ2)", async () => {
    const { time, batches, changes, queue, end } = world();
    for (const code of [1, 1, 0, 0]) {
      end(1);
      await time.advance(1_000);
      batches.at(-1)?.done(code === 0 ? { code } : { code, error: new Error("503") });
      await time.settle();
    }
    expect(queue.figures()).toEqual({ sent: 2, overflowed: 0, refused: 2, waiting: 0 });
    expect(changes).toEqual([
      [false, "503"],
      [true, ""],
    ]);
  });

  it("sends the rest when the node stops, for two seconds at most (SQ3)", async () => {
    const { time, batches, queue, end, isClosed } = world();
    end(5);
    const stopping = queue.shutdown();
    await time.settle();
    expect(batches.map(({ spans }) => spans.length)).toEqual([5]);
    end(2);
    await time.advance(1_999);
    expect(isClosed()).toBe(false);
    await time.advance(1);
    await stopping;
    expect(isClosed()).toBe(true);
    end(1);
    expect(queue.figures()).toEqual({ sent: 0, overflowed: 1, refused: 2, waiting: 0 });
  });
});
