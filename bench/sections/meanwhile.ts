// Searches while a bulk file is uploaded and imported, against the same searches while nothing else happens.

import { prepareImport, sendUpload, writeBulkFile } from "../bulk-file.ts";
import { sendPaced } from "../paced-searches.ts";
import { queryKinds } from "../queries.ts";
import type { Figure } from "../report.ts";
import { makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { companyOf, merchantOf, type OpenNode, publish, publisherOf, type World } from "../world.ts";

const perSecond = 20;
/** More than are sent during the longest import: all of them are signed beforehand. */
const searchesMax = 4_000;

interface Answered {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly searches: number;
}

export async function measureMeanwhile(world: World): Promise<readonly Figure[]> {
  const records = world.bulkRecords;
  await using node = await world.openNode(await world.filledHome());
  const idle = world.size(400, 40);
  const searches = new Searches(node);
  const undisturbed = async (): Promise<Answered> => searches.send(await searches.next(idle));
  await undisturbed();
  const rounds = await takeRounds(world.size(3, 1), {
    ours: async (round) => {
      world.say(`meanwhile, round ${round + 1}`);
      return await searchDuringImport(world, searches, world.products + round * records);
    },
    floor: undisturbed,
  });
  const of = (pick: (side: Answered) => number) =>
    compare(rounds.map(({ ours, floor }) => ({ ours: pick(ours), floor: pick(floor) })));
  const during = median(rounds.map(({ ours }) => ours.searches));
  const about = {
    section: "meanwhile",
    unit: "ms",
    note:
      `The column of the floor is the same node with nothing else to do. ${perSecond} searches a second, each counted from when it was due; ${during} in a round during the import, ${idle} without. ` +
      `${world.products.toLocaleString("en")} products at first, and ${records.toLocaleString("en")} more after each import.`,
  };
  return [
    {
      ...{ ...about, name: "p99 of searches during a bulk import" },
      ...{ ...of(({ p99Ms }) => p99Ms), goal: { atMost: 3 } },
    },
    {
      ...{ ...about, name: "p50 of searches during a bulk import" },
      ...{ ...of(({ p50Ms }) => p50Ms), goal: null, note: "" },
    },
  ];
}

async function searchDuringImport(world: World, searches: Searches, first: number): Promise<Answered> {
  const { node } = searches;
  const { sandbox } = node;
  const file = await writeBulkFile(world.path("file.txt"), { first, count: world.bulkRecords });
  const prepared = await prepareImport(sandbox.business_url, publisherOf(sandbox), file);
  const requests = await searches.next(searchesMax);
  const ended = new AbortController();
  const importing = async (): Promise<void> => {
    try {
      await sendUpload(prepared);
      const push = { businessUuid: merchantOf(sandbox).uuid, pushId: prepared.batch.push_id };
      await publish(node, prepared.request, { ...push, records: prepared.records });
    } finally {
      ended.abort();
    }
  };
  const [answered] = await Promise.all([searches.send(requests, ended.signal), importing()]);
  return answered;
}

/** Searches of which no two are alike. */
class Searches {
  readonly node: OpenNode;
  #made = 0;

  constructor(node: OpenNode) {
    this.node = node;
  }

  async next(count: number): Promise<readonly Uint8Array[]> {
    const { sandbox } = this.node;
    const plans = Array.from({ length: count }, (): RequestPlan => {
      const kind = queryKinds[this.#made % queryKinds.length];
      const body = Buffer.from(JSON.stringify(kind?.body(Math.floor(this.#made / queryKinds.length))));
      this.#made += 1;
      return { method: "POST", path: "/v1/search", tag: "svc-retrieval", body };
    });
    return await makeRequests(sandbox.base_url, companyOf(sandbox), plans);
  }

  async send(requests: readonly Uint8Array[], until?: AbortSignal): Promise<Answered> {
    const target = targetOf(this.node.sandbox.base_url);
    const tookMs = await sendPaced({
      target,
      requests,
      perSecond,
      ...(until === undefined ? {} : { until }),
    });
    return { p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), searches: tookMs.length };
  }
}
