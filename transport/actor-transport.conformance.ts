// What every implementation of the port in actor-transport.ts must pass: obligations M1–M8 between two nodes, and over a
// network that duplicates, reorders and drops connections. An adapter's test calls `transportConformance` with its world.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import {
  type ActorRef,
  type Delivery,
  type RemoteFailure,
  type RemoteTarget,
  remoteFailure,
  type TransportHandlers,
} from "./actor-transport.ts";

/** A node of the world under test. */
export interface WorldNode {
  /** The other node as this one reaches it through the world's network. */
  target(of: WorldNode): RemoteTarget;
  /** The node's address and identity, so that a test can name a target that is not there. */
  readonly address: string;
  readonly incarnation: string;
  targetAt(address: string, incarnation: string): RemoteTarget;
  close(): Promise<void>;
}

export interface TransportWorld {
  open(incarnation: string, handlers: TransportHandlers): Promise<WorldNode>;
  /** Lets traffic (and time, where it is simulated) advance until the promise settles. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** From now on each message arrives twice (`double`) or after the one that follows it (`reorder`). */
  disturb(how: "double" | "reorder" | "none"): void;
  /** Drops every connection; new ones may be opened. */
  sever(): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  /** Maximum number of calls in flight from one node to another. */
  readonly callsMax?: number;
}

export function transportConformance(
  name: string,
  openWorld: (options: WorldOptions) => Promise<TransportWorld>,
): void {
  describe(`${name} keeps the contract of a transport`, () => {
    let world: TransportWorld;
    beforeEach(async () => {
      world = await openWorld({});
    });
    afterEach(() => world.close());

    describeCalls(() => world);
    describeEnds(() => world);
    describeDisturbance(() => world);

    it("M6: a call over the bound is refused at once, and the others are answered", async () => {
      await using other = disposable(await openWorld({ callsMax: 4 }));
      const gate = Promise.withResolvers<void>();
      const ask = async (): Promise<string> => {
        await gate.promise;
        return "done";
      };
      const receiver = await other.world.open("b", { ...deaf, ask });
      const target = (await other.world.open("a", deaf)).target(receiver);
      const calls = Array.from({ length: 4 }, () => target.ask(actor, command, 60_000));
      await other.world.until(
        expect(target.ask(actor, command, 60_000)).rejects.toMatchObject({
          reason: "overloaded",
          effect: "not_applied",
        }),
      );
      gate.resolve();
      expect(await other.world.until(Promise.all(calls))).toEqual(["done", "done", "done", "done"]);
    });
  });
}

const actor: ActorRef = { kind: "business", id: "one" };
const command = { type: "do" };

/** Handlers that are expected never to be called. */
const deaf: TransportHandlers = {
  ask: () => Promise.reject(new Error("nobody asked for this")),
  deliver: () => Promise.reject(new Error("nobody delivered this")),
};

function disposable(world: TransportWorld): { readonly world: TransportWorld } & AsyncDisposable {
  return { world, [Symbol.asyncDispose]: () => world.close() };
}

/** Opens two nodes and returns them with the first one's target for the second. */
async function pair(
  world: TransportWorld,
  handlers: Partial<TransportHandlers>,
): Promise<{ readonly target: RemoteTarget; readonly caller: WorldNode; readonly receiver: WorldNode }> {
  const receiver = await world.open("b", { ...deaf, ...handlers });
  const caller = await world.open("a", deaf);
  return { target: caller.target(receiver), caller, receiver };
}

