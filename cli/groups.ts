// `svc blocks`, `svc brands` and `svc group`: which groups of AI companies a business blocks, which brands are confirmed as its own, and
// which group a company is in. For operators, who act for both.

import { jsonOption } from "./business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "./command.ts";
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

export const brands: Command = {
  name: "brands",
  usage: "BUSINESS_UUID",
  summary: "show the brands of a business, or confirm one as its own (for operators)",
  details: [
    "  A confirmed brand that a business file of the business names in brands_owned is refused in the records of others.",
    "  Words of everyday language and terms of the vocabularies cannot be confirmed. Repeating it does no harm.",
  ],
  options: {
    confirm: { type: "string", value: "NAME", help: "confirm this brand as the business's own" },
    unconfirm: { type: "string", value: "NAME", help: "take the confirmation back" },
    ...actOptions,
    json: jsonOption,
    ...opsOptions,
  },
  run: runBrands,
};

type Shown = Readonly<Record<string, unknown>>;

interface Change {
  readonly path: string;
  readonly body: { readonly group: string } | { readonly name: string };
}

async function runBlocks(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: blocks.name, usage: blocks.usage });
  const path = `/ops/blocks/${encodeURIComponent(uuid)}`;
  const asked = oneOf(args, "block", "unblock", blocks.name);
  const change = asked === null ? null : { path: `${path}/${asked.option}`, body: { group: asked.value } };
  return run(args, context, { name: blocks.name, path, change, linesOf: blockLines });
}

async function runBrands(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: brands.name, usage: brands.usage });
  const path = `/ops/brands/${encodeURIComponent(uuid)}`;
  const asked = oneOf(args, "confirm", "unconfirm", brands.name);
  const change = asked === null ? null : { path: `${path}/${asked.option}`, body: { name: asked.value } };
  return run(args, context, { name: brands.name, path, change, linesOf: brandLines });
}

/** The option of the two that is given; null where neither is. */
function oneOf(args: Arguments, does: string, undoes: string, command: string) {
  const given = [does, undoes].flatMap((option) => {
    const value = args.text(option);
    return value === null ? [] : [{ option, value }];
  });
  if (given.length > 1)
    throw new UsageError(`Use --${does} or --${undoes}, one at a time. See: svc help ${command}`);
  return given[0] ?? null;
}

async function runGroup(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: group.name, usage: group.usage });
  const path = `/ops/groups/${encodeURIComponent(uuid)}`;
  const join = args.text("join");
  const change = join === null ? null : { path: `${path}/join`, body: { group: join } };
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
    : ops.post(change.path, { ...change.body, reason: act?.reason }));
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

function brandLines(answer: Shown): readonly string[] {
  const { legal_name, owned, sold, confirmed } = answer["brands"] as {
    readonly legal_name: string;
    readonly owned: readonly string[];
    readonly sold: readonly string[];
    readonly confirmed: readonly string[];
  };
  const line = (what: string, names: readonly string[]): string =>
    `  ${what}: ${names.length === 0 ? "none" : names.map(visible).join(", ")}`;
  return [visible(legal_name), line("owns", owned), line("sells", sold), line("confirmed", confirmed)];
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
