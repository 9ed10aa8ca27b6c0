// A client of the protocol as an assistant has it: the official SDK, over stdio to a process or over HTTP.

import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { root } from "../tools/process.ts";

export interface Assistant extends AsyncDisposable {
  readonly client: Client;
}

export interface ToolAnswer {
  /** The texts of the blocks. */
  readonly blocks: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly notes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** `era`: a session with `initialize`, or requests that stand alone. */
export async function overStdio(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  era: "session" | "alone" = "session",
): Promise<Assistant> {
  const own = Object.entries(process.env).filter(([name]) => !/^(MASTERDB_|VITEST|NODE_)/.test(name));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "mcp/bin.mjs"), ...args],
    env: { ...(Object.fromEntries(own) as Record<string, string>), ...env },
    stderr: "pipe",
  });
  return await assistant(clientOf(era), (client) => client.connect(transport));
}

export function clientOf(era: "session" | "alone"): Client {
  const mode = era === "alone" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  return new Client({ name: "test", version: "1" }, mode);
}

export async function assistant(
  client: Client,
  connect: (client: Client) => Promise<void>,
): Promise<Assistant> {
  await connect(client);
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

export async function callTool(
  { client }: Assistant,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  meta?: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer> {
  return answerOf(
    await client.callTool({
      name,
      arguments: { ...args },
      ...(meta === undefined ? {} : { _meta: { ...meta } }),
    }),
  );
}

/** The part of a result of `tools/call` that this server gives. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean | undefined;
}

export function answerOf({ content, isError }: ToolResult): ToolAnswer {
  const blocks = content.map(({ type, text = "" }) => (type === "text" ? text : ""));
  const parse = (text = "{}") => JSON.parse(text) as Readonly<Record<string, unknown>>;
  const bodyOf = (text = "{}") => (text.startsWith("{") ? parse(text) : {});
  const notes = parse(blocks[1])["masterdb_mcp_notes"] as Readonly<Record<string, unknown>>;
  return { blocks, body: bodyOf(blocks[0]), notes, isError: isError === true };
}
