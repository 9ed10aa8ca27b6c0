// How one statement reaches the store and its answer returns: what a driver sees of a Cassandra cluster that may be slow,
// refuse, lose a statement, apply it late, or apply it and lose the answer.
//   D1. A statement is executed at one instant, or never; its caller learns of it later, or only gets a time-out.
//   D2. A caller whose life is over learns nothing, whatever happened to its statement.
//   D3. A store within its caller's own process executes nothing once that process is over.

import { StoreError } from "../../storage/actor-store.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";

/** A conditional batch, a read through Paxos, a plain write, or a plain read. */
export type StatementKind = "cas" | "serial" | "write" | "read";

/**
 * How far the replicas took a statement. `full`: as the caller asked. `unseen`: accepted by a majority and not yet
 * committed, so plain reads miss it. `partial`: reached only a minority, so that later statements decide about it.
 */
export type Reach = "full" | "unseen" | "partial";

export type Fate =
  | {
      readonly kind: "answered";
      readonly reach: "full";
      readonly requestMs: number;
      readonly answerMs: number;
    }
  /** The coordinator knows that nothing was done. */
  | { readonly kind: "refused"; readonly requestMs: number }
  /** Never executed; the caller sees a time-out. */
  | { readonly kind: "lost" }
  /** Executed to this reach after `requestMs`, which may be long after the caller gave up. */
  | { readonly kind: "timed_out"; readonly reach: Reach; readonly requestMs: number }
  | { readonly kind: "crash_before" }
  | { readonly kind: "crash_after"; readonly requestMs: number }
  /** Its caller dies while it is in flight, and it takes effect during the next request for the same subject. */
  | { readonly kind: "crash_lurking"; readonly latestMs: number; readonly afterMs: number };

/** What a statement is about, as far as its fate may depend on it. */
export interface Subject {
  /** Conditional statements and serial reads with the same name may interact. */
  readonly name: string;
  /** Whether it commits the receipt of a message from another actor. */
  readonly isHearing?: boolean;
  /** Whether it is a step of the transparency log: a commit of its sequencer, or what that writes. */
  readonly isLogging?: boolean;
}

export interface StoreWeather {
  fate(kind: StatementKind, client: Life, subject: Subject): Fate;
  /** Milliseconds after which a caller gives up. */
  readonly timeoutMs: number;
  /** Whether the store is in its client's own process: work in flight dies and pauses with it. */
  readonly isInProcess?: boolean;
}

export interface Statements {
  run<T>(
    client: Life | null,
    kind: StatementKind,
    execute: (reach: Reach) => T,
    subject?: Subject,
  ): Promise<T>;
}

/** Everything is executed at once and answered: for tests of the model itself. */
export const calmStatements: Statements = {
  run: async (_client, _kind, execute) => execute("full"),
};

export function createStatements(kernel: Kernel, weather: StoreWeather): Statements {
  const lurking = new Lurking(kernel);
  return {
    run: (client, kind, execute, subject = noSubject) =>
      client === null
        ? Promise.resolve(execute("full"))
        : client.isOver
          ? client.never()
          : runStatement({ kernel, weather, client, kind, subject, lurking }, execute),
  };
}

const noSubject: Subject = { name: "" };

/** Statements in flight, until the next serial read of their subject or their latest time. */
class Lurking {
  readonly #kernel: Kernel;
  readonly #bySubject = new Map<string, { readonly afterMs: number; readonly run: () => void }[]>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  add(subject: string, fate: Extract<Fate, { kind: "crash_lurking" }>, execute: () => void): void {
    let isDone = false;
    const run = (): void => {
      if (!isDone) execute();
      isDone = true;
    };
    const known = this.#bySubject.get(subject) ?? [];
    known.push({ afterMs: fate.afterMs, run });
    this.#bySubject.set(subject, known);
    this.#kernel.after(fate.latestMs, "store cas at last", run);
  }

  wake(subject: string): void {
    const woken = this.#bySubject.get(subject);
    if (woken === undefined) return;
    this.#bySubject.delete(subject);
    for (const { afterMs, run } of woken) this.#kernel.after(afterMs, "store cas meets a claim", run);
  }
}

interface Call {
  readonly kernel: Kernel;
  readonly weather: StoreWeather;
  readonly client: Life;
  readonly kind: StatementKind;
  readonly subject: Subject;
  readonly lurking: Lurking;
}

function runStatement<T>(call: Call, execute: (reach: Reach) => T): Promise<T> {
  const { kernel, client, kind } = call;
  const fate = call.weather.fate(kind, client, call.subject);
  switch (fate.kind) {
    case "crash_before":
      client.end();
      return client.never();
    case "crash_after":
      if (call.weather.isInProcess === true) execute("full");
      else kernel.after(fate.requestMs, `store ${kind}`, () => execute("full"));
      client.end();
      return client.never();
    case "crash_lurking":
      call.lurking.add(call.subject.name, fate, () => execute("full"));
      client.end();
      return client.never();
    case "answered":
      return answered(call, fate, execute);
    case "refused":
      return new Promise((_, reject) => {
        const refusal = new StoreError("not_applied", `the store refused a ${kind}`);
        client.after(fate.requestMs, `store refuses ${kind}`, () => reject(refusal));
      });
    case "lost":
    case "timed_out":
      if (fate.kind === "timed_out")
        kernel.after(fate.requestMs, `store ${kind} unheard`, () => execute(fate.reach));
      return new Promise((_, reject) => {
        const timeout = new StoreError("unknown", `a ${kind} timed out`);
        client.after(call.weather.timeoutMs, `store times out`, () => reject(timeout));
      });
  }
}

function answered<T>(
  { kernel, weather, client, kind, subject, lurking }: Call,
  fate: Extract<Fate, { kind: "answered" }>,
  execute: (reach: Reach) => T,
): Promise<T> {
  return new Promise((resolve) => {
    // From here on the statement belongs to the store: it is executed even if its caller dies meanwhile (D2, D3).
    const life = weather.isInProcess === true ? client : null;
    const run = (): void => {
      const result = execute(fate.reach);
      if (kind === "serial") lurking.wake(subject.name);
      if (fate.answerMs === 0 && !client.isAsleep && !client.isOver) resolve(result);
      else client.after(fate.answerMs, `store answers ${kind}`, () => resolve(result));
    };
    kernel.after(fate.requestMs, `store ${kind}`, run, life);
  });
}
