import { EventEmitter } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { endUnusedThreads, WorkerCalls, WorkerEnded } from "./worker-calls.ts";

interface Order {
  readonly id: number;
  readonly text: string;
}

/** A thread that does what the test says. */
class FakeThread extends EventEmitter {
  readonly posted: Order[] = [];
  readonly told: string[] = [];
  postMessage(order: unknown): void {
    this.posted.push(order as Order);
  }
  ref(): void {
    this.told.push("ref");
  }
  unref(): void {
    this.told.push("unref");
  }
  async terminate(): Promise<void> {
    this.told.push("terminate");
    this.emit("exit");
  }
  answer(id: number): void {
    this.emit("message", { id, text: `answer ${id}` });
  }
}

function world(kept = { isKept: true }) {
  const threads: FakeThread[] = [];
  const calls = new WorkerCalls<Order, Order>(
    "test",
    () => {
      const thread = new FakeThread();
      threads.push(thread);
      return thread;
    },
    kept,
  );
  const call = (text: string): Promise<string> =>
    calls.call((id) => ({ id, text })).then((each) => each.text);
  return { calls, threads, call };
}

describe("calls of a worker thread", () => {
  it("are answered by their numbers, in whatever order (K1)", async () => {
    const { threads, call } = world();
    const answers = [call("a"), call("b")];
    const [thread] = threads;
    expect(thread?.posted.map((each) => each.text)).toEqual(["a", "b"]);
    thread?.answer(2);
    thread?.answer(2);
    thread?.answer(7);
    thread?.answer(1);
    expect(await Promise.all(answers)).toEqual(["answer 1", "answer 2"]);
  });

  it("fail as if it had ended where no thread can be started, and the next call tries again (K1, K2)", async () => {
    let canStart = false;
    const thread = new FakeThread();
    const calls = new WorkerCalls<Order, Order>(
      "test",
      () => {
        if (canStart) return thread;
        throw new Error("no more threads");
      },
      { isKept: true },
    );
    const call = () => calls.call((id) => ({ id, text: "a" }));
    await expect(call()).rejects.toThrow("the test thread could not be started: no more threads");
    canStart = true;
    const answer = call();
    thread.answer(1);
    expect(await answer).toMatchObject({ text: "answer 1" });
  });

  it("keep the process alive while an answer is owed only (K3)", async () => {
    const { threads, call } = world();
    const answers = [call("a"), call("b")];
    const [thread] = threads;
    expect(thread?.told).toEqual(["ref"]);
    thread?.answer(1);
    expect(thread?.told).toEqual(["ref"]);
    thread?.answer(2);
    expect(thread?.told).toEqual(["ref", "unref"]);
    answers.push(call("c"));
    expect(thread?.told).toEqual(["ref", "unref", "ref"]);
    thread?.answer(3);
    await Promise.all(answers);
  });

  it("fail when the thread ends, not before, and start another (K1, K2, K4)", async () => {
    const { calls, threads, call } = world();
    const answered = call("a");
    const lost = [call("b"), call("c")].map((each) => each.catch((error: unknown) => error));
    const cause = new Error("out of memory");
    threads[0]?.emit("error", cause);
    threads[0]?.answer(1);
    expect(await answered).toBe("answer 1");
    expect(threads).toHaveLength(1);
    threads[0]?.emit("exit");
    expect(calls.thread).toBeNull();
    for (const error of await Promise.all(lost)) {
      expect(error).toBeInstanceOf(WorkerEnded);
      expect(error).toMatchObject({ message: "the test thread ended: out of memory", cause });
    }
    const again = call("d");
    expect(threads).toHaveLength(2);
    threads[1]?.answer(4);
    expect(await again).toBe("answer 4");
  });

  it("end a thread whose answer cannot be read", async () => {
    const { threads, call } = world();
    const lost = call("a");
    threads[0]?.emit("messageerror", new Error("unreadable"));
    await expect(lost).rejects.toThrow("the test thread ended: unreadable");
    expect(threads[0]?.told).toEqual(["ref", "terminate"]);
  });

  it("end a thread that nobody used between two looks, and the next call starts another (K5)", async () => {
    const { calls, threads, call } = world({ isKept: false });
    const first = call("a");
    endUnusedThreads();
    endUnusedThreads();
    expect(threads[0]?.told).toEqual(["ref"]);
    threads[0]?.answer(1);
    expect(await first).toBe("answer 1");
    const second = call("b");
    threads[0]?.answer(2);
    await second;
    endUnusedThreads();
    expect(threads[0]?.told).not.toContain("terminate");
    endUnusedThreads();
    expect(threads[0]?.told.at(-1)).toBe("terminate");
    expect(calls.thread).toBeNull();
    endUnusedThreads();
    const again = call("c");
    // Its end is told late, and is none of the next thread.
    threads[0]?.emit("exit");
    threads[1]?.answer(3);
    expect(await again).toBe("answer 3");
  });

  it("keep a thread that has a state of its own (K5)", async () => {
    const { threads, call } = world();
    const first = call("a");
    threads[0]?.answer(1);
    await first;
    for (let looks = 0; looks < 3; looks += 1) endUnusedThreads();
    expect(threads[0]?.told).toEqual(["ref", "unref"]);
  });

  it("are answered by a real thread, and fail when it dies", async () => {
    const source = `const { parentPort } = require("node:worker_threads");
      parentPort.on("message", ({ id, text }) => {
        if (text === "die") process.exit(1);
        parentPort.postMessage({ id, text: text.toUpperCase() });
      });`;
    let starts = 0;
    const calls = new WorkerCalls<Order, Order>(
      "test",
      () => {
        starts += 1;
        return new Worker(source, { eval: true });
      },
      { isKept: true },
    );
    const call = (text: string): Promise<Order> => calls.call((id) => ({ id, text }));
    expect(await Promise.all([call("one"), call("two")])).toMatchObject([{ text: "ONE" }, { text: "TWO" }]);
    await expect(call("die")).rejects.toBeInstanceOf(WorkerEnded);
    expect(await call("three")).toMatchObject({ text: "THREE" });
    expect(starts).toBe(2);
    await calls.thread?.terminate();
  });
});
