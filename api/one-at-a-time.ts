// One request of a connection at a time. The platform parses all that a read brought, 64 KiB, and hands over every request
// in it: two thousand answers for one packet, which the peer need not read.
//   O1. A request reaches its handler only when the answer of the one before it has left, or the connection has ended.
//   O2. Meanwhile what the peer sends is not parsed, and no more of it is read than a socket buffers (about 128 KiB).
//   O3. Requests are answered in the order in which they came, as RFC 9112 §9.3.2 demands, and none is lost.
//   O4. A request that came together with another one has a turn of the event loop of its own: answers that are ready at
//       once would else follow one another, thousands of them, before any other connection or timer has its turn.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endGently, hasBody } from "./body.ts";

const headEnd = "\r\n\r\n";
const headEndBytes = Buffer.from(headEnd, "latin1");
const nothing = Buffer.alloc(0);

export interface OneAtATimeOptions {
  /** Is told each connection before anything of it is read. */
  readonly accept?: (connection: Connection) => void;
  /** The answer to a connection's last request says so, and ends it; 0 for no bound. */
  readonly requestsMax?: number;
}

/** To be called before anything connects. */
export function serveOneAtATime(server: Server, options: OneAtATimeOptions = {}): void {
  const { accept = () => {}, requestsMax = 0 } = options;
  const connections = new WeakMap<Socket, Connection>();
  server.on("connection", (socket) => {
    const connection = new Connection(socket, requestsMax);
    connections.set(socket, connection);
    accept(connection);
  });
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) =>
    connections.get(request.socket)?.begin(request, response),
  );
  // Whatever follows is not parsed any more.
  server.on("connect", (request: IncomingMessage) => connections.get(request.socket)?.leave());
}

let uses = 0;

function nextUse(): number {
  uses += 1;
  return uses;
}

export class Connection {
  readonly socket: Socket;
  /** The platform's own: parses bytes, and emits `request` with the last byte of a head. */
  readonly #parse: (bytes: Buffer) => void;
  readonly #take = (bytes: Buffer): void => this.#takeBytes(bytes);
  #request: IncomingMessage | null = null;
  #isAnswered = false;
  /** Of the request's body, where its length was declared. */
  #bodyBytesLeft = 0;
  /** The last bytes that were parsed of what has not ended yet: its end may have begun in them. */
  #tail = "";
  #isWaiting = false;
  #requestsLeft: number;
  /** Of two connections the one that was used later has the higher number. */
  usedAt = nextUse();

  constructor(socket: Socket, requestsMax: number) {
    const [parse, ...others] = socket.listeners("data");
    if (parse === undefined || others.length > 0) throw new Error("The platform parses in another way.");
    this.socket = socket;
    this.#requestsLeft = requestsMax === 0 ? Number.POSITIVE_INFINITY : requestsMax;
    this.#parse = parse as (bytes: Buffer) => void;
    socket.removeListener("data", this.#parse);
    socket.on("data", this.#take);
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request;
    this.#isAnswered = false;
    this.#bodyBytesLeft = hasBody(request) ? Number(request.headers["content-length"] ?? 0) : 0;
    // It comes once; to listen for one time would cost more.
    response.on("close", () => this.#answered(request));
    this.#requestsLeft -= 1;
    if (this.#requestsLeft > 0) return;
    response.setHeader("connection", "close");
    endGently(this.socket);
  }

  /** Whether no request of it is being answered. */
  get isIdle(): boolean {
    return this.#request === null || this.#isAnswered;
  }

  leave(): void {
    this.socket.removeListener("data", this.#take);
  }

  #answered(request: IncomingMessage): void {
    if (this.#request !== request) return;
    this.#isAnswered = true;
    this.usedAt = nextUse();
    if (!this.#isWaiting || !this.socket.writable) return;
    this.#isWaiting = false;
    // O4.
    setImmediate(() => this.socket.resume());
  }

  #takeBytes(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      // Behind the last answer of a connection nothing is a request, and nothing is read for long.
      if (!this.socket.writable) {
        this.socket.pause();
        return;
      }
      if (this.#isAnswering()) {
        this.#isWaiting = true;
        // Paused first: bytes that are put back to a stream that flows come again at once.
        this.socket.pause();
        this.socket.unshift(rest);
        return;
      }
      const end = this.#bodyBytesLeft > 0 ? this.#endOfBody(rest) : this.#endOfHead(rest);
      // Most often a read brings one request and nothing else.
      const isAll = end === rest.length;
      const part = isAll ? rest : rest.subarray(0, end);
      rest = isAll ? nothing : rest.subarray(end);
      this.#parse(part);
    }
  }

  #isAnswering(): boolean {
    // An answer may leave before the body has come: what is left of that belongs to the same request.
    if (this.#request?.complete !== true) return false;
    if (this.#isAnswered) this.#request = null;
    return !this.#isAnswered;
  }

  #endOfBody(bytes: Buffer): number {
    const end = Math.min(this.#bodyBytesLeft, bytes.length);
    this.#bodyBytesLeft -= end;
    return end;
  }

  /** Just behind the first empty line, with which heads end, and bodies in chunks as well; else all. */
  #endOfHead(bytes: Buffer): number {
    const seam =
      this.#tail === ""
        ? -1
        : `${this.#tail}${bytes.toString("latin1", 0, headEnd.length - 1)}`.indexOf(headEnd);
    const at = seam < 0 ? bytes.indexOf(headEndBytes) : seam - this.#tail.length;
    if (at < 0 && seam < 0) {
      const last = bytes.toString("latin1", Math.max(0, bytes.length - (headEnd.length - 1)));
      this.#tail = `${this.#tail}${last}`.slice(1 - headEnd.length);
      return bytes.length;
    }
    this.#tail = "";
    return at + headEnd.length;
  }
}
