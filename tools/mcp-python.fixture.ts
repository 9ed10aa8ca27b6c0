// The official client of the Model Context Protocol for Python, as a process that is asked line by line.

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { root, type StartedProcess, startProcess } from "./process.ts";
import { makeVirtualEnvironment } from "./virtual-environment.fixture.ts";

/** Where the server is and how to speak to it, and what it can be asked: see tools/mcp-judges/client.py. */
export type PythonServer = { readonly mode: "legacy" | "2026-07-28" } & (
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
);

export interface PythonClient extends AsyncDisposable {
  /** The result; rejects with what the client said of a refusal. */
  ask(question: object): Promise<Readonly<Record<string, unknown>>>;
}

export interface PythonClients extends AsyncDisposable {
  open(server: PythonServer): Promise<PythonClient>;
  /** What `tdqs lint` says of tools in its last line. */
  lint(tools: readonly unknown[]): Promise<string>;
  /** What `agent-friend grade` says of tools. */
  grade(tools: readonly unknown[]): Promise<{ readonly overall_grade: string }>;
}

/** Installs what tools/mcp-judges/requirements.txt pins. Null, said loudly, where that cannot be done; in CI that is a failure. */
export async function installPythonClients(): Promise<PythonClients | null> {
  const source = join(root, "tools/mcp-judges");
  const what = "the client of the Model Context Protocol for Python";
  const environment = await makeVirtualEnvironment(join(source, "requirements.txt"), what);
  if (environment === null) return null;
  const judge = (program: string, args: readonly string[], input: unknown): string =>
    spawnSync(environment.python, [join(dirname(environment.python), program), ...args], {
      input: JSON.stringify(input),
      encoding: "utf8",
    }).stdout;
  return {
    open: async (server) => {
      const process_ = startProcess(environment.python, [join(source, "client.py")], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      const client = new LineClient(process_);
      await client.ask(server);
      return client;
    },
    lint: async (tools) => {
      const said = judge("tdqs", ["lint", "--file", "-", "--format", "text"], { tools });
      return said.trim().split("\n").at(-1) ?? "";
    },
    grade: async (tools) => JSON.parse(judge("agent-friend", ["grade", "--json", "-"], tools)),
    [Symbol.asyncDispose]: () => environment[Symbol.asyncDispose](),
  };
}

const graceMs = 10_000;

class LineClient implements PythonClient {
  readonly #process: StartedProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #interface: Interface;

  constructor(started: StartedProcess) {
    const { stdout } = started.child;
    if (stdout === null) throw new Error("The client has no output.");
    this.#process = started;
    this.#interface = createInterface({ input: stdout });
    this.#lines = this.#interface[Symbol.asyncIterator]();
  }

  async ask(question: object): Promise<Readonly<Record<string, unknown>>> {
    this.#process.child.stdin?.write(`${JSON.stringify(question)}\n`);
    const { done, value } = await this.#lines.next();
    if (done === true) throw new Error("The client for Python ended.");
    const { result, refused } = JSON.parse(value) as {
      readonly result?: Readonly<Record<string, unknown>>;
      readonly refused?: string;
    };
    if (result === undefined) throw new Error(refused);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.child.stdin?.end();
    await this.#process.ended;
    this.#interface.close();
    await this.#process.stop(graceMs);
  }
}
