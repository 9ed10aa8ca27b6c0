// `svc ops audit`: what operators did or were refused on all nodes, newest first.

import { jsonOption } from "../business-options.ts";
import { type Command, noArguments } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { visible } from "../terminal.ts";
import { noteMissing, print, type Shown } from "./lists.ts";

const limitDefault = 50;
const limitMax = 100_000;

export const opsAudit: Command = {
  name: "ops audit",
  usage: "",
  summary: "list what operators did or were refused, newest first (for operators)",
  details: ["  What log rotation moved away, and a log on standard output, is read where it is kept."],
  options: {
    before: { type: "string", value: "TIME", help: "only entries before this moment" },
    limit: { type: "string", short: "n", value: "N", help: `how many, about (default ${limitDefault})` },
    json: jsonOption,
    ...opsOptions,
  },
  run: async (args, context) => {
    noArguments(args, opsAudit);
    const { terminal } = context;
    const limit = args.integer("limit", { min: 1, max: limitMax, fallback: limitDefault });
    const ops = await connectOps(args, context);
    const entries: Shown[] = [];
    let page: Shown;
    let before = args.text("before");
    do {
      const query = before === null ? "" : `?${new URLSearchParams({ before })}`;
      page = await ops.get(`/ops/audit${query}`, "entries", "missing");
      entries.push(...(page["entries"] as readonly Shown[]));
      before = page["next_before"] as string | null;
    } while (before !== null && entries.length < limit);
    print(terminal, args, entries, ["AT", "EVENT", "BY", "ACT", "REASON", "NODE"], (each) => {
      const detail = each["detail"] as Shown;
      const texts = [each["at"], each["event"], detail["by"], detail["act"], detail["reason"], each["node"]];
      return texts.map((text) => visible(String(text ?? "–")));
    });
    noteMissing(terminal, page);
    for (const node of page["unreadable"] as readonly string[])
      terminal.note(`The audit log of ${node} goes to standard output.`);
    if (before !== null) terminal.note(`Older entries: --before ${before}`);
    if (entries.length === 0) terminal.note("The audit logs have no such entry.");
    return exitCodes.done;
  },
};
