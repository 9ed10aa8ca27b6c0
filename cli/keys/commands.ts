// The commands of `svc keys`, in the order in which a new service needs them.

import { resolve } from "node:path";
import { namedAs, witnessedAs } from "../../verifier/log.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  noArguments,
  onlyArgument,
  UsageError,
} from "../command.ts";
import {
  environmentOf,
  environmentOption,
  instantsOf,
  keysOption,
  outputOf,
  pathOf,
  pathsOf,
  publicOption,
  replaceOption,
  timestampOf,
  windowOf,
  windowOptions,
} from "./options.ts";

// `svc keys serve-issuance`: runs the process that holds the issuance pair.

const serveIssuance: Command = {
  name: "keys serve-issuance",
  usage: "",
  summary: "sign certificates and custody statements for the nodes of this machine",
  details: [
    "Signs nothing else, and writes a line to the audit log before each signature.",
    "The folder of the keys also contains anchors.json and key-set.json.",
  ],
  options: {
    keys: { type: "string", value: "DIR", help: "folder of the issuance pair" },
    clients: {
      type: "string",
      value: "DIR",
      help: "folder of the nodes' secrets, one NAME.secret for each node",
    },
    audit: { type: "string", value: "FILE", help: "audit log, with one line for each signature" },
    listen: {
      type: "string",
      value: "ADDRESS",
      help: "unix:/path/of.sock, or 127.0.0.1:PORT (default 127.0.0.1:7399)",
    },
    environment: environmentOption,
  },
  run: runServe,
};

async function runServe(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, serveIssuance);
  const [{ startIssuance }, { parseIssuanceAddress }] = await Promise.all([
    import("../../node/keys/issuance-server.ts"),
    import("../../node/configuration/key-config.ts"),
  ]);
  const issuance = await startIssuance({
    keys: pathOf(args, context, "keys"),
    clients: pathOf(args, context, "clients"),
    audit: pathOf(args, context, "audit"),
    listen: parseIssuanceAddress("--listen", args.text("listen") ?? "127.0.0.1:7399"),
    environment: environmentOf(args),
    clock: { now: context.now },
  });
  const { promise: stopped, resolve } = Promise.withResolvers<ExitCode>();
  context.onStop(async () => {
    await issuance[Symbol.asyncDispose]();
    resolve(exitCodes.done);
    return exitCodes.done;
  });
  const { address } = issuance;
  const where = "socket" in address ? `unix:${address.socket}` : `${address.host}:${address.port}`;
  context.terminal.print(`Issuing with ${issuance.keyIds.join(" + ")} at ${where}`);
  return await stopped;
}

// `svc keys create-…`: creates private keys of the service, each on the machine where it stays.

const rootDays = 7_300;
const issuanceDays = 1_095;
const workingDays = 730;

function pairCommand(use: "root" | "issuance", days: number, summary: string): Command {
  const command: Command = {
    name: `keys create-${use}`,
    usage: "",
    summary,
    options: { keys: keysOption, public: publicOption, ...windowOptions(days), replace: replaceOption },
    run: async (args, context) => {
      noArguments(args, command);
      const { createPair } = await import("../../node/keys/ceremonies.ts");
      const made = await createPair({
        use,
        keys: pathOf(args, context, "keys"),
        public: outputOf(args, context, "public"),
        window: windowOf(args, context, days),
      });
      return say(context, args, [made]);
    },
  };
  return command;
}

const createRoot: Command = pairCommand(
  "root",
  rootDays,
  "make a root pair, on a machine that is never connected to a network",
);

const createIssuance: Command = pairCommand(
  "issuance",
  issuanceDays,
  "make an issuance pair, on the machine of the issuance process",
);

const createWorkingKeys: Command = {
  name: "keys create-working",
  usage: "",
  summary: "make the keys that nodes of a region sign with",
  details: [
    "Role serving: projection, receipt, sidecar and statement keys. Role log: the key of log checkpoints.",
    "They are added to the keys in the folder; --use makes only some of them.",
  ],
  options: {
    region: { type: "string", value: "REGION", help: "the nodes' region, such as eu-west1" },
    role: { type: "string", value: "ROLE", help: "serving (default) or log" },
    use: {
      type: "string",
      multiple: true,
      value: "USE",
      help: "make only this key; may be given several times",
    },
    keys: keysOption,
    public: publicOption,
    ...windowOptions(workingDays),
    replace: replaceOption,
  },
  run: runCreateWorking,
};

async function runCreateWorking(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, createWorkingKeys);
  const { createWorking, roleUses } = await import("../../node/keys/ceremonies.ts");
  const region = args.text("region") ?? "";
  if (!/^[a-z]+-[a-z]+[0-9]+$/.test(region))
    throw new UsageError(`--region is ${JSON.stringify(region)}; use a name like eu-west1.`);
  const role = args.text("role") ?? "serving";
  if (role !== "serving" && role !== "log")
    throw new UsageError(`--role is ${JSON.stringify(role)}; use serving or log.`);
  const uses = args.texts("use");
  const all: readonly string[] = roleUses[role];
  const unknown = uses.find((use) => !all.includes(use));
  if (unknown !== undefined)
    throw new UsageError(`--use is ${JSON.stringify(unknown)}; role ${role} has ${all.join(", ")}.`);
  const made = await createWorking({
    ...{ role, region },
    ...(uses.length === 0 ? {} : { uses }),
    keys: pathOf(args, context, "keys"),
    public: outputOf(args, context, "public"),
    window: windowOf(args, context, workingDays),
    nowMs: context.now(),
  });
  return say(context, args, made);
}

