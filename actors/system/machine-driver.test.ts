import { describe, expect, it } from "vitest";
import { assign, createMachine, emit, enqueueActions, fromPromise, not, raise, sendTo, setup } from "xstate";
import { compare } from "../machines.fixture.ts";
import type { ActorDefinition } from "./definition.ts";
import { isReservedName, MachineDriver } from "./machine-driver.ts";
import { counterActor } from "./world.fixture.ts";

type Config = Parameters<typeof createMachine>[0];

function definition(
  config: Config,
  more: Partial<ActorDefinition> = {},
  delays: Record<string, number> = {},
) {
  const machine = createMachine(config, { delays });
  const plain: ActorDefinition = {
    kind: "kind",
    schemaVersion: 1,
    machine,
    durability: "journal",
    input: () => ({}),
    decide: () => ({}),
    effects: {},
  };
  return { ...plain, ...more };
}

/** Runs `go` in a machine whose only transition has `actions`. */
function actionsOf(actions: unknown, more: Partial<ActorDefinition> = {}) {
  const config = { context: {}, on: { go: { actions } } } as Config;
  const driver = new MachineDriver(definition(config, more));
  driver.next(driver.initial("x"), { type: "go" });
  return driver.takeActions();
}

describe("machines as pure functions", () => {
  it("gives the actions of a transition by name, with their parameters, in order", () => {
    const driver = new MachineDriver(counterActor);
    const initial = driver.initial("x");
    const armed = driver.next(initial, { type: "armed" });
    expect(driver.takeActions()).toEqual([
      {
        kind: "schedule",
        id: "xstate.after.alarm.counter.armed",
        delayMs: 60_000,
        event: { type: "xstate.after.alarm.counter.armed" },
      },
    ]);
    expect(driver.hasActions).toBe(false);
    driver.next(armed, { type: "disarmed" });
    expect(driver.takeActions()).toEqual([{ kind: "cancel", id: "xstate.after.alarm.counter.armed" }]);
    const forwarded = { type: "forwarded", to: "b", by: 2 };
    driver.next(initial, forwarded);
    expect(driver.takeActions()).toEqual([{ kind: "effect", name: "forward", params: { to: "b", by: 2 } }]);
  });

  it("a run changes neither the state before it nor the state of another actor", () => {
    const driver = new MachineDriver(counterActor);
    const one = driver.initial("1");
    const two = driver.initial("2");
    const event = { type: "added", by: 3 };
    const added = driver.next(one, event);
    expect([one.context, two.context, added.context]).toMatchObject([{ n: 0 }, { n: 0 }, { n: 3 }]);
  });

  it("context given as one object is frozen, for it is shared", () => {
    const config: Config = {
      context: { list: [] },
      on: { push: { actions: assign(({ context }) => ({ list: context["list"].concat(1) })) } },
    };
    const driver = new MachineDriver(definition(config));
    const initial = driver.initial("x");
    expect(() => initial.context["list"].push(1)).toThrow(TypeError);
    expect(driver.next(initial, { type: "push" }).context).toEqual({ list: [1] });
  });

  it("reruns after an error as if it had not been", () => {
    const driver = new MachineDriver(counterActor);
    const initial = driver.initial("x");
    expect(() => driver.next(initial, { type: "exploded" })).toThrow("the machine exploded");
    expect(driver.next(initial, { type: "armed" }).value).toBe("armed");
    expect(driver.takeActions()).toHaveLength(1);
  });

  it("an error in the initial state is thrown, not kept as a state", () => {
    const config: Config = {
      context: () => {
        throw new Error("no context");
      },
    };
    expect(() => new MachineDriver(definition(config)).initial("x")).toThrow("no context");
  });

  it("a machine that is done takes no further event, not even at its root", () => {
    const config: Config = {
      context: { n: 0 },
      initial: "a",
      on: { add: { actions: assign(({ context }) => ({ n: context["n"] + 1 })) } },
      states: { a: { on: { end: "z" } }, z: { type: "final" } },
    };
    const driver = new MachineDriver(definition(config));
    const done = driver.next(driver.initial("x"), { type: "end" });
    expect(done.status).toBe("done");
    expect(driver.next(done, { type: "add" })).toBe(done);
    const restored = driver.restore(driver.persist(done), 1);
    expect(restored.status).toBe("done");
  });

  it("tells of its own event whether it was taken, not of one that the machine raised (M5)", () => {
    const config: Config = {
      context: {},
      on: {
        go: { actions: raise({ type: "unheard_of" }) },
        call: { actions: raise({ type: "go" }) },
        mute: {},
      },
    };
    const driver = new MachineDriver(definition(config));
    const initial = driver.initial("x");
    const taken = ["go", "call", "mute", "unheard_of", "go"].map((type) => {
      driver.next(initial, { type });
      return driver.hasTaken;
    });
    expect(taken).toEqual([true, true, false, false, true]);
  });

  it("a machine that never comes to rest is an error", () => {
    const config: Config = {
      initial: "a",
      states: { a: { on: { go: "b" } }, b: { always: "c" }, c: { always: "b" } },
    };
    const driver = new MachineDriver(definition(config));
    expect(() => driver.next(driver.initial("x"), { type: "go" })).toThrow(/more than 1000 microsteps/);
  });

  it("raised events are the machine's own; delayed ones need an id and a delay", () => {
    expect(actionsOf(raise({ type: "other" }))).toEqual([]);
    expect(actionsOf(raise({ type: "other" }, { delay: 5, id: "later" }))).toEqual([
      { kind: "schedule", id: "later", delayMs: 5, event: { type: "other" } },
    ]);
    expect(() => actionsOf(raise({ type: "other" }, { delay: 5 }))).toThrow(/has no id/);
    expect(() => actionsOf(raise({ type: "other" }, { delay: Number.NaN, id: "x" }))).toThrow(/not a number/);
  });

  it.each([
    ["emit", emit({ type: "x" })],
    ["sendTo", sendTo("someone", { type: "x" })],
    ["an effect it does not name, enqueued", enqueueActions(({ enqueue }) => enqueue(emit({ type: "x" })))],
  ])("%s is refused", (_name, action) => {
    expect(() => actionsOf(action)).toThrow(/may not use xstate|Unable to send event/);
  });

  it("history survives a snapshot", () => {
    const config: Config = {
      initial: "on",
      states: {
        on: {
          initial: "x",
          states: { x: { on: { next: "y" } }, y: {}, back: { type: "history" } },
          on: { off: "off" },
        },
        off: { on: { resume: "on.back" } },
      },
    };
    const driver = new MachineDriver(definition(config));
    let snapshot = driver.initial("i");
    for (const type of ["next", "off"]) snapshot = driver.next(snapshot, { type });
    const restored = driver.restore(driver.persist(snapshot), 1);
    expect(driver.next(restored, { type: "resume" }).value).toEqual({ on: "y" });
  });
});

