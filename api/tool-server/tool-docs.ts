// What OpenAPI says of the hosted tool server's one endpoint. The messages themselves are described by the Model Context
// Protocol, and the tools by `tools/list`.

import { problemShape } from "../../protocol/problem.ts";
import {
  anyObject,
  anyText,
  described,
  either,
  integer,
  literal,
  nothing,
  object,
} from "../../protocol/shape.ts";
import type { AnswerDoc, Parameter, RouteDoc } from "../route.ts";

const message = described(anyObject, "A JSON-RPC 2.0 message of the Model Context Protocol.");

/** A request that the service refused before it looked at the message; the status is that of the problem. */
const refusedMessage = object({
  jsonrpc: literal("2.0"),
  id: described(nothing, "Null: the message was not looked at."),
  error: object({
    code: integer({ min: -32_768, max: -32_000 }),
    message: anyText,
    data: problemShape,
  }),
});

const session: Parameter = {
  name: "Mcp-Session-Id",
  in: "header",
  description: "The session, from the answer to `initialize`. Revision 2026-07-28 has none.",
  schema: { type: "string" },
};
const version: Parameter = {
  name: "MCP-Protocol-Version",
  in: "header",
  description: "The revision of the protocol that was agreed on.",
  schema: { type: "string" },
};
const named: readonly Parameter[] = [
  {
    ...{ name: "Mcp-Method", in: "header", schema: { type: "string" } },
    description: "Revision 2026-07-28: the method of the message.",
  },
  {
    ...{ name: "Mcp-Name", in: "header", schema: { type: "string" } },
    description: "Revision 2026-07-28: the tool that is called.",
  },
];

const refusedAs = (description: string): AnswerDoc => ({
  description,
  body: refusedMessage,
  headers: ["Cache-Control"],
});
const refusedOrFailed = (description: string): AnswerDoc => ({
  description,
  body: either(refusedMessage, described(anyObject, "An error of the protocol itself.")),
  headers: ["Cache-Control"],
});

export const messageDoc: RouteDoc = {
  summary: "Hosted public tool server (Model Context Protocol, Streamable HTTP)",
  description:
    "One JSON-RPC message each. Tools: verify, certificate, keys, projection, spec, log_checkpoint, log_proof, vocabularies. No credential, and nothing is billed. `Accept` names both `application/json` and `text/event-stream`. The answer to `initialize` names the session in `Mcp-Session-Id`.",
  parameters: [session, version, ...named],
  body: message,
  answers: {
    200: { description: "The answer to a request", body: message, headers: ["Cache-Control"] },
    202: { description: "A notification or an answer was taken", body: null },
    400: refusedOrFailed("The message, the session or the revision is not as the protocol says"),
    404: refusedOrFailed("The session is not open here: open another; or the method does not exist"),
    406: refusedAs("The client does not accept both media types"),
    408: refusedAs("The body did not arrive in time"),
    413: refusedAs("The body is too long"),
    415: refusedAs("The body is not JSON"),
    429: refusedAs("Too much from one address"),
    503: refusedAs("Too many sessions are open, or too much is being read"),
  },
};

export const endDoc: RouteDoc = {
  summary: "End of a session of the tool server",
  parameters: [{ ...session, required: true }, version],
  answers: { 204: { description: "The session has ended", body: null } },
  problems: ["not_found", "request_invalid"],
};
