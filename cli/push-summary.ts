// What a push came to: the rejected records with their lines in the file, the batches that are held, and the sums.

import type { BatchResult, PushState } from "../client/push-state.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { showHeldReasons } from "./held-reasons.ts";
import type { ProductInput } from "./product-input.ts";
import { formatFaults, type PlacedFaults, shownFaults } from "./push-faults.ts";
import { number } from "./push-progress.ts";
import type { Terminal } from "./terminal.ts";

interface Totals {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
  readonly isPublished: boolean;
}

type PlacedFault = PlacedFaults & { readonly record_id: string | null };

/** Prints the result of a push and returns the command's exit code. `as` is added to the commands that it names. */
export async function pushResult(
  terminal: Terminal,
  input: ProductInput,
  { state, isJson, as }: { readonly state: PushState; readonly isJson: boolean; readonly as: string },
): Promise<ExitCode> {
  const totals = totalsOf(state);
  const faults: PlacedFault[] = [];
  for (const { first, result } of state.batches)
    faults.push(...(await placedFaults(input, first, result?.faults ?? [])));
  if (isJson) tellResult(terminal, input, { state, totals, faults });
  else showResult(terminal, input, { state, totals, faults, as });
  const isWhole = totals.isPublished && totals.rejected === 0 && input.report.leftOut === 0;
  return isWhole ? exitCodes.done : exitCodes.negative;
}

interface Result {
  readonly state: PushState;
  readonly totals: Totals;
  readonly faults: readonly PlacedFault[];
}

function totalsOf({ batches }: PushState): Totals {
  const sum = (name: "accepted" | "updated" | "rejected"): number =>
    batches.reduce((total, { result }) => total + (result?.[name] ?? 0), 0);
  const isPublished = batches.every(({ result }) => result?.state === "complete");
  return { accepted: sum("accepted"), updated: sum("updated"), rejected: sum("rejected"), isPublished };
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
  { state, totals, faults, as }: Result & { readonly as: string },
): void {
  const { accepted, updated, rejected } = totals;
  const heldBatches = state.batches.filter(({ result }) => result?.state === "held");
  const held = heldBatches.reduce((total, { count }) => total + count, 0);
  for (const line of formatFaults(faults, placeName)) terminal.print(line);
  for (const [index, { sealed, result }] of state.batches.entries()) {
    if (result === null || result.state === "complete") continue;
    terminal.print(`Batch ${index + 1} (${sealed?.push_id}) is ${result.state}.`);
    if (result.state === "held") showHeldReasons(terminal, result.reasons);
    else for (const { code, detail } of result.reasons) terminal.print(`  ${code}: ${detail}`);
    if (result.state === "held")
      terminal.print(
        `  An owner or admin can confirm it (svc hold confirm ${sealed?.push_id}${as}); then run this command again.`,
      );
  }
  const parts = [
    `${number(accepted)} published`,
    `${number(updated)} updated`,
    `${number(rejected)} rejected`,
    ...(held > 0 ? [`${number(held)} held`] : []),
    ...(report.leftOut > 0 ? [`${number(report.leftOut)} of the file left out`] : []),
  ];
  terminal.print(`${products(state.records)}: ${parts.join(", ")}.${pushIds(state)}`);
}

/** What `svc pushes` and the people of the service call the push. */
function pushIds({ batches }: PushState): string {
  const ids = batches.flatMap(({ sealed }) => (sealed === null ? [] : [sealed.push_id]));
  const [first, ...others] = ids;
  if (first === undefined) return "";
  return others.length === 0
    ? ` Push ${first}.`
    : ` Pushes ${first} and ${number(others.length)} more (svc pushes).`;
}

function tellResult(terminal: Terminal, { report }: ProductInput, { state, totals, faults }: Result): void {
  const { isPublished, ...counts } = totals;
  for (const fault of faults) terminal.print(JSON.stringify({ type: "record.rejected", ...fault }));
  const finished = { published: isPublished, records: state.records, ...counts, left_out: report.leftOut };
  terminal.print(JSON.stringify({ type: "push.finished", ...finished }));
}

export function products(count: number): string {
  return `${number(count)} ${count === 1 ? "product" : "products"}`;
}
