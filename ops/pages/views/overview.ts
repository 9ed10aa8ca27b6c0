// The first page: what needs a look, the nodes, and the actors by kind with counts that are live.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, section, shownNumber, time } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorCounts, AttentionList, NodeList, NodeState } from "../../inspection-shapes.ts";
import { actorRows, attentionBadge, missingNodes } from "./actor-facts.ts";
import { actorPath, keyPath, liveCounts, uiBase } from "./frame.ts";
import { liveBadge, useLive, usePolled } from "./live.ts";
import { nodesTable } from "./nodes.ts";

/** What needs a store that does not answer is null, and everything else is shown. */
export interface OverviewData {
  readonly nodes: readonly NodeState[];
  readonly counts: ActorCounts | null;
  readonly attention: AttentionList | null;
}

export interface OverviewProps {
  readonly language: Language;
  readonly data: OverviewData;
}

export function Overview({ language, data: first }: OverviewProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { overview } = texts;
  const { data: counts, state } = useLive<ActorCounts | null>(liveCounts, "counts", first.counts);
  const { data: read } = usePolled<NodeList>("/ops/nodes", { nodes: first.nodes });
  // Read at once where others need a look; most counts change for other reasons, and all the time.
  const reasons = JSON.stringify(counts?.attention);
  const attention = usePolled<AttentionList | null>("/ops/attention", first.attention, reasons);
  const at = counts === null ? overview.notRead : [`${overview.at} `, time(counts.at)];
  return h(
    "div",
    null,
    h(
      "div",
      { class: "title" },
      h("h1", null, overview.title),
      liveBadge(state, texts),
      h("span", { class: "quiet small end" }, at),
    ),
    missingNodes(counts?.missing ?? [], texts),
    section(
      "attention",
      overview.attention,
      nodesOf(attention.data, texts),
      attention.state === "lost" ? h("p", { class: "badge bad", role: "status" }, overview.unreadable) : null,
      attention.data === null
        ? h("p", { class: "quiet" }, overview.notRead)
        : attentionOf(attention.data, counts, texts),
    ),
    section(
      "pushes",
      texts.pushes.title,
      counts === null ? h("p", { class: "quiet" }, overview.notRead) : pushesOf(counts, texts),
    ),
    section("nodes", overview.nodes, nodesTable(read.nodes, texts)),
    section(
      "kinds",
      overview.actors,
      counts === null ? h("p", { class: "quiet" }, overview.notRead) : kindsOf(counts, texts),
    ),
  );
}

function attentionOf(
  attention: AttentionList,
  counts: ActorCounts | null,
  texts: Texts["operations"],
): ComponentChild {
  const { nothing, unread } = texts.overview;
  if (attention.total === 0 && attention.nodes.length + attention.missing.length > 0) return null;
  if (attention.total === 0) return h("p", { class: "quiet" }, attention.is_complete ? nothing : unread);
  const more = attention.total - attention.actors.length;
  const reasons = counts?.attention.filter(({ count }) => count > 0) ?? [];
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

/** Regions and nodes, before any actor. */
function nodesOf(attention: AttentionList | null, { overview, node }: Texts["operations"]): ComponentChild {
  if (attention === null || attention.nodes.length === 0) return null;
  const columns = [
    { name: node.node },
    { name: node.region, kind: "nowrap" as const },
    { name: overview.why },
  ];
  const rows = attention.nodes.map(({ region, incarnation, address, reason, words }) => ({
    key: `${region} ${incarnation}`,
    cells: [
      incarnation === null ? overview.allNodes : [address ?? "", " ", h("code", null, incarnation)],
      region,
      [badge(reason === "degraded" ? "warn" : "bad", overview.nodeReasons[reason]), " ", words],
    ],
  }));
  return dataTable(overview.nodesCaption, columns, rows);
}

function pushesOf({ pushes_under_way: all }: ActorCounts, { pushes }: Texts["operations"]): ComponentChild {
  if (all.length === 0) return h("p", { class: "quiet" }, pushes.none);
  const columns = [
    { name: pushes.key },
    { name: pushes.business },
    { name: pushes.pushes, kind: "number" as const },
    { name: pushes.records, kind: "number" as const },
  ];
  const rows = all.map(({ business_uuid, key_id, pushes: count, records }) => ({
    key: `${business_uuid} ${key_id}`,
    cells: [
      h("a", { href: keyPath(key_id) }, h("code", null, key_id)),
      h("a", { href: actorPath("business", business_uuid) }, h("code", null, business_uuid)),
      shownNumber(count),
      shownNumber(records),
    ],
  }));
  return [h("p", { class: "quiet small" }, pushes.help), dataTable(pushes.caption, columns, rows)];
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
