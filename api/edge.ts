// The resources that peers of a node take up, and their bounds: one instance for all its surfaces.
//   E1. There are never more connections than `connectionsMax`, nor more from one address than
//       `connectionsPerAddressMax`. When one more arrives, the longest-idle connection is closed to make room: of that
//       address, or of the one that has most of those with an idle one. If none is idle, the new connection is closed.
//   E2. The bytes of bodies being read or answered stay below their bounds: a caller beyond them must retry later, and one that
//       holds much gives way to others. Files have places of their own, so bodies of batches never wait for them.
//   E3. The bytes of answers that peers have not taken stay below their bounds: the peer that has waited for longest is
//       disconnected. So is one that takes nothing for `answerStallMs`.
//   E4. What trusted proxies take up counts towards the total, but not towards any address: many callers are behind
//       them.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sourceOf } from "../service/register/source-address.ts";
import { type AddressRange, addressBlock } from "../std/ip-address.ts";
import { createOwnerTurns, type EventLoop, type OwnerTurns } from "../std/work.ts";
import { type Checks, createChecks } from "./checks.ts";
import { type HttpLimits, httpLimitsDefault } from "./http-limits.ts";
import type { Connection } from "./one-at-a-time.ts";

export const edgeRefusals = {
  connections: "Connections refused or ended because there were too many.",
  address_connections: "Connections refused or ended because their address had too many.",
  bodies: "Requests refused or ended because too much was being read, from all callers or from their caller.",
  files: "Bulk files refused or ended because there were too many, of all or of their owner.",
  slow_bodies: "Requests refused because their bodies arrived too slowly or never.",
  unread_answers: "Connections ended because too much was waiting to be read, by all peers or by theirs.",
  stalled_readers: "Connections ended because their peer read nothing of an answer.",
  late_checks: "Checks that anyone may make, refused because their turn did not come in time.",
  excess_checks: "Checks that anyone may make, refused because too many waited.",
} as const;

export type EdgeRefusal = keyof typeof edgeRefusals;

export interface Edge {
  readonly limits: HttpLimits;
  /**
   * The address that a request over this connection comes from (X1 in service/register/source-address.ts); null if it is not
   * known.
   */
  sourceOf(socket: Socket, forwardedFor: string | null): string | null;
  /** How often each bound was reached. */
  readonly refusals: Readonly<Record<EdgeRefusal, number>>;
  /** What is in use now. */
  usage(): EdgeUsage;
  /** Where checks that anyone may make wait for their turn. */
  readonly checks: Checks;
  /** Whose signature is verified next, by address: until then nobody knows whose request it is. */
  readonly signatures: OwnerTurns;
  refused(kind: EdgeRefusal): void;
  /** Admits a connection, if necessary by closing another, or closes it. */
  accept(connection: Connection): void;
  /** A body that takes room as it needs it. `end` is called while it arrives, if others take that room. */
  openBody(owner: string, end: () => void): Holding;
  /** Null if there is no place for a file; otherwise a function that gives it back. `end` is called if another takes it. */
  takeFile(owner: string, end: () => void): (() => void) | null;
  /** Records how much of an answer the peer has not taken yet. */
  owe(response: ServerResponse, bytes: number): void;
}

/** For how long signatures are verified at a stretch. */
const signatureStretchMs = 0.5;
/** Of the bodies that one caller has sent, so much is worked on at once; of longer ones one. */
const bodyBytesInWorkMax = 32 * 1_048_576;

export interface EdgeUsage {
  readonly connections: number;
  readonly bodyBytes: number;
  readonly answerBytes: number;
}

export interface EdgeOptions {
  readonly limits?: Partial<HttpLimits>;
  readonly trustedProxies?: readonly AddressRange[];
  /** The process's own by default. */
  readonly loop?: EventLoop;
}

