// What an operator sends to a node of a test cluster. For tests.

import { contractFetch } from "../../api/contract.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import type { TestNode } from "./cluster.fixture.ts";

/** POST /ops/cluster/{order}; resolves with the name of the outcome, also for refusals. */
export async function ordered(node: TestNode | undefined, order: string, body: object): Promise<string> {
  if (node === undefined) throw new Error("There is no node to say it to.");
  const answer = await operated(node, `/ops/cluster/${order}`, body);
  const said = answer["outcome"] ?? answer["reason"];
  if (typeof said !== "string") throw new Error(`${order}: ${JSON.stringify(answer)}`);
  return said;
}

/** The reason of operator actions in tests. */
export const testAct = { reason: "It has to be so for what is tested." };

/** POST to an address of the operations surface; resolves with the answer, also for refusals. */
export async function operated(
  node: TestNode,
  path: string,
  body: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await contractFetch(`${node.urls.ops}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: signedIn(await node.opsToken()) },
    body: JSON.stringify({ ...testAct, ...body }),
  });
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

export interface ClusterState {
  readonly self: { readonly incarnation: string; readonly state: string } | null;
  readonly holds_lease: boolean;
  readonly regions: readonly {
    readonly region: string;
    readonly members: readonly { readonly incarnation: string; readonly address: string }[];
  }[];
  readonly fence_refusals: readonly {
    readonly region: string;
    readonly incarnation: string;
    readonly refusals: number;
  }[];
  readonly transport: {
    readonly duplicates: number;
    readonly refused: Readonly<Record<string, number>>;
  } | null;
}

/** GET /ops/cluster: the cluster as the node knows it. */
export async function clusterState(node: TestNode): Promise<ClusterState> {
  const answer = await contractFetch(`${node.urls.ops}/ops/cluster`);
  return (await answer.json()) as ClusterState;
}
