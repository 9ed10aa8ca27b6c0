// Elasticsearch by itself, as somebody would use it who needs a search and nothing else: each row is a document, found by its own
// fields and returned in `_source`. Ours is the embedded node with the same rows and the same three kinds of query.

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { textMatchKey } from "../../collections/definition.ts";
import { isFieldClause, type RowQuery } from "../../storage/row-index.ts";
import { startElasticsearch } from "../../tools/engines/elasticsearch.ts";
import { startGuard } from "../../tools/engines/engine-process.ts";
import { readHost } from "../../tools/engines/host.ts";
import { freePorts } from "../../tools/free-ports.ts";
import { planQueries, rowQueryOf, rowsWanted } from "../catalogue.ts";
import { count, takeRounds } from "../figures.ts";
import { loadOf } from "../requests.ts";
import { inLanes } from "../work.ts";
import { costBeside, figuresOf, type Peer } from "./peer.ts";

const connections = 16;
const heapMb = 2_048;

export const elasticsearch: Peer = {
  does: `The same rows and the same three kinds of query at 16 connections, ${rowsWanted} rows an answer, each in \`_source\`.`,
  differs:
    "Ours verifies the request, claims its nonce, answers rows signed by the publisher's key and the service's, and keeps a signed receipt for each answer; Elasticsearch does none of it. Its text queries rank by BM25, ours by what docs/choices.md says. Both search in several threads; what else ours does is on one.",
  configuration: `Elasticsearch 9.2.0 from Maven Central: one shard, no replica, no security, ${heapMb} MB of heap, files not mapped; one segment; caches as released.`,
  durability: "Searches write nothing there. Each of ours waits until nonce and receipt are on the disk.",
  measure: async (world) => {
    await using opening = new AsyncDisposableStack();
    const home = await world.filledHome();
    const node = opening.use(await world.openNode(home));
    const server = await startAlone(opening);
    await fill(server.url, rowsIn(home));
    const [rounds, each] = [world.size(5, 1), world.size(600, 90)];
    // Thousands of searches: Java compiles what it runs often.
    const warming = world.size(5, 40);
    const queries = await planQueries((rounds + warming) * each, (bodies) =>
      node.child.call("serve.ts", "explain", bodies),
    );
    const bodies = queries.map(({ body }) => JSON.stringify(documentQuery(rowQueryOf(body))));
    const ours = loadOf(node, { plans: queries.map(({ plan }) => plan), each, connections })(node);
    const floor = (round: number) =>
      costBeside({ child: null, server: server.process }, each, () =>
        inLanes(connections, each, (at) => search(server.url, bodies[round * each + at] ?? "")),
      );
    const name = `searches over ${count(world.products)} rows, ${connections} at once`;
    return figuresOf(name, await takeRounds(rounds, { ours, floor }, warming));
  },
};

async function startAlone(opening: AsyncDisposableStack) {
  const host = readHost();
  const folder = await mkdtemp(join(host.scratchFolder, "svc-engines-"));
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  await chmod(folder, 0o755);
  const guard = opening.adopt(startGuard(), (opened) => opened.close());
  guard.removeLater(folder);
  const port = await freePorts(2);
  const plan = {
    address: "127.0.0.1",
    httpPort: port,
    transportPort: port + 1,
    clusterName: "peer",
    folder: join(folder, "elasticsearch"),
    heapMb,
    // As it is released, and not as tests start it.
    javaOptions: "",
  };
  return opening.adopt(await startElasticsearch(plan, { host, guard }), (started) => started.process.stop(0));
}

/** The products of a home, as their signed texts. */
function rowsIn(home: string): readonly string[] {
  using db = new DatabaseSync(join(home, "rows.db"), { readOnly: true });
  const rows = db
    .prepare("SELECT row FROM row_entry WHERE collection = 'products' AND row IS NOT NULL")
    .all();
  return rows.map(({ row }) => String(row));
}

const keyword = { type: "keyword" };
const mappings = {
  dynamic: false,
  properties: {
    product_name: { type: "text" },
    short_description: { type: "text" },
    tags: { type: "keyword", fields: { text: { type: "text" } } },
    availability: keyword,
    countries: keyword,
    ...Object.fromEntries(["US", "GB", "CA"].map((country) => [`price_${country}`, { type: "double" }])),
  },
};
const requestRows = 1_000;

async function fill(url: string, rows: readonly string[]): Promise<void> {
  const settings = { number_of_shards: 1, number_of_replicas: 0, refresh_interval: -1 };
  await send(`${url}/products`, "PUT", JSON.stringify({ settings, mappings }));
  for (let from = 0; from < rows.length; from += requestRows) {
    const lines = rows.slice(from, from + requestRows).map((row) => `{"index":{}}\n${row}\n`);
    const { errors } = await send(`${url}/products/_bulk`, "POST", lines.join(""));
    if (errors !== false) throw new Error("Elasticsearch refused a row");
  }
  await send(`${url}/products/_forcemerge?max_num_segments=1`, "POST", "");
  await send(`${url}/products/_refresh`, "POST", "");
}

interface ElasticAnswer {
  readonly errors?: boolean;
  readonly hits?: { readonly hits: readonly unknown[] };
}

async function send(url: string, method: string, body: string): Promise<ElasticAnswer> {
  const headers = { "content-type": "application/x-ndjson" };
  const answer = await fetch(url, { method, headers, ...(body === "" ? {} : { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

async function search(url: string, body: string): Promise<void> {
  const { hits } = await send(`${url}/products/_search`, "POST", body);
  if (hits?.hits.length !== rowsWanted) throw new Error(`a query found ${hits?.hits.length} rows: ${body}`);
}

/** A query of catalogue.ts over the fields of the rows themselves. */
function documentQuery({ country, clauses, text, sort, limit }: RowQuery) {
  const filter = clauses.map((clause) => {
    if (isFieldClause(clause) && clause.op === "gte")
      return { range: { [clause.field]: { gte: clause.value } } };
    if (isFieldClause(clause) && clause.op === "eq") return { term: { [clause.field]: clause.value } };
    throw new Error(`catalogue.ts asks for ${JSON.stringify(clause)}, which is not expected here`);
  });
  const found = text && {
    multi_match: {
      query: text.words.map(({ exact }) => exact).join(" "),
      fields: text.fields.map((field) => (field === "tags" ? "tags.text" : field)),
      type: "cross_fields",
      operator: "and",
    },
  };
  return {
    query: {
      bool: { filter: [{ term: { countries: country } }, ...filter], ...(found ? { must: [found] } : {}) },
    },
    sort: sort.map(({ field, direction }) => (field === textMatchKey ? "_score" : { [field]: direction })),
    size: limit,
    track_total_hits: false,
  };
}
