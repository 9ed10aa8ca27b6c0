// `svc push --dry-run`: the service judges every record as if it were published now, and changes nothing.

import { type ValidationDeps, validateRecords } from "../client/validate-run.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { showHeldReasons } from "./held-reasons.ts";
import type { ProductInput } from "./product-input.ts";
import { formatFaults } from "./push-faults.ts";
import { number, type ProgressStyle } from "./push-progress.ts";
import { placedFaults, products } from "./push-summary.ts";
import type { Terminal } from "./terminal.ts";

export async function dryRun(
  how: ValidationDeps,
  input: ProductInput,
  {
    terminal,
    style,
    unchanged,
  }: { readonly terminal: Terminal; readonly style: ProgressStyle; readonly unchanged: number },
): Promise<ExitCode> {
  const total = input.records.lengths.length;
  const deps: ValidationDeps = {
    ...how,
    onJudged: (judged) => terminal.status(`judged ${number(judged)} of ${number(total)}`),
  };
  const { accepted, updated, rejected, held, faults, reasons } = await validateRecords(deps, input.records);
  const placed = await placedFaults(input, 0, faults);
  const { leftOut } = input.report;
  if (style === "json") {
    for (const fault of placed) terminal.print(JSON.stringify({ type: "record.rejected", ...fault }));
    const counts = { records: total + unchanged, accepted, updated, rejected, unchanged, left_out: leftOut };
    terminal.print(JSON.stringify({ type: "validation.finished", held, held_reasons: reasons, ...counts }));
  } else {
    for (const line of formatFaults(placed, input.placeName)) terminal.print(line);
    if (held) terminal.print("It would be held until an owner or admin confirms it:");
    showHeldReasons(terminal, reasons);
    const parts = [
      `${number(accepted)} would be published`,
      `${number(updated)} updated`,
      `${number(rejected)} rejected`,
      ...(unchanged > 0 ? [`${number(unchanged)} unchanged`] : []),
    ];
    terminal.print(`${products(total + unchanged)}: ${parts.join(", ")}. Nothing was published.`);
  }
  return rejected + leftOut === 0 && !held ? exitCodes.done : exitCodes.negative;
}
