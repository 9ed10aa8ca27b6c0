// The first page: what needs a look, the nodes, and the actors by kind with counts that are live.

import { type ComponentChild, h } from "preact";
import { dataTable, section, shownNumber, time } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorCounts, AttentionList, NodeList, NodeState } from "../../inspection-shapes.ts";
import { actorRows, attentionBadge, missingNodes } from "./actor-rows.ts";
import { liveCounts } from "./addresses.ts";
import { uiBase } from "./frame.ts";
import { liveBadge, useLive, usePolled } from "./live.ts";
import { nodesTable } from "./nodes-table.ts";

export interface OverviewData {
  readonly nodes: readonly NodeState[];
  readonly counts: ActorCounts;
  readonly attention: AttentionList;
}

export interface OverviewProps {
  readonly language: Language;
  readonly data: OverviewData;
}

export function Overview({ language, data: first }: OverviewProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { data: counts, state } = useLive<ActorCounts>(liveCounts, "counts", first.counts);
  const { data: read } = usePolled<NodeList>("/ops/nodes", { nodes: first.nodes }, counts);
  const { data: attention } = usePolled("/ops/attention", first.attention, counts);
  const data = { counts, nodes: read.nodes, attention };
  return h(
    "div",
    null,
    h(
      "div",
      { class: "title" },
      h("h1", null, texts.overview.title),
      liveBadge(state, texts),
      h("span", { class: "quiet small end" }, `${texts.overview.at} `, time(data.counts.at)),
    ),
    missingNodes(data.counts.missing, texts),
    section("attention", texts.overview.attention, attentionOf(data, texts)),
    section("nodes", texts.overview.nodes, nodesTable(data.nodes, texts)),
    section("kinds", texts.overview.actors, kindsOf(data.counts, texts)),
  );
}

function attentionOf({ attention, counts }: OverviewData, texts: Texts["operations"]): ComponentChild {
  const { nothing, unread } = texts.overview;
  if (attention.total === 0) return h("p", { class: "quiet" }, attention.is_complete ? nothing : unread);
  const more = attention.total - attention.actors.length;
  const reasons = counts.attention.filter(({ count }) => count > 0);
  return [
    h(
      "p",
      { class: "badges" },
      reasons.map(({ reason, count }) => [
        attentionBadge(reason, texts),
        h("span", null, shownNumber(count)),
      ]),
    ),
    actorRows(attention.actors, texts),
    more > 0 ? h("p", { class: "quiet" }, texts.overview.more(more)) : null,
    attention.is_complete ? null : h("p", { class: "quiet" }, unread),
  ];
}

function kindsOf({ kinds }: ActorCounts, texts: Texts["operations"]): ComponentChild {
  const { counts } = texts;
  const columns = [
    { name: counts.kind, kind: "nowrap" as const },
    { name: counts.active, kind: "number" as const },
    { name: counts.known, kind: "number" as const },
    { name: counts.states },
  ];
  const rows = kinds.map((each) => ({
    key: each.kind,
    cells: [
      h("a", { href: `${uiBase}actors?kind=${each.kind}` }, each.kind),
      shownNumber(each.active),
      h(
        "a",
        { href: `${uiBase}actors?kind=${each.kind}&scope=known` },
        each.known_is_exact ? shownNumber(each.known) : counts.atLeast(shownNumber(each.known)),
      ),
      h(
        "div",
        { class: "badges" },
        each.states.map(({ state, count }) =>
          h(
            "a",
            {
              class: "badge lit",
              href: `${uiBase}actors?kind=${each.kind}&state=${encodeURIComponent(state)}`,
            },
            `${state} ${shownNumber(count)}`,
          ),
        ),
      ),
    ],
  }));
  return dataTable(counts.caption, columns, rows);
}
