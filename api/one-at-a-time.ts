// One request of a connection at a time. The platform parses everything that a read returned, 64 KiB, and dispatches
// every request in it: two thousand answers for one packet, which the peer need not read.
//   O1. A request reaches its handler only when the answer to the previous one has left, or the connection has ended.
//   O2. Meanwhile what the peer sends is not parsed, and no more of it is read than a socket buffers (about 128 KiB).
//   O3. Requests are answered in the order in which they arrived, as RFC 9112 §9.3.2 requires, and none is lost.
//   O4. A request that arrived together with another one gets a turn of the event loop of its own: otherwise answers
//       that are ready at once would follow one another, thousands of them, before any other connection or timer gets
//       its turn.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endGently, hasBody } from "./body.ts";

const headEnd = "\r\n\r\n";
const headEndBytes = Buffer.from(headEnd, "latin1");
const nothing = Buffer.alloc(0);

export interface OneAtATimeOptions {
  /** Receives each connection before anything of it is read. */
  readonly accept?: (connection: Connection) => void;
  /** Maximum number of requests per connection; the answer to the last one says so, and closes it. 0 for no bound. */
  readonly requestsMax?: number;
}

/** Must be called before anything connects. */
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
  // Whatever follows is no longer parsed.
  server.on("connect", (request: IncomingMessage) => connections.get(request.socket)?.leave());
}

let uses = 0;

function nextUse(): number {
  uses += 1;
  return uses;
}

export class Connection {
  readonly socket: Socket;
  /** The platform's own parser: it parses bytes, and emits `request` with the last byte of a head. */
  readonly #parse: (bytes: Buffer) => void;
  readonly #take = (bytes: Buffer): void => this.#takeBytes(bytes);
  #request: IncomingMessage | null = null;
  #isAnswered = false;
  /** The remaining bytes of the request's body, if its length was declared. */
  #bodyBytesLeft = 0;
  /** The last parsed bytes of what has not ended yet: they may contain the beginning of its end. */
  #tail = "";
  #isWaiting = false;
  #requestsLeft: number;
  /** Of two connections, the more recently used one has the higher number. */
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
    // It is emitted once; `once` would cost more.
    response.on("close", () => this.#answered(request));
    this.#requestsLeft -= 1;
    if (this.#requestsLeft > 0) return;
    response.setHeader("connection", "close");
    endGently(this.socket);
  }

  /** Whether no request of this connection is being answered. */
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
    // See O4.
    setImmediate(() => this.socket.resume());
  }

  #takeBytes(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      // After the last answer of a connection nothing counts as a request, and reading stops soon.
      if (!this.socket.writable) {
        this.socket.pause();
        return;
      }
      if (this.#isAnswering()) {
        this.#isWaiting = true;
        // Paused first: bytes that are unshifted into a flowing stream are emitted again at once.
        this.socket.pause();
        this.socket.unshift(rest);
        return;
      }
      const end = this.#bodyBytesLeft > 0 ? this.#endOfBody(rest) : this.#endOfHead(rest);
      // Usually a read returns one request and nothing else.
      const isAll = end === rest.length;
      const part = isAll ? rest : rest.subarray(0, end);
      rest = isAll ? nothing : rest.subarray(end);
      this.#parse(part);
    }
  }

  #isAnswering(): boolean {
    // An answer may leave before the body has arrived: the rest of the body belongs to the same request.
    if (this.#request?.complete !== true) return false;
    if (this.#isAnswered) this.#request = null;
    return !this.#isAnswered;
  }

  #endOfBody(bytes: Buffer): number {
    const end = Math.min(this.#bodyBytesLeft, bytes.length);
    this.#bodyBytesLeft -= end;
    return end;
  }

  /** The position just after the first empty line, which ends heads as well as chunked bodies; otherwise the length. */
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
