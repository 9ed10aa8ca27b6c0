// `svc verify`: verifies an evidence file, a saved answer of any kind, or a record of one's own catalogue, offline and with pinned
// anchors. It contacts no service.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import {
  type AnchorsChoice,
  type Check,
  type FileVerdict,
  isAnswerFile,
  isCatalogueFile,
  isSealedFile,
  isShownPriceFile,
  isStatementFile,
  type Report,
  verifyAnswerFile,
  verifyCatalogueFile,
  verifyEvidenceFile,
  verifySealedFile,
  verifyStatementFile,
} from "../client/evidence.ts";
import {
  type Arguments,
  type Call,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
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
    "FILE is - for the standard input. It may also be the bare answer of a search, a fetch or a pool of ads, or a saved answer of POST /v1/verify,",
    "GET /v1/verify/{record_id}, GET /.well-known/svc-keys or GET /v1/entitlement, or only the envelope in one of these four. The keys that signed it",
    "are then judged by --key-set, a saved GET /.well-known/keys, and the seal of a fetched record by --business-keys and --certificate.",
    "Of a business's own record (svc catalogue ID --json), --business-keys says whose it has to be, and --certificate what it was sealed under.",
    "A document that a person sealed (a mandate, a decision about a held push, a custody request, or with --record the seal of a record, an AI policy,",
    "a withdrawal) needs --key-set and --business-keys, a seal --certificate as well. It is printed in the words that the person was shown.",
    "The proof of a shown price (svc prove-price) is judged by --key-set, or else by the chain in it, and says in words what it proves.",
    "Exits with 0 if every check that could be made passes, and with 1 if one fails.",
  ],
  options: `
    --anchors FILE        pinned anchors (JSON)
    --sandbox             accept sandbox anchors
    --key-set FILE        the key set, for an answer that carries none
    --record FILE         the exact bytes that the answer must be about, or that the seal is over
    --business-keys FILE  a saved GET /v1/certificates/{uuid}/keys, for a record or a sealed document
    --certificate FILE    a saved GET /v1/certificates/{uuid}, for a record or a seal
    --json                print the report as JSON
    --home DIR            home folder whose sandbox.json has the anchors`,
  run: async (call) => {
    const contents = await readBytes(call.argument, call);
    const choice = { anchorsText: await loadAnchors(call), allowSandbox: call.flag("sandbox") };
    const outcome = isStatementFile(contents)
      ? await verifyStatement(contents, choice, call)
      : isCatalogueFile(contents)
        ? await verifyCatalogue(contents, choice, call)
        : isSealedFile(contents)
          ? await verifySealed(contents, choice, call)
          : isAnswerFile(contents)
            ? await verifyAnswer(contents, choice, call)
            : await verifyEvidence(contents, choice, call);
    if (!outcome.ok) throw new UsageError(outcome.detail);
    return showReport(outcome.value, call);
  },
};

/** Prints the report of checks, and says by the exit code whether all that were made passed. */
export function showReport(report: Report, call: Call): ExitCode {
  const { terminal } = call;
  if (call.flag("json")) terminal.print(JSON.stringify(report));
  else {
    for (const line of report.words ?? []) terminal.print(line);
    for (const check of report.checks) showCheck(terminal, check);
    const missing = report.complete ? "" : " Some checks could not be made.";
    terminal.print(report.valid ? terminal.good(`Valid.${missing}`) : terminal.bad(`Not valid.${missing}`));
  }
  return report.valid ? exitCodes.done : exitCodes.negative;
}

