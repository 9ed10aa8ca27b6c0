// Load over raw sockets: HTTP/1.1, keep-alive, one request in flight per connection, every request prepared beforehand.
// It only writes bytes and finds the end of the answer, so that the client never limits what is measured.

import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { inLanes, msOf } from "./lanes.ts";

export interface LoadTarget {
  readonly host: string;
  readonly port: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly elapsedMs: number;
  /** Milliseconds of each answer, ascending. */
  readonly latenciesMs: Float64Array;
}

/** Sends all requests over `connections`, in order. Rejects at the first answer that is not 200. */
export async function sendAll(
  target: LoadTarget,
  requests: readonly Uint8Array[],
  connections: number,
  /** Called with each answer once it is complete; `index` is that of its request. */
  note: (answer: ReceivedAnswer, index: number) => void = () => {},
): Promise<LoadResult> {
  const latenciesMs = new Float64Array(requests.length);
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(target)));
  const exchange = async (index: number, lane: number): Promise<void> => {
    const sentMs = performance.now();
    const answer = await (open[lane] as Connection).exchange(requests[index] ?? new Uint8Array());
    latenciesMs[index] = performance.now() - sentMs;
    if (answer.status !== 200) throw refused("answer", { status: answer.status, body: answer.body() });
    note(answer, index);
  };
  try {
    const elapsedMs = await msOf(() => inLanes(connections, requests.length, exchange));
    return { requests: requests.length, elapsedMs, latenciesMs: latenciesMs.sort() };
  } finally {
    for (const connection of open) connection.close();
  }
}

/** Sends one request and returns the whole answer. */
export async function sendOne(target: LoadTarget, request: Uint8Array): Promise<WholeAnswer> {
  const connection = await Connection.open(target);
  try {
    const answer = await connection.exchange(request);
    return { status: answer.status, body: answer.body() };
  } finally {
    connection.close();
  }
}

export interface PacedSearches {
  readonly target: LoadTarget;
  readonly requests: readonly Uint8Array[];
  readonly perSecond: number;
  /** No further search is sent once it is aborted. */
  readonly until: AbortSignal | null;
}

/**
 * Sends searches at a steady rate, whether or not the earlier ones are answered. A search that had to wait counts from when it
 * was due, so that a server that stands still for a while cannot hide it. Returns the milliseconds of each answer, ascending;
 * rejects at the first answer that is not 200.
 */
export async function sendPaced({
  target,
  requests,
  perSecond,
  until,
}: PacedSearches): Promise<Float64Array> {
  const free: Connection[] = [];
  const open: Connection[] = [];
  const tookMs: number[] = [];
  const startedMs = performance.now();
  const one = async (request: Uint8Array, dueMs: number): Promise<void> => {
    let connection = free.pop();
    if (connection === undefined) {
      connection = await Connection.open(target);
      open.push(connection);
    }
    const answer = await connection.exchange(request);
    tookMs.push(performance.now() - dueMs);
    if (answer.status !== 200) throw refused("answer", { status: answer.status, body: answer.body() });
    free.push(connection);
  };
  const sent: Promise<void>[] = [];
  try {
    for (const [index, request] of requests.entries()) {
      const dueMs = startedMs + (index * 1_000) / perSecond;
      await delay(Math.max(0, dueMs - performance.now()));
      if (until?.aborted === true) break;
      const each = one(request, dueMs);
      // Reported below, once all are sent.
      each.catch(() => {});
      sent.push(each);
    }
    await Promise.all(sent);
    return Float64Array.from(tookMs).sort();
  } finally {
    for (const connection of open) connection.close();
  }
}

export interface WholeAnswer {
  readonly status: number;
  readonly body: string;
}

/** The error for an answer that ends the run. */
export function refused(what: string, { status, body }: WholeAnswer): Error {
  return new Error(`${what}: ${status} ${body.slice(0, 500)}`);
}

export interface ReceivedAnswer {
  readonly status: number;
  /** The body, decoded on demand. */
  body(): string;
}

/** Bytes of an answer within which its length must be known. */
const headBytesMax = 64 * 1024;

/** One connection with at most one request in flight. */
export class Connection {
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #waiting: { resolve: (answer: ReceivedAnswer) => void; reject: (error: Error) => void } | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () =>
      this.#fail(new Error("the connection was closed before the answer was complete")),
    );
  }

  static open({ host, port }: LoadTarget): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new Connection(socket));
      });
    });
  }

  exchange(request: Uint8Array): Promise<ReceivedAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    try {
      const answer = this.#reader.take(chunk);
      if (answer === null) return;
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting === null) throw new Error("an answer came that nobody asked for");
      waiting.resolve(answer);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      this.close();
    }
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}

/** Finds the end of answers that state their length. Anything else is an error, because then there is nothing to measure. */
export class AnswerReader {
  #chunks: Buffer[] = [];
  #received = 0;
  /** Head of the answer that is arriving; null before it is complete. */
  #head: { readonly status: number; readonly bodyStart: number; readonly end: number } | null = null;

  /** Adds received bytes; returns the answer once it is complete, otherwise null. Throws for any other kind of data. */
  take(chunk: Buffer): ReceivedAnswer | null {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    this.#head ??= this.#readHead();
    const head = this.#head;
    if (head === null || this.#received < head.end) return null;
    if (this.#received > head.end) throw new Error("more arrived than the answer is long");
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#received = 0;
    this.#head = null;
    return {
      status: head.status,
      body: () => Buffer.concat(chunks).toString("utf8", head.bodyStart),
    };
  }

  #readHead(): { status: number; bodyStart: number; end: number } | null {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) {
      if (bytes.length > headBytesMax) throw new Error("the head of an answer does not end");
      return null;
    }
    const text = bytes.toString("latin1", 0, end);
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    if (status === undefined || length === undefined)
      throw new Error(`an answer without a length: ${text.slice(0, 200)}`);
    return { status: Number(status), bodyStart: end + 4, end: end + 4 + Number(length) };
  }
}
