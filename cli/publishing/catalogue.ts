// `svc catalogue`: what a business has published now.

import { recordTypeNames } from "../../client/business-client.ts";
import {
  type Arguments,
  type Call,
  type Command,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "../command.ts";
import { ifThere } from "../failure.ts";
import { businessOptions, connectBusiness, listLimitMax, printList } from "../query.ts";
import { visible } from "../terminal.ts";

const limitDefault = 100;

export const catalogue: Command = {
  name: "catalogue",
  usage: "[ID]",
  summary: "list the business's live records, or show one by its record id or your own id",
  options: `
    --type TYPE    only ${recordTypeNames.join(", ")}
    -n, --limit N  how many at most (default ${limitDefault})
    --record       print only the record, exactly as it was sealed${businessOptions}`,
  run: async (call) => {
    if (call.positionals.length > 0) return await showRecord(call);
    const type = recordTypeOf(call);
    const limit = call.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
    const { business } = await connectBusiness(call);
    return printList(call, business.catalogue(type === undefined ? {} : { type }), {
      limit,
      header: ["RECORD", "LAST UPDATED", "SOURCE", "YOUR ID"],
      rowOf: (entry) => [
        entry.record_id,
        entry.last_updated,
        entry.source,
        visible(entry.business_product_id),
      ],
      none: "Nothing is published.",
    });
  },
};

/** The type of record of `--type`. */
export function recordTypeOf(call: Arguments): (typeof recordTypeNames)[number] | undefined {
  const wanted = call.text("type");
  const type = recordTypeNames.find((name) => name === wanted?.replaceAll("-", "_"));
  if (wanted === null || type !== undefined) return type;
  throw new UsageError(`--type is ${JSON.stringify(wanted)}; use one of ${recordTypeNames.join(", ")}.`);
}

async function showRecord(call: Call): Promise<ExitCode> {
  const id = onlyArgument(call, { name: catalogue.name, usage: "ID" });
  const { client } = await connectBusiness(call);
  const { terminal } = call;
  const answer = await ifThere(client.catalogueRecord(id));
  if (answer === null) {
    terminal.note(`No live record has the id ${JSON.stringify(id)}.`);
    return exitCodes.negative;
  }
  const { body, text, recordText } = answer;
  if (call.flag("json")) terminal.write(`${text}\n`);
  else if (call.flag("record")) terminal.write(`${recordText}\n`);
  else {
    const { record_id, business_product_id, type, last_updated, source, live_in } = body;
    terminal.print(`${record_id}  ${type}  ${visible(business_product_id)}`);
    terminal.print(
      `published ${last_updated} (${source}), found in ${live_in.join(", ") || "no region yet"}`,
    );
    terminal.print(visible(recordText));
  }
  return exitCodes.done;
}
