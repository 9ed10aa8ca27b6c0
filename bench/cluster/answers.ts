// Searches and fetches of a node in a region, against a bare server that sends the same requests to the same engines.

import { IndexNames } from "../../storage/elasticsearch/layout.ts";
import { hitsFilterPath, searchBody } from "../../storage/elasticsearch/query.ts";
import { fetchPlan, planQueries, rowsWanted } from "../catalogue.ts";
import { compareBy, count, figure, type Measured, type Rounds, sidesText, takeRounds } from "../figures.ts";
import type { EngineFloorPlan } from "../floor/engines.ts";
import { newCompany, newPublisher, type Publisher } from "../parties.ts";
import { pushProducts } from "../publishing.ts";
import { type Caller, captureAnswers, loadOf, type RequestPlan, type Timed } from "../requests.ts";
import { numbersTo, recordIds } from "../world.ts";
import type { Regions } from "./regions.ts";

const connections = 4;
const capturedAnswers = 90;

export async function measureAnswers(regions: Regions): Promise<readonly Measured[]> {
  const { world, keysFolder, node } = regions;
  const publisher = await newPublisher(keysFolder, node.businessUrl);
  world.say(`publishing ${world.products} products in both regions`);
  await pushProducts(node, publisher, world.products);
  const caller = await newCompany(keysFolder);
  return [...(await search(regions, caller)), await fetchRecords(regions, caller, publisher)];
}

async function search(regions: Regions, caller: Caller): Promise<readonly Measured[]> {
  const { world, node } = regions;
  const rounds = world.size(5, 1);
  const each = world.size(900, 90);
  world.say("cluster: searches");
  const { serving } = new IndexNames(regions.indexPrefix(node.region), "products");
  const queries = await planQueries((rounds + 1) * each, (bodies) =>
    node.child.call("serve.ts", "explain", bodies),
  );
  const path = `/${serving}/_search?allow_partial_search_results=false&filter_path=`;
  const asked = new Map(
    queries.map(({ body, found: { query } }) => [
      JSON.stringify(body),
      { path: path + hitsFilterPath(query), body: searchBody(query) },
    ]),
  );
  const plans = queries.map(({ plan }) => plan);
  const measured = await measureRounds(regions, caller, { rounds, each, plans, queries: asked });
  const what = `${count(world.products)} rows, distinct queries, ${rowsWanted}-row answers, ${connections} at once`;
  const note = noteOf(measured, "the query asked of Elasticsearch");
  const [p50, p99] = [compareBy(measured, ({ p50Ms }) => p50Ms), compareBy(measured, ({ p99Ms }) => p99Ms)];
  return [
    figure(`search p50, ${what}`, "ms", p50, { atMost: 1.3 }, note),
    figure(`search p99, ${what}`, "ms", p99, { atMost: 2 }, ""),
  ];
}

async function fetchRecords(regions: Regions, caller: Caller, { uuid }: Publisher): Promise<Measured> {
  const { world, node } = regions;
  const rounds = world.size(5, 1);
  const each = Math.min(world.size(2_000, 200), Math.floor(world.products / (rounds + 1)));
  world.say("cluster: fetches");
  const ids = await recordIds(node.child, uuid, numbersTo((rounds + 1) * each));
  const asked = { rounds, each, plans: ids.map(fetchPlan), queries: new Map() };
  const measured = await measureRounds(regions, caller, asked);
  const name = `fetch p50, distinct records, ${connections} at once`;
  const p50 = compareBy(measured, ({ p50Ms }) => p50Ms);
  return figure(name, "ms", p50, { atMost: 1.5 }, noteOf(measured, "the record read from Cassandra"));
}

/** Ours and the floor in turn; the last part of the plans warms both up. */
async function measureRounds(
  { world, place, node }: Regions,
  caller: Caller,
  of: Pick<EngineFloorPlan, "queries"> & {
    readonly rounds: number;
    readonly each: number;
    readonly plans: readonly RequestPlan[];
  },
): Promise<Rounds<Timed>> {
  const { rounds, each, plans, queries } = of;
  const { baseUrl } = node;
  const captured = await captureAnswers(baseUrl, caller, plans.slice(0, Math.min(capturedAnswers, each)));
  const plan: EngineFloorPlan = { place, lanes: connections, queries, ...captured };
  await using floor = await world.openFloor((child) => child.call("floor/engines.ts", "listen", plan));
  const load = loadOf({ baseUrl, caller }, { plans, each, connections });
  return await takeRounds(rounds, { ours: load(node), floor: load(floor) }, 1);
}

function noteOf(rounds: Rounds<Timed>, part: string): string {
  return (
    `The floor is a bare server that does one thing after the other: one signature verified, ${part}, one signature made, ` +
    "one conditional batch in a partition that nobody competes for, one receipt written. Ours claims all nonces of the one key that asks in one partition. " +
    `Answers a second ${sidesText(rounds, ({ rate }) => rate)}; processor time of the main thread ${sidesText(rounds, ({ mainMicros }) => mainMicros)} µs an answer.`
  );
}
