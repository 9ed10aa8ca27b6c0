// `svc catalogue`: what a business has published now.

import { recordTypeNames } from "../../client/business-client.ts";
import { SvcProblemError } from "../../client/errors.ts";
import { businessOptions, connectBusiness, jsonOption } from "../business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "../command.ts";
import { listLimitMax, printList } from "../listing.ts";
import { visible } from "../terminal.ts";

const limitDefault = 100;

export const catalogue: Command = {
  name: "catalogue",
  usage: "[ID]",
  summary: "list the business's live records, or show one by its record id or your own id",
  options: {
    type: { type: "string", value: "TYPE", help: `only ${recordTypeNames.join(", ")}` },
    limit: { type: "string", short: "n", value: "N", help: `how many at most (default ${limitDefault})` },
    record: { type: "boolean", help: "print only the record, exactly as it was sealed" },
    json: jsonOption,
    ...businessOptions,
  },
  run: runCatalogue,
};

async function runCatalogue(args: Arguments, context: CommandContext): Promise<ExitCode> {
  if (args.positionals.length > 0) return await showRecord(args, context);
  const { terminal } = context;
  const wanted = args.text("type");
  const type = recordTypeNames.find((name) => name === wanted?.replaceAll("-", "_"));
  if (wanted !== null && type === undefined)
    throw new UsageError(`--type is ${JSON.stringify(wanted)}; use one of ${recordTypeNames.join(", ")}.`);
  const limit = args.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
  const { business } = await connectBusiness(args, context);
  return printList(args, terminal, business.catalogue(type === undefined ? {} : { type }), {
    limit,
    header: ["RECORD", "LAST UPDATED", "SOURCE", "YOUR ID"],
    rowOf: (entry) => [entry.record_id, entry.last_updated, entry.source, visible(entry.business_product_id)],
    none: "Nothing is published.",
  });
}

async function showRecord(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const id = onlyArgument(args, { name: catalogue.name, usage: "ID" });
  const { client } = await connectBusiness(args, context);
  const { terminal } = context;
  const answer = await client.catalogueRecord(id).catch((error: unknown) => {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  });
  if (answer === null) {
    terminal.note(`No live record has the id ${JSON.stringify(id)}.`);
    return exitCodes.negative;
  }
  const { body, text, recordText } = answer;
  if (args.flag("json")) terminal.write(`${text}\n`);
  else if (args.flag("record")) terminal.write(`${recordText}\n`);
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
