// Actors of other nodes over WebSockets: the port of transport/actor-transport.ts between real processes. The wire format
// is in hello.ts and messages.ts, its limits are in limits.ts, and docs/hardening.md says what nodes prove to each other.
// A connection carries the calls of the node that opened it and their answers, so two nodes that call each other have
// two. It is opened by the first call, and ends when one side leaves or the other falls silent.
//   T1. From a stranger nothing but the handshake is read, and that is bounded in bytes and time (M3).
//   T2. A target names an incarnation. Nothing is sent to another one that answers at its address.
//   T3. Every call settles; a call handed to the platform that gets no answer has unknown effect (M2, M5).
//   T4. A call is executed at most once: the transport never retries it, and recognises a duplicated frame (M4).
//   T5. Everything queued has a bound (M6): see limits.ts.
//   T6. A peer that is silent for `beatMs` × `silentBeatsMax` plus one beat is considered gone.

import { createSecretKey } from "node:crypto";
import type { WebSocket } from "ws";
import {
  asRemoteFailure,
  type RemoteTarget,
  remoteFailure,
  type TransportHandlers,
} from "../actor-transport.ts";
import { Channel, type ChannelEnd, goingAway } from "./channel.ts";
import { type ConnectResult, connect } from "./connect.ts";
import type { NodeIdentity, ProtocolRange } from "./hello.ts";
import { defaultTransportLimits, type TransportLimits } from "./limits.ts";
import { Listener } from "./listener.ts";
import {
  type Ask,
  answerText,
  type Deliver,
  failureText,
  parseCall,
  refusalText,
  type Unfit,
} from "./messages.ts";
import { isTooLong, Peer } from "./peer.ts";
import type {
  CallerStats,
  Established,
  MutualTls,
  NodeSecurity,
  TransportLog,
  TransportStats,
} from "./wire.ts";

export type { NodeIdentity, ProtocolRange } from "./hello.ts";
export type { TransportLimits } from "./limits.ts";
export type { MutualTls, TransportLog, TransportStats } from "./wire.ts";

export interface WsTransportOptions {
  /** Where to listen; port 0 picks any free one. */
  readonly host: string;
  readonly port: number;
  /** Name of the cluster: nodes of another one are refused. */
  readonly cluster: string;
  /** Secret shared by all nodes of the cluster: at least 32 bytes of randomness. Null with `tls`, which identifies nodes. */
  readonly secret: Uint8Array | null;
  /** A second secret that also identifies nodes of the cluster, while the secret changes. */
  readonly alsoAccepted?: Uint8Array | null;
  readonly self: NodeIdentity;
  /** Protocol versions that this node speaks. */
  readonly protocol: ProtocolRange;
  readonly handlers: TransportHandlers;
  readonly log: TransportLog;
  /** Without it the secret authenticates connections and protects their integrity, but they are readable on the network. */
  readonly tls?: MutualTls | null;
  /** The address of the node with that name as this node knows its cluster, or null for an unknown node. */
  readonly addressOf?: (incarnation: string) => string | null;
  readonly limits?: Partial<TransportLimits>;
  /** Monotonic clock in milliseconds; by default the platform's. */
  readonly monotonic?: { nowMs(): number };
}

export interface WsTransport {
  /** `host:port` on which it listens. */
  readonly address: string;
  /** A node as a target of calls. It costs nothing: the connection is opened by the first call. */
  target(address: string, incarnation: string): RemoteTarget;
  /** Performs a handshake with a node and disconnects. Never rejects. */
  greet(address: string, incarnation: string): Promise<"known" | "stranger" | "unknown">;
  stats(): TransportStats;
  /** Settles every call made here, sends the answers that are ready, and closes all connections. */
  close(): Promise<void>;
}

const secretBytesMin = 32;

