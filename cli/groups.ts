// `svc blocks` and `svc group`: which groups of AI companies a business blocks, and which group a company is in. For operators, who
// act for both.

import { jsonOption } from "./business-options.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import { connectOps, opsOptions } from "./ops-connection.ts";
import { visible } from "./terminal.ts";

const actOptions = {
  by: { type: "string", value: "WHO", help: "who signs in to act; kept with the act" },
  reason: { type: "string", value: "TEXT", help: "why, in at most 500 characters; kept with the act" },
} as const;

export const blocks: Command = {
  name: "blocks",
  usage: "BUSINESS_UUID",
  summary: "show, block or unblock the groups of AI companies that a business blocks (for operators)",
  details: [
    "  Without --block and --unblock: the blocked groups, in the order in which they were blocked.",
    "  With one of them: changes it, in force within seconds in every region. Repeating it does no harm.",
    "  The group of an AI company is its UUID unless it changed it; see: svc help group",
  ],
  options: {
    block: { type: "string", value: "GROUP", help: "block this group, which an AI company is or was in" },
    unblock: { type: "string", value: "GROUP", help: "unblock this group" },
    ...actOptions,
    json: jsonOption,
    ...opsOptions,
  },
  run: runBlocks,
};

export const group: Command = {
  name: "group",
  usage: "COMPANY_UUID",
  summary: "show or change the group of an AI company (for operators)",
  details: [
    "  A company that changes its group keeps the groups that it was in: a block of one of them still meets the company.",
  ],
  options: {
    join: { type: "string", value: "GROUP", help: "the new group, which need not exist" },
    ...actOptions,
    json: jsonOption,
    ...opsOptions,
  },
  run: runGroup,
};

type Shown = Readonly<Record<string, unknown>>;

interface Change {
  readonly path: string;
  readonly group: string;
}

async function runBlocks(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: blocks.name, usage: blocks.usage });
  const path = `/ops/blocks/${encodeURIComponent(uuid)}`;
  const [block, unblock] = [args.text("block"), args.text("unblock")];
  if (block !== null && unblock !== null)
    throw new UsageError("Use --block or --unblock, one at a time. See: svc help blocks");
  const change =
    block !== null
      ? { path: `${path}/block`, group: block }
      : unblock !== null
        ? { path: `${path}/unblock`, group: unblock }
        : null;
  return run(args, context, { name: blocks.name, path, change, linesOf: blockLines });
}

async function runGroup(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: group.name, usage: group.usage });
  const path = `/ops/groups/${encodeURIComponent(uuid)}`;
  const join = args.text("join");
  const change = join === null ? null : { path: `${path}/join`, group: join };
  return run(args, context, { name: group.name, path, change, linesOf: groupLines });
}

interface Asked {
  readonly name: string;
  readonly path: string;
  /** Null to look only. */
  readonly change: Change | null;
  readonly linesOf: (answer: Shown) => readonly string[];
}

async function run(
  args: Arguments,
  context: CommandContext,
  { name, path, change, linesOf }: Asked,
): Promise<ExitCode> {
  const act =
    change === null ? null : { by: required(args, "by", name), reason: required(args, "reason", name) };
  const ops = await connectOps(args, context, act?.by ?? null);
  const answer = await (change === null
    ? ops.get(path)
    : ops.post(change.path, { group: change.group, reason: act?.reason }));
  const { terminal } = context;
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else {
    if (change !== null) terminal.note(answer["changed"] === true ? "Done." : "It was so before.");
    for (const line of linesOf(answer)) terminal.print(line);
  }
  return exitCodes.done;
}

function required(args: Arguments, name: string, command: string): string {
  const text = args.text(name);
  if (text === null || text.trim() === "")
    throw new UsageError(`--${name} is missing. See: svc help ${command}`);
  return text;
}

interface ShownBlocks {
  readonly legal_name: string;
  readonly blocked: readonly {
    readonly group: string;
    readonly companies: readonly {
      readonly uuid: string;
      readonly legal_name: string;
      readonly former: boolean;
    }[];
  }[];
}

function blockLines(answer: Shown): readonly string[] {
  const { legal_name, blocked } = answer["blocks"] as ShownBlocks;
  if (blocked.length === 0) return [`${visible(legal_name)} blocks nobody.`];
  return blocked.flatMap(({ group: name, companies }) => [
    visible(name),
    ...companies.map(
      (each) =>
        `  ${visible(each.legal_name)} (${each.uuid})${each.former ? ", which has left the group" : ""}`,
    ),
  ]);
}

function groupLines(answer: Shown): readonly string[] {
  const {
    legal_name,
    group: name,
    former_groups,
  } = answer["company"] as {
    readonly legal_name: string;
    readonly group: string;
    readonly former_groups: readonly string[];
  };
  const former = former_groups.length === 0 ? "" : `, and was in ${former_groups.map(visible).join(", ")}`;
  return [`${visible(legal_name)} is in ${visible(name)}${former}.`];
}
