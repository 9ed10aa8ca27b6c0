// A process of the local tool server, spoken to in bare lines: no client library is measured with it.

import { createInterface } from "node:readline";
import { type StartedProcess, startProcess } from "../../tools/process.ts";

interface Answer {
  readonly id?: number;
  readonly result?: { readonly isError?: boolean };
  readonly error?: { readonly message: string };
}

const graceMs = 5_000;

export class ToolProcess implements AsyncDisposable {
  readonly #process: StartedProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #ids = 0;

  private constructor(home: string) {
    const args = ["mcp/main.mjs", "--sandbox", "--home", home];
    this.#process = startProcess(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const { stdout } = this.#process.child;
    if (stdout === null) throw new Error("The tool server has no output.");
    createInterface({ input: stdout }).on("line", (line) => this.#take(JSON.parse(line) as Answer));
    void this.#process.ended.then(() => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The tool server ended."));
    });
  }

  /** Starts a process and opens its session. */
  static async start(home: string): Promise<ToolProcess> {
    const started = new ToolProcess(home);
    const clientInfo = { name: "bench", version: "1" };
    await started.#ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    started.#write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return started;
  }

  /** Rejects unless the tool answers without an error. */
  async callTool(name: string, args: object): Promise<void> {
    const { result } = await this.#ask("tools/call", { name, arguments: args });
    if (result?.isError === true) throw new Error(`The tool ${name} refused the call.`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.child.stdin?.end();
    await this.#process.stop(graceMs);
  }

  async #ask(method: string, params: object): Promise<Answer> {
    this.#ids += 1;
    const id = this.#ids;
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.set(id, waiting);
    this.#write({ jsonrpc: "2.0", id, method, params });
    const answer = await waiting.promise;
    if (answer.error !== undefined) throw new Error(answer.error.message);
    return answer;
  }

  #take(answer: Answer): void {
    const { id = 0 } = answer;
    this.#waiting.get(id)?.resolve(answer);
    this.#waiting.delete(id);
  }

  #write(message: object): void {
    this.#process.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}