/** Rejects when the port is not available; throws a RangeError for options that no transport can have. */
export async function openWsTransport(options: WsTransportOptions): Promise<WsTransport> {
  assertOptions(options);
  const { host, port, handlers, log, addressOf = () => null } = options;
  const limits: TransportLimits = { ...defaultTransportLimits, ...options.limits };
  const security = securityOf(options);
  const nowMs = options.monotonic === undefined ? () => performance.now() : options.monotonic.nowMs;
  const peers = new Map<string, Peer>();
  const callers = new Set<Caller>();
  const refused: Record<string, number> = {};
  let duplicates = 0;
  let isClosed = false;
  const admit = (socket: WebSocket, established: Established): void => {
    const onDuplicate = (): void => {
      duplicates += 1;
    };
    const caller = new Caller({ handlers, log, limits, onDuplicate });
    const ended = (why: ChannelEnd): void => {
      callers.delete(caller);
      caller.ended(why);
      const peer = established.peer.incarnation;
      log({ level: why === "closed" ? "info" : "warn", event: "connection_ended", peer, detail: why });
    };
    caller.attach(
      new Channel(socket, established, limits, {
        take: (messages) => caller.take(messages),
        drained: () => caller.drained(),
        ended,
      }),
    );
    callers.add(caller);
  };
  const listener = await Listener.open({
    ...security,
    host,
    port,
    limits,
    admit,
    admitted: () => callers.size,
    addressOf,
    refused: (reason, peer) => {
      refused[reason] = (refused[reason] ?? 0) + 1;
      log({ level: "warn", event: "handshake_refused", peer, detail: reason });
    },
  });
  const peerOf = (address: string, incarnation: string): Peer => {
    const key = `${address} ${incarnation}`;
    const known = peers.get(key);
    if (known !== undefined) return known;
    for (const [other, peer] of peers) if (peer.isForgettable) peers.delete(other);
    const peer = new Peer({ ...security, address, incarnation, limits, log, nowMs });
    if (isClosed) void peer.close();
    else peers.set(key, peer);
    return peer;
  };
  return {
    address: listener.address,
    target: (address, incarnation) => ({
      ask: (to, command, timeoutMs, traceparent) =>
        peerOf(address, incarnation).ask(to, command, timeoutMs, traceparent),
      deliver: (to, from, messages) => peerOf(address, incarnation).deliver(to, from, messages),
    }),
    greet: async (address, incarnation) => {
      const met = Promise.withResolvers<ConnectResult>();
      connect({ ...security, address, incarnation, limits }, met.resolve);
      const result = await met.promise;
      result.socket?.close(goingAway);
      if (result.socket !== null) return "known";
      return result.refused === "stranger" || result.refused === "cluster" ? "stranger" : "unknown";
    },
    stats: () => ({
      peers: [...peers.values()].map((peer) => peer.stats()),
      callers: [...callers].flatMap((caller) => caller.stats() ?? []),
      strangers: listener.strangers,
      refused: { ...refused },
      duplicates,
    }),
    close: async () => {
      isClosed = true;
      const ends = [...peers.values(), ...callers].map((each) => each.close());
      await Promise.all([...ends, listener.close()]);
    },
  };
}

function assertOptions({ protocol, cluster, self }: WsTransportOptions): void {
  const isVersion = (version: number): boolean => Number.isInteger(version) && version >= 1 && version <= 255;
  if (!isVersion(protocol.min) || !isVersion(protocol.max) || protocol.min > protocol.max)
    throw new RangeError("Protocol versions are integers from 1 to 255.");
  for (const name of [cluster, self.incarnation, self.region, self.address])
    if (name.length === 0 || name.length > 256) throw new RangeError("A name has 1 to 256 characters.");
}

/** Either certificates or a secret: with both, one of them would be meaningless. */
function securityOf(options: WsTransportOptions): NodeSecurity {
  const { cluster, self, protocol, secret, alsoAccepted = null, tls = null } = options;
  const introduction = { cluster, self, protocol };
  if (tls !== null) {
    if (secret !== null || alsoAccepted !== null)
      throw new RangeError("A cluster whose nodes have certificates has no secret.");
    return { tls, credentials: introduction };
  }
  if (secret === null || [secret, alsoAccepted ?? secret].some((each) => each.length < secretBytesMin))
    throw new RangeError(`A cluster's secret has at least ${secretBytesMin} bytes.`);
  const also = alsoAccepted === null ? null : createSecretKey(alsoAccepted);
  const credentials = { ...introduction, secret: createSecretKey(secret), alsoAccepted: also };
  return { tls, credentials };
}

// Which calls of a connection were already received, so that a frame that the network duplicated is executed once. Call ids
// of a connection only grow, so a window below the highest is enough: an id older than the window counts as seen. This
// never executes anything twice; the caller of such a call runs into its time-out.

export const seenWindow = 65_536;

export class SeenCalls {
  readonly #bits = new Uint32Array(seenWindow / 32);
  #highest = 0;

