// How a command reaches a node's operators' surface: through its home folder on the same machine, or by address and token.

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { neverSent, SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { isLoopback, opsTokenFile, opsUrlFile } from "../node/configuration/http-config.ts";
import { isObject } from "../std/json-pointer.ts";
import { type Arguments, type CommandContext, type OptionSpecs, UsageError } from "./command.ts";
import { defaultHome, homeOf, readText } from "./connection.ts";

export const opsOptions = {
  home: { type: "string", value: "DIR", help: `the node's home folder (default ${defaultHome})` },
  "ops-url": { type: "string", value: "URL", help: "operations surface of a node that runs elsewhere" },
  "token-file": {
    type: "string",
    value: "FILE",
    help: "the operators' token (default: ops-token of the home)",
  },
} as const satisfies OptionSpecs;

export interface OpsConnection {
  /** Address to which acts are sent, for display. */
  readonly url: string;
  /** Throws {@link SvcProblemError} where one of `lists` is no list of objects in the answer. */
  get(path: string, ...lists: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
  /** The text of a file. */
  text(path: string): Promise<string>;
  post(path: string, body: object): Promise<Readonly<Record<string, unknown>>>;
  /** The events of a live view, until it ends. Throws like the others. */
  live(path: string): AsyncIterable<LiveEvent>;
}

export interface LiveEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Long enough for requests that query every region. */
const answerMaxMs = 60_000;

/**
 * `by` is who signs in: acts are done in this name, and without it there is only reading. Throws {@link UsageError} where the address
 * of the surface or its token is not given.
 */
export async function connectOps(
  args: Arguments,
  context: CommandContext,
  by: string | null = null,
): Promise<OpsConnection> {
  const home = homeOf(args, context);
  const url = parseUrl(args.text("ops-url") ?? (await urlOf(home)));
  const named = args.text("token-file");
  const tokenFile = named === null ? join(home, opsTokenFile) : resolve(context.cwd, named);
  const token = (await readText(tokenFile)).trim();
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError(`${tokenFile} does not contain a token, which is one line of text.`);
  if (url.protocol === "http:" && !isLoopback(url.hostname.replace(/^\[|\]$/g, "")))
    context.terminal.note(
      `The token goes to ${url.host} in the clear: make sure that you trust the network in between.`,
    );
  const authorization = authorizationOf(token, by);
  const send = (path: string, init: RequestInit) => request(new URL(path, url), init, authorization);
  return {
    url: url.origin,
    get: async (path, ...lists) => {
      const answer = await send(path, {});
      const missing = lists.find((name) => !isListOfObjects(answer[name]));
      if (missing === undefined) return answer;
      throw problemOf(200, { detail: `The answer of ${url.origin} has no list \`${missing}\`.` });
    },
    text: async (path) => {
      const { status, text } = await exchange(new URL(path, url), {}, authorization);
      if (status !== 200) throw problemOf(status, parseBody(text));
      return text;
    },
    post: (path, body) =>
      send(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    live: (path) => events(new URL(path, url), authorization),
  };
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

function authorizationOf(token: string, by: string | null): string {
  if (by === null) return `Bearer ${token}`;
  if (by.includes(":")) throw new UsageError("--by must have no colon.");
  return `Basic ${Buffer.from(`${by}:${token}`).toString("base64")}`;
}

/** Far more than one event has. */
const eventLengthMax = 16 * 1024 * 1024;

async function* events(url: URL, authorization: string): AsyncIterable<LiveEvent> {
  const headers = { authorization, accept: "text/event-stream" };
  const connection = new AbortController();
  try {
    const answer = await fetch(url, { headers, redirect: "error", signal: connection.signal }).catch(
      unreached(url),
    );
    if (answer.status !== 200 || answer.body === null)
      throw problemOf(answer.status, parseBody(await answer.text()));
    const decoder = new TextDecoder();
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    for (let text = ""; ; ) {
      const { done, value } = await reader.read().catch(unreached(url));
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const whole = text.split("\n\n");
      text = whole.pop() ?? "";
      if (text.length > eventLengthMax) throw new RangeError("The answer is not a stream of events.");
      for (const each of whole) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(each) ?? [];
        if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
      }
    }
  } finally {
    connection.abort();
  }
}

function unreached(url: URL): (cause: unknown) => never {
  return (cause) => {
    throw new SvcConnectionError(`No answer came from ${url.origin}.`, { effect: "not_applied", cause });
  };
}

async function urlOf(home: string): Promise<string> {
  const path = join(home, opsUrlFile);
  const text = await readFile(path, "utf8").catch(() => null);
  if (text !== null) return text.trim();
  throw new UsageError(
    `There is no ${path}, so no node was started there. Name its folder with --home, or its address with --ops-url.`,
  );
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href) return url;
  throw new UsageError(
    `${JSON.stringify(text)} is not an address of an operations surface; use one such as http://127.0.0.1:7304.`,
  );
}

async function request(
  url: URL,
  init: RequestInit,
  authorization: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await exchange(url, init, authorization);
  const body = parseBody(text);
  if (status === 200 && body !== null) return body;
  throw problemOf(status, body ?? { detail: `The answer of ${url.origin} is not a JSON object.` });
}

async function exchange(
  url: URL,
  init: RequestInit,
  authorization: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { ...(init.headers as Record<string, string>), authorization };
  const signal = AbortSignal.timeout(answerMaxMs);
  try {
    // A surface that redirects callers, with their token, elsewhere is not the one that was named.
    const answer = await fetch(url, { ...init, headers, signal, redirect: "error" });
    return { status: answer.status, text: await answer.text() };
  } catch (cause) {
    const effect = neverSent(cause) ? "not_applied" : "unknown";
    throw new SvcConnectionError(`No answer came from ${url.origin}.`, { effect, cause });
  }
}

function problemOf(status: number, body: Readonly<Record<string, unknown>> | null): SvcProblemError {
  const { code, detail, retry_after_seconds: seconds } = body ?? {};
  return new SvcProblemError({
    status,
    code: typeof code === "string" ? code : "unexpected_answer",
    detail: typeof detail === "string" ? detail : "",
    retryAfterSeconds: typeof seconds === "number" ? seconds : null,
    problem: body ?? {},
  });
}

function parseBody(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