const createRecordIdSecret: Command = {
  name: "keys create-record-id",
  usage: "",
  summary: "make the secret of record ids, once and for ever for the whole service",
  options: { keys: keysOption },
  run: async (args, context) => {
    noArguments(args, createRecordIdSecret);
    const { createRecordId } = await import("../../node/keys/ceremonies.ts");
    await createRecordId(pathOf(args, context, "keys"));
    context.terminal.note(
      `record-id.jwk is in ${args.text("keys")}. All nodes of all regions need this one; it never rotates.`,
    );
    return exitCodes.done;
  },
};

const createSecret: Command = {
  name: "keys create-secret",
  usage: "",
  summary: "make a secret in a file, for the cluster or for a node that asks the issuance process",
  options: { out: { type: "string", value: "FILE", help: "file for the secret; it must not exist" } },
  run: async (args, context) => {
    noArguments(args, createSecret);
    const { writeSecret } = await import("../../node/keys/secret-file.ts");
    await writeSecret(pathOf(args, context, "out"));
    context.terminal.note(`The secret is in ${args.text("out")}, readable only by you.`);
    return exitCodes.done;
  },
};

interface Made {
  readonly use: string;
  readonly region: string | null;
  readonly keys: readonly { readonly key_id: string; readonly alg: string }[];
  readonly valid_from: string;
  readonly valid_until: string | null;
}

function say(context: CommandContext, args: Arguments, made: readonly Made[]): ExitCode {
  const { terminal } = context;
  terminal.note(
    `The private halves are in ${args.text("keys")}, readable only by you; the public ones are in ${args.text("public")}.`,
  );
  for (const { use, region, keys, valid_from, valid_until } of made) {
    for (const { key_id, alg } of keys)
      terminal.print(
        [region === null ? use : `${use} ${region}`, key_id, alg, valid_from, valid_until].join("  "),
      );
  }
  return exitCodes.done;
}

// `svc keys certify`, `issue`, `anchors`: what the holders of roots and of the issuance pair sign about keys.

const certify: Command = {
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

const issue: Command = {
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

const anchors: Command = {
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

// `svc keys show`, `id`: shows a key set in plain words, as the public verifier judges it, and the ids of keys in a file.

const show: Command = {
  name: "keys show",
  usage: "FILE",
  summary: "verify a key set under anchors, and show its contents",
  options: {
    anchors: { type: "string", value: "FILE", help: "anchors to verify it under" },
    environment: environmentOption,
  },
  run: runShow,
};

async function runShow(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { loadAnchors, loadKeySet } = await import("../../node/keys/trusted-files.ts");
  const file = resolve(context.cwd, onlyArgument(args, show));
  const anchors = await loadAnchors(pathOf(args, context, "anchors"), environmentOf(args));
  const { trust } = await loadKeySet(file, anchors);
  for (const line of keyLines(trust, context.now())) context.terminal.print(line);
  for (const log of witnessedAs(trust)) context.terminal.print(`svc witness --log '${log}'`);
  for (const key of namedAs(trust)) context.terminal.print(`log ${key}   (policy files)`);
  return exitCodes.done;
}

const id: Command = {
  name: "keys id",
  usage: "FILE",
  summary: "print the key_id of a private key, or of each of the public halves in a file",
  options: { use: { type: "string", value: "USE", help: "only of the keys with this use" } },
  run: async (args, context) => {
    const { keyIdsIn } = await import("../../node/keys/exchange-files.ts");
    for (const keyId of await keyIdsIn(resolve(context.cwd, onlyArgument(args, id)), args.text("use")))
      context.terminal.print(keyId);
    return exitCodes.done;
  },
};

interface ShownTrust {
  readonly anchors: { readonly environment: string; readonly roots: readonly { readonly key_id: string }[] };
  readonly keySet: { readonly issued_at: string };
  readonly keys: ReadonlyMap<string, ShownKey>;
}

interface ShownKey {
  readonly key_id: string;
  readonly use: string;
  readonly region: string | null;
  readonly alg: string;
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly compromised_from: string | null;
}

/** The lines for a verified key set, one per key. */
function keyLines(trust: ShownTrust, nowMs: number): readonly string[] {
  const { anchors, keySet, keys } = trust;
  const pinned = new Set(anchors.roots.map((root) => root.key_id));
  const at = new Date(nowMs).toISOString();
  return [
    `Issued at ${keySet.issued_at}; verifies under ${anchors.environment} anchors.`,
    ...[...keys.values()].map((key) => {
      const what = key.region === null ? key.use : `${key.use} ${key.region}`;
      const pin = pinned.has(key.key_id) ? ", pinned" : "";
      return `${what.padEnd(18)} ${key.key_id} ${key.alg.padEnd(9)} ${standing(key, at)}${pin}`;
    }),
  ];
}

function standing(key: ShownKey, at: string): string {
  if (key.compromised_from !== null) return `COMPROMISED from ${key.compromised_from}`;
  if (at < key.valid_from) return `valid from ${key.valid_from} until ${key.valid_until ?? "it is ended"}`;
  if (key.valid_until !== null && at >= key.valid_until) return `ended ${key.valid_until}`;
  return `valid until ${key.valid_until ?? "it is ended"}`;
}

export const keyCommands: readonly Command[] = [
  ...[createRoot, createIssuance, createWorkingKeys, createRecordIdSecret, createSecret],
  ...[certify, anchors, issue, show, id, serveIssuance],
];
