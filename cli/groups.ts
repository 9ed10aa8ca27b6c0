// `svc blocks`, `svc brands` and `svc group`: which groups of AI companies a business blocks, which brands are confirmed as its own, and
// which group a company is in. For operators, who act for both.

import { blockState, brandState, changed, groupState, under } from "../ops/shapes.ts";
import type { Of, Shape } from "../protocol/shape.ts";
import { type Command, UsageError } from "./command.ts";
import { actOptions, requiredText } from "./confirmation.ts";
import { connectOps, opsOptions } from "./ops-connection.ts";
import { visible } from "./terminal.ts";

interface Choice<N extends string, T> extends Pick<Command, "name" | "usage" | "summary" | "details"> {
  readonly options: string;
  /** The options that change it, each with the last part of the address that does; only one of them may be given. */
  readonly changes: readonly string[];
  /** The member of the body that has the option's value. */
  readonly member: "group" | "name";
  readonly path: string;
  /** The member of the answer that shows it, and its form. */
  readonly subject: N;
  readonly form: Shape<T>;
  linesOf(subject: T): readonly string[];
}

/** A command that shows what is chosen for a party, or changes it. */
function choice<N extends string, T extends { readonly change: number }>(row: Choice<N, T>): Command {
  const { name, changes, subject, form } = row;
  return {
    ...row,
    options: `${row.options}${actOptions}${opsOptions}`,
    run: async (call) => {
      const [change, another] = changes.filter((option) => call.text(option) !== null);
      if (another !== undefined)
        throw new UsageError(
          `Use ${changes.map((each) => `--${each}`).join(" or ")}, one at a time. See: svc help ${name}`,
        );
      const { terminal } = call;
      const path = `${row.path}/${encodeURIComponent(call.argument)}`;
      const tell = (answer: Readonly<Record<N, T>>, note: string | null): void => {
        if (call.flag("json")) terminal.print(JSON.stringify(answer));
        else {
          if (note !== null) terminal.note(note);
          for (const line of row.linesOf(answer[subject])) terminal.print(line);
        }
      };
      if (change === undefined) {
        tell(await (await connectOps(call)).get(path, under(subject, form)), null);
        return;
      }
      const by = requiredText(call, "by", row);
      const reason = requiredText(call, "reason", row);
      const ops = await connectOps(call, by);
      const seen = (await ops.get(path, under(subject, form)))[subject];
      const body = { [row.member]: call.text(change), expected: seen.change, reason };
      const answer = await ops.post(`${path}/${change}`, body, changed(subject, form));
      tell(answer, answer.changed ? "Done." : "It was so before.");
    },
  };
}

export const blocks = choice({
  name: "blocks",
  usage: "BUSINESS_UUID",
  summary: "show, block or unblock the groups of AI companies that a business blocks (for operators)",
  details: [
    "  Without --block and --unblock: the blocked groups, in the order in which they were blocked.",
    "  With one of them: changes it, in force within seconds in every region. Repeating it does no harm.",
    "  The group of an AI company is its UUID unless it changed it; see: svc help group",
  ],
  options: `
    --block GROUP    block this group, which an AI company is or was in
    --unblock GROUP  unblock this group`,
  changes: ["block", "unblock"],
  member: "group",
  path: "/ops/blocks",
  subject: "blocks",
  form: blockState,
  linesOf: ({ legal_name, blocked }) =>
    blocked.length === 0
      ? [`${visible(legal_name)} blocks nobody.`]
      : blocked.flatMap(({ group, companies }) => [visible(group), ...companies.map(companyLine)]),
});

function companyLine({ legal_name, uuid, former }: Blocked["companies"][number]): string {
  return `  ${visible(legal_name)} (${uuid})${former ? ", which has left the group" : ""}`;
}

type Blocked = Of<typeof blockState>["blocked"][number];

export const group = choice({
  name: "group",
  usage: "COMPANY_UUID",
  summary: "show or change the group of an AI company (for operators)",
  details: [
    "  A company that changes its group keeps the groups that it was in: a block of one of them still meets the company.",
  ],
  options: `
    --join GROUP  the new group, which need not exist`,
  changes: ["join"],
  member: "group",
  path: "/ops/groups",
  subject: "company",
  form: groupState,
  linesOf: ({ legal_name, group: name, former_groups: former }) => [
    `${visible(legal_name)} is in ${visible(name)}${former.length === 0 ? "" : `, and was in ${former.map(visible).join(", ")}`}.`,
  ],
});

export const brands = choice({
  name: "brands",
  usage: "BUSINESS_UUID",
  summary: "show the brands of a business, or confirm one as its own (for operators)",
  details: [
    "  A confirmed brand that a business file of the business names in brands_owned is refused in the records of others.",
    "  Words of everyday language and terms of the vocabularies cannot be confirmed. Repeating it does no harm.",
  ],
  options: `
    --confirm NAME    confirm this brand as the business's own
    --unconfirm NAME  take the confirmation back`,
  changes: ["confirm", "unconfirm"],
  member: "name",
  path: "/ops/brands",
  subject: "brands",
  form: brandState,
  linesOf: ({ legal_name, owned, sold, confirmed }) => [
    visible(legal_name),
    ...Object.entries({ owns: owned, sells: sold, confirmed }).map(
      ([what, names]) => `  ${what}: ${names.length === 0 ? "none" : names.map(visible).join(", ")}`,
    ),
  ],
});
