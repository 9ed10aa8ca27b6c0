// `svc domains`: the domains of a business's endpoints, whether it controls them, and what to publish where it does not.

import type { OwnDomain } from "../client/business-answers.ts";
import { businessOptions, connectBusiness, jsonOption } from "./business-options.ts";
import { type Arguments, type Command, type CommandContext, noArguments } from "./command.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { printTable } from "./listing.ts";
import { visible } from "./terminal.ts";

export const domains: Command = {
  name: "domains",
  usage: "",
  summary: "show whether the business controls the domains of its endpoints, and what to publish there",
  options: { json: jsonOption, ...businessOptions },
  run: runDomains,
};

async function runDomains(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, domains);
  const { terminal } = context;
  const { business } = await connectBusiness(args, context);
  const known = await business.domains();
  const open = known.filter(({ status }) => status !== "confirmed");
  if (args.flag("json")) for (const each of known) terminal.print(JSON.stringify(each));
  else {
    const header = ["DOMAIN", "STATUS", "SINCE", "LAST CONFIRMED", "LAST LOOK"];
    const rows = known.map(rowOf);
    printTable(terminal, header, rows);
    for (const each of open) for (const line of toPublish(each)) terminal.note(line);
    if (known.length === 0) terminal.note("No business file with endpoints is published.");
  }
  return known.length === 0 || open.length > 0 ? exitCodes.negative : exitCodes.done;
}

function rowOf({ domain, status, since, confirmed_at, probed }: OwnDomain): string[] {
  const look = probed === null ? "-" : `${probed.at} ${probed.outcome}: ${visible(probed.detail)}`;
  return [domain, status, since, confirmed_at ?? "-", look];
}

function toPublish({ domain, txt_name, file_url, challenge }: OwnDomain): readonly string[] {
  return [
    `To show that you control ${domain}, publish one of these:`,
    `  TXT record of ${txt_name}: ${challenge}`,
    `  a line of ${file_url}: ${challenge}`,
  ];
}
