// The callers' load while a test breaks something: businesses that push, and companies that search continuously. For tests.

import { setTimeout as wait } from "node:timers/promises";
import type { ReceivedAnswer } from "../../api/surfaces.fixture.ts";
import { publishBody, sealBatch } from "../../client/batch.ts";
import { placeOn } from "../../cluster/placement.ts";
import type { PartyCaller, TestCluster, TestNode } from "../../node/composition/cluster.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type ClusterClient,
  createClient,
  type Exchange,
  type RequestOptions,
} from "./cluster-client.fixture.ts";

export interface TestPush {
  readonly pushId: string;
  /** Sends the batch, with retries; resolves with the final answer, which is 202 (200 for up to 50 records). */
  send(options?: RequestOptions): Promise<ReceivedAnswer>;
  /** The current state of the push. */
  status(options?: RequestOptions): Promise<PushState>;
  /** Resolves once `settled` of its records are settled. Polls without pause; the test's own time-out is the limit. */
  untilSettled(settled: number): Promise<PushState>;
  untilComplete(): Promise<PushState>;
}

export interface PushState {
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly progress: { readonly settled: number; readonly total: number };
}

export interface TestBusiness {
  readonly caller: PartyCaller;
  readonly client: ClusterClient;
  /** A sealed batch of these records, not sent yet; it goes to the business's nodes, or to one of the region's. */
  push(seq: number, records: readonly Uint8Array[], only?: TestNode): Promise<TestPush>;
}

/** A new business whose home is the region and that asks these nodes (default: all of its region). */
export async function openBusiness(
  cluster: TestCluster,
  region: string,
  nodes: readonly TestNode[] = cluster.nodesOf(region),
): Promise<TestBusiness> {
  const caller = await cluster.newBusiness();
  const client = createClient(caller, nodes);
  const context = await client.expectAnswer(200, "business", {
    path: "/v1/seal-context",
    tag: "svc-business-read",
  });
  const certId = String(context.json["cert_id"]);
  const push: TestBusiness["push"] = (seq, records, only) => {
    const asked = only === undefined ? client : createClient(caller, [only]);
    return preparePush({ caller, client: asked, certId, seq, records });
  };
  return { caller, client, push };
}

async function preparePush(push: {
  readonly caller: PartyCaller;
  readonly client: ClusterClient;
  readonly certId: string;
  readonly seq: number;
  readonly records: readonly Uint8Array[];
}): Promise<TestPush> {
  const { caller, client, certId, seq, records } = push;
  const facts = {
    businessUuid: caller.uuid,
    certId,
    aiPolicyVersion: 0,
    recordType: "products",
    seq,
    sealedAtMs: Date.now(),
  };
  const batch = await sealBatch(records, facts, caller.key);
  const body = publishBody(batch.batch_seal, records);
  const status = async (options?: RequestOptions): Promise<PushState> => {
    const path = `/v1/pushes/${batch.push_id}`;
    const answer = await client.expectAnswer(200, "business", { path, tag: "svc-business-read" }, options);
    return answer.json as unknown as PushState;
  };
  const once = async (holds: (state: PushState) => boolean): Promise<PushState> => {
    for (;;) {
      const state = await status();
      if (holds(state)) return state;
      await wait(pollMs);
    }
  };
  return {
    pushId: batch.push_id,
    send: (options) =>
      client.expectAnswer(
        records.length > inlineMax ? 202 : 200,
        "business",
        {
          path: "/v1/publish/products",
          body,
          tag: "svc-push",
          headers: { "idempotency-key": batch.push_id },
        },
        options,
      ),
    status,
    untilSettled: (settled) => once((now) => now.progress.settled >= settled),
    untilComplete: () => once((now) => now.state === "complete"),
  };
}

const pollMs = 50;
const inlineMax = 50;

/** The exact bytes of that many products, each with its number in its id. */
export function products(prefix: string, count: number, changes: object = {}): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => product(`${prefix}-${index}`, { ...changes }));
}

/** The node that has the actors of the party while exactly these nodes of its region run. */
export function holderOf(uuid: string, nodes: readonly TestNode[]): TestNode {
  const holder = placeOn(uuid, nodes);
  if (holder === null) throw new Error("There is no node that could have it.");
  return holder;
}

/** Resolves once `holds` is true; polls until then. The test's own time-out is the limit. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(pollMs);
}

export interface Searching {
  readonly client: ClusterClient;
  /** Ends the load once the requests under way are answered. */
  stop(): Promise<readonly Exchange[]>;
}

export const productSearch = {
  path: "/v1/search",
  body: JSON.stringify({
    collection: "products",
    filter: { all: [{ country: "US" }] },
    sort_by: "published_at:desc",
    limit: 10,
  }),
  tag: "svc-retrieval",
} as const;

/** A new company that searches at the nodes of a region, with that many concurrent searches, until it is stopped. */
export async function search(
  cluster: TestCluster,
  region: string,
  { atOnce = 2, pauseMs = 20 }: { readonly atOnce?: number; readonly pauseMs?: number } = {},
): Promise<Searching> {
  const client = createClient(await cluster.newCompany(), cluster.nodesOf(region));
  // The first request makes the key known.
  await client.expectAnswer(200, "retrieval", productSearch);
  let isStopped = false;
  const searchers = Array.from({ length: atOnce }, async () => {
    while (!isStopped) {
      await client.request("retrieval", productSearch);
      await wait(pauseMs);
    }
  });
  return {
    client,
    stop: async () => {
      isStopped = true;
      await Promise.all(searchers);
      return client.exchanges;
    },
  };
}
