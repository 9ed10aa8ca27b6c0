// Request bodies: exact bytes, bounded in size, rate and number, read by the handler that wants them and by nothing
// before it.
//   B1. A body must keep arriving: see `bodyTimeMs`.
//   B2. A body that may be long counts towards what the node reads at once, from before it is read until its request is
//       answered. Until it is worked on, it may have to make room for others, and gives it back when its caller is gone.
//   B3. A long body is hashed as it arrives, and is in memory only once if its length was declared.

import { createHash, type Hash, hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Problem, problem } from "../protocol/problem.ts";
import type { Edge, Holding } from "./edge.ts";
import { bodyTimeMs } from "./http-limits.ts";

/** Longer bodies count towards what may be read at once; for shorter ones the limit on connections suffices. */
const freeBytesMax = 16_384;
/** The room reserved at a time for a chunked body. */
const roomBytes = 1_048_576;
const retrySeconds = 2;

export interface BodyLimits {
  readonly bytesMax: number;
  /** The `reason` in the refusal of a longer body, where a route has one of its own. */
  readonly reason?: string;
  readonly edge: Edge;
  /** What tells a body that arrives slowly that others wait for its place. */
  readonly place?: { onLost: () => void };
}

export interface Body {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly sha256: () => Uint8Array;
  /** Must be called once, when the request is answered. */
  readonly release: () => void;
}

export type BodyOutcome = Body | { readonly ok: false; readonly problem: Problem };

const noBytes = new Uint8Array();
const empty: Body = Object.freeze({
  ok: true,
  bytes: noBytes,
  sha256: () => digestOf(noBytes),
  release: () => {},
});

/** Whether a body follows the head (RFC 9112 §6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== "0");
}

/** Null if the length is not declared. */
export function declaredLength({ headers }: IncomingMessage): number | null {
  return headers["content-length"] === undefined ? null : Number(headers["content-length"]);
}

/** The refusal of a body by its declared length alone. */
export function lengthFault(request: IncomingMessage, limits: BodyLimits): Problem | null {
  return (declaredLength(request) ?? 0) > limits.bytesMax ? tooLarge(limits) : null;
}

