// `svc doctor`: reports what is unsafe about a production node, before it starts and while it runs.

import { resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Finding } from "../node/doctor/examine.ts";
import { type Call, type Command, type CommandContext, exitCodes, UsageError } from "./command.ts";
import { readText } from "./connection.ts";

export const doctor: Command = {
  name: "doctor",
  usage: "",
  summary: "name every unsafe setting of a production node, each with its fix",
  details: [
    "Reads the settings that the node would start with (SVC_…), its files and its keys, and asks Cassandra and",
    "Elasticsearch. Nothing is started or changed. Exits with 0 only if nothing is unsafe;",
    "a warning names what production should have besides.",
  ],
  options: `
    --env-file FILE  read settings from lines of NAME=value instead of the environment
    --offline        do not ask Cassandra or Elasticsearch
    --node URL       also ask a running node at its operations surface, such as http://127.0.0.1:7304
    --json           print the findings as JSON`,
  run: async (call) => {
    const node = nodeOf(call.text("node"));
    const env = await envOf(call);
    const { examine } = await import("../node/doctor/examine.ts");
    const findings = await examine({ env, now: call.now, engines: !call.flag("offline"), node });
    show(findings, call);
    return findings.every(isWarning) ? exitCodes.done : exitCodes.negative;
  },
};

function isWarning({ warning }: Finding): boolean {
  return warning === true;
}

function nodeOf(text: string | null): URL | null {
  if (text === null) return null;
  const url = URL.parse(text);
  if (url !== null && url.protocol === "http:") return url;
  throw new UsageError(`--node is ${JSON.stringify(text)}; use an address such as http://127.0.0.1:7304.`);
}

async function envOf(call: Call): Promise<CommandContext["env"]> {
  const file = call.text("env-file");
  return file === null ? call.env : parseEnv(await readText(resolve(call.cwd, file)));
}

function show(findings: readonly Finding[], { terminal, flag }: Call): void {
  const unsafe = findings.filter((each) => !isWarning(each));
  if (flag("json")) {
    terminal.print(JSON.stringify({ safe: unsafe.length === 0, findings }, null, 2));
    return;
  }
  for (const { code, where, problem, fix, warning } of findings) {
    terminal.print(`${warning ? `warning ${code}` : terminal.bad(code)}  ${where} ${problem}.`);
    terminal.print(`  ${fix}`);
  }
  terminal.print(
    unsafe.length === 0
      ? terminal.good("Nothing unsafe was found.")
      : `${unsafe.length} ${unsafe.length === 1 ? "setting is" : "settings are"} unsafe.`,
  );
}