describe("what is refused at registration", () => {
  it.each<[string, Config, RegExp]>([
    ["invoke", { invoke: { src: fromPromise(async () => 1) } }, /invoke nothing/],
    ["an inline function", { entry: () => {} }, /inline function/],
    [
      "an inline function in a nested transition",
      { states: { a: { on: { x: { actions: [() => {}] } } } } },
      /inline/,
    ],
    [
      "an action without an effect",
      { on: { x: { actions: "nameless" } } },
      /nameless is not among the effects/,
    ],
    ["such an action with parameters", { exit: { type: "nameless", params: {} } }, /nameless/],
    ["a delay without a value", { after: { someday: {} } }, /delay someday has no value/],
  ])("%s", (_name, config, message) => {
    const nested = {
      initial: "s",
      states: { s: { ...config, ...(config.states ? { initial: "a" } : {}) } },
    } as Config;
    expect(() => new MachineDriver(definition(nested))).toThrow(message);
  });

  it("a name that is both the machine's own action and an effect", () => {
    const machine = setup({ actions: { both: assign({}) } }).createMachine({ context: {}, entry: "both" });
    const both: ActorDefinition = { ...definition({}), machine, effects: { both: () => [] } };
    expect(() => new MachineDriver(both)).toThrow(/both/);
  });

  it("named delays and actions that have what they need are accepted", () => {
    const config: Config = { initial: "s", states: { s: { after: { soon: "s", 100: "s" }, entry: "ring" } } };
    expect(
      () => new MachineDriver(definition(config, { effects: { ring: () => [] } }, { soon: 5 })),
    ).not.toThrow();
  });
});

