// How a command reaches a node's operators' surface: through its home folder on the same machine, or by address and token.

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { formFault, unexpectedForm } from "../client/business-client.ts";
import { neverSent, SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { isLoopback, opsTokenFile, opsUrlFile } from "../node/configuration/http-config.ts";
import type { Shape } from "../protocol/shape.ts";
import { isObject } from "../std/json-pointer.ts";
import { type Call, UsageError } from "./command.ts";
import { defaultHome, homeOf, readText } from "./connection.ts";

/** The options by which a command reaches the surface. */
export const opsAddress = `
    --home DIR         the node's home folder (default ${defaultHome})
    --ops-url URL      operations surface of a node that runs elsewhere
    --token-file FILE  the operators' token (default: ops-token of the home)`;
export const opsOptions = `
    --json  print the service's answers as JSON, one on each line${opsAddress}`;

export interface OpsConnection {
  /** Address to which acts are sent, for display. */
  readonly url: string;
  /** Throws {@link SvcProblemError}, which names the member that is wrong, where the answer is not of this form. */
  get<T>(path: string, form: Shape<T>): Promise<T>;
  /** The bytes of a file. */
  file(path: string): Promise<Uint8Array>;
  /** Throws like `get`, and says then that the act may have been done. */
  post<T>(path: string, body: object, form: Shape<T>): Promise<T>;
}

/** Long enough for requests that query every region. */
const answerMaxMs = 60_000;

/**
 * `by` is who signs in: acts are done in this name, and without it there is only reading. Throws {@link UsageError} where the address
 * of the surface or its token is not given.
 */
export async function connectOps(call: Call, by: string | null = null): Promise<OpsConnection> {
  const home = homeOf(call);
  const url = parseUrl(call.text("ops-url") ?? (await urlOf(home)));
  const named = call.text("token-file");
  const tokenFile = named === null ? join(home, opsTokenFile) : resolve(call.cwd, named);
  const token = (await readText(tokenFile)).trim();
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError(`${tokenFile} does not contain a token, which is one line of text.`);
  if (url.protocol === "http:" && !isLoopback(url.hostname.replace(/^\[|\]$/g, "")))
    call.terminal.note(
      `The token goes to ${url.host} in the clear: make sure that you trust the network in between.`,
    );
  const authorization = authorizationOf(token, by);
  const send = async <T>(path: string, init: RequestInit, form: Shape<T>): Promise<T> =>
    ofForm(form, await request(new URL(path, url), init, authorization), {
      url,
      isAct: init.method === "POST",
    });
  return {
    url: url.origin,
    get: (path, form) => send(path, {}, form),
    file: async (path) => {
      const { status, bytes } = await exchange(new URL(path, url), {}, authorization);
      if (status !== 200) throw problemOf(status, parseBody(bytes));
      return bytes;
    },
    post: (path, body, form) => {
      const headers = { "content-type": "application/json" };
      return send(path, { method: "POST", headers, body: JSON.stringify(body) }, form);
    },
  };
}

/** The value, if it is of this form as far as a reader needs it; it may have more than this release knows. */
function ofForm<T>(
  form: Shape<T>,
  value: unknown,
  { url, isAct }: { readonly url: URL; readonly isAct: boolean },
): T {
  const wrong = formFault(form.schema, value);
  if (wrong === null) return value as T;
  const again = isAct ? " The act may have been done: look before you repeat it." : "";
  throw problemOf(200, { detail: `${unexpectedForm(`The answer of ${url.origin}`, wrong)}${again}` });
}

function authorizationOf(token: string, by: string | null): string {
  if (by === null) return `Bearer ${token}`;
  if (by.includes(":")) throw new UsageError("--by must have no colon.");
  return `Basic ${Buffer.from(`${by}:${token}`).toString("base64")}`;
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
  const { status, bytes } = await exchange(url, init, authorization);
  const body = parseBody(bytes);
  if (status === 200 && body !== null) return body;
  throw problemOf(status, body ?? { detail: `The answer of ${url.origin} is not a JSON object.` });
}

async function exchange(
  url: URL,
  init: RequestInit,
  authorization: string,
): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
  const headers = { ...(init.headers as Record<string, string>), authorization };
  const signal = AbortSignal.timeout(answerMaxMs);
  try {
    // A surface that redirects callers, with their token, elsewhere is not the one that was named.
    const answer = await fetch(url, { ...init, headers, signal, redirect: "error" });
    return { status: answer.status, bytes: await answer.bytes() };
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

function parseBody(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
