// Commands for operators, run against an operators' surface that a test provides. For tests.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOps, token } from "../../ops/ops.fixture.ts";
import { type Command, type CommandContext, parseArguments, runCommand } from "../command.ts";
import { createTerminal } from "../terminal.ts";

export interface OpsCommands extends AsyncDisposable {
  run(
    command: Command,
    words: readonly string[],
    context?: Partial<CommandContext>,
  ): Promise<{ readonly code: number; readonly text: string }>;
}

/** With `text`, every request is answered with it. */
export async function serveOps(
  changes: Parameters<typeof openOps>[0],
  text: string | null = null,
): Promise<OpsCommands> {
  const folder = await mkdtemp(join(tmpdir(), "svc-ops-commands-"));
  await writeFile(join(folder, "token"), `${token}\n`);
  const hosts: string[] = [];
  const server = openOps({ ...changes, access: { hosts, token, isLoopback: true } });
  if (text !== null)
    server.addHook("onSend", async (_request, reply) => {
      reply.code(200);
      reply.removeHeader("content-length");
      return text;
    });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  hosts.push(new URL(url).host);
  return {
    run: async (command, words, changed = {}) => {
      let written = "";
      const stream = {
        isTTY: false,
        columns: 400,
        write: (part: string): void => {
          written += part;
        },
      };
      const args = parseArguments(command, [...words, "--ops-url", url, "--token-file", "token"]);
      if (args === null) throw new Error("it is the help");
      const code = await runCommand(command, args, {
        terminal: createTerminal(stream, stream, { plain: true }),
        cwd: folder,
        env: {},
        now: () => 0,
        wait: async () => {},
        question: async () => null,
        onStop: () => {},
        ...changed,
      });
      return { code, text: written };
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
