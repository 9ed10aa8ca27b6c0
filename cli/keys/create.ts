// `svc keys create-…`: creates private keys of the service, each on the machine where it stays.

import { type Arguments, type Command, type CommandContext, noArguments } from "../command.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import {
  keysOption,
  outputOf,
  pathOf,
  publicOption,
  replaceOption,
  windowOf,
  windowOptions,
} from "./options.ts";

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

export const createRoot: Command = pairCommand(
  "root",
  rootDays,
  "make a root pair, on a machine that is never connected to a network",
);

export const createIssuance: Command = pairCommand(
  "issuance",
  issuanceDays,
  "make an issuance pair, on the machine of the issuance process",
);

export const createWorkingKeys: Command = {
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

export const createRecordIdSecret: Command = {
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

export const createSecret: Command = {
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
