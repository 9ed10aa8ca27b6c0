// `svc pushes` shows the pushes of this home folder, or follows one; `svc cancel` takes one back.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { SvcProblemError } from "../client/errors.ts";
import type { PushState } from "../client/push-state.ts";
import type { PushStatus } from "../client/service-client.ts";
import { readFileIfThere } from "../crypto/durable-file.ts";
import { businessOptions, connectBusiness, jsonOption } from "./business-options.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { homeOf } from "./connection.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { printTable } from "./listing.ts";
import { number } from "./push-progress.ts";
import { showStatus } from "./push-status.ts";
import type { Terminal } from "./terminal.ts";

export const pushes: Command = {
  name: "pushes",
  usage: "[PUSH_ID]",
  summary: "list the pushes that this home folder remembers, or show or watch one",
  details: [
    "Pushes made from another machine or home folder are not in the list; ask for them by their PUSH_ID.",
  ],
  options: {
    watch: { type: "boolean", help: "follow the push until it is over" },
    json: jsonOption,
    ...businessOptions,
  },
  run: runPushes,
};

export const cancel: Command = {
  name: "cancel",
  usage: "PUSH_ID",
  summary: "take back a push of which nothing is published yet",
  options: { json: jsonOption, ...businessOptions },
  run: runCancel,
};

async function runPushes(args: Arguments, context: CommandContext): Promise<ExitCode> {
  if (args.positionals.length === 0) return await listPushes(args, context);
  const pushId = onlyArgument(args, { name: pushes.name, usage: "PUSH_ID" });
  const { business } = await connectBusiness(args, context);
  const { terminal } = context;
  context.onStop(() => exitCodes.interrupted);
  let last: PushStatus | null = null;
  for await (const status of args.flag("watch") ? business.watch(pushId) : once(business.status(pushId))) {
    last = status;
    if (args.flag("json")) terminal.print(JSON.stringify(status));
    else if (args.flag("watch")) terminal.print(lineOf(status));
    // Only a person can change anything now; that may take days.
    if (status.state === "held") break;
  }
  if (last !== null && !args.flag("json")) showStatus(terminal, last);
  return last?.state === "failed" || last?.state === "held" ? exitCodes.negative : exitCodes.done;
}

async function* once<T>(value: Promise<T>): AsyncGenerator<T> {
  yield await value;
}

function lineOf({ updated_at, state, stalled, progress, counts }: PushStatus): string {
  const { settled, total } = progress;
  const outcome = `${number(counts.accepted)} accepted, ${number(counts.updated)} updated, ${number(counts.rejected)} rejected, ${number(counts.held)} held`;
  return `${updated_at}  ${state}${stalled ? " (stalled)" : ""}  ${number(settled)} of ${number(total)}: ${outcome}`;
}

/** The service knows a push by its id alone; which ones there are is in the journals of `svc push`. */
async function listPushes(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { business } = await connectBusiness(args, context);
  const { body: own } = await business.client.sealContext();
  const ids = await knownPushes(join(homeOf(args, context), "pushes"), own.business_uuid);
  const found: PushStatus[] = [];
  for (const id of ids) {
    const status = await business.status(id).catch((error: unknown) => {
      // It was sealed, and never arrived.
      if (error instanceof SvcProblemError && error.status === 404) return null;
      throw error;
    });
    if (status !== null) found.push(status);
  }
  found.sort((a, b) => (a.received_at < b.received_at ? 1 : -1));
  showList(terminal, found, args.flag("json"));
  return found.length === 0 ? exitCodes.negative : exitCodes.done;
}

function showList(terminal: Terminal, found: readonly PushStatus[], isJson: boolean): void {
  if (isJson) {
    for (const { results: _results, next_cursor: _cursor, ...status } of found)
      terminal.print(JSON.stringify(status));
    return;
  }
  if (found.length === 0)
    terminal.note("This home folder remembers no push; those made elsewhere are not listed.");
  const rows = found.map(({ push_id, received_at, state, records, counts }) => [
    push_id,
    received_at,
    state,
    ...[records, counts.accepted, counts.updated, counts.rejected, counts.held].map(number),
  ]);
  const header = ["PUSH", "RECEIVED", "STATE", "RECORDS", "ACCEPTED", "UPDATED", "REJECTED", "HELD"];
  printTable(terminal, header, rows);
}

async function knownPushes(folder: string, businessUuid: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const ids: string[] = [];
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const text = await readFileIfThere(join(folder, name));
    const state = text === null ? null : (JSON.parse(text) as PushState);
    if (state?.business_uuid !== businessUuid) continue;
    ids.push(...state.batches.flatMap(({ sealed }) => sealed?.push_id ?? []));
  }
  return ids;
}

/** Removes the saved state of the push, which would otherwise be resumed and found cancelled. */
async function forgetPush(folder: string, pushId: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const text = await readFileIfThere(join(folder, name));
    const batches = text === null ? [] : (JSON.parse(text) as PushState).batches;
    if (batches.some(({ sealed }) => sealed?.push_id === pushId))
      await rm(join(folder, name), { force: true });
  }
}

async function runCancel(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const pushId = onlyArgument(args, cancel);
  const { business } = await connectBusiness(args, context);
  const status = await business.cancel(pushId);
  await forgetPush(join(homeOf(args, context), "pushes"), pushId);
  if (args.flag("json")) context.terminal.print(JSON.stringify(status));
  else context.terminal.print(`${status.push_id} was cancelled; nothing of it was published.`);
  return exitCodes.done;
}
