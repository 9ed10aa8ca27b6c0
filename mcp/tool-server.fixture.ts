// A tool server whose service is a function, and a client of the official SDK connected to it in memory.

import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import type { Fetch } from "../client/sender.ts";
import { generatePrivateJwk, parseSigningKey } from "../client/signing-key.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { type Env, parseConfig } from "./config.ts";
import { type Assistant, callTool, type ToolAnswer } from "./mcp-client.fixture.ts";
import { createToolServer, type ToolServer } from "./server.ts";

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Thrown instead of answering. */
  readonly error?: Error;
  /** The answer waits for it. */
  readonly until?: Promise<void>;
}

export interface TestServer {
  readonly server: ToolServer;
  /** Every request in order. */
  readonly sent: readonly Sent[];
  /** Delays that were waited for between attempts, in milliseconds. */
  readonly waits: readonly number[];
}

const ownMembers = { version: 1, environment: "sandbox", api_base_url: "https://api.example" };

/** `replies` are used in order, the last one again and again. */
export async function testServer(
  replies: readonly Reply[],
  members: JsonObject = {},
  env: Env = {},
): Promise<TestServer> {
  const sent: Sent[] = [];
  const waits: number[] = [];
  const fetch: Fetch = async (url, { method, headers, body }) => {
    const reply = replies[Math.min(sent.length, replies.length - 1)] ?? {};
    sent.push({ url, method, headers, body: new TextDecoder().decode(body as Uint8Array | undefined) });
    if (reply.error !== undefined) throw reply.error;
    await reply.until;
    return new Response(reply.body ?? "{}", { status: reply.status ?? 200, headers: { ...reply.headers } });
  };
  const config = parseConfig({ ...ownMembers, ...members }, env);
  if (!config.ok) throw new Error(config.detail);
  const key = await parseSigningKey(await generatePrivateJwk("Ed25519"));
  if (!key.ok) throw new Error(key.detail);
  const server = createToolServer({
    config: config.value,
    key: key.value,
    anchors: null,
    version: "1.2.3",
    fetch,
    now: Date.now,
    wait: async (delayMs) => void waits.push(delayMs),
  });
  return { server, sent, waits };
}

/** One conversation. */
export async function connected({ server }: Pick<TestServer, "server">): Promise<Assistant> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1" });
  await server.connect().connect(far);
  await client.connect(near);
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

/** An answer to a search without rows, in a form that nothing but the service would give it. */
export const noRows =
  '{"retrieval_id":"ret_1", "collection":"products","country":"US","rows":[ ],"receipt":{}}\n';
export const search = { sort_by: "published_at:desc", filter: { all: [{ country: "US" }] } };

/** One call in a conversation of its own. */
export async function asked(
  on: TestServer,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  meta?: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer> {
  await using own = await connected(on);
  return await callTool(own, name, args, meta);
}
