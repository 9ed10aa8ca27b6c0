// Reads the parts of a request exactly as they were received.

import type { IncomingMessage } from "node:http";
import { nearestName } from "../protocol/nearest.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "../service/answer.ts";
import type { RequestHead } from "../service/request-head.ts";
import { hasBody } from "./body.ts";
import type { Edge } from "./edge.ts";

export function requestHead(request: IncomingMessage): RequestHead {
  const { host, url } = target(request);
  const queryAt = url.indexOf("?");
  const { headers } = request;
  return {
    method: request.method ?? "GET",
    host,
    path: queryAt < 0 ? url : url.slice(0, queryAt) || "/",
    query: queryAt < 0 ? null : url.slice(queryAt),
    hasBody: hasBody(request),
    signatureInput: single(headers["signature-input"]),
    signature: single(headers["signature"]),
    contentDigest: single(headers["content-digest"]),
    authorization: headers.authorization ?? null,
    sandboxKey: single(headers["svc-sandbox-key"]),
  };
}

/** A target in absolute form names its host itself, and the Host header is then ignored (RFC 9112 §3.2.2). */
function target(request: IncomingMessage): { readonly host: string | null; readonly url: string } {
  const url = request.url ?? "/";
  const host = onlyHost(request);
  const [, named, rest] = (url.startsWith("/") ? null : /^https?:\/\/([^/?#]+)(\/.*)$/i.exec(url)) ?? [];
  return named === undefined || rest === undefined ? { host, url } : { host: host && named, url: rest };
}

/** The host that a request is addressed to; null if it names none, or several. */
export function addressedHost(request: IncomingMessage): string | null {
  return target(request).host;
}

/**
 * Of several Host fields Node keeps the first, while a proxy in front may have kept another: then none counts (RFC 9112
 * §3.2).
 */
function onlyHost(request: IncomingMessage): string | null {
  return hostFields(request) === 1 ? (request.headers.host ?? null) : null;
}

/** How many Host fields were sent. */
export function hostFields({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}

/** Node joins repeated fields with these names as RFC 9110 §5.3 says. */
export function single(value: string | readonly string[] | undefined): string | null {
  return typeof value === "string" ? value : (value?.join(", ") ?? null);
}

/** The address that a request comes from; null if it is not known. */
export function sourceOfRequest(
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  edge: Pick<Edge, "sourceOf">,
): string | null {
  // All its fields in the order of arrival, as one list (RFC 9110 §5.3).
  return edge.sourceOf(socket, single(headers["x-forwarded-for"]));
}

export type Query<N extends string> = { readonly [K in N]: string | null };

/**
 * The parameters of a query string, each at most once; any other name is refused, with the nearest existing one
 * suggested.
 */
export function parseQuery<N extends string>(url: string, names: readonly N[]): Query<N> | Refused {
  const values = new Map<string, string | null>(names.map((name) => [name, null]));
  const queryAt = url.indexOf("?");
  const parameters = queryAt < 0 ? [] : new URLSearchParams(url.slice(queryAt + 1));
  for (const [name, value] of parameters) {
    const known = values.get(name);
    if (known === null) values.set(name, value);
    else return known === undefined ? unknownParameter(name, names) : repeatedParameter(name);
  }
  return Object.fromEntries(values) as Query<N>;
}

/** A query parameter that is `true` or `false`; absent means false. */
export function parseFlag<N extends string>(query: Query<N>, name: N): boolean | Refused {
  const value = query[name];
  if (value === null || value === "false") return false;
  if (value === "true") return true;
  return refused(problem("request_invalid", `${name} is true or false.`, { pointer: `/query/${name}` }));
}

function unknownParameter(name: string, names: readonly string[]): Refused {
  const suggestion = nearestName(name, names);
  return refused(
    problem(
      "request_invalid",
      `The query parameter ${JSON.stringify(name.slice(0, 64))} does not exist here.`,
      {
        pointer: "/query",
        allowed: names,
        ...(suggestion === null ? {} : { suggestion }),
      },
    ),
  );
}

function repeatedParameter(name: string): Refused {
  return refused(
    problem("request_invalid", `The query parameter ${name} is given twice.`, { pointer: `/query/${name}` }),
  );
}

export function isRefused<N extends string>(query: Query<N> | Refused): query is Refused {
  return "kind" in query && query.kind === "problem";
}

/** A pattern for the request paths that a route with this path answers. */
export function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
}
