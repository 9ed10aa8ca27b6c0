// Nodes and their network in one process, for tests and the simulator: the port of transport/actor-transport.ts without
// sockets, time or randomness of its own. Packets arrive only through `step`, time passes only through `advance`, and
// `fate` decides what happens to each packet: the test or simulator that drives it controls loss, duplication, delay and
// order, and the same decisions produce the same run.
//   N1. Under whatever `fate` does, a call keeps M1–M7 as with the real transport: a duplicated call is executed once,
//       and a call that may have arrived is never `not_applied`.
//   N2. A call that arrives at a closed node, or at one that never existed, is refused at once.

import { traceparentOf } from "../../std/tracing.ts";
import {
  type ActorRef,
  asRemoteFailure,
  type Delivery,
  type RemoteFailure,
  type RemoteFailureReason,
  type RemoteTarget,
  remoteFailure,
  type TransportHandlers,
} from "../actor-transport.ts";

/** A packet in transit. */
export interface Packet {
  /** Sequence number across all packets. */
  readonly id: number;
  /** Incarnations of the sender and the receiver. */
  readonly from: string;
  readonly to: string;
  readonly kind: "ask" | "deliver" | "answer";
  /** The payload as JSON text. */
  readonly text: string;
}

/**
 * What happens to a packet: one number per copy that arrives, which is its delay in milliseconds. `[]` means loss, `[0]`
 * normal delivery, `[0, 30]` an additional copy that arrives later.
 */
export type Fate = (packet: Packet) => readonly number[];

export interface MemoryNode {
  readonly incarnation: string;
  readonly address: string;
  target(address: string, incarnation: string): RemoteTarget;
  /** Ends the node as the loss of its process would: every call from it and to it settles. */
  close(): void;
}

export interface MemoryNodeOptions {
  readonly incarnation: string;
  /** Address of the node; by default the name of the incarnation. */
  readonly address?: string;
  readonly handlers: TransportHandlers;
}

export interface MemoryNetworkOptions {
  readonly fate?: Fate;
  /** Maximum number of calls in flight from one node. */
  readonly callsMax?: number;
  readonly deliverTimeoutMs?: number;
}

interface Call {
  readonly from: string;
  readonly address: string;
  readonly to: string;
  readonly deadlineMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: RemoteFailure) => void;
  /** True once a copy was handed to the other node's handler. */
  isExecuted: boolean;
}

interface Copy {
  readonly packet: Packet;
  readonly dueMs: number;
  readonly arrive: () => void;
}

type Request =
  | {
      readonly kind: "ask";
      readonly to: ActorRef;
      readonly command: { readonly type: string };
      readonly traceparent: string | null;
    }
  | {
      readonly kind: "deliver";
      readonly to: ActorRef;
      readonly from: string;
      readonly messages: readonly Delivery[];
    };

export class MemoryNetwork {
  /** May be replaced at any time; it is called when a packet leaves. */
  fate: Fate;
  readonly #callsMax: number;
  readonly #deliverTimeoutMs: number;
  readonly #nodes = new Map<string, { readonly node: MemoryNode; readonly handlers: TransportHandlers }>();
  readonly #calls = new Set<Call>();
  readonly #cuts = new Set<string>();
  #copies: Copy[] = [];
  #nowMs = 0;
  #packets = 0;

