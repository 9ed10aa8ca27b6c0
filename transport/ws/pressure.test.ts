// Heavy load: messages that are too large, and queues that grow because the other side reads too slowly.

import { describe, expect, it } from "vitest";
import type { RemoteFailure } from "../actor-transport.ts";
import {
  actor,
  closeAfterEach,
  command,
  echo,
  eventually,
  never,
  openNode,
  openProxy,
  openRaw,
  outcome,
} from "./nodes.fixture.ts";

closeAfterEach();

describe("sizes", () => {
  const limits = { messageBytesMax: 10_000 };

  it("a command that is too large is refused at once, one that just fits is answered", async () => {
    const node = await openNode("b", { limits });
    const target = (await openNode("a", { limits })).target(node.address, "b");
    const envelope = JSON.stringify({ k: "ask", id: 1, to: ["business", "one"], timeout_ms: 5_000 }).length;
    const room = 10_000 - envelope - ',"command":{"type":""}'.length;
    expect(await target.ask(actor, { type: "x".repeat(room) }, 5_000)).toEqual({ type: "x".repeat(room) });
    expect(await outcome(target.ask(actor, { type: "x".repeat(room + 1) }, 5_000))).toBe(
      "refused, not_applied",
    );
    // The limit counts bytes, not characters.
    expect(await outcome(target.ask(actor, { type: "ä".repeat(room / 2 + 1) }, 5_000))).toBe(
      "refused, not_applied",
    );
  });

  it("an answer that is too large is refused there, its effect unknown", async () => {
    const ask = async (): Promise<string> => "x".repeat(10_000);
    const node = await openNode("b", { limits, handlers: { ...echo, ask } });
    const target = (await openNode("a", { limits })).target(node.address, "b");
    expect(await outcome(target.ask(actor, command, 5_000))).toBe("refused, unknown");
    expect(node.logged).toContainEqual(expect.objectContaining({ event: "answer_unfit", peer: "a" }));
  });

  it("a frame over the limit ends the connection that it came on", async () => {
    const node = await openNode("b", { limits });
    const raw = await openRaw(node);
    const closed = new Promise((resolve) => raw.socket.once("close", resolve));
    raw.send([{ k: "later", text: "x".repeat(300_000) }]);
    expect(await closed).toBe(1009);
    await eventually(() => node.stats().callers.length === 0);
  });

  it("many large calls at once are answered, several frames of them", async () => {
    const node = await openNode("b");
    const target = (await openNode("a")).target(node.address, "b");
    const types = Array.from({ length: 60 }, (_, n) => String.fromCharCode(0x2600 + n).repeat(40_000));
    const answers = await Promise.all(types.map((type) => target.ask(actor, { type }, 30_000)));
    expect(answers).toEqual(types.map((type) => ({ type })));
  });
});

describe("M6: back-pressure", () => {
  it("a receiver that takes nothing makes the caller's next call overloaded, and takes up what waited", async () => {
    const node = await openNode("b");
    const proxy = await openProxy(node);
    const limits = { queueCharsMax: 2_000_000, bufferedBytesMax: 100_000, silentBeatsMax: 1_000 };
    const caller = await openNode("a", { limits });
    const target = caller.target(proxy.address, "b");
    expect(await target.ask(actor, command, 5_000)).toEqual(command);
    proxy.stall("to_server");
    const bulk = { type: "x".repeat(200_000) };
    const calls: Promise<unknown>[] = [];
    let refused = "";
    while (refused === "") {
      const call = target.ask(actor, bulk, 30_000);
      calls.push(call);
      call.catch((error: RemoteFailure) => {
        refused = `${error.reason}, ${error.effect}`;
      });
      await new Promise(setImmediate);
    }
    expect(refused).toBe("overloaded, not_applied");
    proxy.heal();
    const outcomes = await Promise.all(calls.map(outcome));
    expect(outcomes.pop()).toBe(refused);
    expect(new Set(outcomes)).toEqual(new Set([`answered ${JSON.stringify(bulk)}`]));
    expect(outcomes.length).toBeGreaterThanOrEqual(10);
  });

  it("R3: a caller that takes no answers is not read any further until it does", async () => {
    const answer = "x".repeat(300_000);
    let executed = 0;
    const ask = async (): Promise<string> => {
      executed += 1;
      return answer;
    };
    const limits = { answersPauseChars: 1_000_000, bufferedBytesMax: 100_000, silentBeatsMax: 1_000 };
    const node = await openNode("b", { handlers: { ...echo, ask }, limits });
    const proxy = await openProxy(node);
    const caller = await openNode("a", { limits });
    const target = caller.target(proxy.address, "b");
    await target.ask(actor, command, 30_000);
    proxy.stall("to_client");
    const calls: Promise<unknown>[] = [];
    while (node.stats().callers[0]?.isPaused !== true) {
      calls.push(target.ask(actor, command, 30_000));
      await new Promise(setImmediate);
    }
    const executedThen = executed;
    const more = Array.from({ length: 20 }, () => target.ask(actor, command, 30_000));
    await eventually(() => caller.stats().peers[0]?.queuedChars === 0);
    expect(executed).toBe(executedThen);
    proxy.heal();
    expect(new Set(await Promise.all([...calls, ...more]))).toEqual(new Set([answer]));
    await eventually(() => node.stats().callers[0]?.isPaused === false);
  });

  it("R3: a caller whose answers go beyond all bounds is given up", async () => {
    const handlers = { ...echo, ask: async (): Promise<string> => "x".repeat(300_000) };
    const node = await openNode("b", {
      handlers,
      limits: { queueCharsMax: 2_000_000, silentBeatsMax: 1_000 },
    });
    const proxy = await openProxy(node);
    const caller = await openNode("a", { limits: { silentBeatsMax: 1_000 } });
    const target = caller.target(proxy.address, "b");
    await target.ask(actor, command, 30_000);
    proxy.stall("to_client");
    const calls = Array.from({ length: 80 }, () => outcome(target.ask(actor, command, 30_000)));
    await eventually(() => node.logged.some(({ detail }) => detail === "slow"));
    proxy.heal();
    expect(new Set(await Promise.all(calls))).toContain("unreachable, unknown");
  });

  it("P3: a caller bounds its calls under way whatever the receiver would take", async () => {
    const node = await openNode("b", { handlers: never });
    const target = (await openNode("a", { limits: { callsMax: 2 } })).target(node.address, "b");
    const calls = [1, 2, 3].map(() => outcome(target.ask(actor, command, 100)));
    expect(await calls[2]).toBe("overloaded, not_applied");
    await Promise.all(calls);
    expect(node.stats().callers[0]?.openCalls ?? 0).toBeLessThanOrEqual(2);
  });

  it("R2: a receiver bounds the calls under way whatever its caller does", async () => {
    const node = await openNode("b", { handlers: never, limits: { callsMax: 2 } });
    const raw = await openRaw(node);
    raw.send([1, 2, 3].map((id) => ({ k: "ask", id, to: ["business", "one"], command, timeout_ms: 100 })));
    await eventually(() => raw.heard.length === 1);
    expect(raw.heard).toMatchObject([{ id: 3, reason: "overloaded", effect: "not_applied" }]);
  });
});