  /** Records a call id (a positive integer). Returns false when it was recorded before, or may have been. */
  add(id: number): boolean {
    if (id <= this.#highest - seenWindow) return false;
    if (id > this.#highest) this.#moveTo(id);
    const slot = id % seenWindow;
    const [word, bit] = [slot >>> 5, 1 << (slot & 31)];
    const bits = this.#bits[word] ?? 0;
    if ((bits & bit) !== 0) return false;
    this.#bits[word] = bits | bit;
    return true;
  }

  #moveTo(id: number): void {
    if (id - this.#highest >= seenWindow) this.#bits.fill(0);
    else {
      for (let next = this.#highest + 1; next <= id; next += 1) {
        const slot = next % seenWindow;
        this.#bits[slot >>> 5] = (this.#bits[slot >>> 5] ?? 0) & ~(1 << (slot & 31));
      }
    }
    this.#highest = id;
  }
}

// A node that calls this one: each of its calls is executed once, and answered over the connection on which it came.
//   R1. A call that arrives twice is executed once (M4).
//   R2. Calls in flight are bounded; one more is answered with `overloaded`, not applied.
//   R3. While too many answers are queued nothing is read, so the caller runs into its own bound. A caller whose
//       answers exceed the bound for everything queued is disconnected.
//   R4. Whatever a handler throws becomes an answer; what is not a failure of the port is logged, because it is a bug here.

export interface CallerOptions {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  readonly log: TransportLog;
  /** Called for each duplicate call. */
  readonly onDuplicate: () => void;
}

class Caller {
  readonly #options: CallerOptions;
  readonly #seen = new SeenCalls();
  #channel: Channel | null = null;
  #openCalls = 0;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Must be called once, before any message is taken. */
  attach(channel: Channel): void {
    this.#channel = channel;
  }

  stats(): CallerStats | null {
    const channel = this.#channel;
    if (channel === null) return null;
    const { peer, protocol, queuedChars, isPaused } = channel;
    return { ...peer, protocol, openCalls: this.#openCalls, queuedChars, isPaused };
  }

  take(messages: readonly unknown[]): void {
    for (const message of messages) {
      const call = parseCall(message);
      if (call === null) continue;
      if (this.#seen.add(call.id)) this.#begin(call);
      else this.#options.onDuplicate();
    }
  }

  drained(): void {
    const channel = this.#channel;
    if (channel === null || !channel.isPaused) return;
    if (channel.queuedChars <= this.#options.limits.answersPauseChars / 2) channel.resume();
  }

  ended(_why: ChannelEnd): void {
    this.#channel = null;
  }

  close(): Promise<void> {
    return this.#channel?.close() ?? Promise.resolve();
  }

  #begin(call: Ask | Deliver | Unfit): void {
    if (call.kind === "unfit") {
      this.#send(refusalText(call.id, call.fault));
      return;
    }
    if (this.#openCalls >= this.#options.limits.callsMax) {
      const failure = remoteFailure("overloaded", { retryAfterSeconds: 1, effect: "not_applied" });
      this.#send(failureText(call.id, failure));
      return;
    }
    this.#openCalls += 1;
    this.#execute(call).then(
      (value) => this.#answer(call.id, value),
      (error: unknown) => this.#fail(call.id, error),
    );
  }

  /** A handler that throws synchronously is treated like one that rejects. */
  async #execute(call: Ask | Deliver): Promise<unknown> {
    const { handlers } = this.#options;
    return call.kind === "ask"
      ? handlers.ask(call.to, call.command, call.timeoutMs, call.traceparent)
      : handlers.deliver(call.to, call.from, call.messages);
  }

  #answer(id: number, value: unknown): void {
    this.#openCalls -= 1;
    const { limits, log } = this.#options;
    const peer = this.#channel?.peer.incarnation ?? "";
    let text: string;
    try {
      text = answerText(id, value);
      if (isTooLong(text, limits.messageBytesMax))
        throw new RangeError(`an answer of more than ${limits.messageBytesMax} bytes`);
    } catch (error) {
      const failure = asRemoteFailure(error);
      log({ level: "error", event: "answer_unfit", peer, detail: failure.message });
      text = failureText(id, failure);
    }
    this.#send(text);
  }

  #fail(id: number, error: unknown): void {
    this.#openCalls -= 1;
    const failure = asRemoteFailure(error);
    // An error without a reason of its own is not one of the failures that a handler may answer with.
    if (failure !== error && failure.reason === "refused") {
      const peer = this.#channel?.peer.incarnation ?? "";
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.log({ level: "error", event: "call_crashed", peer, detail });
    }
    this.#send(failureText(id, failure));
  }

  #send(text: string): void {
    const channel = this.#channel;
    if (channel === null) return;
    const { limits } = this.#options;
    channel.send({ text, sent: false });
    if (channel.queuedChars > limits.queueCharsMax) channel.abort("slow");
    else if (channel.queuedChars > limits.answersPauseChars && !channel.isPaused) channel.pause();
  }
}