/** The bounds that all surfaces of a node share (E1 to E4), with the defaults of http-limits.ts. */
export function createEdge(options: EdgeOptions = {}): Edge {
  const { limits: given = {}, trustedProxies = [], loop = platformLoop } = options;
  const limits = { ...httpLimitsDefault, ...given };
  const refusals: Record<EdgeRefusal, number> = {
    connections: 0,
    address_connections: 0,
    bodies: 0,
    files: 0,
    slow_bodies: 0,
    unread_answers: 0,
    stalled_readers: 0,
    late_checks: 0,
    excess_checks: 0,
  };
  const refused = (kind: EdgeRefusal): void => {
    refusals[kind] += 1;
  };
  const peerOf = createPeerReader(trustedProxies);
  const ownerOf = (socket: Socket): string | null => {
    const peer = peerOf(socket);
    return peer === null ? null : addressBlock(peer);
  };
  const connections = new ConnectionPlaces(limits, refused, ownerOf);
  const bodies = new SharedRoom(limits.bodyBytesMax, limits.bodyBytesPerCallerMax, bodyBytesInWorkMax);
  const files = new SharedRoom(limits.filesMax, limits.filesPerOwnerMax);
  const answers = new UnreadAnswers(limits, refused, ownerOf);
  return {
    limits,
    // What a peer that is not a trusted proxy claims in front of it is ignored.
    sourceOf: (socket, forwardedFor) =>
      peerOf(socket) ??
      (forwardedFor === null ? null : sourceOf(socket.remoteAddress, forwardedFor, trustedProxies)),
    refusals,
    usage: () => ({
      connections: connections.count,
      bodyBytes: bodies.total,
      answerBytes: answers.shares.total,
    }),
    refused,
    checks: createChecks(limits, refused, loop),
    signatures: createOwnerTurns(signatureStretchMs, loop),
    accept: (connection) => connections.accept(connection),
    openBody: (owner, end) => openIn(bodies, owner, end, () => refused("bodies")),
    takeFile: (owner, end) => {
      const place = openIn(files, owner, end, () => refused("files"));
      return place.take(1) ? place.release : null;
    },
    owe: (response, bytes) => answers.owe(response, bytes),
  };
}

/** What is opened in a room that counts what it refuses or ends. */
function openIn(room: SharedRoom, owner: string, end: () => void, refused: () => void): Holding {
  const holding = room.open(owner, () => {
    refused();
    end();
  });
  const take = (amount: number): boolean => {
    const isTaken = holding.take(amount);
    if (!isTaken) refused();
    return isTaken;
  };
  return { ...holding, take };
}

/** The peer of a connection, read once: null if it is a trusted proxy, or not known. */
function createPeerReader(trustedProxies: readonly AddressRange[]): (socket: Socket) => string | null {
  const peers = new WeakMap<Socket, string | null>();
  return (socket) => {
    const known = peers.get(socket);
    if (known !== undefined) return known;
    const peer = sourceOf(socket.remoteAddress, null, trustedProxies);
    peers.set(socket, peer);
    return peer;
  };
}

type OwnerOf = (socket: Socket) => string | null;

/** Implements E1. */
class ConnectionPlaces {
  readonly #limits: HttpLimits;
  readonly #refused: (kind: EdgeRefusal) => void;
  readonly #ownerOf: OwnerOf;
  readonly #byOwner = new Map<string | null, Set<Connection>>();
  count = 0;

  constructor(limits: HttpLimits, refused: (kind: EdgeRefusal) => void, ownerOf: OwnerOf) {
    this.#limits = limits;
    this.#refused = refused;
    this.#ownerOf = ownerOf;
  }

  accept(connection: Connection): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    const owner = this.#ownerOf(connection.socket);
    const own = this.#byOwner.get(owner);
    const isBounded = owner !== null && connectionsPerAddressMax > 0;
    if (isBounded && own !== undefined && own.size >= connectionsPerAddressMax) {
      this.#refused("address_connections");
      if (!this.#end(longestIdle(own))) return void connection.socket.destroy();
    } else if (this.count >= connectionsMax) {
      this.#refused("connections");
      if (!this.#end(this.#longestIdleOfMost())) return void connection.socket.destroy();
    }
    this.#enter(owner, connection);
  }

  #enter(owner: string | null, connection: Connection): void {
    const own = this.#byOwner.get(owner) ?? new Set();
    own.add(connection);
    this.#byOwner.set(owner, own);
    this.count += 1;
    connection.socket.once("close", () => this.#leave(owner, connection));
  }

  #leave(owner: string | null, connection: Connection): void {
    const own = this.#byOwner.get(owner);
    if (own?.delete(connection) !== true) return;
    this.count -= 1;
    if (own.size === 0) this.#byOwner.delete(owner);
  }

