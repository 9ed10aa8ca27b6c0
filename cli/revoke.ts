// `svc revoke`: revokes a key, a mandate, a certificate or a sandbox grant in every region, at any time. It first shows what
// will be revoked, and asks for confirmation.

import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  UsageError,
} from "./command.ts";
import { isConfirmed, requiredText } from "./confirmation.ts";
import { connectOps, type OpsConnection, opsOptions } from "./ops-connection.ts";
import type { Terminal } from "./terminal.ts";

export const revoke: Command = {
  name: "revoke",
  usage: "key|mandate|certificate|grant …",
  summary: "revoke a key, mandate, certificate or sandbox grant (for operators)",
  details: [
    "  svc revoke key KEY_ID [--compromised-from TIME]",
    "  svc revoke mandate BUSINESS_UUID MANDATE_ID",
    "  svc revoke certificate UUID --status revoked|closed|withdrawn --status-reason CODE [--effective-from TIME] [--keep-keys]",
    "  svc revoke grant GRANT",
    "",
    "  Shows what will be revoked and asks; then the revocation is in force within seconds in every region. Repeating it does no harm.",
    "  With the certificate of an AI company its keys end, unless --keep-keys is given.",
    "  TIME is a moment such as 2026-11-21T03:00:00Z. The audit log records who, why and the result.",
  ],
  options: {
    by: { type: "string", value: "WHO", help: "who signs in to act; kept with the act" },
    reason: { type: "string", value: "TEXT", help: "why, in at most 500 characters; kept with the act" },
    "compromised-from": {
      ...{ type: "string", value: "TIME" },
      help: "key: since when somebody else may have had it; what was received later is invalid",
    },
    status: { type: "string", value: "STATUS", help: "certificate: revoked, closed or withdrawn" },
    "status-reason": {
      ...{ type: "string", value: "CODE" },
      help: "certificate: why, for everybody to read, such as approval_reversed",
    },
    "effective-from": { type: "string", value: "TIME", help: "certificate: effective date (default now)" },
    "keep-keys": { type: "boolean", help: "certificate of an AI company: its keys stay in force" },
    yes: { type: "boolean", help: "do not ask" },
    json: { type: "boolean", help: "print the answer as JSON" },
    ...opsOptions,
  },
  run: runRevoke,
};

interface Plan {
  /** Where the target of the revocation can be viewed; null where only the request itself describes it. */
  readonly shown: string | null;
  /** The path to which the act is sent, and its members in addition to `by` and `reason`. */
  readonly path: string;
  readonly members: Readonly<Record<string, string | true>>;
  /** Lines that describe the consequences. */
  readonly will: readonly string[];
}

const kinds: Readonly<
  Record<string, { readonly names: readonly string[]; readonly options: readonly string[]; plan: Planner }>
> = {
  key: { names: ["KEY_ID"], options: ["compromised-from"], plan: planKey },
  mandate: { names: ["BUSINESS_UUID", "MANDATE_ID"], options: [], plan: planMandate },
  certificate: {
    names: ["UUID"],
    options: ["status", "status-reason", "effective-from"],
    plan: planCertificate,
  },
  grant: { names: ["GRANT"], options: [], plan: planGrant },
};

type Planner = (names: readonly string[], args: Arguments) => Plan;

async function runRevoke(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const plan = planOf(args);
  const by = requiredText(args, "by", revoke);
  const reason = requiredText(args, "reason", revoke);
  const ops = await connectOps(args, context, by);
  const { terminal } = context;
  const subject = plan.shown === null ? null : await ops.get(plan.shown);
  terminal.note(`At ${ops.url}:`);
  if (subject !== null) for (const line of linesOf(subject)) terminal.note(`  ${line}`);
  for (const line of plan.will) terminal.note(line);
  if (!args.flag("yes") && !(await isConfirmed(context))) {
    terminal.note("Nothing was changed.");
    return exitCodes.negative;
  }
  const answer = await ops.post(plan.path, { ...plan.members, reason });
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else tell(terminal, answer);
  return exitCodes.done;
}

function planOf(args: Arguments): Plan {
  const [kind = "", ...names] = args.positionals;
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found === undefined)
    throw new UsageError(
      `${kind === "" ? "What to revoke is missing" : `${JSON.stringify(kind)} cannot be revoked`}: key, mandate, certificate or grant. See: svc help revoke`,
    );
  if (names.length !== found.names.length)
    throw new UsageError(`Use: svc revoke ${kind} ${found.names.join(" ")}. See: svc help revoke`);
  const odd = ["compromised-from", "status", "status-reason", "effective-from"].find(
    (name) => args.text(name) !== null && !found.options.includes(name),
  );
  if (kind !== "certificate" && args.flag("keep-keys"))
    throw new UsageError(`--keep-keys does not apply to a ${kind}. See: svc help revoke`);
  if (odd !== undefined) throw new UsageError(`--${odd} does not apply to a ${kind}. See: svc help revoke`);
  return found.plan(names, args);
}