function describeCalls(world: () => TransportWorld): void {
  it("M1: a delivery's messages are handed over together and in order, and the receiver's answer comes back", async () => {
    const heard: unknown[] = [];
    const { target } = await pair(world(), {
      deliver: async (to, from, messages) => {
        heard.push({ to, from, messages });
        return 7;
      },
    });
    const messages: Delivery[] = [3, 7, 9].map((seq) => ({ seq, message: { type: `number ${seq}` } }));
    expect(await world().until(target.deliver(actor, "push/x", messages))).toBe(7);
    expect(heard).toEqual([{ to: actor, from: "push/x", messages }]);
  });

  it("M8: the trace of a call and of a message arrives with it, and what is none does not", async () => {
    const heard: unknown[] = [];
    const { target } = await pair(world(), {
      ask: async (_to, _command, _timeoutMs, given) => void heard.push(given),
      deliver: async (_to, _from, messages) => {
        heard.push(messages[0]?.traceparent);
        return 1;
      },
    });
    const traceparent = `00-${"4bf92f3577b34da6".repeat(2)}-00f067aa0ba902b7-01`;
    await world().until(target.ask(actor, { type: "do" }, 60_000, traceparent));
    await world().until(target.ask(actor, { type: "do" }, 60_000));
    await world().until(target.ask(actor, { type: "do" }, 60_000, "no trace"));
    await world().until(target.deliver(actor, "push/x", [{ seq: 1, message: { type: "do" }, traceparent }]));
    expect(heard).toEqual([traceparent, null, null, traceparent]);
  });

  it("M7: commands and answers cross as plain JSON, and nothing is shared", async () => {
    const asked: unknown[] = [];
    const answer = { text: "ä ☃ \u{1f600} \ud800", list: [1, null, { deep: [true] }] };
    const { target } = await pair(world(), {
      ask: async (_to, given) => {
        asked.push(given);
        return given.type === "nothing" ? undefined : answer;
      },
    });
    const given = { type: "do", gone: undefined, when: new Date(0), nested: { a: 1 } };
    const received = await world().until(target.ask(actor, given, 60_000));
    expect(received).toEqual(answer);
    expect(received).not.toBe(answer);
    expect(asked[0]).toStrictEqual({ type: "do", when: "1970-01-01T00:00:00.000Z", nested: { a: 1 } });
    expect(await world().until(target.ask(actor, { type: "nothing" }, 60_000))).toBeUndefined();
  });

  it("M5: a handler's failure keeps its reason, its effect and when to try again", async () => {
    const failures = [
      remoteFailure("not_here", { retryAfterSeconds: 2, effect: "not_applied" }),
      // Not an instance of the class, but an object with its members.
      Object.assign(new Error("x"), { reason: "quarantined", retryAfterSeconds: 30, effect: "unknown" }),
    ];
    const { target } = await pair(world(), { ask: () => Promise.reject(failures.shift()) });
    await world().until(
      expect(target.ask(actor, command, 60_000)).rejects.toMatchObject({
        name: "Unavailable",
        reason: "not_here",
        retryAfterSeconds: 2,
        effect: "not_applied",
      }),
    );
    await world().until(
      expect(target.ask(actor, command, 60_000)).rejects.toMatchObject({
        name: "Unavailable",
        reason: "quarantined",
        retryAfterSeconds: 30,
        effect: "unknown",
      }),
    );
  });

  it("M5: a bug of a handler, and an answer that is no JSON, are refused with unknown effect", async () => {
    const faults = [
      () => Promise.reject(new TypeError("a bug")),
      () => {
        throw new TypeError("a bug outside a promise");
      },
      async () => 1n,
    ];
    const { target } = await pair(world(), {
      ask: () => faults.shift()?.() ?? Promise.resolve("well again"),
    });
    for (let left = faults.length; left > 0; left -= 1) {
      await world().until(
        expect(target.ask(actor, command, 60_000)).rejects.toMatchObject({
          name: "Unavailable",
          reason: "refused",
          effect: "unknown",
        }),
      );
    }
    expect(await world().until(target.ask(actor, command, 60_000))).toBe("well again");
  });
}