describe("reserved names", () => {
  it.each(["xstate.init", "xstate.after.x", "*", "", 5, undefined, null])("%j is reserved", (name) => {
    expect(isReservedName(name)).toBe(true);
  });
  it.each(["xstate", "added", "a.xstate.b"])("%j is not", (name) => {
    expect(isReservedName(name)).toBe(false);
  });
});

// Machines with one event `go`, which adds to `n`, and what else they have to do with it.

const addOne = assign(({ context }) => ({ n: context["n"] + 1 }));
/** Adds what its parameters say. */
const add = assign(({ context }, params: unknown) => ({ n: context["n"] + (params as { by: number }).by }));
const isBelow = ({ context }: { context: Record<string, number> }, params: unknown): boolean =>
  (context["n"] ?? 0) < (params as { max: number }).max;
const context = { n: 0 };
const known = { effects: { ring: () => [] } };
/** What XState is not asked about (M6). */
const shortWays: readonly [string, Config][] = [
  ["an assignment", { context, on: { go: { actions: addOne } } }],
  [
    "an assignment by members",
    { context, on: { go: { actions: assign({ n: ({ event }) => event["by"], m: 5 }) } } },
  ],
  ["an effect", { context, on: { go: { actions: "ring" } } }],
  ["an effect with parameters", { context, on: { go: { actions: { type: "ring", params: { loud: 1 } } } } }],
  [
    "several actions, each of which sees what those before it left",
    {
      context,
      on: {
        go: {
          actions: [
            { type: "ring", params: ({ context: { n } }: { context: { n: number } }) => ({ n }) },
            addOne,
            { type: "add", params: ({ context: { n } }: { context: { n: number } }) => ({ by: n }) },
            { type: "add", params: { by: 2 } },
            { type: "ring", params: ({ context: { n } }: { context: { n: number } }) => ({ n }) },
          ],
        },
      },
    },
  ],
  ["of a state", { context, initial: "a", states: { a: { on: { go: { actions: addOne } } } } }],
  [
    "of one region",
    {
      context,
      type: "parallel",
      states: { a: { on: { go: { actions: addOne } }, tags: "t" }, b: { initial: "c", states: { c: {} } } },
    },
  ],
  [
    "of a root some other state of which has more to say",
    {
      context,
      initial: "a",
      on: { go: { actions: addOne } },
      states: { a: {}, b: { always: "a", on: { go: "a", "*": "a" } } },
    },
  ],
  ["a guard", { context, on: { go: { guard: ({ context: { n } }) => n < 9, actions: addOne } } }],
  [
    "guards by name, the first of which that holds decides",
    {
      context,
      initial: "a",
      states: {
        a: {
          on: {
            go: [
              { guard: "isNever", target: "b" },
              {
                guard: { type: "isBelow", params: { max: 1 } },
                actions: { type: "add", params: { by: 10 } },
              },
              {
                guard: {
                  type: "isBelow",
                  params: ({ event }: { event: { by: number } }) => ({ max: event.by }),
                },
                target: "b",
              },
              { actions: addOne },
            ],
          },
        },
        b: {},
      },
    },
  ],
  [
    "a candidate before which none holds",
    { context, on: { go: [{ actions: addOne }, { actions: "ring" }] } },
  ],
  [
    "a state that overrides its parent, and a parent whose state leaves it the event",
    {
      context,
      initial: "a",
      on: { go: { actions: addOne } },
      states: { a: { on: { go: { guard: ({ context: { n } }) => n === 1, actions: ["ring", addOne] } } } },
    },
  ],
];
/** What only XState answers. */
const longWays: readonly [string, Config][] = [
  ["a guard that does not hold", { context, on: { go: { guard: "isNever", actions: addOne } } }],
  ["a guard that is made of others", { context, on: { go: { guard: not("isNever"), actions: addOne } } }],
  [
    "a guard that is made of others, before one that holds",
    { context, on: { go: [{ guard: not("isNever"), actions: addOne }, { actions: "ring" }] } },
  ],
  [
    "a target",
    { context, initial: "a", states: { a: { on: { go: { target: "b", actions: addOne } } }, b: {} } },
  ],
  [
    "itself as target, which is left and entered",
    { context, initial: "a", states: { a: { entry: "ring", on: { go: { target: "a", reenter: true } } } } },
  ],
  [
    "a state that forbids the event of its parent",
    { context, initial: "a", on: { go: { actions: addOne } }, states: { a: { on: { go: {} } } } },
  ],
  [
    "two regions",
    {
      context,
      type: "parallel",
      states: { a: { on: { go: { actions: addOne } } }, b: { on: { go: { actions: "ring" } } } },
    },
  ],
  [
    "an eventless transition that its context brings about",
    {
      context,
      initial: "a",
      on: { go: { actions: addOne } },
      states: { a: { always: { guard: ({ context: { n } }) => n > 2, target: "b" } }, b: {} },
    },
  ],
  [
    "an eventless transition of its parent",
    {
      context,
      always: { guard: ({ context: { n } }) => n === 2, actions: ["ring", addOne] },
      initial: "a",
      states: { a: { on: { go: { actions: addOne } } } },
    },
  ],
  [
    "a wildcard",
    {
      context,
      initial: "a",
      on: { go: { actions: "ring" } },
      states: { a: { on: { "*": { actions: addOne } } } },
    },
  ],
  [
    "an event that it raises",
    { context, on: { go: { actions: raise({ type: "come" }) }, come: { actions: addOne } } },
  ],
  [
    "actions that are chosen",
    { context, on: { go: { actions: enqueueActions(({ enqueue }) => enqueue(addOne)) } } },
  ],
  ["no action, which forbids the event", { context, on: { go: {} } }],
];

