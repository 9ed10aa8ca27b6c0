// The audit log as a page: who asked for what, why, and what became of it.

import { type ComponentChild, h } from "preact";
import { dataTable, section, shortTime } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { AuditPage } from "../../audit.ts";
import { missingNodes } from "./actor-rows.ts";
import { auditPath } from "./frame.ts";

export function auditList(
  { entries, next_before: next, unreadable, missing }: AuditPage,
  texts: Texts["operations"],
): ComponentChild {
  const { audit } = texts;
  return [
    h("h1", null, audit.title),
    h("p", { class: "quiet" }, audit.help),
    missingNodes(missing, texts),
    unreadable.length === 0 ? null : h("p", { class: "quiet" }, audit.unreadable(unreadable.join(", "))),
    section("entries", audit.title, entriesTable(entries, audit)),
    next === null
      ? null
      : h("p", null, h("a", { href: `${auditPath}?${new URLSearchParams({ before: next })}` }, audit.older)),
  ];
}

function entriesTable(entries: AuditPage["entries"], audit: Texts["operations"]["audit"]): ComponentChild {
  if (entries.length === 0) return h("p", { class: "quiet" }, audit.none);
  const columns = [
    { name: audit.at, kind: "nowrap" as const },
    { name: audit.who },
    { name: audit.what },
    { name: audit.why },
    { name: audit.result, kind: "nowrap" as const },
    { name: audit.node },
  ];
  const rows = entries.map(({ at, event, node, detail }, index) => ({
    key: `${at} ${index}`,
    cells: [
      shortTime(at),
      textIn(detail["by"]),
      h("code", null, whatIn(detail)),
      textIn(detail["reason"]),
      [event, ...[detail["status"]].flatMap((status) => (status === undefined ? [] : [String(status)]))].join(
        " ",
      ),
      h("code", null, node),
    ],
  }));
  return dataTable(audit.caption, columns, rows);
}

/** The address of an act with the names in it; an entry of another kind as it is. */
function whatIn(detail: AuditPage["entries"][number]["detail"]): string {
  const { act, params } = detail;
  if (typeof act !== "string") return JSON.stringify(detail);
  const names = Object.entries(Object(params) as Readonly<Record<string, unknown>>);
  return names.reduce((text, [name, value]) => text.replace(`:${name}`, String(value)), act);
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}
