// `svc mcp` over HTTP on a free port, as a process of its own.

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { root, type StartedProcess, startProcess } from "../tools/process.ts";
import { type Assistant, assistant, clientOf } from "./mcp-client.fixture.ts";

export interface HttpProcess extends AsyncDisposable {
  readonly url: string;
  /** What every request needs. */
  readonly headers: Readonly<Record<string, string>>;
}

const token = "a-token-of-this-test-only";
const graceMs = 5_000;

/** As the sandbox's first company; without `isOpen` it asks for a token. */
export async function startHttp(
  home: string,
  settings: Readonly<Record<string, string>>,
  isOpen = false,
): Promise<HttpProcess> {
  const started = startProcess(process.execPath, ["cli/main.ts", "mcp", "--sandbox", "--home", home], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      ...settings,
      TEST_TOKEN: token,
      MASTERDB_MCP_TRANSPORT_TYPE: "http",
      MASTERDB_MCP_TRANSPORT_PORT: "0",
      ...(isOpen ? {} : { MASTERDB_MCP_TRANSPORT_BEARER_TOKEN_ENV: "TEST_TOKEN" }),
    },
  });
  return {
    url: await addressOf(started),
    headers: isOpen ? {} : { authorization: `Bearer ${token}` },
    [Symbol.asyncDispose]: () => started.stop(graceMs),
  };
}

/** The address that it writes to stderr, after which nobody reads that any longer. */
async function addressOf({ child }: StartedProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stderr ?? []) {
    text += String(chunk);
    const url = /serves (http:\S+) /.exec(text)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`svc mcp ended: ${text}`);
}

export function overHttp(
  { url, headers }: Pick<HttpProcess, "url" | "headers">,
  era: "session" | "alone",
): Promise<Assistant> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
  });
  return assistant(clientOf(era), (client) => client.connect(transport));
}
