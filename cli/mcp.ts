// `svc mcp`: the local tool server for assistants (Model Context Protocol).

import { readFile } from "node:fs/promises";
import { type Command, exitCodes } from "./command.ts";
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
  options: `
    --config FILE          configuration of the tool server (docs/mcp.md)
    --sandbox              use the sandbox of the node in the home folder
    --home DIR             with --sandbox: the node's home folder (default .svc)
    --check                say what is wrong and how to mend it, and exit
    --print-config-schema  print the JSON Schema of the configuration, and exit`,
  run: async (call) => {
    // Loaded only here: no other command needs the protocol's library.
    const { runToolServer } = await import("../mcp/program.ts");
    const options = {
      configFile: call.text("config"),
      sandboxHome: call.flag("sandbox") ? homeOf(call) : null,
      check: call.flag("check"),
      printConfigSchema: call.flag("print-config-schema"),
    };
    return await runToolServer(options, {
      env: call.env,
      cwd: call.cwd,
      stdin: process.stdin,
      stdout: process.stdout,
      version: await programVersion(),
      log: (line) => call.terminal.note(line),
      onStop: (stop) =>
        call.onStop(async () => {
          await stop();
          return exitCodes.done;
        }),
    });
  },
};

/** The version of this program, from its package. */
export async function programVersion(): Promise<string> {
  const file = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(file) as { readonly version: string };
  return version;
}
