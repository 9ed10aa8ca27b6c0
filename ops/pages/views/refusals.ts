// Refused requests: by surface and code, and by the key that they named and the address that they came from.
//   RV1. What a stranger sent proves nothing, and the page says so: the key is the one that was named.

import { type ComponentChild, h } from "preact";
import { dataTable, section, shortTime, shownNumber } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { RefusedRequests } from "../../inspection-shapes.ts";
import { missingNodes } from "./actor-facts.ts";
import { keyPath, refusalsPath } from "./frame.ts";
import { liveBadge, usePolled } from "./live.ts";

export interface RefusalsProps {
  readonly language: Language;
  readonly surface: string | null;
  readonly code: string | null;
  readonly refused: RefusedRequests;
}

export function Refusals({ language, surface, code, refused: first }: RefusalsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { refusals } = texts;
  const { data, state } = usePolled(refusedBy({ surface, code }), first);
  return h(
    "div",
    null,
    h("div", { class: "title" }, h("h1", null, refusals.title), liveBadge(state, texts)),
    h("p", { class: "quiet" }, refusals.help),
    missingNodes(data.missing, texts),
    section("codes", refusals.codes, codesTable(data, refusals)),
    section(
      "requests",
      refusals.requests,
      surface === null && code === null
        ? null
        : h(
            "p",
            null,
            refusals.only(surface ?? "", code ?? ""),
            " ",
            h("a", { href: refusalsPath }, refusals.all),
          ),
      refusedTable(data, texts),
    ),
  );
}

/** The address of the API for the refused requests that are wanted; null for any. */
export function refusedBy(wanted: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(wanted).filter((each): each is [string, string] => each[1] !== null);
  return `/ops/refusals${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
}

function codesTable({ codes }: RefusedRequests, refusals: Texts["operations"]["refusals"]): ComponentChild {
  if (codes.length === 0) return h("p", { class: "quiet" }, refusals.none);
  const columns = [
    { name: refusals.code },
    { name: refusals.surface, kind: "nowrap" as const },
    { name: refusals.count, kind: "number" as const },
    { name: refusals.last, kind: "nowrap" as const },
  ];
  const rows = codes.map(({ surface, code, count, last_at }) => ({
    key: `${surface} ${code}`,
    cells: [
      h("a", { href: `${refusalsPath}?${new URLSearchParams({ surface, code })}` }, h("code", null, code)),
      surface,
      shownNumber(count),
      shortTime(last_at),
    ],
  }));
  return dataTable(refusals.codesCaption, columns, rows);
}

export function refusedTable(
  { requests, forgotten }: RefusedRequests,
  { refusals, unknown }: Texts["operations"],
): ComponentChild {
  const columns = [
    { name: refusals.key },
    { name: refusals.from },
    { name: refusals.code },
    { name: refusals.surface, kind: "nowrap" as const },
    { name: refusals.count, kind: "number" as const },
    { name: refusals.first, kind: "nowrap" as const },
    { name: refusals.last, kind: "nowrap" as const },
  ];
  const rows = requests.map(({ surface, code, key_id: key, from, count, first_at, last_at }) => ({
    key: `${surface} ${code} ${key} ${from}`,
    cells: [
      key === null ? refusals.noKey : h("a", { href: keyPath(key) }, h("code", null, key)),
      from === null ? unknown : h("code", null, from),
      h("code", null, code),
      surface,
      shownNumber(count),
      shortTime(first_at),
      shortTime(last_at),
    ],
  }));
  return [
    rows.length === 0
      ? h("p", { class: "quiet" }, refusals.none)
      : dataTable(refusals.requestsCaption, columns, rows),
    forgotten === 0 ? null : h("p", { class: "quiet small" }, refusals.forgotten(shownNumber(forgotten))),
  ];
}
