// What the platform would otherwise answer in its own words, or not at all, is answered like everything else: as
// problems, with a request id, in the logs and in the metrics.
//   P1. A fault in a head is reported before any route is consulted. Only the Host of a signed request is left to its
//       signature, which covers it: a request with two of them is addressed to nobody.
//   P2. A request is answered once: a fault that later appears in its body closes the connection, since the proxy in
//       front could take a second answer for that of another request.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Problem, type ProblemCode, problem, problemMediaType } from "../protocol/problem.ts";
import { authorityOf } from "../service/authentication/authenticate.ts";
import { addressedHost, hostFields } from "./request-parts.ts";

export const headBytesMax = 32_768;
const headFieldsMax = 1_000;

/** How a surface answers on a connection that has no request, or abandons it. */
export interface PlatformAnswers {
  /** The fields of every such answer, including a request id. */
  readonly fields: () => Readonly<Record<string, string>>;
  readonly answered: (found: Problem, fields: Readonly<Record<string, string>>) => void;
}

/** The latest response of each connection. */
const responses = new WeakMap<Duplex, { last: ServerResponse }>();

/** Takes over what the server would answer or refuse on its own. */
export function takeOver(server: Server, answers: PlatformAnswers): void {
  server.maxHeadersCount = headFieldsMax;
  server.prependListener("request", (request, response) => {
    const known = responses.get(request.socket);
    if (known === undefined) responses.set(request.socket, { last: response });
    else known.last = response;
  });
  server.on("checkContinue", (request, response) => {
    if (isExpectationMet(request)) response.writeContinue();
    server.emit("request", request, response);
  });
  // `headFault` then judges it, like everything else in a head.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    // A tunnel is not a resource that has methods.
    answerAndEnd(socket, problem("method_not_allowed", "Tunnels are not supported."), answers, { allow: "" });
  });
}

/** A connection that never became a request: too slow, too long a head, or not HTTP. */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Duplex,
  answers: PlatformAnswers,
): void {
  const response = responses.get(socket)?.last;
  if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else if (response?.req.complete === false && response.headersSent) socket.end();
  else answerAndEnd(socket, clientProblem(error.code ?? ""), answers);
}

function clientProblem(code: string): Problem {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return problem("request_timeout", "The request did not arrive in time.");
    case "HPE_HEADER_OVERFLOW":
      return problem(
        "header_too_large",
        `The headers are at most ${headBytesMax} bytes in ${headFieldsMax} fields.`,
      );
    case "HPE_INVALID_VERSION":
    case "HPE_PAUSED_H2_UPGRADE":
      return versionProblem();
    default:
      return problem("request_invalid", "This is not a valid HTTP request.");
  }
}

function answerAndEnd(
  socket: Duplex,
  found: Problem,
  { fields, answered }: PlatformAnswers,
  more: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(found);
  const own = fields();
  const all = {
    connection: "close",
    "content-type": problemMediaType,
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    ...own,
    ...more,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${found.status} ${found.title}\r\n${lines.join("")}\r\n${body}`);
  answered(found, own);
}

/** Why a request's head alone refuses it; null if it does not. */
export function headFault(request: IncomingMessage, isSigned: boolean): Problem | null {
  const { httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return versionProblem();
  if (!isHostPlain(request, isSigned)) {
    return problem("request_invalid", "A request must name its host in exactly one Host field.", {
      pointer: "/headers/host",
    });
  }
  if (isExpectationMet(request)) return null;
  const pointer = "/headers/expect";
  return problem("expectation_failed", "The only expectation that is supported is 100-continue.", {
    pointer,
  });
}

/**
 * The refusal of an unsigned request that names a foreign host, as a page does that uses DNS rebinding (RFC 9110
 * §15.5.20).
 */
export function hostFault(request: IncomingMessage, hosts: readonly string[] | null): Problem | null {
  const host = hosts === null ? null : addressedHost(request);
  if (hosts === null || host === null || hosts.includes(authorityOf(host))) return null;
  return problem("host_not_allowed", "This address is not served under the named host.", {
    pointer: "/headers/host",
  });
}

/** RFC 9110 §10.1.1: in HTTP/1.0 an expectation is ignored. */
function isExpectationMet({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect === undefined || httpVersion === "1.0" || headers.expect.toLowerCase() === "100-continue"
  );
}

/** RFC 9110 §7.2, RFC 3986 §3.2.2: a name or an address, and a port. */
const hostForm = /^(?:[a-z0-9._~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(?::[0-9]*)?$/i;

/** RFC 9112 §3.2: one Host, of that form; HTTP/1.0 needs none. */
function isHostPlain(request: IncomingMessage, isSigned: boolean): boolean {
  const count = hostFields(request);
  if (count === 0) return request.httpVersion === "1.0";
  return isSigned || (count === 1 && hostForm.test(request.headers.host ?? ""));
}

function versionProblem(): Problem {
  const code: ProblemCode = "http_version_unsupported";
  return problem(code, "The surfaces speak HTTP/1.1.");
}
