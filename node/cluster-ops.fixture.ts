// What an operator says to a node of a test cluster. For tests.

import type { TestNode } from "./cluster.fixture.ts";

/** POST /ops/cluster/{order}: the outcome's name, of refusals too. */
export async function ordered(node: TestNode | undefined, order: string, body: object): Promise<string> {
  if (node === undefined) throw new Error("There is no node to say it to.");
  const answer = await fetch(`${node.urls.ops}/ops/cluster/${order}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await node.opsToken()}` },
    body: JSON.stringify({ by: "the test", reason: "It has to be so for what is tested.", ...body }),
  });
  const text = await answer.text();
  const { outcome, reason } = JSON.parse(text) as { readonly outcome?: string; readonly reason?: string };
  const said = outcome ?? reason;
  if (said === undefined) throw new Error(`${order}: ${answer.status} ${text}`);
  return said;
}

export interface ClusterState {
  readonly self: { readonly incarnation: string; readonly state: string } | null;
  readonly holds_lease: boolean;
  readonly regions: readonly {
    readonly region: string;
    readonly members: readonly { readonly incarnation: string; readonly address: string }[];
  }[];
  readonly transport: {
    readonly duplicates: number;
    readonly refused: Readonly<Record<string, number>>;
  } | null;
}

/** GET /ops/cluster: the cluster as the node knows it. */
export async function clusterState(node: TestNode): Promise<ClusterState> {
  const answer = await fetch(`${node.urls.ops}/ops/cluster`);
  return (await answer.json()) as ClusterState;
}
