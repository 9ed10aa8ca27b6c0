// What each header field of a request to the hosted tool server changes: all of it has a test of its own.

import type { Proof } from "./request-effects.fixture.ts";

const shown = (title: string): Proof => ({ shownBy: `api/tool-server/tools-refusals.test.ts: ${title}` });
const session = shown("is needed by every message but initialize");
const ended = shown("ends with DELETE");
const revision = shown("does not speak revision %s");
const named = shown("refuses %s");

export const toolProofs: Readonly<Record<string, Proof>> = {
  "POST /v1/mcp/public header Mcp-Session-Id": session,
  "POST /v1/mcp/public header MCP-Protocol-Version": revision,
  "POST /v1/mcp/public header Mcp-Method": named,
  "POST /v1/mcp/public header Mcp-Name": named,
  "DELETE /v1/mcp/public header Mcp-Session-Id": ended,
  "DELETE /v1/mcp/public header MCP-Protocol-Version": revision,
};
