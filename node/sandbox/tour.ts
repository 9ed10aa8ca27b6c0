// What a newcomer sees when a sandbox runs: where everything is, and commands that work when pasted.

import { sampleBusinesses, trialBusinesses, trialCompanies } from "./businesses.ts";
import type { SeedOutcome } from "./seed.ts";

/** `homeOption` is the home folder as named on the command line, or null for the default. */
export function tourLines(
  { sandbox, exampleRecordId }: SeedOutcome,
  options: { readonly homeOption: string | null },
): readonly string[] {
  const home = options.homeOption === null ? "" : ` --home ${quoted(options.homeOption)}`;
  const svc = (rest: string): string => `  npm run -s svc -- ${rest}${home}`;
  const [business] = sandbox.businesses;
  return [
    "A sandbox node is running. Nothing in it is real.",
    "",
    `  retrieval     ${sandbox.base_url}   search and fetch, for AI companies`,
    `  business      ${sandbox.business_url}   publishing, for businesses' systems`,
    `  verification  ${sandbox.verify_url}   public: certificates, keys, proofs`,
    `  tools         ${sandbox.mcp_url}   tool server (MCP)`,
    `  operations    ${sandbox.ops_url}   pages of every actor; health, metrics`,
    `  portal        ${sandbox.portal_url}   pages for people who work for businesses, with passkeys`,
    `  each of them  /openapi.json`,
    "",
    `  businesses    ${everydayNames(sandbox.businesses)}`,
    `  AI companies  ${everydayNames(sandbox.ai_companies)}`,
    `                (the last business blocks ${blockedName(sandbox)}, which finds nothing of it)`,
    `  and besides   ${trialBusinesses.length + trialCompanies.length} parties for trying out refusals`,
    "  sandbox.json  in the home folder: keys, grants and anchors, each with a note on its purpose",
    "",
    "Try, in another terminal:",
    svc("search products ideal cut --country US --where 'price_amount<=1000' --sort price_amount:asc"),
    svc("search events --country GB --sort start_at:asc"),
    ...(exampleRecordId === null
      ? []
      : [svc(`fetch ${exampleRecordId} --save evidence.json`), svc("verify evidence.json --sandbox")]),
    svc("ads pool diamonds --country US"),
    `  curl -s ${sandbox.verify_url}/v1/certificates/${business?.business_uuid ?? ""}`,
    svc("try nonce_reused"),
    svc("try source_not_allowed"),
    "  npm run -s svc -- help",
    "",
    "Ctrl-C stops the node; start it again and everything is still there.",
  ];
}

/** The parties that are not meant for trying refusals. */
function everydayNames(parties: readonly { readonly legal_name: string }[]): string {
  const trials = [...trialBusinesses, ...trialCompanies].map(({ legalName }) => legalName);
  return parties
    .map(({ legal_name: name }) => name)
    .filter((name) => !trials.includes(name))
    .join("; ");
}

function blockedName(sandbox: SeedOutcome["sandbox"]): string {
  const blocked = new Set(sampleBusinesses.flatMap((business) => business.blocks));
  const names = sandbox.ai_companies
    .filter((each) => blocked.has(each.ai_company_uuid))
    .map((each) => each.legal_name);
  return names.join(" and ");
}

/** Quotes for a POSIX shell. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
