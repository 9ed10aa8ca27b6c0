// `svc keys certify`, `issue`, `anchors`: what the holders of roots and of the issuance pair sign about keys.

import { type Arguments, type Command, type CommandContext, noArguments } from "../command.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import {
  environmentOf,
  environmentOption,
  instantsOf,
  outputOf,
  pathOf,
  pathsOf,
  replaceOption,
  timestampOf,
} from "./options.ts";
import { keyLines } from "./show.ts";

export const certify: Command = {
  name: "keys certify",
  usage: "",
  summary: "a root certifies itself, an issuance pair, or another root",
  details: [
    "Read what is printed before the file leaves the machine: the keys are then trusted as it says.",
    "Two roots that certify each other form a succession: a verifier that pins one accepts what the other certifies.",
  ],
  options: {
    root: { type: "string", value: "DIR", help: "folder of the root's private halves" },
    public: { type: "string", value: "FILE", help: "public halves to certify" },
    until: { type: "string", value: "TIME", help: "end them at this time, whatever their file says" },
    environment: environmentOption,
    out: { type: "string", value: "FILE", help: "file for the certificates" },
    replace: replaceOption,
  },
  run: runCertify,
};

async function runCertify(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, certify);
  const { certifyRequests } = await import("../../node/keys/ceremonies.ts");
  const until = args.text("until");
  const certified = await certifyRequests({
    root: pathOf(args, context, "root"),
    requests: pathOf(args, context, "public"),
    environment: environmentOf(args),
    until: until === null ? null : timestampOf("--until", until),
    out: outputOf(args, context, "out"),
    nowMs: context.now(),
  });
  for (const { use, keys, valid_from, valid_until } of certified) {
    for (const { key_id, alg } of keys)
      context.terminal.print(
        `Certified as ${use}: ${key_id} (${alg}), valid from ${valid_from} until ${valid_until}.`,
      );
  }
  return exitCodes.done;
}

export const issue: Command = {
  name: "keys issue",
  usage: "",
  summary: "issue the next key set, with everything that is needed to verify earlier signatures",
  details: [
    "The set is written only if it verifies under the anchors. A key of the previous set is never left out.",
    "A compromise is never withdrawn; of two instants the earlier one counts.",
  ],
  options: {
    issuance: { type: "string", value: "DIR", help: "folder of the issuance pair's private halves" },
    anchors: { type: "string", value: "FILE", help: "anchors that the set must verify under" },
    previous: { type: "string", value: "FILE", help: "previous set; --first says that there is none" },
    first: { type: "boolean", help: "this is the first set of the service" },
    public: { type: "string", multiple: true, value: "FILE", help: "working keys to certify" },
    certificates: { type: "string", multiple: true, value: "FILE", help: "certificates that a root gave" },
    retire: {
      type: "string",
      multiple: true,
      value: "KEY_ID[=TIME]",
      help: "end a working key, now or at a given time",
    },
    compromised: {
      type: "string",
      multiple: true,
      value: "KEY_ID[=TIME]",
      help: "invalidate what the key signed from this time on (default now)",
    },
    environment: environmentOption,
    out: { type: "string", value: "FILE", help: "file for the set" },
    replace: replaceOption,
  },
  run: runIssue,
};

async function runIssue(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, issue);
  const isFirst = args.flag("first");
  if (isFirst === (args.text("previous") !== null))
    throw new UsageError("Name the previous set with --previous FILE, or use --first if there is none.");
  const { writeKeySet } = await import("../../node/keys/ceremonies.ts");
  const trust = await writeKeySet({
    issuance: pathOf(args, context, "issuance"),
    anchors: pathOf(args, context, "anchors"),
    environment: environmentOf(args),
    previous: isFirst ? null : pathOf(args, context, "previous"),
    requests: pathsOf(args, context, "public"),
    certificates: pathsOf(args, context, "certificates"),
    ends: instantsOf(args, context, "retire"),
    compromised: instantsOf(args, context, "compromised"),
    out: outputOf(args, context, "out"),
    nowMs: context.now(),
  });
  for (const line of keyLines(trust, context.now())) context.terminal.print(line);
  return exitCodes.done;
}

export const anchors: Command = {
  name: "keys anchors",
  usage: "",
  summary: "write the public anchors that nodes and verifiers pin",
  options: {
    root: { type: "string", multiple: true, value: "FILE", help: "public halves of a root to pin" },
    "rp-id": { type: "string", multiple: true, value: "ID", help: "relying party of the portal's passkeys" },
    origin: { type: "string", multiple: true, value: "URL", help: "origin of the portal's passkeys" },
    "log-origin": { type: "string", value: "TEXT", help: "first line of log checkpoints" },
    environment: environmentOption,
    out: { type: "string", value: "FILE", help: "file for the anchors" },
    replace: replaceOption,
  },
  run: runAnchors,
};

async function runAnchors(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, anchors);
  const { writeAnchors } = await import("../../node/keys/ceremonies.ts");
  const logOrigin = args.text("log-origin");
  if (logOrigin === null) throw new UsageError("--log-origin is missing.");
  const written = await writeAnchors({
    roots: pathsOf(args, context, "root"),
    environment: environmentOf(args),
    passkeys: { rp_ids: args.texts("rp-id"), origins: args.texts("origin") },
    logOrigin,
    out: outputOf(args, context, "out"),
  });
  for (const { key_id, alg } of written.roots) context.terminal.print(`Pinned: ${key_id} (${alg}).`);
  return exitCodes.done;
}
