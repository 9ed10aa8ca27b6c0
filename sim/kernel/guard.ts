// Detects any nondeterminism in a run. While a world runs, the platform's clocks, randomness and timers throw where
// they are called, and async_hooks records native asynchronous work with the place that started it.
//   G1. A use is a violation of the seed, named by its source (`Date.now`, `Math.random`, `native FSREQCALLBACK` …).
//   G2. The simulator itself uses none of them, so no exceptions are needed.

import { AsyncLocalStorage, createHook } from "node:async_hooks";

/** Thrown where a nondeterministic source is used, so that the code under test fails as close to it as possible. */
export class Nondeterministic extends Error {
  constructor(source: string) {
    super(`${source} was used inside the simulated world`);
    this.name = "Nondeterministic";
  }
}

/** Kinds of work that belong to how promises and the event loop run. */
const innocent: ReadonlySet<string> = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"]);

export interface Guard {
  /** Sources used so far, each with the first line of the stack outside the guard. */
  readonly uses: readonly string[];
  remove(): void;
}

type Patch = { readonly owner: Record<string, unknown>; readonly name: string; readonly source: string };

function patches(): readonly Patch[] {
  const global = globalThis as unknown as Record<string, unknown>;
  const of = (owner: unknown, name: string, source: string): Patch => ({
    owner: owner as Record<string, unknown>,
    name,
    source,
  });
  return [
    of(Date, "now", "Date.now"),
    of(Math, "random", "Math.random"),
    of(global, "setTimeout", "setTimeout"),
    of(global, "setInterval", "setInterval"),
    of(global, "setImmediate", "setImmediate"),
    of(global, "fetch", "fetch"),
    of(performance, "now", "performance.now"),
    of(process, "hrtime", "process.hrtime"),
    of(crypto, "randomUUID", "crypto.randomUUID"),
    of(crypto, "getRandomValues", "crypto.getRandomValues"),
  ];
}

/** Installs the guard. With `nativeWork` it also watches for native asynchronous work, at some cost in speed. */
export function installGuard(options: { readonly nativeWork: boolean }): Guard {
  const uses: string[] = [];
  const complain = (source: string): never => {
    const error = new Nondeterministic(source);
    uses.push(`${source} ${placeOf(error)}`);
    throw error;
  };
  const restores = patches().map(({ owner, name, source }) => {
    const original = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, {
      configurable: true,
      writable: true,
      value: () => complain(source),
    });
    return () => {
      if (original === undefined) delete owner[name];
      else Object.defineProperty(owner, name, original);
    };
  });
  restores.push(guardDate(complain));
  const hook = options.nativeWork ? watchNativeWork(uses) : null;
  return {
    uses,
    remove: () => {
      hook?.disable();
      for (const restore of restores) restore();
    },
  };
}

/** `new Date()` without an argument reads the clock; with one it is pure. */
function guardDate(complain: (source: string) => never): () => void {
  const Original = globalThis.Date;
  const Guarded = new Proxy(Original, {
    construct: (target, given, newTarget) => {
      if (given.length === 0) complain("new Date()");
      return Reflect.construct(target, given, newTarget) as object;
    },
    apply: () => complain("Date()"),
  });
  globalThis.Date = Guarded;
  return () => {
    globalThis.Date = Original;
  };
}

function watchNativeWork(uses: string[]): { disable(): void } {
  // While this storage is active, only the kind of work is recorded; the hook itself must not create any.
  const within = new AsyncLocalStorage<boolean>();
  const hook = createHook({
    init: (_id, type) => {
      if (innocent.has(type) || within.getStore() === true) return;
      within.run(true, () => uses.push(`native ${type} ${placeOf(new Error(type))}`));
    },
  });
  hook.enable();
  return hook;
}

/** The first line of the stack that is not in this file or in the platform. */
function placeOf(error: Error): string {
  const lines = error.stack?.split("\n").slice(1) ?? [];
  const line = lines.find((each) => !each.includes("/kernel/guard.ts") && !each.includes("node:"));
  return line?.trim().replace(/file:\/\/\S*\/(?=[a-z]+\/[^/]*\/?[^/]*:\d)/, "") ?? "";
}
