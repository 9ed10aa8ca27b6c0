// The statements of an AI company: those of a year in a row, and one with what was paid in and charged.

import { type ComponentChild, h } from "preact";
import type { StatementAnswer } from "../../protocol/wire/allowance.ts";
import type { StatementFormat, StatementYear } from "../../service/portal/company.ts";
import {
  code,
  dataTable,
  facts,
  link,
  paragraph,
  section,
  shortTime,
  shownNumber,
  withNumbers,
} from "../../web/parts.ts";
import { wording } from "../language.ts";

const texts = () => wording().company.statements;

/** `base` is the address of all statements, as in {@link statementContent}. */
export function yearContent(base: string, { statements, earlier }: StatementYear): ComponentChild {
  const rows = statements.map(({ month, currency, opening, entered, charged, closing, is_final }) => ({
    key: month,
    cells: [
      link(`${base}/${month}`, month),
      ...[opening, entered, charged, closing].map((amount) => `${amount} ${currency}`),
      is_final ? texts().final.yes : texts().final.no,
    ],
  }));
  const entries = statements.flatMap((each) =>
    each.entries.toReversed().map((entry) => ({ ...entry, currency: each.currency })),
  );
  return [
    rows.length === 0
      ? null
      : h(
          "section",
          { class: "card" },
          dataTable(texts().caption, withNumbers(texts().columns, 1, 2, 3, 4), rows),
        ),
    section(
      "payments",
      texts().payments,
      entries.length === 0 ? paragraph(texts().paymentsNone) : entryTable(texts().paymentsCaption, entries),
    ),
    earlier === null ? null : paragraph(link(`${base}?cursor=${earlier}`, texts().earlier)),
  ];
}

type Entry = StatementAnswer["entries"][number] & Pick<StatementAnswer, "currency">;

function entryTable(caption: string, entries: readonly Entry[]): ComponentChild {
  const rows = entries.map(({ entry_id, kind, amount, at, currency }) => ({
    key: entry_id,
    cells: [shortTime(at), wording().company.account.kinds[kind], `${amount} ${currency}`, code(entry_id)],
  }));
  return dataTable(caption, withNumbers(texts().entryColumns, 2), rows);
}

export function statementContent(base: string, statement: StatementAnswer): ComponentChild {
  const { month, currency, opening, entered, charged, closing, is_final, entries } = statement;
  const [, ...names] = texts().columns;
  const file = (format: StatementFormat) => paragraph(link(`${base}/${month}/${format}`, texts()[format]));
  const amounts = [opening, entered, charged, closing].map(
    (amount, at) => [names[at] ?? "", `${amount} ${currency}`] as const,
  );
  return [
    h(
      "section",
      { class: "card" },
      facts([...amounts, [texts().isFinal, is_final ? texts().final.yes : texts().final.no]]),
      file("json"),
      file("csv"),
      paragraph(texts().download),
    ),
    section(
      "payments",
      texts().payments,
      entries.length === 0
        ? paragraph(texts().entriesNone)
        : entryTable(
            texts().entriesCaption(month),
            entries.map((entry) => ({ ...entry, currency })),
          ),
    ),
    section("lines", texts().lines, lineTable(statement)),
    paragraph(link(base, texts().all)),
  ];
}

function lineTable({ month, currency, lines }: StatementAnswer): ComponentChild {
  if (lines.length === 0) return paragraph(texts().linesNone);
  const rows = lines.map(({ day, kind, collection, price, count, amount }) => ({
    key: `${day} ${kind} ${collection} ${price}`,
    cells: [
      day,
      wording().company.receipts.kinds[kind],
      collection ?? "–",
      `${price} ${currency}`,
      shownNumber(count),
      `${amount} ${currency}`,
    ],
  }));
  return dataTable(texts().linesCaption(month), withNumbers(texts().lineColumns, 3, 4, 5), rows);
}