  constructor(options: MemoryNetworkOptions = {}) {
    this.fate = options.fate ?? (() => [0]);
    this.#callsMax = options.callsMax ?? 10_000;
    this.#deliverTimeoutMs = options.deliverTimeoutMs ?? 30_000;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Packets that are due, in the order in which `step` takes them; a packet may appear more than once. */
  get due(): readonly Packet[] {
    return this.#copies.filter(({ dueMs }) => dueMs <= this.#nowMs).map(({ packet }) => packet);
  }

  /** Time of the next automatic event (a delayed packet or a call's time-out), or null if there is none. */
  get nextMs(): number | null {
    const times = [
      ...this.#copies.map(({ dueMs }) => dueMs),
      ...[...this.#calls].map((call) => call.deadlineMs),
    ];
    return times.length === 0 ? null : Math.max(Math.min(...times), this.#nowMs);
  }

  /** Opens a node in this network. A later one at the same address replaces the earlier. */
  open({ incarnation, address = incarnation, handlers }: MemoryNodeOptions): MemoryNode {
    const node: MemoryNode = {
      ...{ incarnation, address },
      target: (at, expected) => this.#target(node, at, expected),
      close: () => this.#close(node),
    };
    this.#nodes.set(address, { node, handlers });
    return node;
  }

  /** Delivers one due packet, the `index`-th of {@link due}. Returns false when there is none. */
  step(index = 0): boolean {
    let left = index;
    const at = this.#copies.findIndex(({ dueMs }) => dueMs <= this.#nowMs && left-- === 0);
    const [copy] = at < 0 ? [] : this.#copies.splice(at, 1);
    copy?.arrive();
    return copy !== undefined;
  }

  /** Delivers everything that is due. Answers may be sent after this returns. */
  run(): void {
    while (this.step());
  }

  /** Advances time: calls whose time-out has passed reject. */
  advance(milliseconds: number): void {
    this.#nowMs += milliseconds;
    for (const call of this.#calls)
      if (call.deadlineMs <= this.#nowMs) this.#fail(call, "timeout", "unknown");
  }

  /** From now on nothing that `from` sends reaches `to` (both are incarnations). */
  cut(from: string, to: string): void {
    this.#cuts.add(pairOf(from, to));
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(pairOf(from, to));
  }

  /** Drops the connections between two incarnations: packets in transit are lost, and every call between them rejects. */
  disconnect(one: string, other: string): void {
    const isBetween = (from: string, to: string): boolean =>
      (from === one && to === other) || (from === other && to === one);
    this.#copies = this.#copies.filter(({ packet }) => !isBetween(packet.from, packet.to));
    for (const call of this.#calls)
      if (isBetween(call.from, call.to)) this.#fail(call, "unreachable", "unknown");
  }

  #close(node: MemoryNode): void {
    if (this.#nodes.get(node.address)?.node === node) this.#nodes.delete(node.address);
    for (const call of this.#calls) {
      if (call.from === node.incarnation) this.#fail(call, "draining", "unknown");
      else if (call.to === node.incarnation) this.#fail(call, "unreachable", "unknown");
    }
  }

  #target(from: MemoryNode, address: string, incarnation: string): RemoteTarget {
    const call = (request: Request, timeoutMs: number): Promise<unknown> =>
      this.#call({ from, address, incarnation, timeoutMs }, request);
    return {
      ask: (to, command, timeoutMs, traceparent = null) =>
        call({ kind: "ask", to: { kind: to.kind, id: to.id }, command, traceparent }, timeoutMs),
      deliver: (to, sender, messages) => {
        const request: Request = {
          ...{ kind: "deliver", to: { kind: to.kind, id: to.id } },
          ...{ from: sender, messages },
        };
        return call(request, this.#deliverTimeoutMs) as Promise<number>;
      },
    };
  }

  #call(
    over: { from: MemoryNode; address: string; incarnation: string; timeoutMs: number },
    request: Request,
  ): Promise<unknown> {
    const { from, address, incarnation, timeoutMs } = over;
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(request);
      if (this.#nodes.get(from.address)?.node !== from) {
        reject(failure("draining", "not_applied"));
        return;
      }
      const open = [...this.#calls].filter((each) => each.from === from.incarnation).length;
      if (open >= this.#callsMax) {
        reject(failure("overloaded", "not_applied"));
        return;
      }
      const deadlineMs = this.#nowMs + timeoutMs;
      const ends = { from: from.incarnation, to: incarnation };
      const call: Call = { ...ends, address, deadlineMs, resolve, reject, isExecuted: false };
      this.#calls.add(call);
      this.#send({ ...ends, kind: request.kind, text }, () => this.#execute(call, text, timeoutMs));
    });
  }

  #execute(call: Call, text: string, timeoutMs: number): void {
    const there = this.#nodes.get(call.address);
    if (there === undefined || there.node.incarnation !== call.to) {
      const reason = there === undefined ? "unreachable" : "not_here";
      this.#fail(call, reason, call.isExecuted ? "unknown" : "not_applied");
      return;
    }
    if (call.isExecuted) return;
    call.isExecuted = true;
    const request = JSON.parse(text) as Request;
    const answer = (content: string, settle: () => void): void => {
      // A node that has gone in the meantime sends nothing more.
      if (this.#nodes.get(call.address) === there)
        this.#send({ from: call.to, to: call.from, kind: "answer", text: content }, settle);
    };
    const answered = this.#handle(there.handlers, request, timeoutMs);
    answered
      .then((value) => JSON.stringify({ value }))
      .then(
        (content) =>
          answer(content, () => this.#resolve(call, (JSON.parse(content) as { value?: unknown }).value)),
        (error: unknown) => {
          const { reason, effect, retryAfterSeconds, message } = asRemoteFailure(error);
          const content = JSON.stringify({ reason, effect, retryAfterSeconds, message });
          answer(content, () => this.#fail(call, reason, effect, { retryAfterSeconds, detail: message }));
        },
      );
  }

  async #handle(handlers: TransportHandlers, request: Request, timeoutMs: number): Promise<unknown> {
    return request.kind === "ask"
      ? handlers.ask(request.to, request.command, timeoutMs, traceparentOf(request.traceparent))
      : handlers.deliver(request.to, request.from, request.messages);
  }

  #send(content: Omit<Packet, "id">, arrive: () => void): void {
    this.#packets += 1;
    const packet: Packet = { id: this.#packets, ...content };
    for (const delayMs of this.fate(packet))
      this.#copies.push({ packet, dueMs: this.#nowMs + delayMs, arrive: () => this.#arrive(packet, arrive) });
    this.#copies.sort((a, b) => a.dueMs - b.dueMs);
  }

  #arrive({ from, to }: Packet, arrive: () => void): void {
    if (!this.#cuts.has(pairOf(from, to))) arrive();
  }

  #resolve(call: Call, value: unknown): void {
    if (this.#calls.delete(call)) call.resolve(value);
  }

  #fail(
    call: Call,
    reason: RemoteFailureReason,
    effect: RemoteFailure["effect"],
    more?: { readonly retryAfterSeconds: number; readonly detail: string },
  ): void {
    if (this.#calls.delete(call)) call.reject(failure(reason, effect, more));
  }
}

function pairOf(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

function failure(
  reason: RemoteFailureReason,
  effect: RemoteFailure["effect"],
  more: { readonly retryAfterSeconds?: number; readonly detail?: string } = {},
): RemoteFailure {
  return remoteFailure(reason, { retryAfterSeconds: 1, ...more, effect });
}
