// The examples of the hosted tool server: a session is opened, asked and ended. For tests.

import type { ReceivedAnswer, SentRequest } from "../../api/surfaces.fixture.ts";

type Ask = (base: string, caller: null, request: SentRequest) => Promise<ReceivedAnswer>;

export async function toolCalls(base: string, ask: Ask): Promise<void> {
  const path = "/v1/mcp/public";
  const accept = "application/json, text/event-stream";
  const post = (message: object, headers: SentRequest["headers"] = {}): Promise<ReceivedAnswer> =>
    ask(base, null, { path, body: JSON.stringify(message), headers: { accept, ...headers } });
  await post({ jsonrpc: "2.0", id: 1, method: "ping" });
  const client = { name: "example", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: client };
  const { headers } = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const session = { "mcp-session-id": headers.get("mcp-session-id") };
  const call = { name: "projection", arguments: { type: "products", version: 1 } };
  await post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call }, session);
  await ask(base, null, { path, method: "DELETE", headers: session });
  await ask(base, null, { path, method: "DELETE", headers: session });
}
