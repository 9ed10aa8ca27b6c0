// How operators decide who comes in at the portal: `svc ops applications` lists what people applied for, `svc ops approve` and
// `svc ops refuse` decide.

import { resolve } from "node:path";
import { applicationList, applicationState, done, under } from "../../ops/shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Call, type Command, type ExitCode, exitCodes, onlyArgument } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { writePrivate } from "../keygen.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { opsList } from "../query.ts";
import { visible } from "../terminal.ts";

type Application = Of<typeof applicationState>;

export const opsApplications: Command = opsList({
  name: "ops applications",
  usage: "",
  summary: "list what people applied for at the portal, 50 at most (for operators)",
  details: ["  Decided ones are kept for thirty days. Exits with 1 if there is none."],
  options: "    --after UUID  the list goes on after this application",
  path: (call) => {
    const after = call.text("after");
    return `/ops/applications${after === null ? "" : `?after=${encodeURIComponent(after)}`}`;
  },
  form: applicationList,
  items: ({ applications }) => applications,
  header: ["APPLICATION", "KIND", "NAME", "COUNTRY", "BY", "FILED", "STATE"],
  rowOf: ({ uuid, kind, legal_name, country, applicant_name, filed_at, state }: Application) => [
    uuid,
    kind,
    visible(legal_name),
    country,
    visible(applicant_name),
    filed_at,
    state,
  ],
  none: () => "Nobody applied for anything.",
  note: ({ next_after }) => (next_after === null ? null : `More: --after ${next_after}`),
  isNo: ({ applications }) => applications.length === 0,
});

export const opsEvidence: Command = {
  name: "ops evidence",
  usage: "UUID",
  summary: "list what somebody sent with an application, or write one file of it to a file (for operators)",
  details: [
    "  Nobody has looked into these files: open them where they can do no harm.",
    "  Taking one needs the right for parties. It is recorded who took which, in the audit log and with the application.",
  ],
  options: `
    --file ID   the file to take
    --by WHO    who takes it
    --out FILE  where it is written; an existing file is not overwritten${opsOptions}`,
  run: async (call) => {
    const path = `/ops/applications/${encodeURIComponent(onlyArgument(call, opsEvidence))}`;
    const file = call.text("file");
    if (file === null) return listEvidence(call, path);
    const out = resolve(call.cwd, requiredText(call, "out", opsEvidence));
    const ops = await connectOps(call, requiredText(call, "by", opsEvidence));
    await writePrivate(out, await ops.file(`${path}/evidence/${encodeURIComponent(file)}/download`));
    call.terminal.print(call.flag("json") ? JSON.stringify({ out }) : out);
    return exitCodes.done;
  },
};

async function listEvidence(call: Call, path: string): Promise<ExitCode> {
  const { application } = await (await connectOps(call)).get(path, under("application", applicationState));
  const { evidence, evidence_views } = application;
  if (call.flag("json")) call.terminal.print(JSON.stringify({ evidence, evidence_views }));
  else
    for (const { file, name, media_type, bytes, sha256, added_at } of evidence)
      call.terminal.print([file, added_at, media_type, `${bytes}`, sha256, visible(name)].join("  "));
  return evidence.length === 0 ? exitCodes.negative : exitCodes.done;
}

export const opsApprove: Command = {
  name: "ops approve",
  usage: "UUID",
  summary:
    "let a business or an AI company in that somebody applied for, with the applicant as its owner (for operators)",
  details: [
    "  --reason says what was verified and how; it is kept with the acts, and nothing of it is published.",
    "  It is opened and certified; the passkey that signed the application seals for a business. Repeating this does no harm.",
  ],
  options: `${actOptions}
    --yes           do not ask${opsOptions}`,
  run: (call) => decide(call, opsApprove, { does: "comes in, with this owner", members: {} }),
};

export const opsRefuse: Command = {
  name: "ops refuse",
  usage: "UUID",
  summary: "refuse what somebody applied for, and tell them why (for operators)",
  options: `${actOptions}
    --statement TEXT  what the applicant is told
    --yes             do not ask${opsOptions}`,
  run: (call) => {
    const members = { statement: requiredText(call, "statement", opsRefuse) };
    return decide(call, opsRefuse, { does: "is refused", members });
  },
};

async function decide(
  call: Call,
  command: Command,
  { does, members }: { readonly does: string; readonly members: object },
): Promise<ExitCode> {
  const { terminal } = call;
  const uuid = onlyArgument(call, command);
  const by = requiredText(call, "by", command);
  const reason = requiredText(call, "reason", command);
  const ops = await connectOps(call, by);
  const path = `/ops/applications/${encodeURIComponent(uuid)}`;
  const { application } = await ops.get(path, under("application", applicationState));
  const lines = [...linesOf(application), `It ${does}.`].map((line) => `  ${line}`);
  if (!(await isAgreed(call, ops.url, lines))) return exitCodes.negative;
  const last = command === opsApprove ? "approve" : "refuse";
  const answer = await ops.post(
    `${path}/${last}`,
    { ...members, reason },
    done("application", applicationState),
  );
  const { state } = answer.application;
  const said = answer.changed ? `Done: ${uuid} is ${state}.` : `It was so before: ${uuid} is ${state}.`;
  terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
  return exitCodes.done;
}

function linesOf({
  uuid,
  kind,
  legal_name,
  country,
  applicant_name,
  key_id,
  state,
}: Application): readonly string[] {
  return [
    `${visible(legal_name)} of ${country}, ${kind === "business" ? "a business" : "an AI company"} (${uuid}), ${state}.`,
    `${visible(applicant_name)} applied${key_id === null ? "" : `, with the passkey ${key_id}`}.`,
  ];
}
