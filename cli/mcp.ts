// `svc mcp`: the local tool server for assistants (Model Context Protocol).

import { readFile } from "node:fs/promises";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  noArguments,
} from "./command.ts";
import { homeOf } from "./connection.ts";

export const mcp: Command = {
  name: "mcp",
  usage: "",
  summary: "serve an assistant (MCP): search, fetch and verify as tools, over stdio or HTTP",
  details: [
    "An assistant starts it; docs/mcp.md has the configuration of five of them.",
    "With --sandbox it acts as the sandbox's first AI company, and needs nothing else. Otherwise --config FILE, the",
    "variable MASTERDB_MCP_CONFIG or variables for its members say which service it calls, and with which key.",
  ],
  options: {
    config: { type: "string", value: "FILE", help: "configuration of the tool server (docs/mcp.md)" },
    sandbox: { type: "boolean", help: "use the sandbox of the node in the home folder" },
    home: { type: "string", value: "DIR", help: "with --sandbox: the node's home folder (default .svc)" },
    check: { type: "boolean", help: "say what is wrong and how to mend it, and exit" },
    "print-config-schema": { type: "boolean", help: "print the JSON Schema of the configuration, and exit" },
  },
  run: runMcp,
};

async function runMcp(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, mcp);
  // Loaded only here: no other command needs the protocol's library.
  const { runToolServer } = await import("../mcp/program.ts");
  const packageFile = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(packageFile) as { readonly version: string };
  const options = {
    configFile: args.text("config"),
    sandboxHome: args.flag("sandbox") ? homeOf(args, context) : null,
    check: args.flag("check"),
    printConfigSchema: args.flag("print-config-schema"),
  };
  return await runToolServer(options, {
    ...{ env: context.env, cwd: context.cwd, stdin: process.stdin, stdout: process.stdout, version },
    log: (line) => context.terminal.note(line),
    onStop: (stop) =>
      context.onStop(async () => {
        await stop();
        return exitCodes.done;
      }),
  });
}
