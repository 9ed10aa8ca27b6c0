// `svc push-status`: shows how far the service has processed one pushed batch.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PushState } from "../../client/push-state.ts";
import type { PublishOutcome, PushStatus } from "../../client/service-client.ts";
import { readFileIfThere } from "../../crypto/durable-file.ts";
import { type Call, type Command, type ExitCode, exitCodes, onlyArgument } from "../command.ts";
import { connect, connectionOptions, homeOf, sameBusiness } from "../connection.ts";
import { ifThere } from "../failure.ts";
import { businessOptions, connectBusiness, printTable } from "../query.ts";
import { type Terminal, visible } from "../terminal.ts";
import { showHeldReasons } from "./held-reasons.ts";
import { number } from "./push-progress.ts";

export const pushStatus: Command = {
  name: "push-status",
  usage: "PUSH_ID",
  summary: "show the progress of a pushed batch",
  options: `
    --outcome OUTCOME  show only accepted, updated, rejected, held or pending records
    --json             print the service's answer exactly as it came
    --business N|UUID  business of the sandbox that asks (default 1)
${connectionOptions}`,
  run: async (call) => {
    const pushId = call.argument;
    const { client } = await connect("business", call);
    const outcome = call.text("outcome");
    const { body, text } = await client.pushStatus(pushId, outcome === null ? {} : { outcome });
    if (call.flag("json")) call.terminal.write(`${text}\n`);
    else showStatus(call.terminal, body, sameBusiness(call));
    return body.state === "failed" || body.state === "held" ? exitCodes.negative : exitCodes.done;
  },
};

/** `as` are the options with which a command acts as the same business. */
function showStatus(terminal: Terminal, status: PushStatus, as: string): void {
  const { counts, progress } = status;
  terminal.print(`${status.push_id}  ${status.state}${status.stalled ? " (stalled)" : ""}`);
  terminal.print(
    `settled ${progress.settled} of ${progress.total}: ${counts.accepted} accepted, ${counts.updated} updated, ${counts.rejected} rejected, ${counts.held} held`,
  );
  showHeldReasons(terminal, status.held_reasons);
  if (status.error !== null) terminal.print(`failed: ${status.error.code} ${visible(status.error.detail)}`);
  // A held record has no outcome to show.
  for (const result of status.results) if (result.outcome !== "held") terminal.print(resultLine(result));
  if (status.state === "held") showDecision(terminal, status, as);
  else if (status.next_cursor !== null)
    terminal.note(`The first ${status.results.length} records are shown.`);
}

/** Of a held push no record has an outcome yet: what matters is who decides, how, and by when. */
function showDecision(terminal: Terminal, { push_id, hold_expires_at }: PushStatus, as: string): void {
  const until = hold_expires_at ? `Held until ${hold_expires_at}` : "Held";
  terminal.print(`${until}: an owner or admin decides, with`);
  for (const decision of ["confirm", "reject"]) terminal.print(`  svc hold ${decision} ${push_id}${as}`);
}

function resultLine(result: PublishOutcome): string {
  const errors = result.errors.map(({ code, pointer }) => `${code} at ${pointer || "/"}`).join(", ");
  return visible(
    `${String(result.leaf_index).padStart(5)}  ${result.outcome.padEnd(8)}  ${result.record_id ?? "-"}  ${errors}`,
  ).trimEnd();
}

// `svc pushes` shows the pushes of this home folder, or follows one; `svc cancel` takes one back.

export const pushes: Command = {
  name: "pushes",
  usage: "[PUSH_ID]",
  summary: "list the pushes that this home folder remembers, or show or watch one",
  details: [
    "Pushes made from another machine or home folder are not in the list; ask for them by their PUSH_ID.",
  ],
  options: `
    --watch  follow the push until it is over${businessOptions}`,
  run: async (call) => {
    if (call.positionals.length === 0) return await listPushes(call);
    const pushId = onlyArgument(call, { name: pushes.name, usage: "PUSH_ID" });
    const { business } = await connectBusiness(call);
    const { terminal } = call;
    call.onStop(() => exitCodes.interrupted);
    let last: PushStatus | null = null;
    for await (const status of call.flag("watch") ? business.watch(pushId) : once(business.status(pushId))) {
      last = status;
      if (call.flag("json")) terminal.print(JSON.stringify(status));
      else if (call.flag("watch")) terminal.print(lineOf(status));
      // Only a person can change anything now; that may take days.
      if (status.state === "held") break;
    }
    if (last !== null && !call.flag("json")) showStatus(terminal, last, sameBusiness(call));
    return last?.state === "failed" || last?.state === "held" ? exitCodes.negative : exitCodes.done;
  },
};

export const cancel: Command = {
  name: "cancel",
  usage: "PUSH_ID",
  summary: "take back a push of which nothing is published yet",
  options: businessOptions,
  run: async (call) => {
    const pushId = call.argument;
    const { business } = await connectBusiness(call);
    const status = await business.cancel(pushId);
    await forgetPush(join(homeOf(call), "pushes"), pushId);
    if (call.flag("json")) call.terminal.print(JSON.stringify(status));
    else call.terminal.print(`${status.push_id} was cancelled; nothing of it was published.`);
  },
};

async function* once<T>(value: Promise<T>): AsyncGenerator<T> {
  yield await value;
}

function lineOf({ updated_at, state, stalled, progress, counts }: PushStatus): string {
  const { settled, total } = progress;
  const outcome = `${number(counts.accepted)} accepted, ${number(counts.updated)} updated, ${number(counts.rejected)} rejected, ${number(counts.held)} held`;
  return `${updated_at}  ${state}${stalled ? " (stalled)" : ""}  ${number(settled)} of ${number(total)}: ${outcome}`;
}

/** The service knows a push by its id alone; which ones there are is in the journals of `svc push`. */
async function listPushes(call: Call): Promise<ExitCode> {
  const { terminal } = call;
  const { business } = await connectBusiness(call);
  const { body: own } = await business.client.sealContext();
  const ids = await knownPushes(join(homeOf(call), "pushes"), own.business_uuid);
  const found: PushStatus[] = [];
  for (const id of ids) {
    // One that was sealed and never arrived is not there.
    const status = await ifThere(business.status(id));
    if (status !== null) found.push(status);
  }
  found.sort((a, b) => (a.received_at < b.received_at ? 1 : -1));
  showList(terminal, found, call.flag("json"));
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
