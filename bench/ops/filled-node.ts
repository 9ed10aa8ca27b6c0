// A node with many actors, as the figures of the operators' surface need it.

import type { OpenNode, World } from "../world.ts";
import type { LedgerLoad } from "./fill-ledgers.ts";

export interface FilledNode {
  readonly world: World;
  readonly node: OpenNode;
  readonly load: LedgerLoad;
  /** The path of one of the accounts in memory. */
  readonly actor: string;
  readonly products: number;
}

/** Makes the accounts. */
export async function fillNode(
  world: World,
  node: OpenNode,
  { products, load }: Pick<FilledNode, "products" | "load">,
): Promise<FilledNode> {
  world.say(`ops: making ${load.known} actors`);
  const { kind, id } = await node.child.call<{ readonly kind: string; readonly id: string }>(
    "fillLedgers",
    load,
  );
  return { world, node, load, actor: `${kind}/${id}`, products };
}

/** Uses the actors in memory, so that they stay there: what had left would make every figure better than it is. */
export async function touch({ node: { child, sandbox }, load }: FilledNode): Promise<void> {
  await child.call("touchLedgers", null);
  const answer = await fetch(`${sandbox.ops_url}/ops/nodes`);
  const { nodes } = (await answer.json()) as {
    readonly nodes: readonly { readonly load: { readonly active: number } }[];
  };
  const found = nodes[0]?.load.active ?? 0;
  if (found < load.active) throw new Error(`${found} actors are in memory`);
}

export function aboutOf({ known, active }: LedgerLoad): string {
  return `${known.toLocaleString("en")} known accounts, ${active.toLocaleString("en")} of them in memory`;
}