async function verifyEvidence(contents: Uint8Array, choice: AnchorsChoice, call: Call): Promise<FileVerdict> {
  if (!isObjectText(new TextDecoder().decode(contents)))
    throw new UsageError("The file is no JSON object, so it is neither evidence nor a saved answer.");
  const unused = isShownPriceFile(contents) ? [] : ["key-set"];
  refuseUnused(call, [...unused, "record", ...ofCatalogue], "evidence carries its own");
  const [keySet] = await savedFiles(["key-set"], call);
  return verifyEvidenceFile(contents, { ...choice, ...(keySet === undefined ? {} : { keySet }) });
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const ofCatalogue = ["business-keys", "certificate"] as const;

function refuseUnused(args: Arguments, names: readonly string[], why: string): void {
  const unused = names.find((name) => args.text(name) !== null);
  if (unused !== undefined) throw new UsageError(`--${unused} has no meaning for this file: ${why}.`);
}

async function verifyAnswer(contents: Uint8Array, choice: AnchorsChoice, call: Call): Promise<FileVerdict> {
  refuseUnused(call, ["record"], "the record is in the answer");
  const [keySet, businessKeys, certificate] = await savedFiles(["key-set", ...ofCatalogue], call);
  if (keySet === undefined)
    throw new UsageError(
      "A bare answer needs --key-set FILE, a saved answer of GET /.well-known/keys. What --save writes brings its own.",
    );
  return verifyAnswerFile(contents, {
    ...choice,
    keySet,
    ...(businessKeys === undefined ? {} : { businessKeys }),
    ...(certificate === undefined ? {} : { certificate }),
  });
}

/** The contents of the files that options name, undefined for an option that was not given. */
function savedFiles(options: readonly string[], call: Call): Promise<readonly (Uint8Array | undefined)[]> {
  return Promise.all(
    options.map(async (name) => {
      const file = call.text(name);
      return file === null ? undefined : await readBytes(file, call);
    }),
  );
}

async function verifyCatalogue(
  contents: Uint8Array,
  choice: AnchorsChoice,
  call: Call,
): Promise<FileVerdict> {
  refuseUnused(call, ["record"], "the record is in the answer");
  const [keySet, businessKeys, certificate] = await savedFiles(["key-set", ...ofCatalogue], call);
  if (keySet === undefined || businessKeys === undefined || certificate === undefined)
    throw new UsageError(
      "A record of a catalogue needs --key-set, --business-keys and --certificate: saved answers of the verification surface.",
    );
  return verifyCatalogueFile(contents, { ...choice, keySet, businessKeys, certificate });
}

async function verifySealed(contents: Uint8Array, choice: AnchorsChoice, call: Call): Promise<FileVerdict> {
  const options = ["key-set", ...ofCatalogue, "record"];
  const [keySet, businessKeys, certificate, record] = await savedFiles(options, call);
  if (keySet === undefined || businessKeys === undefined)
    throw new UsageError(
      "A sealed document needs --key-set and --business-keys: saved answers of the verification surface.",
    );
  return verifySealedFile(contents, {
    ...choice,
    keySet,
    businessKeys,
    ...(certificate === undefined ? {} : { certificate }),
    ...(record === undefined ? {} : { document: record }),
  });
}

async function verifyStatement(
  contents: Uint8Array,
  choice: AnchorsChoice,
  call: Call,
): Promise<FileVerdict> {
  refuseUnused(call, ofCatalogue, "a statement is judged by the key set alone");
  const keySet = call.text("key-set");
  if (keySet === null)
    throw new UsageError("Name the key set with --key-set FILE: a saved answer of GET /.well-known/keys.");
  const record = call.text("record");
  return verifyStatementFile(contents, {
    ...choice,
    keySet: await readBytes(keySet, call),
    nowMs: call.now(),
    ...(record === null ? {} : { record: await readBytes(record, call) }),
  });
}

/** The contents of a file that the user named, `-` for the standard input. Throws {@link UsageError}. */
export async function readBytes(path: string, { cwd }: CommandContext): Promise<Uint8Array> {
  if (path === "-") return new Uint8Array(await buffer(process.stdin));
  const file = resolve(cwd, path);
  const contents = await readFile(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  return new Uint8Array(contents);
}

/** The anchors that the options name. Throws {@link UsageError}. */
export async function loadAnchors(call: Call): Promise<string> {
  const file = call.text("anchors");
  if (file !== null) return await readText(resolve(call.cwd, file));
  if (!call.flag("sandbox")) {
    throw new UsageError(
      "Name the anchors to trust with --anchors FILE, or use those of the sandbox with --sandbox.",
    );
  }
  return JSON.stringify((await loadSandbox(homeOf(call))).anchors);
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
