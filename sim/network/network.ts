// Calls between nodes: the port of transport/actor-transport.ts, over links that delay, lose, duplicate and cut.
//   M1. Messages between two actors are delivered in the order in which they were sent; a delivery may come once more at any time,
//       as from a sender that did not hear of its acknowledgement.
//   M2. Every call settles: with the answer, as unreachable once its other end is known to be gone, or by its time-out. The calls of
//       a process that ended settle for nobody.
//   M3. A call is executed once. That callers ask again is up to them: see {@link Network.repeating}.
// What proves a peer's identity (M3 of the port) is not simulated: a message that arrives is from the node that it names.

import { traceparentOf } from "../../std/tracing.ts";
import {
  asRemoteFailure,
  type Delivery,
  type RemoteFailure,
  type RemoteTarget,
  remoteFailure,
  type TransportHandlers,
} from "../../transport/actor-transport.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";
import type { Random } from "../kernel/random.ts";
import type { Faults } from "../world/faults.ts";

/** A node, as others reach it: one incarnation. */
export interface Peer {
  readonly name: string;
  /** The incarnation that answers there now, or null for none. */
  current(): string | null;
  readonly life: Life;
  readonly handlers: TransportHandlers;
}

/** A silent peer is detected within this time. */
const noticedMs = 2_000;
const deliverTimeoutMs = 4_000;
const delayedMaxMs = 800;
const repeatedMaxMs = 3_000;

/** A node that calls others. */
export interface Caller {
  readonly name: string;
  readonly life: Life;
}

/** What one process has under way; `calls` has what fails each of them, by the name of the other node. */
interface Line {
  isClosed: boolean;
  readonly calls: Map<string, Set<(failure: RemoteFailure) => void>>;
}

/** One call as it leaves its node; `run` hands it to the handlers of the other. */
interface Call<T> {
  readonly peer: Peer | null;
  /** The incarnation that it is for; null for whichever is there. */
  readonly incarnation: string | null;
  readonly timeoutMs: number;
  readonly run: (handlers: TransportHandlers) => Promise<T>;
}

export interface NetworkOptions {
  /** Returns the process at an address, or null while there is none. */
  readonly find: (address: string) => Peer | null;
  /** Maximum number of calls under way from one node to another. */
  readonly callsMax?: number;
}

export class Network {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #random: Random;
  readonly #find: (address: string) => Peer | null;
  readonly #callsMax: number;
  readonly #cuts = new Set<string>();
  readonly #lines = new WeakMap<Life, Line>();

  constructor(kernel: Kernel, faults: Faults, random: Random, options: NetworkOptions) {
    this.#find = options.find;
    this.#callsMax = options.callsMax ?? Number.POSITIVE_INFINITY;
    this.#kernel = kernel;
    this.#faults = faults;
    this.#random = random;
  }

