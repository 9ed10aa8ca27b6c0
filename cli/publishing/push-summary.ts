// What a push came to: the rejected records with their lines in the file, the batches that are held, and the sums.

import type { BatchResult, PushState } from "../../client/push-state.ts";
import { type ExitCode, exitCodes } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { showHeldReasons } from "./held-reasons.ts";
import type { ProductInput } from "./product-input.ts";
import { formatFaults, type PlacedFaults, shownFaults } from "./push-faults.ts";
import { number } from "./push-progress.ts";
import type { Withdrawn } from "./whole-feed.ts";

interface Totals {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
}

type PlacedFault = PlacedFaults & { readonly record_id: string | null };

/** What became of the live products that a whole file does not have. */
export interface Removal extends Withdrawn {
  /** Why nothing was withdrawn; null where it was, or nothing had to be. */
  readonly refusal: string | null;
}

export interface Pushed {
  /** Null if nothing had to be sent. */
  readonly state: PushState | null;
  readonly unchanged: number;
  /** Null without `--whole`. */
  readonly removal: Removal | null;
}

/** Prints the result of a push and returns the command's exit code. `as` is added to the commands that it names. */
export async function pushResult(
  terminal: Terminal,
  input: ProductInput,
  { isJson, as, ...pushed }: Pushed & { readonly isJson: boolean; readonly as: string },
): Promise<ExitCode> {
  const { state, removal } = pushed;
  const totals = totalsOf(state);
  const faults: PlacedFault[] = [];
  for (const { first, result } of state?.batches ?? [])
    faults.push(...(await placedFaults(input, first, result?.faults ?? [])));
  if (isJson) tellResult(terminal, input, { ...pushed, totals, faults });
  else showResult(terminal, input, { ...pushed, totals, faults, as });
  const isSent = (state === null || isPublished(state)) && totals.rejected === 0;
  const isGone = removal === null || (removal.refusal === null && removal.found === 0);
  return isSent && isGone && input.report.leftOut === 0 ? exitCodes.done : exitCodes.negative;
}

/** Whether the service is done with all of it, and nothing is held. */
export function isPublished({ batches }: PushState): boolean {
  return batches.every(({ result }) => result?.state === "complete");
}

interface Result extends Pushed {
  readonly totals: Totals;
  readonly faults: readonly PlacedFault[];
}

function totalsOf(state: PushState | null): Totals {
  const sum = (name: keyof Totals): number =>
    (state?.batches ?? []).reduce((total, { result }) => total + (result?.[name] ?? 0), 0);
  return { accepted: sum("accepted"), updated: sum("updated"), rejected: sum("rejected") };
}

/** Faults with the places and values of their records in the file; they are in the report as well. */
export async function placedFaults(
  { records, report }: Pick<ProductInput, "records" | "report">,
  first: number,
  faults: BatchResult["faults"],
): Promise<readonly PlacedFault[]> {
  const placed: PlacedFault[] = [];
  for (const { leaf_index, record_id, errors } of faults) {
    const at = first + leaf_index;
    const [bytes = new Uint8Array()] = await records.read(at, 1);
    const fault = { place: records.places[at] ?? 0, record_id, ...shownFaults(bytes, errors) };
    placed.push(fault);
    await report.addFaults(fault);
  }
  return placed;
}

function showResult(
  terminal: Terminal,
  { placeName, report }: ProductInput,
  { state, unchanged, removal, totals, faults, as }: Result & { readonly as: string },
): void {
  const { accepted, updated, rejected } = totals;
  const batches = state?.batches ?? [];
  const heldBatches = batches.filter(({ result }) => result?.state === "held");
  const held = heldBatches.reduce((total, { count }) => total + count, 0);
  for (const line of formatFaults(faults, placeName)) terminal.print(line);
  for (const [index, { sealed, result }] of batches.entries()) {
    if (result === null || result.state === "complete") continue;
    terminal.print(`Batch ${index + 1} (${sealed?.push_id}) is ${result.state}.`);
    if (result.state === "held") showHeldReasons(terminal, result.reasons);
    else for (const { code, detail } of result.reasons) terminal.print(`  ${code}: ${detail}`);
    if (result.state === "held")
      terminal.print(
        `  An owner or admin can confirm it at the portal, under «Held pushes», or by a passkey that the configuration names (svc hold confirm ${sealed?.push_id}${as}); then run this command again.`,
      );
  }
  const parts = [
    `${number(accepted)} published`,
    `${number(updated)} updated`,
    `${number(rejected)} rejected`,
    ...(unchanged > 0 ? [`${number(unchanged)} unchanged`] : []),
    ...(removal !== null && removal.withdrawn > 0 ? [`${number(removal.withdrawn)} withdrawn`] : []),
    ...(held > 0 ? [`${number(held)} held`] : []),
    ...(report.leftOut > 0 ? [`${number(report.leftOut)} of the file left out`] : []),
  ];
  if (removal?.refusal) terminal.print(removal.refusal);
  if (removal !== null && removal.found > 0)
    terminal.print(`${number(removal.found)} of those withdrawn may still be found in some region.`);
  const total = (state?.records ?? 0) + unchanged;
  terminal.print(`${products(total)}: ${parts.join(", ")}.${pushIds(batches)}`);
}

/** What `svc pushes` and the people of the service call the push. */
function pushIds(batches: PushState["batches"]): string {
  const ids = batches.flatMap(({ sealed }) => (sealed === null ? [] : [sealed.push_id]));
  const [first, ...others] = ids;
  if (first === undefined) return "";
  return others.length === 0
    ? ` Push ${first}.`
    : ` Pushes ${first} and ${number(others.length)} more (svc pushes).`;
}

function tellResult(
  terminal: Terminal,
  { report }: ProductInput,
  { state, unchanged, removal, totals, faults }: Result,
): void {
  for (const fault of faults) terminal.print(JSON.stringify({ type: "record.rejected", ...fault }));
  const counts = { records: (state?.records ?? 0) + unchanged, ...totals, unchanged };
  const published = state === null || isPublished(state);
  const removed = removal === null ? {} : { withdrawn: removal.withdrawn, not_withdrawn: removal.refusal };
  const finished = { published, ...counts, left_out: report.leftOut, ...removed };
  terminal.print(JSON.stringify({ type: "push.finished", ...finished }));
}

export function products(count: number): string {
  return `${number(count)} ${count === 1 ? "product" : "products"}`;
}