  /** Of the address that has most of those that have an idle one. */
  #longestIdleOfMost(): Connection | null {
    let found: Connection | null = null;
    let most = 0;
    for (const own of this.#byOwner.values()) {
      const idle = own.size > most ? longestIdle(own) : null;
      if (idle === null) continue;
      found = idle;
      most = own.size;
    }
    return found;
  }

  #end(idle: Connection | null): boolean {
    if (idle === null) return false;
    this.#leave(this.#ownerOf(idle.socket), idle);
    idle.socket.destroy();
    return true;
  }
}

function longestIdle(connections: ReadonlySet<Connection>): Connection | null {
  let longest: Connection | null = null;
  for (const each of connections)
    if (each.isIdle && (longest === null || each.usedAt < longest.usedAt)) longest = each;
  return longest;
}

/** How much of a resource each owner has, and all together. Null counts only towards the total. */
class Shares {
  readonly #byOwner = new Map<string, number>();
  total = 0;

  of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  add(owner: string | null, bytes: number): void {
    this.total += bytes;
    if (owner === null) return;
    const left = this.of(owner) + bytes;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
  }
}

/** Implements E3. */
class UnreadAnswers {
  readonly #limits: HttpLimits;
  readonly #refused: (kind: EdgeRefusal) => void;
  readonly #ownerOf: OwnerOf;
  /** The longest-waiting peer first. */
  readonly #waiting = new Map<Socket, { readonly owner: string | null; readonly bytes: number }>();
  readonly shares = new Shares();

  constructor(limits: HttpLimits, refused: (kind: EdgeRefusal) => void, ownerOf: OwnerOf) {
    this.#limits = limits;
    this.#refused = refused;
    this.#ownerOf = ownerOf;
  }

  owe(response: ServerResponse, bytes: number): void {
    const { socket } = response;
    if (socket === null || this.#waiting.has(socket)) return;
    const owner = this.#ownerOf(socket);
    this.#waiting.set(socket, { owner, bytes });
    this.shares.add(owner, bytes);
    // The platform closes a connection that is inactive for that long, and sets another time-out once the answer has
    // left.
    socket.setTimeout(this.#limits.answerStallMs);
    const stalled = (): void => this.#refused("stalled_readers");
    socket.once("timeout", stalled);
    response.once("close", () => {
      socket.off("timeout", stalled);
      this.#taken(socket);
    });
    this.#makeRoom(owner);
  }

  #taken(socket: Socket): void {
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) return;
    this.#waiting.delete(socket);
    this.shares.add(waiting.owner, -waiting.bytes);
  }

  #makeRoom(owner: string | null): void {
    const { answerBytesMax, answerBytesPerAddressMax } = this.#limits;
    const isOver = (): boolean => owner !== null && this.shares.of(owner) > answerBytesPerAddressMax;
    for (const [socket, waiting] of this.#waiting) {
      if (this.shares.total <= answerBytesMax && !isOver()) return;
      if (this.shares.total <= answerBytesMax && waiting.owner !== owner) continue;
      this.#refused("unread_answers");
      this.#taken(socket);
      socket.destroy();
    }
  }
}

// Room that is shared by what arrives slowly, as its senders like: bytes of bodies, or places of files.
//   SR1. At most `max` is held at once, and `perOwnerMax` by one owner.
//   SR2. Where the room is full, a newcomer gets some of the owner that holds most, as long as that one holds more than the
//        newcomer's owner then will: an owner that holds much gives way while others wait. The youngest of what it has
//        arriving ends, which has lost least. Nothing ends where that would not make room enough.
//   SR3. What has arrived as a whole does not end once it is worked on: at most `inWorkMax` of one owner, or one of its holdings.
//        Until then it waits for those of its owner that came before it, and may have to end as what arrives.
//   SR4. What has to end is told so once, and gives back nothing more.

export interface Holding {
  /** Takes so much more of the room; false if it is not there. */
  take(amount: number): boolean;
  /** It has arrived as a whole. `work` is called, at once or in its turn, when it is to be worked on; then it keeps what it holds until it is released. */
  arrived(work: () => void): void;
  release(): void;
}

