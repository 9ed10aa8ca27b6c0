// Time from kill -9 of a node to the first answer that needs one of its actors.

import { setTimeout as delay } from "node:timers/promises";
import { nonceRef } from "../../actors/messages/refs.ts";
import { placeOn } from "../../cluster/rendezvous.ts";
import { Connection } from "../load.ts";
import { productId } from "../products.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequest, targetOf } from "../requests.ts";
import { median } from "../rounds.ts";
import type { World } from "../world.ts";
import { newCompany } from "./callers.ts";
import type { ClusterNode, ClusterSetting } from "./setting.ts";

const pauseMs = 20;
const patienceMs = 60_000;
/** Pause between a start and the next kill, for the view to settle. */
const settleMs = 3_000;

export async function measureFailover(
  world: World,
  setting: ClusterSetting,
  [node]: readonly ClusterNode[],
): Promise<readonly Figure[]> {
  if (node === undefined) throw new Error("there is no node");
  let second = await setting.start(node.region);
  const tookMs: number[] = [];
  for (let round = 0; round < world.size(7, 2); round += 1) {
    world.say(`cluster: failover, round ${round + 1}`);
    const caller = await callerAt(setting, [node, second], second);
    // By then its key is known, and its actor in memory.
    await untilAnswered(second, caller);
    await untilAnswered(node, caller);
    await delay(settleMs);
    const startedMs = performance.now();
    await second.child.kill();
    await untilAnswered(node, caller);
    tookMs.push(performance.now() - startedMs);
    second = await setting.start(node.region, second);
  }
  return [
    {
      ...{
        section: "cluster",
        name: "failover: from kill -9 to the first answer of the moved actor",
        unit: "s",
      },
      ...{ ours: median(tookMs) / 1_000, floor: null, ratio: null, goal: { atMost: 5 } },
      note:
        `Default settings. Another node of the region is asked every ${pauseMs} ms for an answer that claims a nonce with an actor of the killed one. ` +
        `Slowest of ${tookMs.length} rounds ${(Math.max(...tookMs) / 1_000).toFixed(1)} s.`,
    },
  ];
}

/** A company whose nonces are claimed at `holder`. */
async function callerAt(
  setting: ClusterSetting,
  nodes: readonly ClusterNode[],
  holder: ClusterNode,
): Promise<Caller> {
  for (;;) {
    const caller = await newCompany(setting.keysFolder);
    const { kind, id } = nonceRef(caller.key.keyId, holder.region);
    if (placeOn(`${kind}/${id}`, nodes) === holder) return caller;
  }
}

/** Sends requests, each newly signed, until there is an answer in which an actor took part. */
async function untilAnswered({ urls }: ClusterNode, caller: Caller): Promise<void> {
  const path = `/v1/records/${productId(0)}`;
  const lateMs = performance.now() + patienceMs;
  const connection = await Connection.open(targetOf(urls.base_url));
  try {
    while (performance.now() < lateMs) {
      // Not a record id: refused once the nonce is claimed.
      const plan = { method: "GET", path, tag: "svc-retrieval" } as const;
      const { status, body } = await connection.exchange(await makeRequest(urls.base_url, caller, plan));
      if (status === 422 || status === 400) return;
      if (status !== 503) throw new Error(`answer ${status}: ${body().slice(0, 500)}`);
      await delay(pauseMs);
    }
    throw new Error("no answer");
  } finally {
    connection.close();
  }
}
