// A statement as a table.

import type { StatementAnswer } from "../client/service-client.ts";
import { formatTable, type Terminal } from "./terminal.ts";

export type StatementShown = StatementAnswer;

export function printStatement(terminal: Terminal, statement: StatementShown): void {
  const { month, currency, opening, closing, is_final, entries, lines } = statement;
  const rows = [
    ["opening", `${month}-01`, "", "", opening],
    ...entries.map(({ kind, at, entry_id, amount }) => [kind, at.slice(0, 10), entry_id, "", amount]),
    ...lines.map(({ kind, day, collection, count, price, amount }) => [
      ...[kind, day, collection ?? "", `${count} at ${price}`, amount === "0" ? amount : `-${amount}`],
    ]),
    ["closing", is_final ? "final" : "not final", "", "", closing],
  ];
  for (const line of formatTable(["ITEM", "DAY", "FOR", "COUNT", currency], rows, terminal.columns))
    terminal.print(line);
}