function describeEnds(world: () => TransportWorld): void {
  it("M2: a call that is never answered rejects when its time is over, its effect unknown", async () => {
    const ask = async (_to: ActorRef, { type }: { readonly type: string }): Promise<unknown> =>
      type === "quick" ? "answered" : new Promise(() => {});
    const { target } = await pair(world(), { ask });
    // Make sure that a connection exists: a call that is still waiting for one has not been sent.
    await world().until(target.ask(actor, { type: "quick" }, 60_000));
    await world().until(
      expect(target.ask(actor, command, 100)).rejects.toMatchObject({ reason: "timeout", effect: "unknown" }),
    );
  });

  it("M2, M5: a lost connection rejects every call on it, its effect unknown, and later calls are answered", async () => {
    const begun = Promise.withResolvers<void>();
    let executed = 0;
    const { target } = await pair(world(), {
      ask: (_to, { type }) => {
        if (type === "quick") return Promise.resolve("answered");
        executed += 1;
        if (executed === 3) begun.resolve();
        return new Promise(() => {});
      },
      deliver: () => new Promise(() => {}),
    });
    const calls = [
      ...[1, 2, 3].map(() => target.ask(actor, command, 60_000)),
      target.deliver(actor, "push/x", [{ seq: 1, message: command }]),
    ].map((call) => call.then(String, (error: RemoteFailure) => `${error.reason} ${error.effect}`));
    await world().until(begun.promise);
    world().sever();
    expect(await world().until(Promise.all(calls))).toEqual(Array(4).fill("unreachable unknown"));
    expect(await world().until(target.ask(actor, { type: "quick" }, 60_000))).toBe("answered");
    expect(executed).toBe(3);
  });

  it("M2: closing a node settles the calls that it made and those that were made to it", async () => {
    const begun = Promise.withResolvers<void>();
    let executed = 0;
    const ask = (): Promise<never> => {
      executed += 1;
      if (executed === 2) begun.resolve();
      return new Promise(() => {});
    };
    const receiver = await world().open("b", { ...deaf, ask });
    const other = await world().open("c", { ...deaf, ask });
    const caller = await world().open("a", deaf);
    const outward = caller.target(receiver);
    const settled = [
      outward.ask(actor, command, 60_000).catch((error: RemoteFailure) => error.effect),
      other
        .target(receiver)
        .ask(actor, command, 60_000)
        .catch((error: RemoteFailure) => error.effect),
    ];
    await world().until(begun.promise);
    await world().until(caller.close());
    expect(await world().until(settled[0] as Promise<unknown>)).toBe("unknown");
    await world().until(
      expect(outward.ask(actor, command, 60_000)).rejects.toMatchObject({
        reason: "draining",
        effect: "not_applied",
      }),
    );
    await world().until(receiver.close());
    expect(await world().until(settled[1] as Promise<unknown>)).toBe("unknown");
  });

  it("M3, M5: a node that is not there, and another incarnation at its address, get nothing", async () => {
    let executed = 0;
    const { caller, receiver } = await pair(world(), {
      ask: async () => {
        executed += 1;
      },
    });
    await world().until(
      expect(caller.targetAt(receiver.address, "another").ask(actor, command, 60_000)).rejects.toMatchObject({
        reason: "not_here",
        effect: "not_applied",
      }),
    );
    await world().until(receiver.close());
    await world().until(
      expect(caller.target(receiver).ask(actor, command, 60_000)).rejects.toMatchObject({
        reason: "unreachable",
        effect: "not_applied",
      }),
    );
    expect(executed).toBe(0);
  });
}

function describeDisturbance(world: () => TransportWorld): void {
  const asks = 200;

  it.each(["double", "reorder"] as const)(
    "M4: every call is executed once and gets its own answer: %s",
    async (how) => {
      const executed: number[] = [];
      const { target } = await pair(world(), {
        ask: async (_to, given) => {
          const { n } = given as unknown as { n: number };
          executed.push(n);
          return n * 2;
        },
      });
      await world().until(target.ask(actor, rubbish({ type: "do", n: -1 }), 60_000));
      world().disturb(how);
      const answers: unknown[] = [];
      for (let n = 0; n < asks; n += 20) {
        const some = Array.from({ length: 20 }, (_, index) =>
          target.ask(actor, rubbish({ type: "do", n: n + index }), 60_000),
        );
        answers.push(...(await world().until(Promise.all(some))));
      }
      expect(answers).toEqual(Array.from({ length: asks }, (_, n) => n * 2));
      expect(executed.sort((a, b) => a - b)).toEqual(Array.from({ length: asks + 1 }, (_, n) => n - 1));
    },
  );

  it("M1: what an outbox sends until it is acknowledged counts once and in order, whatever the network does", async () => {
    const counted: number[] = [];
    const { target } = await pair(world(), {
      deliver: async (_to, _from, messages) => {
        for (const { seq } of messages) if (seq > (counted.at(-1) ?? 0)) counted.push(seq);
        return counted.at(-1) ?? 0;
      },
    });
    const waiting = Array.from({ length: 90 }, (_, index) => ({ seq: index + 1, message: command }));
    const disturbances = ["double", "none", "reorder"] as const;
    for (let attempt = 0; waiting.length > 0; attempt += 1) {
      expect(attempt).toBeLessThan(1_000);
      world().disturb(disturbances[attempt % 3] ?? "none");
      const sent = target.deliver(actor, "push/x", waiting.slice(0, 5));
      if (attempt % 4 === 3) world().sever();
      const acknowledged = await world().until(sent.catch(() => 0));
      while ((waiting[0]?.seq ?? Number.POSITIVE_INFINITY) <= acknowledged) waiting.shift();
    }
    expect(counted).toEqual(Array.from({ length: 90 }, (_, index) => index + 1));
  });
}
