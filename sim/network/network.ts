// Calls between nodes: a port of the actor system, over links that delay, lose, duplicate and cut.
//   M1. Messages between two actors are delivered in the order in which they were sent; a duplicate may come at any time.
//   M2. Every call settles: with the answer, as unreachable once its other end is known to be gone, or by its time-out.

import {
  type ActorRef,
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

export class Network {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #random: Random;
  readonly #cuts = new Set<string>();

  readonly #find: (address: string) => Peer | null;

  /** `find` returns the process at an address, or null while there is none. */
  constructor(kernel: Kernel, faults: Faults, random: Random, find: (address: string) => Peer | null) {
    this.#find = find;
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

  /** `peer` as seen from a node. */
  target(from: { readonly name: string; readonly life: Life }, peer: Peer): RemoteTarget {
    return {
      ask: (to, command, timeoutMs) => {
        const run = (): Promise<unknown> => peer.handlers.ask(to, copy(command), timeoutMs);
        // Nonces and Idempotency-Keys count each request; every other command may be repeated (K4).
        if (to.kind !== "integration-key") this.#duplicate(peer, run);
        return this.#call(from, peer, timeoutMs, run);
      },
      deliver: (to, sender, messages) => this.#deliver(from, peer, { to, sender, messages }),
    };
  }

  /** The node at the address of a member; when a call arrives it must be that incarnation. */
  targetAt(
    from: { readonly name: string; readonly life: Life },
    member: { readonly address: string; readonly incarnation: string },
  ): RemoteTarget {
    const at = (): Peer => {
      const peer = this.#find(member.address);
      if (peer === null || peer.current() !== member.incarnation) throw unreachable("not_applied");
      return peer;
    };
    return {
      ask: async (to, command, timeoutMs) => this.target(from, at()).ask(to, command, timeoutMs),
      deliver: async (to, sender, messages) => this.target(from, at()).deliver(to, sender, messages),
    };
  }

  #deliver(
    from: { readonly name: string; readonly life: Life },
    peer: Peer,
    sent: { readonly to: ActorRef; readonly sender: string; readonly messages: readonly Delivery[] },
  ): Promise<number> {
    const run = (): Promise<number> => peer.handlers.deliver(sent.to, sent.sender, copy(sent.messages));
    this.#duplicate(peer, run);
    return this.#call(from, peer, deliverTimeoutMs, run);
  }

  #duplicate(peer: Peer, run: () => Promise<unknown>): void {
    if (!this.#faults.meets("message_duplicated")) return;
    peer.life.after(this.#random.between(1, 3_000), "duplicate arrives", () => void run().catch(() => {}));
  }

  #call<T>(
    from: { readonly name: string; readonly life: Life },
    peer: Peer,
    timeoutMs: number,
    run: () => Promise<T>,
  ): Promise<T> {
    if (from.life.isOver) return from.life.never();
    const kernel = this.#kernel;
    return new Promise((resolve, reject) => {
      let isOpen = true;
      const startMs = kernel.now();
      const settle = (done: () => void): void => {
        if (isOpen) done();
        isOpen = false;
      };
      const watch = (): void => {
        if (!isOpen) return;
        const leftMs = startMs + timeoutMs - kernel.now();
        if (this.#isGone(from.name, peer)) settle(() => reject(unreachable("unknown")));
        else if (leftMs <= 0)
          settle(() => reject(remoteFailure("timeout", { retryAfterSeconds: 1, effect: "unknown" })));
        else from.life.after(Math.min(leftMs, noticedMs), "call is watched", watch);
      };
      if (peer.life.isOver) {
        from.life.after(1, "no such peer", () => settle(() => reject(unreachable("not_applied"))));
        return;
      }
      from.life.after(Math.min(timeoutMs, noticedMs), "call is watched", watch);
      if (this.isCut(from.name, peer.name) || this.#faults.meets("message_lost")) return;
      const answer = (label: string, done: () => void): void => {
        if (this.isCut(peer.name, from.name) || this.#faults.meets("answer_lost")) return;
        from.life.after(this.#delayMs(), label, () => settle(done));
      };
      peer.life.after(this.#delayMs(), "message arrives", () => {
        run().then(
          (reply) => answer("answer arrives", () => resolve(copy(reply))),
          (error: unknown) => answer("failure arrives", () => reject(asRemoteFailure(error))),
        );
      });
    });
  }

  #isGone(from: string, peer: Peer): boolean {
    return (
      peer.life.isOver || peer.life.isAsleep || this.isCut(from, peer.name) || this.isCut(peer.name, from)
    );
  }

  #delayMs(): number {
    if (this.#faults.meets("message_delayed")) return this.#random.between(10, delayedMaxMs);
    return 1 + this.#random.below(3);
  }
}

function unreachable(effect: "not_applied" | "unknown"): RemoteFailure {
  return remoteFailure("unreachable", { retryAfterSeconds: 1, effect });
}

/** Copies a value as the wire would: as text. */
function copy<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}
