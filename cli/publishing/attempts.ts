// `svc attempts`: what became of everything that a business sent, record by record, with the batches that were refused.

import type { OwnDomain, PushAttempt } from "../../client/business-answers.ts";
import { type Command, exitCodes } from "../command.ts";
import { businessOptions, connectBusiness, givenOf, listLimitMax, printItems, printList } from "../query.ts";
import { visible } from "../terminal.ts";
import { number } from "./push-progress.ts";

const limitDefault = 100;
const dayMs = 86_400_000;

export const attempts: Command = {
  name: "attempts",
  usage: "",
  summary: "list what became of the records that were sent, and the batches that were refused",
  details: ["TIME is a date, or a moment such as 2026-11-21T03:00:00Z; --from is included, --to is not."],
  options: `
    --from TIME      since when (default: a day ago)
    --to TIME        until when
    --status STATUS  only accepted, updated, rejected, held or pending
    -n, --limit N    how many at most (default ${limitDefault})${businessOptions}`,
  run: async (call) => {
    const limit = call.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
    const { business } = await connectBusiness(call);
    const from = call.text("from") ?? new Date(call.now() - dayMs).toISOString();
    const given = givenOf(call, { to: "to", status: "status" });
    return printList(call, business.attempts({ from, ...given }), {
      limit,
      header: ["RECEIVED", "STATUS", "PUSH", "RECORD", "WHAT", "WHY"],
      rowOf,
      none: "Nothing was sent in that time.",
    });
  },
};

function rowOf(attempt: PushAttempt): string[] {
  const { received_at, status, category, errors, leaf_index, record_id, business_product_id, push_id } =
    attempt;
  const what =
    leaf_index === null ? `batch of ${attempt.records ?? "?"}` : (business_product_id ?? record_id ?? "-");
  // Records of a push are counted from 1, in the order of its file.
  const place = leaf_index === null ? "-" : number(leaf_index + 1);
  const why = errors
    .map(({ code, pointer, reason }) =>
      [code, reason, pointer].filter((each) => each !== undefined && each !== null && each !== "").join(" "),
    )
    .join(", ");
  const words = visible(category === null ? why : `${category}: ${why}`);
  return [received_at, status, push_id ?? "-", place, visible(what), words];
}

// `svc domains`: the domains of a business's endpoints, whether it controls them, and what to publish where it does not.

export const domains: Command = {
  name: "domains",
  usage: "",
  summary: "show whether the business controls the domains of its endpoints, and what to publish there",
  options: businessOptions,
  run: async (call) => {
    const { terminal } = call;
    const { business } = await connectBusiness(call);
    const known = await business.domains();
    const open = known.filter(({ status }) => status !== "confirmed");
    printItems(call, known, {
      header: ["DOMAIN", "STATUS", "SINCE", "LAST CONFIRMED", "LAST LOOK"],
      rowOf: domainRow,
    });
    if (!call.flag("json")) {
      for (const line of open.flatMap(toPublish)) terminal.note(line);
      if (known.length === 0) terminal.note("No business file with endpoints is published.");
    }
    return known.length === 0 || open.length > 0 ? exitCodes.negative : exitCodes.done;
  },
};

function domainRow({ domain, status, since, confirmed_at, probed }: OwnDomain): string[] {
  const look = probed === null ? "-" : `${probed.at} ${probed.outcome}: ${visible(probed.detail)}`;
  return [domain, status, since, confirmed_at ?? "-", look];
}

function toPublish({ domain, txt_name, file_url, challenge }: OwnDomain): readonly string[] {
  return [
    `To show that you control ${domain}, publish one of these:`,
    `  TXT record of ${txt_name}: ${challenge}`,
    `  a line of ${file_url}: ${challenge}`,
  ];
}
