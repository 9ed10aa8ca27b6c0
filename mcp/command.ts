// What `svc-mcp` does with its words.

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type ProgramOptions, runToolServer } from "./program.ts";

const usage = "Usage: svc-mcp [--config FILE | --sandbox [--home DIR]] [--check | --print-config-schema]";
const log = (line: string): void => void process.stderr.write(`${line}\n`);

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<number> {
  const options = optionsOf(words);
  if (options === null) return 2;
  if (options === "help") {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  return await runToolServer(options, {
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    log,
    version,
    onStop: (stop) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
    },
  });
}

function optionsOf(words: readonly string[]): ProgramOptions | "help" | null {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        config: { type: "string" },
        sandbox: { type: "boolean" },
        home: { type: "string" },
        check: { type: "boolean" },
        "print-config-schema": { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help === true) return "help";
    return {
      configFile: values.config ?? null,
      sandboxHome: values.sandbox === true ? (values.home ?? process.env["SVC_HOME"] ?? ".svc") : null,
      check: values.check === true,
      printConfigSchema: values["print-config-schema"] === true,
    };
  } catch (error) {
    log(`${(error as Error).message.split(". ")[0]}. ${usage}`);
    return null;
  }
}
