// The hosted public tool server (specification, «D. Tool server»): eight tools that read what anyone may check, over the
// Model Context Protocol's Streamable HTTP at one endpoint.
//   H1. A message of a revision with sessions needs the session that `initialize` opened; one of revision 2026-07-28 needs
//       none.
//   H2. What is refused here is a JSON-RPC error whose `data` is the problem: its status is that of the answer.
//   H3. Nothing here depends on who asks, so any origin may; a page that uses DNS rebinding names a foreign host, which
//       every surface refuses.

import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJsonContentType,
} from "@modelcontextprotocol/server";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { verifyBytesMax } from "../protocol/limits.ts";
import { type Problem, type ProblemCode, type ProblemExtras, problem } from "../protocol/problem.ts";
import { type Outcome, refused } from "../service/answer.ts";
import type { AddressRate } from "../service/authentication/request-rate.ts";
import { isObject } from "../std/json-pointer.ts";
import { type BodyLimits, closeUnread, leaveBodyUnread } from "./body.ts";
import { type Check, checkOf } from "./checks.ts";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { send, single, sourceOfRequest } from "./request-parts.ts";
import type { Route } from "./route.ts";
import { type PublicToolDeps, publicTools } from "./tool-server/public-tools.ts";
import {
  createToolProtocol,
  endDoc,
  messageDoc,
  type ReceivedMessage,
  sessionRevisions,
  type ToolProtocol,
} from "./tool-server/tool-protocol.ts";
import type { ToolSessions } from "./tool-server/tool-sessions.ts";

export interface ToolsDeps extends PublicToolDeps {
  readonly http: HttpDeps;
  readonly mcpUrl: string;
  readonly verifyUrl: string;
  readonly sessions: ToolSessions;
  /** How many sessions an address may open; null for no limit. */
  readonly openings: AddressRate | null;
}

const path = "/v1/mcp/public";
/** A verification with the message around it. */
export const messageBytesMax = verifyBytesMax + 16_384;
/** As many as a verification may have, and some for the message. */
const messageValuesMax = 4_352;

/** Codes of JSON-RPC 2.0, and those that servers of the protocol use for requests they refuse. */
const rpc = { parse: -32_700, invalid: -32_600, refused: -32_000, noSession: -32_001 } as const;

/** The surface of the hosted tool server. */
export function buildTools(deps: ToolsDeps): FastifyInstance {
  const info = {
    title: "Public tool server",
    description:
      "Verification reads as tools of the Model Context Protocol: no account, nothing billed. docs/mcp.md describes it.",
    servers: [deps.mcpUrl],
  };
  const protocol = createToolProtocol(publicTools(deps), deps.verifyUrl);
  const routes = [messageRoute({ ...deps, protocol }), endRoute(deps)];
  return buildServer(deps.http, { name: "tools", info, routes, isPublic: false });
}

type MessageDeps = ToolsDeps & { readonly protocol: ToolProtocol };

function messageRoute(deps: MessageDeps): Route {
  const { edge } = deps.http;
  const limits: BodyLimits = { bytesMax: messageBytesMax, edge };
  return {
    method: "POST",
    path,
    tags: [],
    doc: messageDoc,
    handle: async (request, reply) => {
      const fault = headFault(request);
      if (fault !== null) {
        leaveBodyUnread(request, reply);
        return sendRefused(reply, rpc.refused, fault);
      }
      const check = checkOf(request.raw, edge);
      const body = await edge.checks.readBody(check, limits);
      if (!body.ok) {
        closeUnread(request, reply);
        return sendRefused(reply, rpc.refused, body.problem);
      }
      try {
        return await answerBody(deps, { request, reply, check }, body.bytes);
      } finally {
        body.release();
      }
    },
  };
}

/** What a client has to accept, though an answer is always the first. */
const answerTypes = ["application/json", "text/event-stream"];

function headFault({ headers }: FastifyRequest): Problem | null {
  if (!isJsonContentType(headers["content-type"])) {
    const detail = "A message is JSON: Content-Type must be application/json.";
    return problem("media_type_unsupported", detail, { pointer: "/headers/content-type" });
  }
  // Types of media are the same in any case of letters (RFC 9110 §8.3.1).
  const negotiator = new Negotiator({ headers: { accept: headers.accept?.toLowerCase() ?? "" } });
  if (negotiator.mediaTypes(answerTypes).length === answerTypes.length) return null;
  return problem(
    "not_acceptable",
    "A client must accept both application/json and text/event-stream: name both in Accept, or a range that contains them.",
    { pointer: "/headers/accept" },
  );
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly check: Check;
}

