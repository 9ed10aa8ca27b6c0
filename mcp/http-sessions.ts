// The sessions of the protocol's earlier era over HTTP: opened by `initialize`, named by Mcp-Session-Id, ended by DELETE or
// by time.
//   N1. There are at most `sessionsMax`; one more is refused unless one of them has been idle for `yieldMs`, which ends then.
//   N2. A session without a request for `idleMs` ends.

import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { ToolServer } from "./server.ts";

export const sessionsMax = 64;
export const idleMs = 1_800_000;
/** A client that comes back after this time to a session that made room opens another. */
export const yieldMs = 60_000;
const sweepMs = 60_000;

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAtMs: number;
}

export class HttpSessions {
  readonly #server: ToolServer;
  readonly #now: () => number;
  readonly #sessions = new Map<string, Session>();
  readonly #sweeper: NodeJS.Timeout;
  /** Sessions that are being opened: they are among those that there may be (N1). */
  #opening = 0;

  constructor(server: ToolServer, now: () => number = Date.now) {
    this.#server = server;
    this.#now = now;
    this.#sweeper = setInterval(() => void this.sweep(), sweepMs);
    this.#sweeper.unref();
  }

  async answer(request: Request, body: unknown): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    // Some clients never drop the id of a session that ended: it does not keep them from opening another.
    const isReopening = id !== null && !this.#sessions.has(id) && isInitializeRequest(body);
    if (id !== null && !isReopening) return await this.#answerIn(id, request, body);
    if (request.method !== "POST" || !isInitializeRequest(body))
      return refusal(400, "Send initialize first, and then its Mcp-Session-Id with every request.");
    if (this.#sessions.size + this.#opening >= sessionsMax && !(await this.#makeRoom()))
      return refusal(503, "Too many sessions are open. End one with DELETE, or try again later.", {
        "retry-after": "60",
      });
    this.#opening += 1;
    try {
      return await this.#open(request, body);
    } finally {
      this.#opening -= 1;
    }
  }

  /** How many sessions are open. */
  get open(): number {
    return this.#sessions.size;
  }

  /** Ends the session that has been idle for the longest time, if that is long enough (N1). */
  async #makeRoom(): Promise<boolean> {
    const used = [...this.#sessions.values()].sort((a, b) => a.usedAtMs - b.usedAtMs);
    const [idle] = used.filter(({ usedAtMs }) => usedAtMs <= this.#now() - yieldMs);
    await idle?.transport.close();
    return idle !== undefined;
  }

  /** Ends the sessions that were idle for too long (N2). */
  async sweep(): Promise<void> {
    const oldest = this.#now() - idleMs;
    const idle = [...this.#sessions.values()].filter(({ usedAtMs }) => usedAtMs <= oldest);
    await Promise.all(idle.map(({ transport }) => transport.close()));
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #answerIn(id: string, request: Request, body: unknown): Promise<Response> {
    const session = this.#sessions.get(id);
    if (session === undefined) return refusal(404, "There is no such session; send initialize again.");
    session.usedAtMs = this.#now();
    return await session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
  }

  async #open(request: Request, body: unknown): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => void this.#sessions.set(id, { transport, usedAtMs: this.#now() }),
    });
    const server = this.#server.connect();
    await server.connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      onclose?.();
    };
    return await transport.handleRequest(request, { parsedBody: body });
  }
}

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  const error = { code: -32600, message };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status, headers });
}
