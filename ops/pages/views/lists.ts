// Lists of actors: by kind, state, region and node, and what a search found. They are complete without a script.

import { type ComponentChild, h } from "preact";
import { section } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorPage, MachineChart, SearchResult } from "../../inspection-shapes.ts";
import { actorRows, missingNodes } from "./actor-rows.ts";
import { uiBase } from "./frame.ts";

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
