// The tool server over Streamable HTTP at one endpoint, for both eras of the protocol: sessions, and requests that stand
// alone (2026-07-28).
//   H1. A request whose Host is not allowed, or that comes from a browser origin that is not, is refused before anything
//       else is read: a page that makes its own name point here gets nothing (DNS rebinding). The origin of the endpoint
//       itself is allowed on loopback, because no page but this server's own, of which there are none, can have it.
//   H2. With a bearer token, every request carries it; nothing is answered without.
//   H3. Bodies, connections and sessions are bounded, and a session ends after 30 minutes without a request.
//   H4. A session belongs to one conversation; a request without a session is a conversation of its own.

import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import Negotiator from "negotiator";
import type { HttpTransport } from "./config.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { ToolServer } from "./server.ts";
import { SetupError } from "./setup.ts";

export const bodyBytesMax = 1_048_576;
const connectionsMax = 128;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;

export interface HttpOptions {
  readonly transport: HttpTransport;
  readonly bearerToken: string | null;
  readonly log: (line: string) => void;
}

export interface ServedHttp {
  readonly url: string;
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Throws {@link SetupError} if the address cannot be listened on. */
export async function serveOverHttp(server: ToolServer, options: HttpOptions): Promise<ServedHttp> {
  const { transport, log } = options;
  const sessions = new HttpSessions(server);
  const onerror = (error: Error): void => log(error.message);
  const alone = createMcpHandler(() => server.connect(), { legacy: "reject", onerror });
  const answer = async (request: Request, body: unknown): Promise<Response> =>
    (await isLegacyRequest(request, body))
      ? sessions.answer(request, body)
      : alone.fetch(request, { parsedBody: body });
  const listener = createServer(
    { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs },
    (request, response) => {
      handle({ request, response }, { ...options, answer }).catch((error: Error) => {
        log(error.message);
        if (!response.headersSent) refuse(response, 500, "The tool server failed.");
        response.destroy();
      });
    },
  );
  listener.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    listener.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new SetupError(
          `${transport.host}:${transport.port} cannot be listened on (${error.code}). Change transport.host or transport.port; port 0 takes a free one.`,
        ),
      ),
    );
    listener.listen(transport.port, transport.host, resolve);
  });
  const { port } = listener.address() as AddressInfo;
  const host = transport.host.includes(":") ? `[${transport.host}]` : transport.host;
  const ended = new Promise<void>((resolve) => void listener.once("close", resolve));
  return {
    url: `http://${host}:${port}${transport.path}`,
    ended,
    close: async () => {
      listener.close();
      await Promise.all([sessions.close(), alone.close()]);
      listener.closeAllConnections();
      await ended;
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Handling extends HttpOptions {
  readonly answer: (request: Request, body: unknown) => Promise<Response>;
}

async function handle({ request, response }: Exchange, handling: Handling): Promise<void> {
  const refusal = headFault(request, handling);
  if (refusal !== null) {
    refuse(response, refusal.status, refusal.detail, refusal.headers);
    return;
  }
  allowOrigin(request, response);
  if (request.method === "OPTIONS") {
    response.writeHead(204, preflight).end();
    return;
  }
  const body = request.method === "POST" ? await readBody(request) : null;
  if (body === "too_large") {
    refuse(response, 413, `The body is longer than ${bodyBytesMax} bytes.`, { connection: "close" });
    return;
  }
  const message = body === null ? undefined : parseJson(body);
  if (body !== null && message === undefined) {
    refuse(response, 400, "The body is not JSON.", {}, -32700);
    return;
  }
  if (Array.isArray(message)) {
    refuse(response, 400, "Batches are not served; send one message in each request.");
    return;
  }
  const answered = await handling.answer(webRequest({ request, response }, body), message);
  await sendAnswer(answered, response);
}

interface HeadFault {
  readonly status: number;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the head of a request is refused for, in this order (H1, H2). */
function headFault(request: IncomingMessage, { transport, bearerToken }: Handling): HeadFault | null {
  const { host = "", origin, authorization } = request.headers;
  if (!transport.allowedHosts.includes(hostName(host)))
    return { status: 403, detail: "The Host is not allowed; see transport.allowed_hosts." };
  if (origin !== undefined && !transport.allowedOrigins.includes(origin) && !isOwnOrigin(origin, request))
    return { status: 403, detail: "The Origin is not allowed; see transport.allowed_origins." };
  if (request.url?.split("?")[0] !== transport.path)
    return { status: 404, detail: `The endpoint is ${transport.path}.` };
  const methods = ["POST", "GET", "DELETE", ...(origin === undefined ? [] : ["OPTIONS"])];
  if (!methods.includes(request.method ?? ""))
    return { status: 405, detail: `Use ${methods.join(", ")}.`, headers: { allow: methods.join(", ") } };
  // A preflight has no credentials (Fetch standard, CORS-preflight fetch).
  if (request.method === "OPTIONS" || bearerToken === null || isBearer(authorization, bearerToken))
    return null;
  const detail = "The bearer token is missing or wrong.";
  return { status: 401, detail, headers: { "www-authenticate": "Bearer" } };
}

/** Whether an origin is that of this endpoint under a name of loopback, at the port that was connected to. */
function isOwnOrigin(origin: string, { headers: { host = "" }, socket }: IncomingMessage): boolean {
  return origin === `http://${host}` && isLoopbackHost(hostName(host)) && portOf(host) === socket.localPort;
}

function portOf(host: string): number {
  return Number(/:(\d{1,5})$/.exec(host)?.[1] ?? 80);
}

/** The name in a Host header, without its port. */
function hostName(host: string): string {
  return (/^\[([^\]]+)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, "")).toLowerCase();
}

/** Compares hashes, so that the time does not depend on how much of a token is right. */
function isBearer(header: string | undefined, token: string): boolean {
  const given = /^Bearer +([!-~]{1,1024})$/i.exec(header ?? "")?.[1];
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(hash(given), hash(token));
}

const preflight = {
  "access-control-allow-methods": "POST, GET, DELETE",
  "access-control-allow-headers":
    "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id",
  "access-control-max-age": "600",
};

function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "mcp-session-id, mcp-protocol-version");
  response.setHeader("vary", "origin");
}

