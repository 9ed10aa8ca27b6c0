// `svc terms`: the terms of AI companies. `svc terms agree`: agreeing to a version of them.

import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  noArguments,
  UsageError,
} from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { formatTable, visible } from "./terminal.ts";

const options = {
  json: { type: "boolean", help: "print the service's answer exactly as it came" },
  company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
  ...connectionOptions,
} as const;

export const terms: Command = {
  name: "terms",
  usage: "[VERSION]",
  summary: "show the terms of AI companies, those in force or of a version",
  options,
  run: runTerms,
};

export const termsAgree: Command = {
  name: "terms agree",
  usage: "VERSION SHA256",
  summary: "agree to the exact text of a version for your company",
  details: ["SHA256 is the hash of the text that you read, as svc terms shows it below that text."],
  options,
  run: runAgree,
};

async function runTerms(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const query = queryOf(args.positionals);
  const { client } = await connect("ai_company", args, context);
  const { body, text } = await client.terms(query);
  const { terminal } = context;
  if (args.flag("json")) {
    terminal.write(`${text}\n`);
    return exitCodes.done;
  }
  const rows = body.versions.map(({ version, effective_from, language, sha256 }) => [
    `${version}${version === body.current_version ? " (in force)" : ""}`,
    ...[effective_from, language, sha256],
  ]);
  for (const line of body.text.split("\n")) terminal.print(visible(line));
  for (const line of formatTable(["VERSION", "FROM", "LANGUAGE", "SHA-256"], rows, terminal.columns))
    terminal.note(line);
  const { agreed } = body;
  terminal.note(
    agreed === null
      ? `Your company has not agreed to this version: svc terms agree ${body.version} ${body.sha256}`
      : `Your company agreed to this version at ${agreed.agreed_at}.`,
  );
  return exitCodes.done;
}

async function runAgree(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [number, sha256, further] = args.positionals;
  const { version } = queryOf(number === undefined ? [] : [number]);
  if (version === undefined || sha256 === undefined || further !== undefined)
    throw new UsageError("svc terms agree takes a VERSION and the SHA256 of its text.");
  if (!/^sha256:[0-9a-f]{64}$/.test(sha256))
    throw new UsageError("SHA256 is sha256: and 64 lowercase hexadecimal digits.");
  const { client } = await connect("ai_company", args, context);
  const { body, text } = await client.agreeToTerms({ version, sha256 });
  const { terminal } = context;
  if (args.flag("json")) terminal.write(`${text}\n`);
  else
    terminal.print(`Your company agreed to version ${body.version}, ${body.sha256}, at ${body.agreed_at}.`);
  return exitCodes.done;
}

function queryOf(positionals: readonly string[]): { readonly version?: number } {
  const [version, further] = positionals;
  if (further !== undefined) throw new UsageError("svc terms takes one version.");
  if (version === undefined) return {};
  if (!/^[1-9][0-9]{0,6}$/.test(version)) throw new UsageError("VERSION is the number of a version.");
  return { version: Number(version) };
}

// `svc entitlement`: the signed statement that an AI company may use the service, for others to check.

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
