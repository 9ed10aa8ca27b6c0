// `svc terms`: the terms of AI companies. `svc terms agree`: agreeing to a version of them. `svc entitlement`: the signed
// statement that an AI company may use the service, for others to check.

import { UsageError } from "./command.ts";
import { companyQuery } from "./query.ts";
import { formatTable, visible } from "./terminal.ts";

export const terms = companyQuery({
  name: "terms",
  usage: "[VERSION]",
  summary: "show the terms of AI companies, those in force or of a version",
  ask: ({ positionals: [version, further] }) => {
    if (further !== undefined) throw new UsageError("svc terms takes one version.");
    const query = version === undefined ? {} : { version: versionOf(version) };
    return (client) => client.terms(query);
  },
  show: ({ versions, current_version, text, version, sha256, agreed }, { terminal }) => {
    for (const line of text.split("\n")) terminal.print(visible(line));
    const rows = versions.map((each) => [
      `${each.version}${each.version === current_version ? " (in force)" : ""}`,
      each.effective_from,
      each.language,
      each.sha256,
    ]);
    for (const line of formatTable(["VERSION", "FROM", "LANGUAGE", "SHA-256"], rows, terminal.columns))
      terminal.note(line);
    terminal.note(
      agreed === null
        ? `Your company has not agreed to this version: svc terms agree ${version} ${sha256}`
        : `Your company agreed to this version at ${agreed.agreed_at}.`,
    );
  },
});

export const termsAgree = companyQuery({
  name: "terms agree",
  usage: "VERSION SHA256",
  summary: "agree to the exact text of a version for your company",
  details: ["SHA256 is the hash of the text that you read, as svc terms shows it below that text."],
  ask: ({ positionals: [number, sha256, further] }) => {
    const version = number === undefined ? undefined : versionOf(number);
    if (version === undefined || sha256 === undefined || further !== undefined)
      throw new UsageError("svc terms agree takes a VERSION and the SHA256 of its text.");
    if (!/^sha256:[0-9a-f]{64}$/.test(sha256))
      throw new UsageError("SHA256 is sha256: and 64 lowercase hexadecimal digits.");
    return (client) => client.agreeToTerms({ version, sha256 });
  },
  show: ({ version, sha256, agreed_at }, { terminal }) =>
    terminal.print(`Your company agreed to version ${version}, ${sha256}, at ${agreed_at}.`),
});

function versionOf(text: string): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text)) throw new UsageError("VERSION is the number of a version.");
  return Number(text);
}

export const entitlement = companyQuery({
  name: "entitlement",
  usage: "",
  summary: "get the entitlement of your AI company, which others can check",
  details: [
    "It needs an agreement to the terms in force (svc terms agree), and is valid for 24 hours at most.",
    "Save it with --json; svc verify FILE --key-set FILE checks it offline.",
  ],
  ask: () => (client) => client.entitlement(),
  show: ({ legal_name, ai_company_uuid, valid_from, valid_until, terms, billing, key_ids }, { terminal }) => {
    const agreement = terms === null ? "none" : `version ${terms.version}, agreed at ${terms.agreed_at}`;
    terminal.print(`Company  ${visible(legal_name)}, ${ai_company_uuid}`);
    terminal.print(`Valid    from ${valid_from} until ${valid_until}`);
    terminal.print(`Terms    ${agreement}`);
    terminal.print(`Billing  ${billing}`);
    for (const keyId of key_ids) terminal.print(`Key      ${keyId}`);
  },
});
