// `svc withdraw` and `svc delete`: take records out of serving by sealed documents.

import { resolve } from "node:path";
import { isRecordIdText } from "../../client/removal.ts";
import { type Call, type Command, type ExitCode, exitCodes, UsageError } from "../command.ts";
import { readText } from "../connection.ts";
import { ifThere } from "../failure.ts";
import { type BusinessConnection, businessOptions, connectBusiness } from "../query.ts";
import { visible } from "../terminal.ts";
import { number } from "./push-progress.ts";

type Action = "withdraw" | "delete";

const ids = "ID is a record id, or your own id of a live record (business_product_id).";

export const withdraw: Command = {
  name: "withdraw",
  usage: "ID … | --from FILE",
  summary: "take records out of serving; they may be published again",
  details: [
    ids,
    "Exits with 1 if one may still be found in some region: run the command again to hear of it; with --from also if an id",
    "is of no live record.",
  ],
  options: `
    --from FILE  withdraw the ids of a file, one on each line${businessOptions}`,
  run: (call) => (call.text("from") === null ? remove("withdraw", call) : withdrawFile(call)),
};

export const deleteCommand: Command = {
  name: "delete",
  usage: "ID …",
  summary: "take records out of serving at once, and their bytes out of the service within 30 days",
  details: [ids, "Asks for `yes` first. Exits with 1 if one may still be found in some region."],
  options: `
    --yes  do not ask${businessOptions}`,
  run: (call) => remove("delete", call),
};

async function remove(action: Action, call: Call): Promise<ExitCode> {
  const { terminal } = call;
  if (call.positionals.length === 0) throw new UsageError(`ID is missing. See: svc help ${action}`);
  const connection = await connectBusiness(call);
  const found: { readonly id: string; readonly recordId: string }[] = [];
  for (const id of call.positionals) found.push({ id, recordId: await recordIdOf(id, connection) });
  if (action === "delete") await confirm(found, call);
  let isGone = true;
  for (const { id, recordId } of found) {
    const answer = await connection.business[action](recordId).catch((error: unknown) => {
      if (found.length > 1) terminal.note(`${id} was not ${past(action)}; those before it were.`);
      throw error;
    });
    isGone &&= answer.live_in.length === 0;
    if (call.flag("json")) terminal.print(JSON.stringify(answer));
    else {
      const left =
        answer.live_in.length === 0 ? "" : `; it may still be found in ${answer.live_in.join(", ")}`;
      terminal.print(`${answer.record_id} was ${past(action)}${left}.`);
    }
  }
  return isGone ? exitCodes.done : exitCodes.negative;
}

/** Ids of which the catalogue has no live record that are named on the screen. */
const idsShownMax = 10;

/** Run again after an interruption, it withdraws the rest: what is not live any more is not in the catalogue. */
async function withdrawFile(call: Call): Promise<ExitCode> {
  const { terminal } = call;
  if (call.positionals.length > 0) throw new UsageError("Give ids or --from FILE, not both.");
  const path = resolve(call.cwd, call.text("from") ?? "");
  const lines = (await readText(path)).split("\n").map((line) => line.trim());
  const wanted = new Set(lines.filter((line) => line !== ""));
  if (wanted.size === 0) throw new UsageError(`${path} has no ids; nothing was sent.`);
  const { business } = await connectBusiness(call);
  const live = new Map<string, string>();
  for await (const { record_id, business_product_id } of business.catalogue()) {
    const id = [record_id, business_product_id].find((each) => wanted.has(each));
    if (id === undefined) continue;
    if (live.has(id) && live.get(id) !== record_id) throw new UsageError(sharedId(id));
    live.set(id, record_id);
  }
  let found = 0;
  let done = 0;
  await business.withdrawAll([...live.values()], (outcome) => {
    done += 1;
    if (outcome.live_in.length > 0) found += 1;
    if (call.flag("json")) terminal.print(JSON.stringify(outcome));
    else terminal.status(`withdrew ${number(done)} of ${number(live.size)}`);
  });
  const gone = [...wanted].filter((id) => !live.has(id));
  if (!call.flag("json"))
    terminal.print(`${number(done)} ${done === 1 ? "record was" : "records were"} withdrawn.`);
  if (found > 0) terminal.note(`${number(found)} of them may still be found in some region.`);
  if (gone.length > 0) {
    const shown = gone.slice(0, idsShownMax).map(visible).join(", ");
    terminal.note(
      `${gone.length === 1 ? "One id is" : `${number(gone.length)} ids are`} of no live record: ${shown}${gone.length > idsShownMax ? " …" : ""}.`,
    );
  }
  return found + gone.length === 0 ? exitCodes.done : exitCodes.negative;
}

function sharedId(id: string): string {
  return `More than one record has the id ${JSON.stringify(id)}; nothing was sent. Name it by its record id.`;
}

function past(action: Action): string {
  return action === "withdraw" ? "withdrawn" : "deleted";
}

/** A record id is taken as it is: what is withdrawn may be deleted, and is no longer in the catalogue. */
async function recordIdOf(id: string, { business }: BusinessConnection): Promise<string> {
  if (isRecordIdText(id)) return id;
  const record = await ifThere(business.record(id));
  if (record !== null) return record.record_id;
  throw new UsageError(
    `No live record has the id ${JSON.stringify(id)}; nothing was sent. The others need their record id.`,
  );
}

async function confirm(
  found: readonly { readonly id: string; readonly recordId: string }[],
  call: Call,
): Promise<void> {
  const { terminal, question } = call;
  if (call.flag("yes")) return;
  for (const { id, recordId } of found) terminal.note(id === recordId ? id : `${recordId} (${id})`);
  const what = found.length === 1 ? "this record" : `these ${found.length} records`;
  const answer = await question(`Delete ${what}? The bytes cannot be brought back. Type yes: `);
  if (answer === null)
    throw new UsageError("Nobody can be asked here; --yes deletes without asking. Nothing was sent.");
  if (answer.trim() !== "yes") throw new UsageError("Nothing was sent.");
}
