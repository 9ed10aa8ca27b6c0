// `svc verify`: verifies an evidence file, a saved answer with a signed statement in it, or a record of one's own catalogue, offline and
// with pinned anchors. It contacts no service.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type AnchorsChoice,
  type Check,
  type FileVerdict,
  isCatalogueFile,
  isStatementFile,
  type Report,
  verifyCatalogueFile,
  verifyEvidenceFile,
  verifyStatementFile,
} from "../client/evidence.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "./command.ts";
import { homeOf, loadSandbox, readText } from "./connection.ts";
import { type Terminal, visible } from "./terminal.ts";

export const verify: Command = {
  name: "verify",
  usage: "FILE",
  summary: "check an evidence file offline: receipt, seal, certificate, keys, AI policy",
  details: [
    "Trust comes only from anchors: --anchors FILE, or with --sandbox those of the sandbox in the home folder.",
    "Sandbox anchors vouch for nothing real, so they are used only if --sandbox says so.",
    "FILE may also be a saved answer of POST /v1/verify, GET /v1/verify/{record_id}, GET /.well-known/svc-keys or",
    "GET /v1/entitlement, or only the envelope in it. The key that signed it is then judged by --key-set, a saved GET /.well-known/keys.",
    "Of a business's own record (svc catalogue ID --json), --business-keys says whose it has to be, and --certificate what it was sealed under.",
    "Exits with 0 if every check that could be made passes, and with 1 if one fails.",
  ],
  options: {
    anchors: { type: "string", value: "FILE", help: "pinned anchors (JSON)" },
    sandbox: { type: "boolean", help: "accept sandbox anchors" },
    "key-set": { type: "string", value: "FILE", help: "the key set, for an answer that carries none" },
    record: {
      type: "string",
      value: "FILE",
      help: "the record's exact bytes, that the answer must be about",
    },
    "business-keys": {
      type: "string",
      value: "FILE",
      help: "a saved GET /v1/certificates/{uuid}/keys, for a record of a catalogue",
    },
    certificate: {
      type: "string",
      value: "FILE",
      help: "a saved GET /v1/certificates/{uuid}, for a record of a catalogue",
    },
    json: { type: "boolean", help: "print the report as JSON" },
    home: { type: "string", value: "DIR", help: "home folder whose sandbox.json has the anchors" },
  },
  run: runVerify,
};

async function runVerify(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const contents = await readBytes(onlyArgument(args, verify), context);
  const choice = { anchorsText: await loadAnchors(args, context), allowSandbox: args.flag("sandbox") };
  const outcome = isStatementFile(contents)
    ? await verifyStatement(contents, choice, args, context)
    : isCatalogueFile(contents)
      ? await verifyCatalogue(contents, choice, args, context)
      : verifyEvidence(contents, choice, args);
  if (!outcome.ok) throw new UsageError(outcome.detail);
  return showReport(outcome.value, args, context);
}

/** Prints the report of checks, and says by the exit code whether all that were made passed. */
export function showReport(report: Report, args: Arguments, { terminal }: CommandContext): ExitCode {
  if (args.flag("json")) terminal.print(JSON.stringify(report));
  else {
    for (const check of report.checks) showCheck(terminal, check);
    const missing = report.complete ? "" : " Some checks could not be made.";
    terminal.print(report.valid ? terminal.good(`Valid.${missing}`) : terminal.bad(`Not valid.${missing}`));
  }
  return report.valid ? exitCodes.done : exitCodes.negative;
}

function verifyEvidence(contents: Uint8Array, choice: AnchorsChoice, args: Arguments): FileVerdict {
  refuseUnused(args, ["key-set", "record", ...ofCatalogue], "evidence carries its own");
  return verifyEvidenceFile(contents, choice);
}

const ofCatalogue = ["business-keys", "certificate"] as const;

function refuseUnused(args: Arguments, names: readonly string[], why: string): void {
  const unused = names.find((name) => args.text(name) !== null);
  if (unused !== undefined) throw new UsageError(`--${unused} has no meaning for this file: ${why}.`);
}

async function verifyCatalogue(
  contents: Uint8Array,
  choice: AnchorsChoice,
  args: Arguments,
  context: CommandContext,
): Promise<FileVerdict> {
  refuseUnused(args, ["record"], "the record is in the answer");
  const [keySet, businessKeys, certificate] = ["key-set", ...ofCatalogue].map((name) => args.text(name));
  if (keySet == null || businessKeys == null || certificate == null)
    throw new UsageError(
      "A record of a catalogue needs --key-set, --business-keys and --certificate: saved answers of the verification surface.",
    );
  return verifyCatalogueFile(contents, {
    ...choice,
    keySet: await readBytes(keySet, context),
    businessKeys: await readBytes(businessKeys, context),
    certificate: await readBytes(certificate, context),
  });
}

async function verifyStatement(
  contents: Uint8Array,
  choice: AnchorsChoice,
  args: Arguments,
  context: CommandContext,
): Promise<FileVerdict> {
  refuseUnused(args, ofCatalogue, "a statement is judged by the key set alone");
  const keySet = args.text("key-set");
  if (keySet === null)
    throw new UsageError("Name the key set with --key-set FILE: a saved answer of GET /.well-known/keys.");
  const record = args.text("record");
  return verifyStatementFile(contents, {
    ...choice,
    keySet: await readBytes(keySet, context),
    nowMs: context.now(),
    ...(record === null ? {} : { record: await readBytes(record, context) }),
  });
}

/** The contents of a file that the user named. Throws {@link UsageError}. */
export async function readBytes(path: string, { cwd }: CommandContext): Promise<Uint8Array> {
  const file = resolve(cwd, path);
  const contents = await readFile(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  return new Uint8Array(contents);
}

/** The anchors that the options name. Throws {@link UsageError}. */
export async function loadAnchors(args: Arguments, context: CommandContext): Promise<string> {
  const file = args.text("anchors");
  if (file !== null) return await readText(resolve(context.cwd, file));
  if (!args.flag("sandbox")) {
    throw new UsageError(
      "Name the anchors to trust with --anchors FILE, or use those of the sandbox with --sandbox.",
    );
  }
  return JSON.stringify((await loadSandbox(homeOf(args, context))).anchors);
}

function showCheck(terminal: Terminal, check: Check): void {
  const states = {
    ok: terminal.good("ok          "),
    failed: terminal.bad("FAILED      "),
    not_checked: terminal.dim("not checked "),
    unsigned: terminal.dim("not signed  "),
  };
  const reason = check.reason === undefined ? "" : `${check.reason}: `;
  terminal.print(
    `${states[check.state]} ${check.name.padEnd(14)} ${visible(reason + (check.detail ?? ""))}`.trimEnd(),
  );
}
