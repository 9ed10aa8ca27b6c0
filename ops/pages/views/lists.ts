// Lists of actors: by kind, state, region and node, and what a search found. They are complete without a script.

import { type ComponentChild, h } from "preact";
import type { Of } from "../../../protocol/shape.ts";
import type { UnusualRenders } from "../../../protocol/wire/ad-requests.ts";
import { badge, dataTable, section, shortTime } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";

import type { ActorPage, AuditPage, MachineChart, SearchResult } from "../../inspection-shapes.ts";
import type { accountList } from "../../shapes.ts";
import { actorRows, missingNodes } from "./actor-facts.ts";
import { accountsPath, actorPath, auditPath, partyPath, rendersPath, uiBase } from "./frame.ts";

export interface ListQuery {
  readonly scope: "active" | "known";
  readonly kind: string | null;
  readonly state: string | null;
  readonly region: string | null;
  readonly node: string | null;
}

export interface ListProps {
  readonly query: ListQuery;
  readonly page: ActorPage;
  readonly machines: readonly MachineChart[];
}

export function actorList({ query, page, machines }: ListProps, texts: Texts["operations"]): ComponentChild {
  const { actors } = texts;
  return [
    h("div", { class: "title" }, h("h1", null, actors.title)),
    section("filter", actors.filter, filterForm(query, machines, texts)),
    missingNodes(page.missing, texts),
    section(
      "found",
      actors.title,
      page.actors.length === 0 ? nothingFound(query, texts) : actorRows(page.actors, texts),
      page.next_after === null
        ? null
        : h("p", null, h("a", { href: nextHref(query, page.next_after) }, actors.next)),
    ),
  ];
}

/** Most actors are not in memory, so a list of those that are leads to the others. */
function nothingFound(query: ListQuery, { actors }: Texts["operations"]): ComponentChild {
  const isWhole = query.scope === "known" || query.kind === null || query.node !== null;
  const words = query.scope === "known" ? actors.none : actors.noneInMemory;
  const href = nextHref({ ...query, scope: "known" }, "");
  return h("p", { class: "quiet" }, words, isWhole ? null : [" ", h("a", { href }, actors.lookInStore)]);
}

export function searchResults(
  query: string,
  found: SearchResult,
  texts: Texts["operations"],
): ComponentChild {
  const { searched } = texts;
  return [
    h("div", { class: "title" }, h("h1", null, searched.title(query))),
    missingNodes(found.missing, texts),
    section(
      "found",
      texts.actors.title,
      found.actors.length === 0 ? h("p", { class: "quiet" }, searched.none) : actorRows(found.actors, texts),
      found.is_complete ? null : h("p", { class: "quiet" }, searched.incomplete),
    ),
  ];
}

function filterForm(
  query: ListQuery,
  machines: readonly MachineChart[],
  { actors }: Texts["operations"],
): ComponentChild {
  const kinds = machines.map(({ kind }) => kind);
  const chosen = machines.filter(({ kind }) => query.kind === null || kind === query.kind);
  const states = [...new Set(chosen.flatMap((each) => each.states.map(({ path }) => path)))]
    .filter(Boolean)
    .sort();
  return h(
    "form",
    { class: "row", method: "get", action: `${uiBase}actors` },
    choice(
      "kind",
      actors.kind,
      query.kind,
      ["", ...kinds].map((name) => [name, name || actors.any]),
    ),
    choice(
      "state",
      actors.state,
      query.state,
      ["", ...states].map((name) => [name, name || actors.any]),
    ),
    choice("scope", actors.scope, query.scope, Object.entries(actors.scopes)),
    input("region", actors.region, query.region),
    input("node", actors.node, query.node),
    h("button", { type: "submit" }, actors.filter),
  );
}

function choice(
  name: string,
  label: string,
  value: string | null,
  options: readonly (readonly string[])[],
): ComponentChild {
  return h(
    "label",
    null,
    label,
    h(
      "select",
      { name },
      options.map(([each = "", words = ""]) =>
        h("option", { value: each, selected: each === (value ?? "") }, words),
      ),
    ),
  );
}

function input(name: string, label: string, value: string | null): ComponentChild {
  return h("label", null, label, h("input", { name, value: value ?? "", size: 14, maxLength: 200 }));
}

function nextHref(query: ListQuery, after: string): string {
  const given = Object.entries({ ...query, after }).filter(
    (each): each is [string, string] => each[1] !== null,
  );
  return `${uiBase}actors?${new URLSearchParams(given)}`;
}

// The audit log as a page: who asked for what, why, and what became of it.

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

// Companies whose renders or clicks of a campaign are unusual.

export function rendersList(
  { unusual, next_after: next }: UnusualRenders,
  { renders }: Texts["operations"],
): ComponentChild {
  return [
    h("h1", null, renders.title),
    h("p", { class: "quiet" }, renders.help),
    section("unusual", renders.title, unusualTable(unusual, renders)),
    next === null
      ? null
      : h(
          "p",
          null,
          h("a", { href: `${rendersPath}?${new URLSearchParams({ after: next })}` }, renders.more),
        ),
  ];
}

function unusualTable(
  unusual: UnusualRenders["unusual"],
  renders: Texts["operations"]["renders"],
): ComponentChild {
  if (unusual.length === 0) return h("p", { class: "quiet" }, renders.none);
  const columns = [
    { name: renders.day, kind: "nowrap" as const },
    { name: renders.campaign },
    { name: renders.company },
    { name: renders.of },
    { name: renders.count, kind: "number" as const },
    { name: renders.usual, kind: "number" as const },
  ];
  const rows = unusual.map(({ business_uuid, campaign_id, company_uuid, day, of, count, usual }) => {
    const campaign = `${business_uuid}.${campaign_id}`;
    return {
      key: `${day} ${campaign} ${company_uuid} ${of}`,
      cells: [
        day,
        h("a", { href: actorPath("ad-campaign", campaign) }, h("code", null, campaign)),
        h("code", null, company_uuid),
        renders.kinds[of],
        String(count),
        String(usual),
      ],
    };
  });
  return dataTable(renders.caption, columns, rows);
}

// The accounts of AI companies, those that run low first.

export function accountsList(
  { accounts, next_after: next, is_complete }: Of<typeof accountList>,
  { accounts: words, party }: Texts["operations"],
): ComponentChild {
  const rows = accounts.map(
    ({ company_uuid: uuid, legal_name, currency, last_top_up: paid, ...account }) => ({
      key: uuid,
      cells: [
        h("a", { href: partyPath(uuid) }, legal_name ?? party.unnamed),
        badge(account.is_low ? "bad" : "good", account.is_low ? words.low : words.enough),
        String(account.days_left ?? words.unknown),
        `${account.balance} ${currency}`,
        `${account.available} ${currency}`,
        `${account.used_last_day} ${currency}`,
        paid === null ? words.never : [shortTime(paid.at), ` ${paid.amount} ${currency}`],
      ],
    }),
  );
  return [
    h("h1", null, words.title),
    h("p", { class: "quiet" }, words.help),
    section(
      "accounts",
      words.title,
      rows.length === 0
        ? h("p", { class: "quiet" }, words.none)
        : dataTable(words.caption, words.columns, rows),
      is_complete ? null : h("p", { class: "quiet" }, words.incomplete),
    ),
    next === null
      ? null
      : h("p", null, h("a", { href: `${accountsPath}?${new URLSearchParams({ after: next })}` }, words.more)),
  ];
}