async function answerBody(deps: MessageDeps, exchange: Exchange, bytes: Uint8Array): Promise<FastifyReply> {
  const { reply, request, check } = exchange;
  const parsed = parseStrictJson(bytes, { valuesMax: messageValuesMax });
  if (!parsed.ok)
    return sendRefused(reply, rpc.parse, invalid(`The body is not strict JSON: ${parsed.detail}`));
  const { value } = parsed;
  if (Array.isArray(value))
    return sendRefused(reply, rpc.invalid, invalid("Send one message each: batches are not part of it."));
  if (!isObject(value) || !isMessage(value))
    return sendRefused(reply, rpc.invalid, invalid("The body is not a JSON-RPC 2.0 message."));
  const message = {
    value: value as JsonObject,
    text: new TextDecoder().decode(bytes),
    inTurn: (work: () => Promise<Outcome> | Outcome) => deps.http.edge.checks.answer(check, work),
    failed: (error: unknown, isTransient: boolean) => noteFailure(request, error, isTransient),
  };
  const headers = {
    version: single(request.headers["mcp-protocol-version"]),
    method: single(request.headers["mcp-method"]),
    name: single(request.headers["mcp-name"]),
  };
  if (deps.protocol.hasSession(message.value, headers)) return answerInSession(deps, exchange, message);
  const { status, body } = await deps.protocol.answer(message, headers);
  return sendMessage(reply, status, body);
}

function noteFailure({ log, id }: FastifyRequest, error: unknown, isTransient: boolean): void {
  const found = { request_id: id, err: error };
  if (isTransient) log.warn(found, "not answered now");
  else log.error(found, "failed");
}

function isMessage(value: unknown): boolean {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

/** See H1. */
async function answerInSession(
  deps: MessageDeps,
  { request, reply }: Exchange,
  message: ReceivedMessage,
): Promise<FastifyReply> {
  const { sessions, openings, protocol } = deps;
  const { session, credential } = sessionOf(request);
  const isOpening = message.value["method"] === "initialize" && isJSONRPCRequest(message.value);
  if (session === null && !isOpening) return sendRefused(reply, rpc.refused, sessionMissing());
  const isOpen = session !== null && sessions.use(session, credential);
  // Some clients never drop the id of a session that ended, so one that opens another is not held to it.
  if (session !== null && !isOpen && !isOpening) return sendRefused(reply, rpc.noSession, sessionUnknown());
  const fault = isOpening ? null : versionFault(request);
  if (fault !== null) return sendRefused(reply, rpc.refused, fault);
  if (!isOpening) {
    if (!isJSONRPCRequest(message.value)) return sendMessage(reply, 202, null);
    return sendMessage(reply, 200, JSON.stringify(await protocol.exchange(message)));
  }
  if (isOpen) {
    const detail = "This session is initialized already; open another without Mcp-Session-Id.";
    return sendRefused(reply, rpc.invalid, invalid(detail, { pointer: "/headers/mcp-session-id" }));
  }
  const source = sourceOfRequest(request, deps.http.edge);
  const limited = source === null ? null : (openings?.take(source) ?? null);
  if (limited !== null) return sendRefused(reply, rpc.refused, limited.problem);
  const answer = await protocol.exchange(message);
  if ("result" in answer) {
    const opened = sessions.open({ credential, source });
    if (typeof opened !== "string") return sendRefused(reply, rpc.refused, opened.problem);
    reply.header("mcp-session-id", opened);
  }
  return sendMessage(reply, 200, JSON.stringify(answer));
}

function endRoute({ sessions }: ToolsDeps): Route {
  return {
    method: "DELETE",
    path,
    tags: [],
    doc: endDoc,
    handle: async (request, reply) => {
      leaveBodyUnread(request, reply);
      const { session, credential } = sessionOf(request);
      const fault = session === null ? sessionMissing() : versionFault(request);
      if (fault !== null) return send(reply, refused(fault));
      if (session === null || !sessions.end(session, credential))
        return send(reply, refused(sessionUnknown()));
      return reply.code(204).send();
    },
  };
}

function sessionOf({ headers }: FastifyRequest): {
  readonly session: string | null;
  readonly credential: string | null;
} {
  return { session: single(headers["mcp-session-id"]), credential: headers.authorization ?? null };
}

function versionFault({ headers }: FastifyRequest): Problem | null {
  const version = single(headers["mcp-protocol-version"]);
  if (version === null || sessionRevisions.some((each) => each === version)) return null;
  const detail = "A session is of one of the allowed revisions of the protocol; 2026-07-28 has no sessions.";
  return invalid(detail, { pointer: "/headers/mcp-protocol-version", allowed: sessionRevisions });
}

const invalid = (detail: string, extras: ProblemExtras = {}): Problem =>
  problem("request_invalid" satisfies ProblemCode, detail, extras);

function sessionMissing(): Problem {
  const detail = "Mcp-Session-Id is required: initialize answers it.";
  return invalid(detail, { pointer: "/headers/mcp-session-id" });
}

/** Also said of a session of another credential (T2 in tool-server/tool-sessions.ts). */
function sessionUnknown(): Problem {
  const detail = "This session is not open here, or no longer: initialize opens another.";
  return problem("not_found", detail, { pointer: "/headers/mcp-session-id" });
}

function sendRefused(reply: FastifyReply, code: number, found: Problem): FastifyReply {
  reply.problemCode = found.code;
  if (found.retry_after_seconds !== undefined) reply.header("retry-after", String(found.retry_after_seconds));
  const error = { code, message: found.detail, data: found };
  return sendMessage(reply, found.status, JSON.stringify({ jsonrpc: "2.0", error, id: null }));
}

function sendMessage(reply: FastifyReply, status: number, body: string | null): FastifyReply {
  const headers = {
    "cache-control": "no-store",
    ...(body === null ? {} : { "content-type": "application/json" }),
  };
  return send(reply, { kind: "answer", status, headers, body: body ?? "" });
}
