// What the commands that list something share: a table, or each item as JSON, up to a limit.

import { type Arguments, type ExitCode, exitCodes } from "./command.ts";
import { number } from "./publishing/push-progress.ts";
import { formatTable, type Terminal } from "./terminal.ts";

export interface Listing<T> {
  /** How many are shown at most. */
  readonly limit?: number;
  readonly header: readonly string[];
  readonly rowOf: (item: T) => readonly string[];
  /** What is noted if there is no item. */
  readonly none: string;
}

export const listLimitMax = 1_000_000;

/** Prints the items; the exit code says whether there is any. */
export async function printList<T>(
  args: Arguments,
  terminal: Terminal,
  items: AsyncIterable<T> | Iterable<T>,
  { limit = Number.POSITIVE_INFINITY, header, rowOf, none }: Listing<T>,
): Promise<ExitCode> {
  const rows: (readonly string[])[] = [];
  let [count, isMore] = [0, false];
  for await (const item of items) {
    isMore = count === limit;
    if (isMore) break;
    count += 1;
    if (args.flag("json")) terminal.print(JSON.stringify(item));
    else rows.push(rowOf(item));
  }
  printTable(terminal, header, rows);
  if (isMore) terminal.note(`The first ${number(limit)} are shown; --limit shows more.`);
  if (count === 0) terminal.note(none);
  return count === 0 ? exitCodes.negative : exitCodes.done;
}

/** Prints nothing if there are no rows. */
export function printTable(
  terminal: Terminal,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  if (rows.length > 0) for (const line of formatTable(header, rows, terminal.columns)) terminal.print(line);
}
