// The first page: what needs a look, the nodes, and the actors by kind with counts that are live.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { badge, dataTable, section, shownNumber, time } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorCounts, AttentionList, NodeState } from "../../inspection-shapes.ts";
import { actorRows, attentionBadge, missingNodes } from "./actor-rows.ts";
import { liveCounts, readJson } from "./addresses.ts";
import { uiBase } from "./frame.ts";
import { type LiveState, liveBadge, useLive } from "./live.ts";

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
  const data = { counts, ...useOthers(first, counts, state) };
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
    section("nodes", texts.overview.nodes, nodesOf(data.nodes, texts)),
    section("kinds", texts.overview.actors, kindsOf(data.counts, texts)),
  );
}

type Others = Pick<OverviewData, "nodes" | "attention">;

const othersMs = 3_000;

/** The nodes and what needs a look: read again with other counts, and every few seconds as long as the page is live. */
function useOthers(first: Others, counts: ActorCounts, state: LiveState): Others {
  const [others, setOthers] = useState<Others>({ nodes: first.nodes, attention: first.attention });
  useEffect(() => {
    if (state !== "on") return;
    const read = (): void => {
      Promise.all([
        readJson<{ readonly nodes: readonly NodeState[] }>("/ops/nodes"),
        readJson<AttentionList>("/ops/attention"),
      ]).then(
        ([{ nodes }, attention]) => setOthers({ nodes, attention }),
        // What is not live is said already; what was there stays.
        () => {},
      );
    };
    read();
    const again = setInterval(read, othersMs);
    return () => clearInterval(again);
  }, [counts, state]);
  return others;
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

function nodesOf(nodes: readonly NodeState[], texts: Texts["operations"]): ComponentChild {
  const { node } = texts;
  const columns = [
    { name: node.node },
    { name: node.region, kind: "nowrap" as const },
    { name: node.state, kind: "nowrap" as const },
    { name: node.version, kind: "nowrap" as const },
    { name: node.lease, kind: "nowrap" as const },
    ...[node.load, node.active, node.mailboxed, node.outbox, node.memory].map((name) => ({
      ...{ name, kind: "number" as const },
    })),
  ];
  const rows = nodes.map((each) => ({ key: each.incarnation, cells: nodeCells(each, texts) }));
  return dataTable(node.caption, columns, rows);
}

function nodeCells(each: NodeState, { node, unknown }: Texts["operations"]): readonly ComponentChild[] {
  const { load } = each;
  const numberOf = (value: number | undefined) => (value === undefined ? unknown : shownNumber(value));
  return [
    [
      h("code", null, each.incarnation),
      each.is_self ? h("span", { class: "quiet small" }, ` ${node.self}`) : null,
      each.reachable ? null : h("div", null, badge("bad", node.unreachable(each.detail ?? unknown))),
    ],
    h("a", { href: `${uiBase}actors?region=${encodeURIComponent(each.region)}` }, each.region),
    badge(each.state === "active" || each.state === "standalone" ? "good" : "warn", node.states[each.state]),
    each.version ?? unknown,
    leaseOf(each, node),
    load === null ? unknown : `${load.busy_percent} %`,
    h("a", { href: `${uiBase}actors?node=${encodeURIComponent(each.incarnation)}` }, numberOf(load?.active)),
    numberOf(load?.mailboxed),
    numberOf(load?.outbox),
    load === null ? unknown : `${shownNumber(Math.round(load.resident_bytes / 1_048_576))} MiB`,
  ];
}

function leaseOf({ lease }: NodeState, node: Texts["operations"]["node"]): ComponentChild {
  if (lease === null) return badge("", node.noLease);
  return lease.held ? badge("good", node.held(lease.remaining_ms)) : badge("bad", node.lost);
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