describe("the short way past XState (M6)", () => {
  /** Compares the driver with `transition()`, and returns how often it asked XState. */
  const asked = (config: Config): number => {
    const machine = createMachine(config, { actions: { add }, guards: { isNever: () => false, isBelow } });
    let count = 0;
    const watched = Object.create(machine) as typeof machine;
    watched.transition = (...args) => {
      count += 1;
      return machine.transition(...args);
    };
    const go = { type: "go", by: 7 };
    compare({ ...definition(config, known), machine: watched }, [go, go, go]);
    return count;
  };

  it.each(shortWays)("is taken for %s", (_what, config) => {
    expect(asked(config)).toBe(3);
  });

  it("is that of the states that the machine is in", () => {
    const config: Config = {
      context,
      initial: "a",
      states: {
        a: { on: { go: { actions: addOne }, turn: "b" } },
        b: { on: { go: { actions: { type: "add", params: { by: 10 } } }, turn: "c" } },
        c: { on: { turn: "a", go: "a" } },
      },
    };
    const machine = createMachine(config, { actions: { add } });
    const events = ["go", "go", "turn", "go", "go", "turn", "go", "go", "turn", "turn"].map((type) => ({
      type,
    }));
    compare({ ...definition(config), machine }, [...events, ...events]);
  });

  it.each(longWays)("is not taken for %s", (_what, config) => {
    expect(asked(config)).toBe(6);
  });
});
