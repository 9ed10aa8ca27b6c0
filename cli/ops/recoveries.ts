// How two operators decide about an owner who lost all passkeys: `svc ops recoveries` lists who asks, `svc ops approve-recovery` and
// `svc ops refuse-recovery` decide.

import { done, recoveryList, recoveryState, under } from "../../ops/shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Call, type Command, type ExitCode, exitCodes, onlyArgument } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { opsList } from "../query.ts";
import { visible } from "../terminal.ts";

type Recovery = Of<typeof recoveryState>;

export const opsRecoveries: Command = opsList({
  name: "ops recoveries",
  usage: "",
  summary: "list who lost all passkeys and asks for the place of an owner, 20 at most (for operators)",
  details: ["  What ended is kept for thirty days. Exits with 1 if there is none."],
  options: "    --after ID  the list goes on after this one",
  path: (call) => {
    const after = call.text("after");
    return `/ops/recoveries${after === null ? "" : `?after=${encodeURIComponent(after)}`}`;
  },
  form: recoveryList,
  items: ({ recoveries }) => recoveries,
  header: ["RECOVERY", "BUSINESS", "BY", "APPROVED BY", "FILED", "DUE", "STATE"],
  rowOf: ({ recovery_id, legal_name, applicant_name, approvals, filed_at, due_at, state }: Recovery) => [
    recovery_id,
    visible(legal_name ?? "-"),
    visible(applicant_name),
    visible(approvals.map(({ by }) => by).join("; ")),
    filed_at,
    due_at ?? "-",
    state,
  ],
  none: () => "Nobody asked for anything.",
  note: ({ next_after }) => (next_after === null ? null : `More: --after ${next_after}`),
  isNo: ({ recoveries }) => recoveries.length === 0,
});

export const opsApproveRecovery: Command = {
  name: "ops approve-recovery",
  usage: "ID",
  summary:
    "approve that somebody who lost all passkeys takes the place of an owner (for operators, two of whom must)",
  details: [
    "  Both operators name the same owner. By the second one the people who bind the business are told; they may stop it for 72 hours.",
    "  --reason says what was verified and how; it is kept with the acts, and nothing of it is published.",
  ],
  options: `${actOptions}
    --replaces UUID  the owner who is replaced, by their person's id
    --key KEY_ID     the passkey that is to seal, as you saw it; without it you are shown it, and asked
    --yes            do not ask: needs --key${opsOptions}`,
  run: (call) => {
    const replaces = requiredText(call, "replaces", opsApproveRecovery);
    const key_id = call.flag("yes") ? requiredText(call, "key", opsApproveRecovery) : call.text("key");
    return decide(call, opsApproveRecovery, { replaces, key_id });
  },
};

export const opsRefuseRecovery: Command = {
  name: "ops refuse-recovery",
  usage: "ID",
  summary: "refuse the place of an owner to somebody, and tell them why (for operators)",
  options: `${actOptions}
    --statement TEXT  what the applicant is told
    --yes             do not ask${opsOptions}`,
  run: (call) =>
    decide(call, opsRefuseRecovery, { statement: requiredText(call, "statement", opsRefuseRecovery) }),
};

type Members = { readonly replaces: string; readonly key_id: string | null } | { readonly statement: string };

async function decide(call: Call, command: Command, members: Members): Promise<ExitCode> {
  const { terminal } = call;
  const id = onlyArgument(call, command);
  const by = requiredText(call, "by", command);
  const reason = requiredText(call, "reason", command);
  const ops = await connectOps(call, by);
  const path = `/ops/recoveries/${encodeURIComponent(id)}`;
  const { recovery } = await ops.get(path, under("recovery", recoveryState));
  const lines = linesOf(recovery, members).map((line) => `  ${line}`);
  if (!(await isAgreed(call, ops.url, lines))) return exitCodes.negative;
  const last = "replaces" in members ? "approve" : "refuse";
  // What is decided is about the passkey that was seen: here, unless one is named.
  const named = "replaces" in members ? members.key_id : null;
  const seen = { ...members, key_id: named ?? recovery.key_id };
  const answer = await ops.post(`${path}/${last}`, { ...seen, reason }, done("recovery", recoveryState));
  const { state } = answer.recovery;
  const said = answer.changed ? `Done: ${id} is ${state}.` : `It was so before: ${id} is ${state}.`;
  terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
  return exitCodes.done;
}

function linesOf(
  { recovery_id, uuid, legal_name, applicant_name, key_id, approvals, owners, state }: Recovery,
  members: Members,
): readonly string[] {
  const owner = "replaces" in members ? owners.find(({ person_id }) => person_id === members.replaces) : null;
  const known = owner === undefined ? "nobody who is an owner" : `the owner ${visible(owner?.name ?? "")}`;
  return [
    `${visible(applicant_name)} asks for the place of an owner of ${visible(legal_name ?? "no business that is known")} (${uuid}), with the passkey ${key_id}.`,
    `${recovery_id} is ${state}.`,
    ...owners.map(({ person_id, name, since }) => `Owner: ${visible(name)} (${person_id}), since ${since}.`),
    ...approvals.map(({ by, replaces }) => `${visible(by)} approved it, in the place of ${replaces}.`),
    "replaces" in members ? `You approve it in the place of ${known}.` : "It is refused.",
  ];
}