/**
 * The whole body, available at once if there is none; its bytes count towards the share of `owner`. A body longer than
 * allowed is not read past the limit, and not at all when its length is declared. One that arrives too slowly is
 * abandoned, and so is one for which there is no room, or no longer.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  owner: string,
): BodyOutcome | Promise<BodyOutcome> {
  if (!hasBody(request)) return empty;
  const fault = lengthFault(request, limits);
  if (fault !== null) return { ok: false, problem: fault };
  const { promise, resolve } = Promise.withResolvers<BodyOutcome>();
  new Arrival(request, limits, owner, resolve).begin();
  return promise;
}

class Arrival {
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #resolve: (outcome: BodyOutcome) => void;
  readonly #beganAtMs = performance.now();
  /** The bytes, if their number is known in advance: no part of a long body is held twice. */
  #whole: Buffer | null = null;
  #chunks: Buffer[] = [];
  #length = 0;
  #hash: Hash | null = null;
  readonly #room: Holding;
  #roomLeft = freeBytesMax;
  #timer: NodeJS.Timeout | null = null;
  #isInWork = false;

  constructor(
    request: IncomingMessage,
    limits: BodyLimits,
    owner: string,
    resolve: (outcome: BodyOutcome) => void,
  ) {
    this.#request = request;
    this.#limits = limits;
    this.#room = limits.edge.openBody(owner, () => this.#fail(noRoom()));
    this.#resolve = resolve;
  }

  begin(): void {
    const declared = declaredLength(this.#request);
    const isLong = (declared ?? this.#limits.bytesMax) > freeBytesMax;
    if (isLong && declared !== null) {
      if (!this.#makeRoom(declared)) {
        this.#fail(noRoom());
        return;
      }
      this.#whole = Buffer.allocUnsafeSlow(declared);
    }
    if (isLong) this.#hash = createHash("sha256");
    this.#request
      .on("data", this.#onData)
      .on("end", this.#onEnd)
      .on("error", this.#onLost)
      .on("close", this.#onLost);
    this.#timer = setTimeout(this.#onTime, this.#limits.edge.limits.bodyGraceMs);
    if (this.#limits.place !== undefined) this.#limits.place.onLost = this.#onLate;
  }

  readonly #onData = (chunk: Buffer): void => {
    const end = this.#length + chunk.length;
    if (end > this.#limits.bytesMax) {
      this.#fail(tooLarge(this.#limits));
      return;
    }
    if (end > this.#roomLeft && !this.#makeRoom(Math.max(roomBytes, end - this.#roomLeft))) {
      this.#fail(noRoom());
      return;
    }
    if (this.#whole === null) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.#length);
    this.#hash?.update(chunk);
    this.#length = end;
  };

  readonly #onEnd = (): void => {
    this.#stop();
    this.#room.arrived(() => this.#arrived());
    if (this.#isInWork) return;
    // The request itself is over, so what is left to see is the end of its connection.
    this.#request.socket.once("close", this.#onLost);
    if (this.#limits.place !== undefined) this.#limits.place.onLost = this.#onFull;
  };

  #arrived(): void {
    this.#isInWork = true;
    this.#stop();
    const whole = this.#whole ?? joined(this.#chunks, this.#length);
    // Stripped of Buffer's own behaviour: below this layer bytes are plain.
    const bytes = new Uint8Array(whole.buffer, whole.byteOffset, this.#length);
    const hash = this.#hash;
    const sha256 = (): Uint8Array => (hash === null ? digestOf(bytes) : new Uint8Array(hash.digest()));
    this.#resolve({ ok: true, bytes, sha256, release: this.#room.release });
  }

  readonly #onLost = (): void =>
    this.#fail(problem("request_timeout", "The connection ended before the body did."));

  /** At every moment, as much must have arrived as the time since the grace period requires. */
  readonly #onTime = (): void => {
    const { limits } = this.#limits.edge;
    const leftMs = this.#beganAtMs + bodyTimeMs(limits, this.#length) - performance.now();
    if (leftMs > 0) {
      this.#timer = setTimeout(this.#onTime, Math.ceil(leftMs));
      return;
    }
    this.#onLate();
  };

  readonly #onLate = (): void => {
    this.#limits.edge.refused("slow_bodies");
    this.#fail(problem("request_timeout", "The body did not arrive in time."));
  };

  /** Others wait for the place of what waits for its owner's. */
  readonly #onFull = (): void => {
    this.#limits.edge.refused("bodies");
    this.#fail(noRoom());
  };

  #makeRoom(bytes: number): boolean {
    // A chunked body is assembled at its end, and briefly held twice.
    const copies = declaredLength(this.#request) === null ? 2 : 1;
    if (!this.#room.take(copies * bytes)) return false;
    this.#roomLeft += bytes;
    return true;
  }

  #fail(found: Problem): void {
    this.#stop();
    this.#room.release();
    this.#request.pause();
    this.#resolve({ ok: false, problem: found });
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#request
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onLost)
      .off("close", this.#onLost)
      .socket.off("close", this.#onLost);
  }
}

function joined(chunks: readonly Buffer[], length: number): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}

function tooLarge({ bytesMax, reason }: BodyLimits): Problem {
  const detail = `The body is at most ${bytesMax} bytes.`;
  return problem("record_too_large", detail, reason === undefined ? {} : { reason });
}

/** The refusal of a body for which there is no room now. */
export function noRoom(): Problem {
  const detail = "Too much is being read at once; send the request again later.";
  return problem("unavailable", detail, { reason: "bodies_in_flight", retry_after_seconds: retrySeconds });
}

/** How long a client may take to read an answer that it received before its body was read. */
const lingerMs = 2_000;
/** A declared body of at most this size is read and discarded by the platform, so that the connection can be reused. */
const droppedBytesMax = 65_536;

/** Must be called before an answer that is sent without having looked at the body. */
export function leaveBodyUnread(request: FastifyRequest, reply: FastifyReply): void {
  const { "transfer-encoding": coding, "content-length": length } = request.raw.headers;
  const isShort = coding === undefined && Number(length) <= droppedBytesMax;
  if (hasBody(request.raw) && !isShort) closeUnread(request, reply);
}

/** Must be called before an answer that is sent while the rest of the body is, and will stay, unread. */
export function closeUnread(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("connection", "close");
  endGently(request.raw.socket);
}

/**
 * Must be called before the last answer of a connection on which more may have been sent. Destroying a socket with
 * unread bytes resets the connection, and with it the answer in progress; so the socket is half-closed, nothing more is
 * read from it, and it is destroyed a little later.
 */
export function endGently(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    socket.pause();
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once("close", () => clearTimeout(timer));
  };
}
