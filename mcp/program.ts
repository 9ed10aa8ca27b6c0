// The program: reads its configuration, checks it or prints its schema, and serves until the peer or a signal ends it.

import type { ClientRequest, IncomingMessage } from "node:http";
import { type Readable, Transform, type TransformCallback, type Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { notConnectedCode, SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import type { Fetch } from "../client/sender.ts";
import { createSvcClient } from "../client/service-client.ts";
import { utf8 } from "../protocol/bytes.ts";
import { algorithmOf } from "../protocol/keys/jwk.ts";
import { isObject } from "../std/json-pointer.ts";
import { createVerifier } from "../verifier/verifier.ts";
import { configSchema, type Env } from "./config.ts";
import { createToolServer, serverName, type ToolServer } from "./server.ts";
import { loadSetup, type Setup, SetupError } from "./setup.ts";

export interface ProgramOptions {
  readonly configFile: string | null;
  readonly sandboxHome: string | null;
  readonly check: boolean;
  readonly printConfigSchema: boolean;
}

export interface ProgramContext {
  readonly env: Env;
  readonly cwd: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Writes a line to stderr. */
  readonly log: (line: string) => void;
  readonly version: string;
  /** Calls `stop` once, when the process is asked to end. */
  readonly onStop: (stop: () => Promise<void>) => void;
}

/** 0: done; 1: the check found something; 2: cannot run as configured. */
export type ProgramCode = 0 | 1 | 2;

export async function runToolServer(options: ProgramOptions, context: ProgramContext): Promise<ProgramCode> {
  const { stdout, log } = context;
  // A host may close its end of stderr: what is then not read is no reason to stop serving.
  process.stderr.on("error", () => {});
  if (options.printConfigSchema) {
    stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
    return 0;
  }
  try {
    const { configFile, sandboxHome } = options;
    const setup = await loadSetup({ configFile, sandboxHome, env: context.env, cwd: context.cwd });
    if (options.check) return (await checkSetup(setup, (line) => stdout.write(`${line}\n`))) ? 0 : 1;
    const { version } = context;
    const server = createToolServer({
      ...setup,
      version,
      fetch: httpFetch,
      now: Date.now,
    });
    const { transport } = setup.config;
    if (transport.type === "http") {
      // Loaded only here: over stdio nothing needs it, and somebody waits for the first answer.
      const { serveOverHttp } = await import("./http.ts");
      const served = await serveOverHttp(server, { transport, bearerToken: setup.bearerToken, log });
      log(`${serverName} ${version} serves ${served.url} (${setup.config.environment}).`);
      context.onStop(() => served.close());
      await served.ended;
      return 0;
    }
    const served = serveOverStdio(server, { stdin: context.stdin, stdout, log });
    context.onStop(() => served.close());
    await served.ended;
    return 0;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    for (const line of error.message.split("\n")) log(line);
    return 2;
  }
}

// The tool server over stdin and stdout, for both eras of the protocol. Nothing but messages is written to stdout.

const unreadBytesMax = 1_048_576;

export interface StdioOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** One line for the person who started the process. */
  readonly log: (line: string) => void;
}

export interface ServedStdio {
  /** Resolves when the peer has closed its end, or `close` was called. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveOverStdio(server: ToolServer, { stdin, stdout, log }: StdioOptions): ServedStdio {
  const lines = boundedLines(
    ({ code, message, id }) => {
      log(message);
      // A peer that reads nothing is not answered without bound.
      if (stdout.writableLength > unreadBytesMax) return;
      stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
    },
    () => roomIn(stdout),
  );
  stdin.pipe(lines);
  // Each answer that waits for the peer listens; B4 bounds them.
  stdout.setMaxListeners(0);
  const transport = new StdioServerTransport(lines, stdout, { maxBufferSize: 4 * lineBytesMax });
  const handle = serveStdio(() => server.connect(), { transport, onerror: (error) => log(error.message) });
  let settle = (): void => {};
  const ended = new Promise<void>((resolve) => {
    settle = resolve;
  });
  lines.once("close", settle);
  stdout.once("error", settle);
  return {
    ended,
    close: async () => {
      await handle.close();
      stdin.unpipe(lines);
      lines.destroy();
      settle();
    },
  };
}

/** Resolves once the peer has read all but `unreadBytesMax` of what it was answered, or is gone. */
async function roomIn(stdout: Writable): Promise<void> {
  if (stdout.writableLength <= unreadBytesMax) return;
  const { promise, resolve } = deferred<void>();
  for (const event of ["drain", "close", "error"]) stdout.on(event, resolve);
  await promise;
  for (const event of ["drain", "close", "error"]) stdout.off(event, resolve);
}

/** As `Promise.withResolvers`, which Node 20 does not have. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((keep, fail) => {
    resolve = keep;
    reject = fail;
  });
  return { promise, resolve, reject };
}

// `--check`: says what was read and whether the service answers, and for everything that is wrong how to mend it. It sends
// two requests that are never billed: a read of the key set, and a signed read of the terms.

/** Writes its lines; true if nothing is wrong. */
async function checkSetup(setup: Setup, write: (line: string) => void): Promise<boolean> {
  const { config, key, anchors } = setup;
  const client = createSvcClient({
    baseUrl: config.apiBaseUrl,
    businessUrl: null,
    verifyUrl: config.publicBaseUrl,
    fetch: httpFetch,
    key,
    grant: config.grant,
    timeoutMs: config.timeoutMs,
    retry: { ...config.retry, maxAttempts: 1 },
  });
  write(
    `ok      configuration  ${config.environment}, ${config.transport.type}, country ${config.country ?? "not set"}`,
  );
  write(`ok      key            ${algorithmOf(key.publicJwk)} ${key.keyId}`);
  const isSigned = await attempt("service", write, async () => {
    const { body } = await client.terms();
    return `${config.apiBaseUrl} accepts the key; terms of version ${body.version}`;
  });
  const isTrusted = await attempt("key set", write, async () => {
    const { text } = await client.verificationRead("/.well-known/keys");
    if (anchors === null) return `${config.publicBaseUrl} answers; it is not verified`;
    const verifier = createVerifier({ anchors, keySet: utf8(text) });
    if (!verifier.ok) throw new CheckError(`${verifier.detail} (${verifier.code}) Look at anchors_file.`);
    return `verified under the anchors, issued at ${verifier.value.trust.keySet.issued_at}`;
  });
  if (anchors === null)
    write(
      "note    anchors        None are configured, so verify claims nothing. Name a file in anchors_file.",
    );
  return isSigned && isTrusted;
}

class CheckError extends Error {}

async function attempt(
  name: string,
  write: (line: string) => void,
  work: () => Promise<string>,
): Promise<boolean> {
  try {
    write(`ok      ${name.padEnd(13)}  ${await work()}`);
    return true;
  } catch (error) {
    write(`WRONG   ${name.padEnd(13)}  ${mendingOf(error)}`);
    return false;
  }
}

const advice: Readonly<Record<string, string>> = {
  key_unknown:
    "Register the key's public half, or in the sandbox set sandbox_key_grant; a sandbox that was made again has new keys.",
  signature_expired: "Set this machine's clock.",
  signature_invalid: "api_base_url must be the address that the service knows itself by.",
  not_found: "No terms are published yet, or api_base_url is the address of another surface.",
  role_not_allowed: "Use a key of an AI company.",
};

function mendingOf(error: unknown): string {
  if (error instanceof CheckError) return error.message;
  if (error instanceof SvcConnectionError)
    return `${error.message} Is the address right, and the service running?`;
  if (error instanceof SvcProblemError)
    return printable(`${error.status} ${error.code}: ${error.detail} ${advice[error.code] ?? ""}`.trim());
  throw error;
}

/** What the service writes must not reach the terminal as commands. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "?");
}

// Requests of the tool server over the platform's HTTP client, which takes about half of the processor time of its `fetch`: what
// that saves is most of what the protocol adds to a search. The client asks for the part of the Fetch standard that it needs.
//   G1. Nothing is followed and nothing is decoded: a redirect is an answer, and a body arrives as it was sent.
//   G2. A body that is longer than `bodyBytesMax` is not read to its end.
//   G3. A failure before the connection was made (with https, before it was encrypted) says so, a time-out among them: nothing
//       of the request was sent.

// An import of node:http loads the platform's fetch as well, which takes part of the time until the first answer.
const { request: overHttp } = process.getBuiltinModule("node:http");
const { request: overHttps } = process.getBuiltinModule("node:https");

export const bodyBytesMax = 16 * 1_048_576;

/** Rejects with the error of the connection, whose `code` says whether anything was sent. */
export const httpFetch: Fetch = async (url, { method, headers, body, signal }) => {
  if (body instanceof Blob) throw new TypeError("A form is not sent.");
  const { promise, resolve, reject } = deferred<IncomingMessage>();
  const length = body === undefined ? {} : { "content-length": String(body.length) };
  const isEncrypted = url.startsWith("https:");
  const start = isEncrypted ? overHttps : overHttp;
  const sent = start(url, { method, headers: { ...headers, ...length }, signal }, resolve);
  const hasConnected = watchConnection(sent, isEncrypted ? "secureConnect" : "connect");
  sent.once("error", (error) => reject(hasConnected() ? error : notConnected(error)));
  sent.end(body);
  const answer = await promise;
  const bytes = await readBody(answer);
  return {
    status: answer.statusCode ?? 0,
    headers: { get: (name) => headerOf(answer, name) },
    arrayBuffer: async () => bytes,
  };
};

/** Tells whether there is a connection yet over which the request goes. */
function watchConnection(sent: ClientRequest, event: "connect" | "secureConnect"): () => boolean {
  let isConnected = false;
  sent.once("socket", (socket) => {
    if (sent.reusedSocket) isConnected = true;
    else
      socket.once(event, () => {
        isConnected = true;
      });
  });
  return () => isConnected;
}

function notConnected(cause: Error): Error {
  return Object.assign(new Error("There was no connection.", { cause }), { code: notConnectedCode });
}

async function readBody(answer: IncomingMessage): Promise<ArrayBuffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer) {
    length += (part as Buffer).length;
    if (length > bodyBytesMax) throw new Error(`The answer is longer than ${bodyBytesMax} bytes.`);
    parts.push(part as Buffer);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

// The lines of stdin, judged before the protocol's transport sees them, so that no peer decides how much memory is used.
//   B1. A line longer than `lineBytesMax` is not kept: what is held of it is dropped, the rest is skipped, it is answered
//       with one error, and the lines behind it are served.
//   B2. What is not one JSON-RPC message (not JSON, not an object, an array of messages) is answered with one error.
//   B3. A second `initialize` is refused, whatever came between.
//   B4. While the peer does not read what it was answered, nothing further is read of it.

export const lineBytesMax = 1_048_576;

export interface LineFault {
  /** Of JSON-RPC 2.0 §5.1. */
  readonly code: -32700 | -32600;
  readonly message: string;
  /** The id of the request, if it could be read. */
  readonly id: string | number | null;
}

const lineFeed = 10;
const byteOrderMark = "\ufeff";

/** Passes on the lines that are one message each; every other line becomes one fault. `hasRoom` is waited for first (B4). */
export function boundedLines(
  onFault: (fault: LineFault) => void,
  hasRoom: () => Promise<void> = async () => {},
): Transform {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isSkipping = false;
  let isInitialized = false;
  let isFirst = true;
  const keep = (part: Buffer): void => {
    if (isSkipping) return;
    heldBytes += part.length;
    if (heldBytes <= lineBytesMax) {
      held.push(part);
      return;
    }
    [held, heldBytes, isSkipping] = [[], 0, true];
    onFault({
      code: -32600,
      message: `A line is longer than ${lineBytesMax} bytes and was not read.`,
      id: null,
    });
  };
  const endLine = (push: (line: Buffer) => void): void => {
    const joined = Buffer.concat(held);
    // Some hosts write a byte order mark before everything else; RFC 8259 §8.1 allows to ignore it.
    const line = isFirst && joined.indexOf(byteOrderMark) === 0 ? joined.subarray(3) : joined;
    isFirst = false;
    const wasSkipped = isSkipping;
    [held, heldBytes, isSkipping] = [[], 0, false];
    if (wasSkipped || /^\s*$/.test(line.subarray(0, 64).toString("latin1"))) return;
    const message = parsed(line);
    const fault = faultOf(message, isInitialized);
    if (fault === null) {
      isInitialized ||= isObject(message) && message["method"] === "initialize";
      push(Buffer.concat([line, Buffer.from("\n")]));
    } else onFault(fault);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(lineFeed, start);
        if (end === -1) break;
        keep(chunk.subarray(start, end));
        endLine((line) => this.push(line));
        start = end + 1;
      }
      // A copy, because the rest of a chunk would keep all of it.
      if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)));
      hasRoom().then(() => done(), done);
    },
  });
}

function faultOf(message: unknown, isInitialized: boolean): LineFault | null {
  if (message === undefined) return { code: -32700, message: "The line is not JSON.", id: null };
  if (Array.isArray(message))
    return { code: -32600, message: "Batches are not served; send one message on each line.", id: null };
  if (!isObject(message) || message["jsonrpc"] !== "2.0")
    return { code: -32600, message: "The line is not a message of JSON-RPC 2.0.", id: null };
  const id = typeof message["id"] === "string" || typeof message["id"] === "number" ? message["id"] : null;
  if (!isWellFormed(message))
    return { code: -32600, message: "The message is neither a request, a notification nor a response.", id };
  if (isInitialized && message["method"] === "initialize")
    return {
      code: -32600,
      message: "This connection is initialized; open another one for another session.",
      id,
    };
  return null;
}

/** JSON-RPC 2.0 §4 and §5, with ids as the protocol restricts them. */
function isWellFormed(message: Readonly<Record<string, unknown>>): boolean {
  const { id, method, params } = message;
  const isId = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if ("method" in message)
    return (
      typeof method === "string" && (!("id" in message) || isId) && (params === undefined || isObject(params))
    );
  return isId && ("result" in message ? isObject(message["result"]) : isObject(message["error"]));
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
