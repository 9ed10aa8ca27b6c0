// `svc revoke`: revokes a key, a mandate, a certificate or a sandbox grant in every region, at any time. It first shows what
// will be revoked, and asks for confirmation.

import { certificateEnd, certificateState, done, keyState, mandateState, under } from "../ops/shapes.ts";
import type { Shape } from "../protocol/shape.ts";
import { type Arguments, type Command, exitCodes, UsageError } from "./command.ts";
import { actOptions, isAgreed, requiredText } from "./confirmation.ts";
import { connectOps, type OpsConnection, opsAddress } from "./ops-connection.ts";
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
  options: `${actOptions}
    --compromised-from TIME  key: since when somebody else may have had it; what was received later is invalid
    --status STATUS          certificate: revoked, closed or withdrawn
    --status-reason CODE     certificate: why, for everybody to read, such as approval_reversed
    --effective-from TIME    certificate: effective date (default now)
    --keep-keys              certificate of an AI company: its keys stay in force
    --yes                    do not ask
    --json                   print the answer as JSON${opsAddress}`,
  run: async (call) => {
    const plan = planOf(call);
    const by = requiredText(call, "by", revoke);
    const reason = requiredText(call, "reason", revoke);
    const ops = await connectOps(call, by);
    const { shown, seen } = await plan.look(ops);
    const lines = [...linesOf(shown).map((line) => `  ${line}`), ...plan.will];
    if (!(await isAgreed(call, ops.url, lines))) return exitCodes.negative;
    const answer = await ops.post(plan.path, { ...plan.members, ...seen, reason }, plan.form);
    if (call.flag("json")) call.terminal.print(JSON.stringify(answer));
    else tell(call.terminal, answer);
    return exitCodes.done;
  },
};

interface Plan {
  /** Reads the target of the revocation, with the members by which the act names what was seen; empty where its path says all. */
  readonly look: (ops: OpsConnection) => Promise<{ readonly shown: object; readonly seen: object }>;
  /** The path to which the act is sent, and its members in addition to `by` and `reason`. */
  readonly path: string;
  readonly members: Readonly<Record<string, string | true>>;
  /** The form of the answer to the act. */
  readonly form: Shape<Ended>;
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
  const path = `/ops/keys/${encodeURIComponent(keyId)}`;
  return {
    look: async (ops) => ({ shown: await ops.get(path, under("key", keyState)), seen: {} }),
    path: `${path}/revoke`,
    members: from === null ? {} : { compromised_from: from },
    form: done("key", keyState),
    will: [
      "This key will be refused for ever.",
      from === null
        ? "What it sealed before stands, because no moment of a compromise is named (--compromised-from)."
        : `Of what it sealed, only what was received before ${from} will stand.`,
    ],
  };
}

function planMandate([uuid = "", mandateId = ""]: readonly string[]): Plan {
  const path = `/ops/mandates/${encodeURIComponent(uuid)}/${encodeURIComponent(mandateId)}`;
  return {
    look: async (ops) => ({ shown: await ops.get(path, under("mandate", mandateState)), seen: {} }),
    path: `${path}/revoke`,
    members: {},
    form: done("mandate", mandateState),
    will: ["Nothing more will be published under this mandate. What was published before stands."],
  };
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
  const path = `/ops/certificates/${encodeURIComponent(uuid)}`;
  return {
    look: async (ops) => {
      const shown = await ops.get(path, under("certificate", certificateState));
      return { shown, seen: { cert_id: shown.certificate.cert_id } };
    },
    path: `${path}/${ending.last}`,
    form: certificateEnd,
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
  const form = done("key", keyState);
  const look = async () => ({ shown: {}, seen: {} });
  return { look, path: "/ops/grants/revoke", members: { grant }, form, will };
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
function linesOf(shown: object): readonly string[] {
  return Object.entries(shown).flatMap(([name, subject]) => [
    name,
    ...Object.entries(Object(subject))
      .filter(([, value]) => value !== null)
      .map(([member, value]) => `  ${member}: ${String(value)}`),
  ]);
}

interface Ended {
  readonly changed: boolean;
  readonly since: string;
}

function tell(terminal: Terminal, { changed, since, ...subject }: Ended): void {
  terminal.print(
    changed ? `Done: in force since ${since}.` : `Nothing changed: it has been in force since ${since}.`,
  );
  for (const line of linesOf(subject)) terminal.print(`  ${line}`);
}
