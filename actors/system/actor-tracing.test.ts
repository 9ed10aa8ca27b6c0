import { describe, expect, it } from "vitest";
import { parseTraceparent, type SpanAttributes, type Tracer } from "../../std/tracing.ts";
import { rowTable } from "../../storage/actor-store.ts";
import type { Delivery } from "./ports.ts";
import { ask, counter, counterActor, newWorld } from "./world.fixture.ts";

interface Recorded {
  readonly name: string;
  readonly parent: string;
  readonly id: string;
  readonly attributes: SpanAttributes;
  readonly failure: string | undefined;
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

/** Records spans in memory. The trace in which a test asks is set by `as`; work that awaits has none. */
function recorder() {
  const spans: Recorded[] = [];
  let now: string | null = null;
  let count = 0;
  const fresh = (): string => {
    count += 1;
    return `00-${traceId}-${count.toString(16).padStart(16, "0")}-01`;
  };
  const idOf = (text: string): string => parseTraceparent(text)?.spanId ?? text;
  const tracer: Tracer = {
    current: () => now,
    start: (name, parent, { attributes = {} } = {}) => {
      const traceparent = fresh();
      return {
        traceparent,
        traceId,
        end: ({ failure } = {}) =>
          void spans.push({ name, parent: idOf(parent), id: idOf(traceparent), attributes, failure }),
      };
    },
    within: (traceparent, run) => {
      const before = now;
      now = traceparent;
      try {
        return run();
      } finally {
        now = before;
      }
    },
  };
  const root = fresh();
  /** Each span as the names from the root to it. */
  const roads = (): readonly string[] => {
    const byId = new Map(spans.map((span) => [span.id, span]));
    const road = ({ parent, name }: Recorded): string => {
      const above = byId.get(parent);
      return above === undefined
        ? `${parent === idOf(root) ? "root" : "lost"} > ${name}`
        : `${road(above)} > ${name}`;
    };
    return spans.map(road).sort();
  };
  return { tracer, spans, roads, within: <T>(run: () => T) => tracer.within(root, run), root };
}

describe("X1: what a command causes is in its trace", () => {
  it("over a message to another actor", async () => {
    const { system, time } = newWorld();
    const { tracer, roads, within } = recorder();
    const node = system({ tracer });
    await within(() => ask(node, "a", { type: "forward", to: "b", by: 5 }));
    await time.settle();
    expect(roads()).toEqual(["root > counter forward", "root > counter forward > counter add"]);
  });

  it.each([["add"], ["arm"]])(
    "over one that its receiver may join, whether it does or not (%s)",
    async (joins) => {
      const world = newWorld();
      const { tracer, roads, within } = recorder();
      const system = world.system({ tracer, definitions: [{ ...counterActor, joinable: [joins] }] });
      await ask(system, "to", { type: "add", by: 1 });
      await within(() => ask(system, "from", { type: "forward", to: "to", by: 3 }));
      await world.time.advance(10);
      expect(roads()).toEqual(["root > counter forward", "root > counter forward > counter add"]);
    },
  );

  it("over work outside, which asks others in turn, and its answer", async () => {
    const { system, time } = newWorld();
    const { tracer, roads, within } = recorder();
    const work = (_params: unknown, context: { readonly ask: unknown }) => {
      const done = (context.ask as (to: unknown, command: unknown) => Promise<unknown>)(counter("b"), {
        type: "add",
        by: 1,
      });
      return done.then(() => ({ type: "work.done", job: "j" }));
    };
    const node = system({ tracer, activities: { work } });
    await within(() => ask(node, "a", { type: "work", job: "j" }));
    await time.settle();
    expect(await ask(node, "b", { type: "read" })).toMatchObject({ n: 1 });
    expect(roads()).toEqual([
      "root > counter work",
      "root > counter work > counter work",
      "root > counter work > counter work > counter add",
    ]);
  });

  it("over what the answer of that work causes", async () => {
    const { system, time } = newWorld();
    const { tracer, roads, within } = recorder();
    const node = system({ tracer, activities: { work: async () => ({ type: "forward", to: "b", by: 1 }) } });
    await within(() => ask(node, "a", { type: "work", job: "j" }));
    await time.settle();
    expect(roads()).toEqual([
      "root > counter work",
      "root > counter work > counter add",
      "root > counter work > counter work",
    ]);
  });

  it("and what nobody records costs no row a byte, and has no span", async () => {
    const { system, store } = newWorld();
    const { tracer, spans } = recorder();
    const node = system({ tracer, activities: { work: () => new Promise(() => {}) } });
    await ask(node, "a", { type: "work", job: "j" });
    const [row] = await store.readRows(counter("a"), [{ rt: rowTable.outbox, limit: 1 }]);
    expect(Object.keys(JSON.parse(row?.body ?? ""))).toEqual(["a", "p", "t"]);
    expect(spans).toEqual([]);
  });

  it("also if the node ends first, from the outbox row", async () => {
    const { system, time } = newWorld();
    const first = recorder();
    const dead = system({ tracer: first.tracer, activities: { work: () => new Promise(() => {}) } });
    await first.within(() => ask(dead, "a", { type: "work", job: "j" }));
    dead.halt();
    const second = recorder();
    const node = system({ tracer: second.tracer, activities: { work: async () => null } });
    await node.start();
    await time.advance(1_000);
    const [command] = first.spans;
    expect(second.spans).toMatchObject([{ name: "counter work", parent: command?.id }]);
  });

  it("and a row with a text that is no trace has none", async () => {
    const { system, store, time } = newWorld();
    store.intercept = async (call, apply) => {
      for (const row of call.commit?.puts ?? [])
        if (row.rt === rowTable.outbox)
          Object.assign(row, { body: row.body.replace(/"tp":"00/, '"tp":"99') });
      return apply();
    };
    const first = recorder();
    const dead = system({ tracer: first.tracer, activities: { work: () => new Promise(() => {}) } });
    await first.within(() => ask(dead, "a", { type: "work", job: "j" }));
    dead.halt();
    const second = recorder();
    const done: string[] = [];
    const work = async () => {
      done.push("j");
      return null;
    };
    const node = system({ tracer: second.tracer, activities: { work } });
    await node.start();
    await time.advance(1_000);
    expect([done, second.spans]).toEqual([["j"], []]);
  });
});

describe("between nodes", () => {
  it("a question and a message take their trace along", async () => {
    const { system, time } = newWorld();
    const { tracer, within, spans } = recorder();
    const asked: unknown[] = [];
    const delivered: Delivery[] = [];
    const elsewhere = {
      ask: async (_to: unknown, _command: unknown, _timeoutMs: number, traceparent?: string | null) => {
        asked.push(traceparent);
        return 1;
      },
      deliver: async (_to: unknown, _from: string, messages: readonly Delivery[]) => {
        delivered.push(...messages);
        return messages.at(-1)?.seq ?? 0;
      },
    };
    const node = system({ tracer, route: (ref) => (ref.id === "a" ? "local" : elsewhere) });
    const root = tracer.current();
    await within(() => ask(node, "b", { type: "add", by: 1 }));
    await ask(node, "b", { type: "add", by: 1 });
    expect([root, asked[1]]).toEqual([null, null]);
    expect(parseTraceparent(asked[0])).toMatchObject({ traceId });
    await within(() => ask(node, "a", { type: "forward", to: "b", by: 5 }));
    await ask(node, "a", { type: "forward", to: "b", by: 5 });
    await time.settle();
    expect(delivered.map(({ traceparent }) => parseTraceparent(traceparent)?.spanId)).toEqual([
      spans[0]?.id,
      undefined,
    ]);
  });

  it("what arrives with a trace is recorded in it, and a text that is none is not", async () => {
    const { system, time } = newWorld();
    const { tracer, root, roads } = recorder();
    const node = system({ tracer });
    const message = { type: "add", by: 1 };
    await node.askHere(counter("a"), message, 1_000, root);
    await node.askHere(counter("a"), message, 1_000);
    await node.deliver(counter("a"), "counter/b", [
      { seq: 1, message, traceparent: root },
      { seq: 2, message, traceparent: "00-nonsense" },
    ]);
    await time.settle();
    expect(roads()).toEqual(["root > counter add", "root > counter add"]);
  });
});

describe("a span", () => {
  it("says why its command failed, without quoting it, and names only actors whose ids are public (TR3)", async () => {
    const { system } = newWorld();
    const { tracer, within, spans } = recorder();
    const node = system({ tracer });
    await within(() => ask(node, "a", { type: "fail" })).catch(() => {});
    expect(spans).toMatchObject([{ name: "counter fail", failure: "restarting" }]);
    expect(spans[0]?.attributes).toEqual({ "svc.actor.kind": "counter", "svc.command": "fail" });
  });

  it("X2: of a kind that works for many together causes nothing", async () => {
    const { system, time } = newWorld();
    const { tracer, within, roads } = recorder();
    const node = system({ tracer, definitions: [{ ...counterActor, endsTraces: true }] });
    await within(() => ask(node, "a", { type: "forward", to: "b", by: 5 }));
    await time.settle();
    expect(roads()).toEqual(["root > counter forward"]);
  });

  it("X3: of work that fails for long is recorded at first, and when it succeeds", async () => {
    const { system, time } = newWorld();
    const { tracer, within, spans } = recorder();
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      if (attempts <= 20) throw new Error("away");
      return null;
    };
    const node = system({ tracer, activities: { work }, limits: { effectRetryMaxMs: 1_000 } });
    await within(() => ask(node, "a", { type: "work", job: "j" }));
    await time.advance(60_000);
    const tried = spans.filter(({ attributes }) => "svc.attempt" in attributes);
    expect(tried.map(({ attributes, failure }) => [attributes["svc.attempt"], failure])).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => [attempt, "Error"]),
      [21, undefined],
    ]);
  });
});