function planKey([keyId = ""]: readonly string[], args: Arguments): Plan {
  const from = momentOf(args, "compromised-from");
  const shown = `/ops/keys/${encodeURIComponent(keyId)}`;
  return {
    ...{ shown, path: `${shown}/revoke`, members: from === null ? {} : { compromised_from: from } },
    will: [
      "This key will be refused for ever.",
      from === null
        ? "What it sealed before stands, because no moment of a compromise is named (--compromised-from)."
        : `Of what it sealed, only what was received before ${from} will stand.`,
    ],
  };
}

function planMandate([uuid = "", mandateId = ""]: readonly string[]): Plan {
  const shown = `/ops/mandates/${encodeURIComponent(uuid)}/${encodeURIComponent(mandateId)}`;
  const will = ["Nothing more will be published under this mandate. What was published before stands."];
  return { shown, path: `${shown}/revoke`, members: {}, will };
}

const endings: Readonly<Record<string, { readonly last: string; readonly will: string }>> = {
  revoked: { last: "revoke", will: "Nothing that is sealed under it from then on will stand" },
  closed: { last: "close", will: "It will say that the party closed; what was sealed before stands" },
  withdrawn: { last: "withdraw", will: "It will say that it was withdrawn; what was sealed before stands" },
};

function planCertificate([uuid = ""]: readonly string[], args: Arguments): Plan {
  const status = requiredText(args, "status", revoke);
  const ending = Object.hasOwn(endings, status) ? endings[status] : undefined;
  if (ending === undefined)
    throw new UsageError(`--status is ${JSON.stringify(status)}; use revoked, closed or withdrawn.`);
  const reason = requiredText(args, "status-reason", revoke);
  const from = momentOf(args, "effective-from");
  const shown = `/ops/certificates/${encodeURIComponent(uuid)}`;
  return {
    ...{ shown, path: `${shown}/${ending.last}` },
    members: {
      status_reason: reason,
      ...(from === null ? {} : { effective_from: from }),
      ...(args.flag("keep-keys") ? { keep_keys: true } : {}),
    },
    will: [
      `This certificate will be ${status} (${reason}) from ${from ?? "now"} on, for everybody to read.`,
      `${ending.will}. Nothing more will be published. The keys of an AI company ${args.flag("keep-keys") ? "stay in force" : "end with it"}.`,
    ],
  };
}

/** A grant is not secret: its second part says whose it is, and the node checks it. */
function planGrant([grant = ""]: readonly string[]): Plan {
  const [, data = ""] = grant.split(".");
  let said: string;
  try {
    const { party, role } = JSON.parse(Buffer.from(data, "base64url").toString()) as {
      readonly party: { readonly legal_name: string; readonly uuid: string };
      readonly role: string;
    };
    said = `  ${role} key of ${party.legal_name} (${party.uuid})`;
  } catch {
    throw new UsageError(
      "This is not a grant. A grant begins with svc_sbxk1. and is in sandbox.json, one for each key.",
    );
  }
  const will = [said, "The key of this grant will be refused for ever, even if it was never used."];
  return { shown: null, path: "/ops/grants/revoke", members: { grant }, will };
}

/** A moment in the format that the service uses. */
function momentOf(args: Arguments, name: string): string | null {
  const text = args.text(name);
  if (text === null) return null;
  const isZoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const date = new Date(text);
  if (isZoned && !Number.isNaN(date.getTime())) return date.toISOString();
  throw new UsageError(
    `--${name} is ${JSON.stringify(text)}; use a moment with its zone, such as 2026-11-21T03:00:00Z.`,
  );
}

/** The members of the target, one per line. */
function linesOf(shown: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(shown).flatMap(([name, subject]) => [
    name,
    ...Object.entries(Object(subject) as Record<string, unknown>)
      .filter(([, value]) => value !== null)
      .map(([member, value]) => `  ${member}: ${String(value)}`),
  ]);
}

function tell(
  terminal: Terminal,
  { changed, since, ...subject }: Awaited<ReturnType<OpsConnection["post"]>>,
): void {
  terminal.print(
    changed === true
      ? `Done: in force since ${since}.`
      : `Nothing changed: it has been in force since ${since}.`,
  );
  for (const line of linesOf(subject)) terminal.print(`  ${line}`);
}
