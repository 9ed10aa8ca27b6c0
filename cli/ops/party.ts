// How operators let a party in: `svc ops certify` opens and certifies it, `svc ops register-key` registers the key of its system, and
// `svc ops party` shows it.

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { SvcProblemError } from "../../client/errors.ts";
import type { ProvenKey } from "../../client/signing-key.ts";
import { done, keyState, partyState, under } from "../../ops/shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Call, type Command, exitCodes, onlyArgument, UsageError } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { readText } from "../connection.ts";
import { connectOps, type OpsConnection, opsOptions } from "../ops-connection.ts";
import { formatTable, type Terminal, visible } from "../terminal.ts";

type Party = Of<typeof partyState>;

const pathOf = (uuid: string): string => `/ops/parties/${encodeURIComponent(uuid)}`;

export const opsParty: Command = {
  name: "ops party",
  usage: "UUID",
  summary: "show a party: its certificate, keys and mandates (for operators)",
  options: opsOptions,
  run: async (call) => {
    const ops = await connectOps(call);
    const { party } = await ops.get(pathOf(onlyArgument(call, opsParty)), under("party", partyState));
    if (call.flag("json")) call.terminal.print(JSON.stringify(party));
    else for (const line of linesOf(party, call.terminal)) call.terminal.print(line);
  },
};

function linesOf(
  { uuid, kind, legal_name, country, certificate, keys, mandates, older_mandates }: Party,
  { columns }: Pick<Terminal, "columns">,
): readonly string[] {
  const rows = keys.map(({ key_id, role, valid_from, valid_until, revoked_at }) => [
    key_id,
    role,
    valid_from,
    valid_until ?? "",
    revoked_at ?? "",
  ]);
  const given = mandates.map(({ mandate_id, key_id, valid_from, valid_until, revoked_at }) => [
    mandate_id,
    key_id,
    valid_from,
    valid_until,
    revoked_at ?? "",
  ]);
  return [
    `${visible(legal_name)} of ${country} (${uuid}), ${kind === "business" ? "a business" : "an AI company"}.`,
    certificate === null
      ? "It has no certificate."
      : `Its certificate ${certificate.cert_id} is ${certificate.status} from ${certificate.status_effective_from} on.`,
    ...(rows.length === 0
      ? ["It has no key."]
      : formatTable(["KEY", "ROLE", "FROM", "UNTIL", "REVOKED"], rows, columns)),
    ...(given.length === 0
      ? []
      : formatTable(["MANDATE", "FOR KEY", "FROM", "UNTIL", "REVOKED"], given, columns)),
    ...(older_mandates === 0 ? [] : [`${older_mandates} older mandates are not shown.`]),
  ];
}

export const opsCertify: Command = {
  name: "ops certify",
  usage: "[UUID]",
  summary: "let a business or an AI company in: open it and issue its certificate (for operators)",
  details: [
    "  Without a UUID the party is a new one, and its UUID is printed. With one that is known, an ended certificate is reinstated.",
    "  --reason says what was verified and how; it is kept with the act, and nothing of it is published.",
    "  Then the party makes a key (svc keygen) and its proof (svc prove-key), which svc ops register-key registers.",
  ],
  options: `${actOptions}
    --kind KIND     business or ai_company
    --name NAME     its legal name, as the certificate states it
    --country CODE  the country in which it is registered, such as DE
    --yes           do not ask${opsOptions}`,
  run: async (call) => {
    const { positionals } = call;
    const uuid = positionals.length === 0 ? randomUUID() : onlyArgument(call, opsCertify);
    const kind = requiredText(call, "kind", opsCertify);
    if (kind !== "business" && kind !== "ai_company")
      throw new UsageError("--kind is business or ai_company.");
    const legal_name = requiredText(call, "name", opsCertify);
    const country = requiredText(call, "country", opsCertify);
    const by = requiredText(call, "by", opsCertify);
    const reason = requiredText(call, "reason", opsCertify);
    const ops = await connectOps(call, by);
    const cert_id = positionals.length === 0 ? null : await seenCertificate(ops, uuid);
    const what = `  ${visible(legal_name)} of ${visible(country)} gets a certificate as ${kind}: ${uuid}`;
    if (!(await isAgreed(call, ops.url, [what]))) return exitCodes.negative;
    const body = { kind, legal_name, country, cert_id, reason };
    tellParty(call, await ops.post(`${pathOf(uuid)}/certify`, body, done("party", partyState)));
    return exitCodes.done;
  },
};