  cut(from: string, to: string): void {
    this.#cuts.add(`${from} ${to}`);
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from} ${to}`);
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(`${from} ${to}`);
  }

  /** The node leaves: it calls nobody any more, nobody reaches it, and what it has under way fails. */
  close({ life }: Caller): void {
    const line = this.#lineOf(life);
    line.isClosed = true;
    for (const calls of line.calls.values()) for (const fail of [...calls]) fail(draining("unknown"));
  }

  /** `peer` as seen from a node. */
  target(from: Caller, peer: Peer): RemoteTarget {
    return this.#targetOf(from, () => ({ peer, incarnation: null }));
  }

  /** The node at the address of a member; when a call arrives it must be that incarnation. */
  targetAt(
    from: Caller,
    { address, incarnation }: { readonly address: string; readonly incarnation: string },
  ): RemoteTarget {
    return this.#targetOf(from, () => ({ peer: this.#find(address), incarnation }));
  }

  /** The target as a caller uses it that sometimes asks again, because it lost its patience or its memory of having asked. */
  repeating(from: Caller, target: RemoteTarget): RemoteTarget {
    return {
      ...target,
      ask: (to, command, timeoutMs, traceparent) => {
        // Nonces and Idempotency-Keys count each request; every other command may be repeated (K4).
        if (to.kind !== "integration-key" && this.#faults.meets("message_duplicated")) {
          const again = (): void => void target.ask(to, command, timeoutMs, traceparent).catch(() => {});
          from.life.after(this.#repeatMs(), "asks again", again);
        }
        return target.ask(to, command, timeoutMs, traceparent);
      },
    };
  }

  #targetOf(from: Caller, look: () => Pick<Call<unknown>, "peer" | "incarnation">): RemoteTarget {
    return {
      ask: async (to, command, timeoutMs, traceparent) => {
        const sent = copied(command);
        const trace = traceparentOf(traceparent);
        return this.#call(from, {
          ...look(),
          timeoutMs,
          run: (handlers) => handlers.ask(to, sent(), timeoutMs, trace),
        });
      },
      deliver: async (to, sender, messages) => {
        const sent = copied(messages.map(withTrace));
        const run = (handlers: TransportHandlers): Promise<number> => handlers.deliver(to, sender, sent());
        const call = { ...look(), timeoutMs: deliverTimeoutMs, run };
        this.#duplicate(call);
        return this.#call(from, call);
      },
    };
  }

  #duplicate({ peer, run }: Call<number>): void {
    if (peer === null || !this.#faults.meets("message_duplicated")) return;
    peer.life.after(this.#repeatMs(), "duplicate arrives", () => void run(peer.handlers).catch(() => {}));
  }

  #call<T>(from: Caller, call: Call<T>): Promise<T> {
    if (from.life.isOver) return from.life.never();
    const { isClosed, calls } = this.#lineOf(from.life);
    if (isClosed) return Promise.reject(draining("not_applied"));
    const name = call.peer?.name ?? "";
    const open = calls.get(name) ?? new Set();
    calls.set(name, open);
    if (open.size >= this.#callsMax)
      return Promise.reject(remoteFailure("overloaded", { retryAfterSeconds: 1, effect: "not_applied" }));
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        if (open.delete(fail)) done();
      };
      const fail = (failure: RemoteFailure): void => settle(() => reject(failure));
      open.add(fail);
      const { peer } = call;
      if (peer === null || this.#hasLeft(peer)) {
        from.life.after(1, "no such peer", () => fail(unreachable("not_applied")));
        return;
      }
      this.#watch(from, peer, { timeoutMs: call.timeoutMs, isOpen: () => open.has(fail), fail });
      const answer = (label: string, done: () => void): void => {
        if (this.isCut(peer.name, from.name) || this.#faults.meets("answer_lost")) return;
        from.life.after(this.#delayMs(), label, () => settle(done));
      };
      if (this.isCut(from.name, peer.name) || this.#faults.meets("message_lost")) return;
      peer.life.after(this.#delayMs(), "message arrives", () => {
        if (this.#hasLeft(peer)) return;
        execute(call, peer).then(
          (reply) => answer("answer arrives", () => resolve(reply())),
          (error: unknown) => answer("failure arrives", () => reject(asRemoteFailure(error))),
        );
      });
    });
  }

  /** M2. */
  #watch(
    from: Caller,
    peer: Peer,
    call: {
      readonly timeoutMs: number;
      readonly isOpen: () => boolean;
      readonly fail: (failure: RemoteFailure) => void;
    },
  ): void {
    const kernel = this.#kernel;
    const endMs = kernel.now() + call.timeoutMs;
    const wait = (): void => {
      from.life.after(Math.min(endMs - kernel.now(), noticedMs), "call is watched", look);
    };
    const look = (): void => {
      if (!call.isOpen()) return;
      if (this.#isGone(from.name, peer)) call.fail(unreachable("unknown"));
      else if (endMs <= kernel.now())
        call.fail(remoteFailure("timeout", { retryAfterSeconds: 1, effect: "unknown" }));
      else wait();
    };
    wait();
  }

  #isGone(from: string, peer: Peer): boolean {
    const isCut = this.isCut(from, peer.name) || this.isCut(peer.name, from);
    return this.#hasLeft(peer) || peer.life.isAsleep || isCut;
  }

  #hasLeft({ life }: Peer): boolean {
    return life.isOver || this.#lineOf(life).isClosed;
  }

  #lineOf(life: Life): Line {
    const known = this.#lines.get(life);
    if (known !== undefined) return known;
    const line: Line = { isClosed: false, calls: new Map() };
    this.#lines.set(life, line);
    return line;
  }

  #delayMs(): number {
    if (this.#faults.meets("message_delayed")) return this.#random.between(10, delayedMaxMs);
    return 1 + this.#random.below(3);
  }

  #repeatMs(): number {
    return this.#random.between(1, repeatedMaxMs);
  }
}

/** Runs a call that has arrived. The answer is written before it leaves, so an answer that is no JSON is the handler's fault. */
async function execute<T>({ run, incarnation }: Call<T>, peer: Peer): Promise<() => T> {
  if (incarnation !== null && peer.current() !== incarnation)
    throw remoteFailure("not_here", { retryAfterSeconds: 1, effect: "not_applied" });
  return copied(await run(peer.handlers));
}

function unreachable(effect: "not_applied" | "unknown"): RemoteFailure {
  return remoteFailure("unreachable", { retryAfterSeconds: 1, effect });
}

function draining(effect: "not_applied" | "unknown"): RemoteFailure {
  return remoteFailure("draining", { retryAfterSeconds: 1, effect });
}

function withTrace({ traceparent, ...message }: Delivery): Delivery {
  const trace = traceparentOf(traceparent);
  return trace === null ? message : { ...message, traceparent: trace };
}

/** Writes a value as the wire would, now; each call of the result reads it as another object. */
function copied<T>(value: T): () => T {
  const text = JSON.stringify(value);
  return () => (text === undefined ? value : (JSON.parse(text) as T));
}