async function readBody(request: IncomingMessage): Promise<string | "too_large"> {
  if (Number(request.headers["content-length"] ?? 0) > bodyBytesMax) return "too_large";
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += (part as Buffer).length;
    if (length > bodyBytesMax) return "too_large";
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const answerTypes = ["application/json", "text/event-stream"];

function webRequest({ request, response }: Exchange, body: string | null): Request {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  // The SDK looks for both names, in lower case; a range that contains both accepts them as well (RFC 9110 §12.5.1).
  const negotiator = new Negotiator({ headers: { accept: request.headers.accept?.toLowerCase() ?? "" } });
  if (negotiator.mediaTypes(answerTypes).length === answerTypes.length)
    headers.set("accept", answerTypes.join(", "));
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? "GET",
    headers,
    signal: left.signal,
    ...(body === null ? {} : { body }),
  });
}

async function sendAnswer(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  // An answer may be an event stream, which the peer ends by leaving.
  const reader = answer.body.getReader();
  response.once("close", () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { done, value } = await reader.read();
    if (done || response.destroyed) break;
    if (!response.write(value))
      await new Promise((resume) => {
        response.once("drain", resume);
        response.once("close", resume);
      });
  }
  response.end();
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  code = -32600,
): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } });
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

// The sessions of the protocol's earlier era over HTTP: opened by `initialize`, named by Mcp-Session-Id, ended by DELETE or
// by time.
//   N1. There are at most `sessionsMax`; one more is refused unless one of them has been idle for `yieldMs`, which ends then.
//   N2. A session without a request for `idleMs` ends.

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