/** The certificate that the party has or had; null for none, as for a party that was never opened. */
async function seenCertificate(ops: OpsConnection, uuid: string): Promise<string | null> {
  try {
    const { party } = await ops.get(pathOf(uuid), under("party", partyState));
    return party.certificate?.cert_id ?? null;
  } catch (error) {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  }
}

export const opsReissue: Command = {
  name: "ops reissue",
  usage: "UUID",
  summary: "issue the certificate of a party once more (for operators)",
  details: [
    "  It says what the one before says, under the issuance key of today. What was sealed under the one before stands; what is",
    "  sealed from then on names the new one, as svc push does by itself.",
  ],
  options: `${actOptions}
    --yes  do not ask${opsOptions}`,
  run: async (call) => {
    const path = pathOf(onlyArgument(call, opsReissue));
    const by = requiredText(call, "by", opsReissue);
    const reason = requiredText(call, "reason", opsReissue);
    const ops = await connectOps(call, by);
    const { party } = await ops.get(path, under("party", partyState));
    const lines = linesOf(party, call.terminal).map((line) => `  ${line}`);
    if (!(await isAgreed(call, ops.url, [...lines, "  Its certificate is issued once more."])))
      return exitCodes.negative;
    const body = { cert_id: party.certificate?.cert_id ?? "", reason };
    tellParty(call, await ops.post(`${path}/reissue`, body, done("party", partyState)));
    return exitCodes.done;
  },
};

function tellParty(
  { flag, terminal }: Call,
  answer: { readonly changed: boolean; readonly party: Party },
): void {
  if (flag("json")) {
    terminal.print(JSON.stringify(answer));
    return;
  }
  terminal.note(answer.changed ? "Done." : "It was so before.");
  for (const line of linesOf(answer.party, terminal)) terminal.print(line);
}

export const opsRegisterKey: Command = {
  name: "ops register-key",
  usage: "FILE",
  summary: "register the key of a business's or an AI company's system (for operators)",
  details: [
    "  FILE is what svc prove-key printed for the party. A key belongs to one party for ever, and repeating this does no harm.",
    "  A business's key publishes nothing before an owner or admin has sealed a mandate for it.",
  ],
  options: `${actOptions}
    --until TIME  when the key ends, such as 2027-11-21T03:00:00.000Z (default: it does not)
    --yes         do not ask${opsOptions}`,
  run: async (call) => {
    const file = onlyArgument(call, opsRegisterKey);
    const by = requiredText(call, "by", opsRegisterKey);
    const reason = requiredText(call, "reason", opsRegisterKey);
    const { party_uuid, public_key, proof } = await readProven(resolve(call.cwd, file));
    const until = call.text("until");
    const ops = await connectOps(call, by);
    const { party } = await ops.get(pathOf(party_uuid), under("party", partyState));
    const lines = linesOf(party, call.terminal).map((line) => `  ${line}`);
    if (!(await isAgreed(call, ops.url, [...lines, "  It gets the key of this file."])))
      return exitCodes.negative;
    const body = { public_key, proof, reason, ...(until === null ? {} : { valid_until: until }) };
    const answer = await ops.post(`${pathOf(party_uuid)}/keys`, body, done("key", keyState));
    const { key_id, role } = answer.key;
    const said = answer.changed ? `Done: ${key_id}, for ${role}.` : `It was registered before: ${key_id}.`;
    call.terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
    return exitCodes.done;
  },
};

/** The service judges what is in it. */
async function readProven(path: string): Promise<ProvenKey> {
  try {
    const proven = JSON.parse(await readText(path)) as Partial<ProvenKey> | null;
    const { party_uuid, public_key, proof } = proven ?? {};
    if (typeof party_uuid === "string" && public_key !== undefined && proof !== undefined)
      return { party_uuid, public_key, proof };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UsageError(`${path} is not what svc prove-key prints.`);
}
