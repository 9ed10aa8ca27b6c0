// What the local cluster prints about itself once it runs, and what to try.

import type { NodePlan } from "./cluster-nodes.ts";
import type { EngineProfile } from "./engines/profiles.ts";

export interface Tour {
  readonly nodes: readonly NodePlan[];
  /** Process ids, in the order of the nodes. */
  readonly pids: readonly number[];
  readonly engines: Pick<EngineProfile, "parts">;
}

/** The tour as lines for a terminal. */
export function clusterTour({ nodes, pids, engines }: Tour): string {
  const [first] = nodes;
  const other = nodes.find((node) => node.region !== first?.region);
  const engine = engines.parts.at(-1);
  if (first === undefined || other === undefined || engine === undefined)
    throw new Error("The tour needs two regions.");
  const node = ({ name, urls }: NodePlan, index: number): string =>
    `  ${name}   ${urls[0] ?? ""} to …${urls.at(-1)?.split(":").at(-1)}   process ${pids[index]}`;
  return [
    "",
    "A cluster of two regions runs.",
    ...nodes.map(node),
    ...engines.parts.map(({ name, process }) => `  ${name}   process ${process().pid}`),
    "",
    "In another terminal, in the same folder, try:",
    "  the same search in either region",
    `    ${search(first)}`,
    `    ${search(other)}`,
    "  a push to one region, found in the other a moment later",
    `    npm run -s svc -- push loaf.csv --business 2 --home ${first.home}   (loaf.csv: see README.md)`,
    `  a crash: the other node of ${first.region} goes on within seconds, and this one is started again`,
    `    kill -9 ${pids[0]}`,
    `  an engine's crash: ${engine.name} is away for a while, and is started again too`,
    `    kill -9 ${engine.process().pid}`,
    "  who is there, as the second node sees it",
    `    curl -s ${nodes[1]?.urls.at(-1)}/ops/cluster`,
    "",
    "Ctrl-C stops everything; the next start goes on with what is there.",
  ].join("\n");
}

function search({ home }: NodePlan): string {
  return `npm run -s svc -- search products ideal cut --country US --sort price_amount:asc --home ${home}`;
}
