// Concurrent callers of every kind while a test breaks something: each region has a business that publishes one push after
// another, a company that searches and one that fetches. For tests.

import { setTimeout as wait } from "node:timers/promises";
import type { TestCluster } from "../../node/composition/cluster.fixture.ts";
import { type Attempt, createClient, type Exchange } from "./cluster-client.fixture.ts";
import {
  openBusiness,
  productSearch,
  products,
  type Searching,
  search,
  type TestBusiness,
} from "./cluster-load.fixture.ts";
import { type Published, publicationFaults, receiptFaults } from "./cluster-truth.fixture.ts";

export interface Publishing {
  readonly business: TestBusiness;
  /** Ends after the push under way; returns every accepted record, each once. */
  stop(): Promise<readonly Uint8Array[]>;
}

/** More records than are answered inline, so that each push is polled until it is complete. */
const smallPush = 60;
const pauseMs = 50;

/** A new business that publishes `firstPush` records, and then small pushes until it is stopped. */
export async function publish(
  cluster: TestCluster,
  region: string,
  { firstPush, atLeast = 1 }: { readonly firstPush: number; readonly atLeast?: number },
): Promise<Publishing> {
  const business = await openBusiness(cluster, region);
  const published: Uint8Array[] = [];
  let isStopped = false;
  const publishing = (async () => {
    for (let seq = 1; !isStopped || seq <= atLeast; seq += 1) {
      const records = products(`${region}-${seq}`, seq === 1 ? firstPush : smallPush);
      const push = await business.push(seq, records);
      await push.send();
      const done = await push.untilComplete();
      if (done.counts["accepted"] !== records.length)
        throw new Error(`Of ${records.length} records ${done.counts["accepted"]} were accepted.`);
      published.push(...records);
      await wait(pauseMs);
    }
  })();
  // The error surfaces when the traffic is stopped.
  publishing.catch(() => {});
  return {
    business,
    stop: async () => {
      isStopped = true;
      await publishing;
      return published;
    },
  };
}

/** A new company that fetches what a search finds, one record after another, until it is stopped. */
export async function fetchRecords(cluster: TestCluster, region: string): Promise<Searching> {
  const client = createClient(await cluster.newCompany(), cluster.nodesOf(region).toReversed());
  const found = await client.expectAnswer(200, "retrieval", productSearch);
  const ids = (found.json["rows"] as readonly { readonly record_id: string }[]).map(
    ({ record_id }) => record_id,
  );
  if (ids.length === 0) throw new Error(`${region} has nothing that could be fetched.`);
  let isStopped = false;
  const fetching = (async () => {
    for (let next = 0; !isStopped; next += 1) {
      await client.request("retrieval", {
        path: `/v1/records/${ids[next % ids.length]}`,
        tag: "svc-retrieval",
      });
      await wait(pauseMs);
    }
  })();
  return {
    client,
    stop: async () => {
      isStopped = true;
      await fetching;
      return client.exchanges;
    },
  };
}

export interface RegionTraffic {
  readonly region: string;
  readonly publishing: Publishing;
  readonly searching: Searching;
  readonly fetching: Searching;
}

/** Starts all three in a region. Resolves once what will be fetched has been published and is complete. */
export async function openTraffic(
  cluster: TestCluster,
  region: string,
  { firstPush }: { readonly firstPush: number },
): Promise<RegionTraffic> {
  const before = await publish(cluster, region, { firstPush: smallPush });
  await before.stop();
  const searching = await search(cluster, region, { atOnce: 1, pauseMs });
  const fetching = await fetchRecords(cluster, region);
  return { region, publishing: await publish(cluster, region, { firstPush }), searching, fetching };
}

export interface TrafficReport {
  readonly faults: readonly string[];
  /** Every request that was made, including pushes and the reads of them. */
  readonly exchanges: readonly Exchange[];
  readonly published: number;
}

/** Stops the traffic, and compares the engines' content with what was sent and answered. */
export async function settleTraffic(cluster: TestCluster, traffic: RegionTraffic): Promise<TrafficReport> {
  const { region, publishing, searching, fetching } = traffic;
  const [published, ...retrieved] = await Promise.all([publishing.stop(), searching.stop(), fetching.stop()]);
  const { business } = publishing;
  const versions: Published = published.map((bytes) => [bytes]);
  const asked = retrieved.flat();
  return {
    faults: [
      ...(await publicationFaults(cluster, { business: business.caller.uuid, published: versions })),
      ...(await receiptFaults(cluster, { region, exchanges: asked })),
    ],
    exchanges: [...asked, ...business.client.exchanges],
    published: published.length,
  };
}

/** The requests that were neither answered as they should be nor told to retry; `mayBeLost` tolerates broken connections. */
export function failedAttempts(
  exchanges: readonly Exchange[],
  { mayBeLost = false }: { readonly mayBeLost?: boolean } = {},
): readonly string[] {
  const isFailed = ({ outcome, status }: Attempt): boolean =>
    outcome === "answered" ? status >= 300 : outcome === "lost" && !mayBeLost;
  return exchanges.flatMap(({ what, attempts, answer }) => [
    ...attempts
      .filter(isFailed)
      .map(({ node, outcome, status, code }) => `${what} at ${node}: ${outcome} ${status} ${code}`),
    ...(answer === null ? [`${what}: never answered`] : []),
  ]);
}

/** How often each outcome occurred, for what a test prints. */
export function tally(exchanges: readonly Exchange[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { attempts } of exchanges) {
    for (const { outcome, status, code } of attempts) {
      const name = [outcome, status, code].filter((part) => part !== 0 && part !== "").join(" ");
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}
