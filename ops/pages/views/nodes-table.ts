// The nodes of the cluster as a table, with their lease and load.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, shownNumber } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { NodeState } from "../../node-shapes.ts";
import { uiBase } from "./frame.ts";
import { readyBadge } from "./readiness.ts";

export function nodesTable(nodes: readonly NodeState[], texts: Texts["operations"]): ComponentChild {
  const { node } = texts;
  const columns = [
    { name: node.node },
    { name: node.region, kind: "nowrap" as const },
    { name: node.state, kind: "nowrap" as const },
    { name: node.version, kind: "nowrap" as const },
    { name: node.lease, kind: "nowrap" as const },
    { name: texts.readiness.column },
    ...[node.load, node.active, node.mailboxed, node.outbox, node.memory].map((name) => ({
      ...{ name, kind: "number" as const },
    })),
  ];
  const rows = nodes.map((each) => ({ key: each.incarnation, cells: nodeCells(each, texts) }));
  return dataTable(node.caption, columns, rows);
}

function nodeCells(each: NodeState, texts: Texts["operations"]): readonly ComponentChild[] {
  const { node, unknown } = texts;
  const { load } = each;
  const numberOf = (value: number | undefined) => (value === undefined ? unknown : shownNumber(value));
  return [
    [
      h("code", null, each.incarnation),
      each.address === null ? null : h("div", { class: "quiet small" }, each.address),
      each.is_self ? h("span", { class: "quiet small" }, ` ${node.self}`) : null,
      each.reachable ? null : h("div", null, unreachedOf(each, texts)),
    ],
    h("a", { href: `${uiBase}actors?region=${encodeURIComponent(each.region)}` }, each.region),
    // The last that is known of one that does not answer is not how it is.
    each.reachable || each.state === "gone"
      ? badge(stateTones[each.state], node.states[each.state])
      : badge("bad", node.silent),
    each.version ?? unknown,
    leaseOf(each, texts),
    readyBadge(each, texts),
    load === null ? unknown : `${load.busy_percent} %`,
    h("a", { href: `${uiBase}actors?node=${encodeURIComponent(each.incarnation)}` }, numberOf(load?.active)),
    numberOf(load?.mailboxed),
    numberOf(load?.outbox),
    load === null ? unknown : `${shownNumber(Math.round(load.resident_bytes / 1_048_576))} MiB`,
  ];
}

function unreachedOf({ state, detail }: NodeState, { node, unknown }: Texts["operations"]): ComponentChild {
  // What is said of one that is gone is a whole sentence.
  return state === "gone"
    ? h("span", { class: "small" }, detail)
    : h("span", { class: "small bad" }, node.unreachable(detail ?? unknown));
}

const stateTones = {
  standalone: "good",
  active: "good",
  joining: "warn",
  leaving: "warn",
  gone: "bad",
} as const;

function leaseOf({ lease }: NodeState, { node, unknown }: Texts["operations"]): ComponentChild {
  if (lease === null) return unknown;
  return lease.held ? badge("good", node.held(lease.remaining_ms)) : badge("bad", node.lost);
}
