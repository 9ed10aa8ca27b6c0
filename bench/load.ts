// Load over raw sockets: HTTP/1.1, keep-alive, one request in flight per connection, every request prepared beforehand.
// It only writes bytes and finds the end of the answer, so that the client never limits what is measured.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { inLanes, msOf } from "./work.ts";

export interface LoadTarget {
  readonly host: string;
  readonly port: number;
}

/** Sends all requests over `connections`, in order. Rejects at the first answer that is not 200. */
export async function sendAll(
  target: LoadTarget,
  requests: readonly Uint8Array[],
  connections: number,
  /** Called with each answer once it is complete; `index` is that of its request. */
  note: (answer: ReceivedAnswer, index: number) => void = () => {},
) {
  /** Milliseconds of each answer, in the order of the requests. */
  const latenciesMs = new Float64Array(requests.length);
  using pool = new Pool();
  await pool.open(target, connections);
  const exchange = async (index: number): Promise<void> => {
    const sentMs = performance.now();
    const answer = await pool.exchange({ target, bytes: requests[index] ?? new Uint8Array() });
    latenciesMs[index] = performance.now() - sentMs;
    note(answer, index);
  };
  const elapsedMs = await msOf(() => inLanes(connections, requests.length, exchange));
  return { elapsedMs, latenciesMs };
}

/** Sends one request over a connection of its own, and returns the whole answer. */
export async function sendOne(
  target: LoadTarget,
  request: Uint8Array,
): Promise<WholeAnswer & { readonly tookMs: number }> {
  const startedMs = performance.now();
  const connection = await Connection.open(target);
  try {
    const answer = await connection.exchange(request);
    return { status: answer.status, body: answer.body(), tookMs: performance.now() - startedMs };
  } finally {
    connection.close();
  }
}

export interface Addressed {
  readonly target: LoadTarget;
  readonly bytes: Uint8Array;
  /** Requests with the same one follow one another. */
  readonly after?: object;
  /** The status of its answer, if it is not 200. */
  readonly status?: number;
}

/**
 * Sends requests at a steady rate, whether or not the earlier ones are answered, until all are sent or `until` is aborted. One that
 * had to wait counts from when it was due, so that a server that stands still for a while cannot hide it. Returns the milliseconds of
 * each answer, in the order of the requests; rejects if an answer has another status than it should.
 */
export async function sendPaced(
  requests: readonly Addressed[],
  perSecond: number,
  until: AbortSignal | null = null,
): Promise<readonly number[]> {
  using pool = new Pool();
  const last = new Map<object, Promise<unknown>>();
  const startedMs = performance.now();
  const sent: Promise<number>[] = [];
  for (const [index, request] of requests.entries()) {
    const dueMs = startedMs + (index * 1_000) / perSecond;
    await delay(Math.max(0, dueMs - performance.now()));
    if (until?.aborted === true) break;
    const { after = request } = request;
    const each = Promise.resolve(last.get(after))
      .then(() => pool.exchange(request))
      .then(() => performance.now() - dueMs);
    // Reported below, once all are sent.
    each.catch(() => {});
    last.set(after, each);
    sent.push(each);
  }
  return await Promise.all(sent);
}

/** Connections to any servers, opened as they are needed and used again. */
export class Pool implements Disposable {
  readonly #free = new Map<string, Connection[]>();
  readonly #open: Connection[] = [];

  async open(target: LoadTarget, count: number): Promise<void> {
    const opening = Array.from({ length: count }, () => this.#connect(target));
    this.#freeTo(target).push(...(await Promise.all(opening)));
  }

  /** Rejects if the answer has another status than it should. */
  async exchange({ target, bytes, status = 200 }: Addressed): Promise<ReceivedAnswer> {
    const free = this.#freeTo(target);
    const connection = free.pop() ?? (await this.#connect(target));
    const answer = await connection.exchange(bytes);
    if (answer.status !== status) {
      const [line = ""] = Buffer.from(bytes).toString("latin1").split("\r\n", 1);
      throw refused(line, { status: answer.status, body: answer.body() });
    }
    free.push(connection);
    return answer;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#open) connection.close();
  }

  async #connect(target: LoadTarget): Promise<Connection> {
    const connection = await Connection.open(target);
    this.#open.push(connection);
    return connection;
  }

  #freeTo({ host, port }: LoadTarget): Connection[] {
    const name = `${host}:${port}`;
    const free = this.#free.get(name) ?? [];
    this.#free.set(name, free);
    return free;
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
  body(): string;
}

/** Bytes of an answer within which its length must be known. */
const headBytesMax = 64 * 1024;

/** One connection with at most one request in flight. */
export class Connection {
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #waiting: PromiseWithResolvers<ReceivedAnswer> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () =>
      this.#waiting?.reject(new Error("the connection was closed before the answer was complete")),
    );
  }

  static async open({ host, port }: LoadTarget): Promise<Connection> {
    const socket = connect({ host, port, noDelay: true });
    await once(socket, "connect");
    return new Connection(socket);
  }

  exchange(request: Uint8Array): Promise<ReceivedAnswer> {
    this.#waiting = Promise.withResolvers<ReceivedAnswer>();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    try {
      const answer = this.#reader.take(chunk);
      if (answer === null) return;
      if (this.#waiting === null) throw new Error("an answer came that nobody asked for");
      this.#waiting.resolve(answer);
      this.#waiting = null;
    } catch (error) {
      this.#waiting?.reject(error);
      this.close();
    }
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
    if (this.#head === null || this.#received < this.#head.end) return null;
    if (this.#received > this.#head.end) throw new Error("more arrived than the answer is long");
    const { status, bodyStart } = this.#head;
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#received = 0;
    this.#head = null;
    return { status, body: () => Buffer.concat(chunks).toString("utf8", bodyStart) };
  }

  #readHead() {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0 && bytes.length > headBytesMax) throw new Error("the head of an answer does not end");
    if (end < 0) return null;
    const text = bytes.toString("latin1", 0, end);
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    if (status === undefined || length === undefined)
      throw new Error(`an answer without a length: ${text.slice(0, 200)}`);
    return { status: Number(status), bodyStart: end + 4, end: end + 4 + Number(length) };
  }
}
