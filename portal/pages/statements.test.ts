// What the pages of statements show of statements with everything in them.

import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { expect, it } from "vitest";
import type { StatementAnswer } from "../../protocol/wire/allowance.ts";
import { statementContent, yearContent } from "./statements.ts";

const script = `<script>alert("1")</script>`;
const statement: StatementAnswer = {
  currency: "EUR",
  month: "2026-10",
  is_final: true,
  opening: "1.5",
  entered: "10",
  charged: "0.6",
  closing: "10.9",
  lines: [
    { day: "2026-10-03", kind: "search", collection: "events", price: "0.1", count: 2, amount: "0.2" },
    { day: "2026-10-03", kind: "fetch", collection: null, price: "0.4", count: 1, amount: "0.4" },
  ],
  entries: [
    { entry_id: "first", kind: "top_up", amount: "12", at: "2026-10-01T00:00:00.000Z" },
    { entry_id: script, kind: "correction", amount: "-2", at: "2026-10-02T00:00:00.000Z" },
  ],
};
const cells = (html: string) =>
  [...html.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) => cell.replaceAll(/<[a-z/][^>]*>/g, ""));
const escaped = "&lt;script>alert(&quot;1&quot;)&lt;/script>";
const entries = [
  ["payment", "12 EUR", "first"],
  ["correction", "-2 EUR", escaped],
];

it("shows every payment and charge of a statement, every text escaped", () => {
  const html = renderToString(h("div", null, statementContent("/c/statements", statement)));
  expect(html).not.toContain(script);
  const lines = [
    ["2026-10-03", "search", "events", "0.1 EUR", "2", "0.2 EUR"],
    ["2026-10-03", "fetch", "–", "0.4 EUR", "1", "0.4 EUR"],
  ];
  const all = cells(html);
  expect([all.slice(1, 4), all.slice(5, 8)]).toEqual(entries);
  expect(all.slice(8)).toEqual(lines.flat());
  expect(html).toMatch(/Opening<\/dt><dd>1\.5 EUR.*Closing<\/dt><dd>10\.9 EUR.*Final<\/dt><dd>yes/s);
  for (const format of ["json", "csv"]) expect(html).toContain(`href="/c/statements/2026-10/${format}"`);
});

it("lists the statements of a year and the payments in them, the newest first", () => {
  const year = { statements: [statement], earlier: "2025-10" };
  const html = renderToString(h("div", null, yearContent("/c/statements", year)));
  const all = cells(html);
  const row = ["2026-10", "1.5 EUR", "10 EUR", "0.6 EUR", "10.9 EUR", "yes: nothing of it changes"];
  expect(all.slice(0, 6)).toEqual(row);
  expect([all.slice(7, 10), all.slice(11)]).toEqual(entries.toReversed());
  expect(html).toContain(`href="/c/statements/2026-10"`);
  expect(html).toContain(`href="/c/statements?cursor=2025-10"`);
  expect(html).not.toContain(script);
});
