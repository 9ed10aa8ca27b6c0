// `svc log audit`: follows the transparency log like a monitor. The server is not trusted.

import { resolve } from "node:path";
import { type AuditedEntry, auditLog } from "../client/log-audit.ts";
import {
  anchoredLog,
  formatAuditState,
  parseAuditState,
  portablePrimitives,
} from "../client/log-audit-state.ts";
import { httpLog, LogFault } from "../client/log-reader.ts";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";
import { type Arguments, type Command, type CommandContext, noArguments } from "./command.ts";
import { homeOf, loadSandbox, readText } from "./connection.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import { visible } from "./terminal.ts";

/** Entries of one business that an audit lists; so many that a longer list is read from the log itself. */
const listedMax = 10_000;

export const logAudit: Command = {
  name: "log audit",
  usage: "",
  summary: "follow the transparency log: every entry, tile and proof since the last audit",
  details: [
    "The log's key comes from --log, or from the key set of the service under --anchors, or with --sandbox under the sandbox's anchors.",
    "Exits with 0 if the log is whole and continues the last audit, with 1 and a code (docs/log.md) if it is not.",
  ],
  options: {
    url: { type: "string", value: "URL", help: "the verification host; needed unless --sandbox says it" },
    log: {
      type: "string",
      multiple: true,
      value: "'ORIGIN KEY'",
      help: "the log's origin and verifier key; again for a further key of it",
    },
    anchors: { type: "string", value: "FILE", help: "pinned anchors (JSON)" },
    sandbox: { type: "boolean", help: "audit the sandbox of the home folder, under its anchors" },
    home: { type: "string", value: "DIR", help: "home folder whose sandbox.json has the anchors" },
    state: { type: "string", value: "FILE", help: "how far the log was audited (default log-audit.json)" },
    business: {
      type: "string",
      value: "UUID",
      help: "list what was sealed, certified or registered in its name",
    },
    json: { type: "boolean", help: "print the result as JSON" },
  },
  run: runLogAudit,
};

async function runLogAudit(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, logAudit);
  const { url, log } = await chosenLog(args, context);
  const path = resolve(context.cwd, args.text("state") ?? "log-audit.json");
  const business = args.text("business");
  const listed: AuditedEntry[] = [];
  let more = 0;
  const onEntry = (entry: AuditedEntry): void => {
    if (entry.subject !== business) return;
    if (listed.length < listedMax) listed.push(entry);
    else more += 1;
  };
  try {
    const text = await readFileIfThere(path);
    const state = text === null ? null : parseAuditState(text);
    const read = httpLog({ url, fetch: (at, init) => fetch(at, init) });
    const audit = await auditLog({ ...portablePrimitives, ...log, read }, state, onEntry);
    const { from, size } = audit;
    say(args, context, { from, size, listed, more });
    // Written last: what a killed audit may not have printed is audited again.
    await replaceFile(path, formatAuditState(audit.state));
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof LogFault)) throw error;
    const { code, message: detail } = error;
    if (args.flag("json")) context.terminal.print(JSON.stringify({ valid: false, code, detail }));
    else context.terminal.print(context.terminal.bad(visible(`Refused: ${code}: ${detail}`)));
    return exitCodes.negative;
  }
}

async function chosenLog(args: Arguments, context: CommandContext) {
  const sandbox = args.flag("sandbox") ? await loadSandbox(homeOf(args, context)) : null;
  const url = args.text("url") ?? sandbox?.verify_url ?? null;
  if (url === null || !URL.canParse(url)) throw new UsageError("Name the verification host with --url URL.");
  const lines = args.texts("log");
  if (lines.length > 0) {
    const { parseWitnessedLogs } = await import("../node/witness/witnessed-logs.ts");
    const [log, other] = parseWitnessedLogs("--log", lines);
    if (log === undefined || other !== undefined) throw new UsageError("--log names keys of one log.");
    return { url, log };
  }
  const file = args.text("anchors");
  if (file === null && sandbox === null)
    throw new UsageError(
      "Name the log with --log 'ORIGIN KEY', or the anchors with --anchors FILE or --sandbox.",
    );
  const anchors =
    file === null ? JSON.stringify(sandbox?.anchors) : await readText(resolve(context.cwd, file));
  const keySet = await httpLog({ url, fetch: (at, init) => fetch(at, init) }).keySet();
  const log = anchoredLog(anchors, keySet);
  if (typeof log === "string") throw new UsageError(log);
  return { url, log };
}

function say(
  args: Arguments,
  { terminal }: CommandContext,
  {
    from,
    size,
    listed,
    more,
  }: {
    readonly from: number;
    readonly size: number;
    readonly listed: readonly AuditedEntry[];
    readonly more: number;
  },
): void {
  if (args.flag("json")) {
    terminal.print(JSON.stringify({ valid: true, from, size, entries: listed, more }));
    return;
  }
  for (const { index, leaf_type, leaf } of listed) terminal.print(`${index}  ${leaf_type}  ${leaf}`);
  if (more > 0) terminal.print(`and ${more} more`);
  terminal.print(terminal.good(`The log is whole and continues, from entry ${from} to its size ${size}.`));
}
