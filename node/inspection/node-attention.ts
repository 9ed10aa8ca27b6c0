// Which nodes and regions need a look, before any actor: an actor that nobody can ask is in no list.

import type { NodeAttention } from "../../ops/inspection-shapes.ts";
import type { NodeState } from "../../ops/node-shapes.ts";

const order: readonly NodeAttention["reason"][] = ["region_away", "away", "not_ready", "degraded"];

/** The most urgent first. A region of which no node answers is one entry. */
export function nodesAttention(nodes: readonly NodeState[]): readonly NodeAttention[] {
  const regions = [...new Set(nodes.map(({ region }) => region))];
  const found = regions.flatMap((region) => {
    const own = nodes.filter((node) => node.region === region);
    if (own.some(({ reachable }) => reachable)) return own.flatMap(lookAt);
    const words = `No node of ${region} answers (${own.map(whyAway).join("; ")}). What its parties publish waits. If the region is lost, see «A region is lost» in docs/production.md.`;
    return [{ region, incarnation: null, address: null, reason: "region_away" as const, words }];
  });
  return found.sort((a, b) => order.indexOf(a.reason) - order.indexOf(b.reason));
}

function lookAt(node: NodeState): readonly NodeAttention[] {
  const { region, incarnation, address, readiness } = node;
  const of = { region, incarnation, address };
  if (!node.reachable) return [{ ...of, reason: "away", words: `It does not answer: ${whyAway(node)}.` }];
  const failed = Object.entries(readiness?.checks ?? {}).filter(([, outcome]) => outcome !== "ok");
  const words = failed.map(([name, outcome]) => `${name}: ${outcome}`).join("; ");
  if (readiness !== null && !readiness.ready)
    return [
      { ...of, reason: "not_ready", words: `It is not ready, and callers are led elsewhere: ${words}.` },
    ];
  return failed.length === 0
    ? []
    : [{ ...of, reason: "degraded", words: `It serves with faults: ${words}.` }];
}

function whyAway({ incarnation, address, detail }: NodeState): string {
  return `${address ?? incarnation}: ${detail ?? "unknown"}`;
}
