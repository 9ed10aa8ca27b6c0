// `svc entitlement`: the signed statement that an AI company may use the service, for others to check.

import type { Arguments, Command, CommandContext } from "./command.ts";
import { noArguments } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { visible } from "./terminal.ts";

export const entitlement: Command = {
  name: "entitlement",
  usage: "",
  summary: "get the entitlement of your AI company, which others can check",
  details: [
    "It needs an agreement to the terms in force (svc terms agree), and is valid for 24 hours at most.",
    "Save it with --json; svc verify FILE --key-set FILE checks it offline.",
  ],
  options: {
    json: { type: "boolean", help: "print the service's answer exactly as it came" },
    company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
    ...connectionOptions,
  },
  run: runEntitlement,
};

async function runEntitlement(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, entitlement);
  const { client } = await connect("ai_company", args, context);
  const { body, text } = await client.entitlement();
  const { terminal } = context;
  if (args.flag("json")) {
    terminal.write(`${text}\n`);
    return exitCodes.done;
  }
  const { terms, billing } = body;
  terminal.print(`Company  ${visible(body.legal_name)}, ${body.ai_company_uuid}`);
  terminal.print(`Valid    from ${body.valid_from} until ${body.valid_until}`);
  terminal.print(
    `Terms    ${terms === null ? "none" : `version ${terms.version}, agreed at ${terms.agreed_at}`}`,
  );
  terminal.print(`Billing  ${billing}`);
  for (const keyId of body.key_ids) terminal.print(`Key      ${keyId}`);
  return exitCodes.done;
}