interface Held {
  readonly owner: string;
  amount: number;
  isInWork: boolean;
  readonly end: () => void;
}

interface Holder {
  amount: number;
  /** The part of it that is worked on. */
  inWork: number;
  /** What may have to end, the oldest first. */
  readonly arriving: Set<Held>;
  /** What of that has arrived, with its work; the first to come first. */
  readonly waiting: Map<Held, () => void>;
}

export class SharedRoom {
  readonly #max: number;
  readonly #perOwnerMax: number;
  readonly #inWorkMax: number;
  readonly #byOwner = new Map<string, Holder>();
  total = 0;

  constructor(max: number, perOwnerMax: number, inWorkMax = perOwnerMax) {
    this.#max = max;
    this.#perOwnerMax = perOwnerMax;
    this.#inWorkMax = inWorkMax;
  }

  /** Something of an owner that arrives, and holds nothing yet. `end` is called if it has to make room for others. */
  open(owner: string, end: () => void): Holding {
    const held: Held = { owner, amount: 0, isInWork: false, end };
    const arrived = (work: () => void): void => {
      const holder = this.#byOwner.get(owner);
      if (holder === undefined || held.amount === 0) work();
      else {
        holder.waiting.set(held, work);
        this.#beginWork(holder);
      }
    };
    return { take: (amount) => this.#take(held, amount), arrived, release: () => this.#release(held) };
  }

  #beginWork(holder: Holder): void {
    for (const [held, work] of holder.waiting) {
      if (holder.inWork > 0 && holder.inWork + held.amount > this.#inWorkMax) return;
      holder.waiting.delete(held);
      holder.arriving.delete(held);
      holder.inWork += held.amount;
      held.isInWork = true;
      work();
    }
  }

  #take(held: Held, amount: number): boolean {
    const { owner } = held;
    const own = (this.#byOwner.get(owner)?.amount ?? 0) + amount;
    if (own > this.#perOwnerMax) return false;
    const ending = this.#inTheWay(own, this.total + amount - this.#max);
    if (ending === null) return false;
    // None of them begins in the place of another.
    for (const each of ending) this.#byOwner.get(each.owner)?.waiting.delete(each);
    for (const each of ending) this.#release(each);
    const holder = this.#byOwner.get(owner) ?? {
      amount: 0,
      inWork: 0,
      arriving: new Set(),
      waiting: new Map(),
    };
    this.#byOwner.set(owner, holder);
    holder.arriving.add(held);
    holder.amount += amount;
    held.amount += amount;
    this.total += amount;
    for (const { end } of ending) end();
    return true;
  }

  /** What has to end so that as much as is missing becomes free for an owner that will hold `own`; null if it does not. */
  #inTheWay(own: number, missing: number): readonly Held[] | null {
    if (missing <= 0) return [];
    const holders = [...this.#byOwner.values()]
      .filter(({ amount }) => amount > own)
      .map(({ amount, arriving }) => ({ amount, arriving: [...arriving] }));
    const ending: Held[] = [];
    for (let left = missing; left > 0; ) {
      let most: (typeof holders)[number] | null = null;
      for (const each of holders)
        if (each.arriving.length > 0 && each.amount > (most?.amount ?? own)) most = each;
      const youngest = most?.arriving.pop();
      if (most === null || youngest === undefined) return null;
      most.amount -= youngest.amount;
      left -= youngest.amount;
      ending.push(youngest);
    }
    return ending;
  }

  #release(held: Held): void {
    const { owner } = held;
    const holder = this.#byOwner.get(owner);
    if (holder === undefined) return;
    holder.arriving.delete(held);
    holder.waiting.delete(held);
    holder.amount -= held.amount;
    if (held.isInWork) holder.inWork -= held.amount;
    this.total -= held.amount;
    held.amount = 0;
    if (holder.amount === 0) this.#byOwner.delete(owner);
    else this.#beginWork(holder);
  }
}

// The event loop of the process.

export const platformLoop: EventLoop = {
  nowMs: () => performance.now(),
  nextTurn: (run) => void setImmediate(run),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
