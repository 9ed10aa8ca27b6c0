// Compares the content of a test cluster's engines with what was sent and answered. Everything is read directly from the
// tables and indexes, bypassing every node. Each check returns its faults as text, a few at most; a test expects none. For
// tests.

import type { TestCaller } from "../../api/surfaces.fixture.ts";
import type { TestCluster } from "../../node/composition/cluster.fixture.ts";
import { equalBytes, hashOf } from "../../protocol/bytes.ts";
import { openCassandraReceiptStore } from "../../storage/cassandra/receipt-store.ts";
import { headOf, openCassandraRecordStore } from "../../storage/cassandra/record-store.ts";
import { type CassandraSession, executeAll, openCassandraSession } from "../../storage/cassandra/session.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";
import type { RecordHead, RecordStore } from "../../storage/record-store.ts";
import { createClient, type Exchange, type Surface } from "./cluster-client.fixture.ts";

/** The stores of a region as one of its nodes sees them; the test closes them. */
export interface Truth extends AsyncDisposable {
  readonly session: CassandraSession;
  readonly records: RecordStore;
  readonly receipts: ReceiptStore;
}

export async function openTruth(cluster: TestCluster, region: string): Promise<Truth> {
  const at = cluster.engines.regions.indexOf(region);
  const session = await openCassandraSession({
    contactPoints: [cluster.engines.cassandra[at] ?? ""],
    localDc: region,
    keyspace: cluster.keyspace,
  });
  return {
    session,
    records: openCassandraRecordStore(session),
    receipts: openCassandraReceiptStore(session),
    [Symbol.asyncDispose]: () => session.close(),
  };
}

const faultsMax = 10;

class Faults {
  readonly #faults: string[] = [];
  #more = 0;

  unless(holds: boolean, fault: () => string): void {
    if (holds) return;
    if (this.#faults.length < faultsMax) this.#faults.push(fault());
    else this.#more += 1;
  }

  all(): readonly string[] {
    return this.#more === 0 ? this.#faults : [...this.#faults, `and ${this.#more} more`];
  }
}

/** The exact bytes of each product's versions, in the order in which they must have been published. */
export type Published = readonly (readonly Uint8Array[])[];

export interface Publication {
  readonly business: string;
  readonly published: Published;
  /** The regions whose indexes are checked (default: all). */
  readonly regions?: readonly string[];
  /** The generation that a product's version must have, by its position (default: the position plus one). */
  readonly isGeneration?: (generation: number, place: number) => boolean;
}

/**
 * Every product of the business exists with exactly these versions, numbered without a gap; its head, catalogue entry and
 * row in each region's index are those of the last one; and the business has nothing else.
 */
export async function publicationFaults(
  cluster: TestCluster,
  { business, published, regions = cluster.engines.regions, isGeneration = isNext }: Publication,
): Promise<readonly string[]> {
  const faults = new Faults();
  await using truth = await openTruth(cluster, regions[0] ?? "");
  const stored = await readRecords(truth.session, business);
  const wanted = new Map(published.map((versions) => [productIdOf(versions[0]), versions]));
  faults.unless(wanted.size === published.length, () => "two products of the test have one id");
  faults.unless(stored.size === wanted.size, () => `${stored.size} records instead of ${wanted.size}`);
  const seen = new Set<string>();
  for (const record of stored.values()) {
    const id = productIdOf(record.versions.at(-1)?.bytes);
    faults.unless(!seen.has(id), () => `${id} is there twice`);
    seen.add(id);
    for (const fault of versionFaults(record, wanted.get(id) ?? [], isGeneration))
      faults.unless(false, () => `${id}: ${fault}`);
  }
  for (const fault of await catalogueFaults(truth.records, business, stored))
    faults.unless(false, () => fault);
  for (const region of regions) {
    const at = cluster.engines.regions.indexOf(region);
    const url = `${cluster.engines.elastic[at]}/${cluster.indexPrefix(region)}products`;
    const rows = await readIndex(url, business);
    faults.unless(
      rows.length === stored.size,
      () => `${region}: ${rows.length} rows of ${stored.size} records`,
    );
    for (const { record_id, version, row } of rows) {
      const record = stored.get(record_id);
      const isSame = record?.head?.change === version && record?.versions.at(-1)?.row === row;
      faults.unless(isSame, () => `${region}: the row of ${record_id} is not that of its record`);
    }
    faults.unless(
      new Set(rows.map((each) => each.record_id)).size === rows.length,
      () => `${region}: a row is there twice`,
    );
  }
  return faults.all();
}

interface StoredVersion {
  readonly generation: number;
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly row: string;
}

interface StoredRecord {
  readonly record_id: string;
  readonly head: RecordHead | null;
  /** The versions, in ascending order of generation. */
  readonly versions: StoredVersion[];
}

/** All records of the business, from a scan of the whole table. */
async function readRecords(
  session: CassandraSession,
  business: string,
): Promise<ReadonlyMap<string, StoredRecord>> {
  const cql = "SELECT record_id, head, generation, hash, bytes, row FROM record";
  const rows = await executeAll(session, cql, [], { idempotent: true, fetchSize: 500 });
  const records = new Map<string, StoredRecord>();
  for (const { record_id: id, head, generation, hash, bytes, row } of rows) {
    const record_id = String(id);
    const record = records.get(record_id) ?? {
      record_id,
      head: typeof head === "string" ? headOf(record_id, head) : null,
      versions: [],
    };
    records.set(record_id, record);
    if (bytes instanceof Uint8Array)
      record.versions.unshift({
        generation: Number(generation),
        hash: String(hash),
        bytes,
        row: String(row),
      });
  }
  // A record without a head belongs to nobody: this fault is also reported, as a surplus record.
  return new Map([...records].filter(([, { head }]) => head === null || head.business_uuid === business));
}

function isNext(generation: number, place: number): boolean {
  return generation === place + 1;
}

function versionFaults(
  record: StoredRecord,
  wanted: readonly Uint8Array[],
  isGeneration: (generation: number, place: number) => boolean,
): readonly string[] {
  const { head, versions } = record;
  const last = versions.at(-1);
  const faults: string[] = [];
  if (versions.length !== wanted.length)
    faults.push(`${versions.length} versions instead of ${wanted.length}`);
  for (const [index, version] of versions.entries()) {
    const expected = wanted[index];
    if (!isGeneration(version.generation, index))
      faults.push(`version ${index + 1} has generation ${version.generation}`);
    if (version.hash !== hashOf(version.bytes)) faults.push(`version ${version.generation} has another hash`);
    if (expected === undefined || !equalBytes(version.bytes, expected))
      faults.push(`version ${version.generation} is not what was sent`);
  }
  if (head === null || !head.live) faults.push("is not live");
  else if (head.generation !== last?.generation || head.hash !== last.hash)
    faults.push(`the head names generation ${head.generation} of ${last?.generation}`);
  return faults;
}

const pageSize = 1_000;

async function catalogueFaults(
  records: RecordStore,
  business: string,
  stored: ReadonlyMap<string, StoredRecord>,
): Promise<readonly string[]> {
  const faults = new Faults();
  let listed = 0;
  let cursor: string | null = null;
  do {
    const page = await records.listCatalogue(business, cursor, pageSize);
    for (const head of page.heads) {
      listed += 1;
      const own = stored.get(head.record_id)?.head;
      const isSame =
        own?.change === head.change && own.generation === head.generation && own.live === head.live;
      faults.unless(isSame, () => `the catalogue has another head of ${head.record_id}`);
    }
    cursor = page.cursor;
  } while (cursor !== null);
  faults.unless(listed === stored.size, () => `the catalogue lists ${listed} of ${stored.size} records`);
  return faults.all();
}

interface IndexRow {
  readonly record_id: string;
  readonly version: number;
  readonly row: string;
}

interface ScrollPage {
  readonly _scroll_id: string;
  readonly hits: {
    readonly hits: readonly {
      readonly _id: string;
      readonly _version: number;
      readonly fields: { readonly row: readonly string[] };
    }[];
  };
}

/** Every searchable row of the business in the index that the alias at `url` serves. */
async function readIndex(url: string, business: string): Promise<readonly IndexRow[]> {
  const ask = async (at: string, body: object): Promise<ScrollPage> => {
    const answer = await fetch(at, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${at}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as ScrollPage;
  };
  const rows: IndexRow[] = [];
  await fetch(`${url}/_refresh`, { method: "POST" });
  let page = await ask(`${url}/_search?scroll=1m`, {
    size: pageSize,
    version: true,
    stored_fields: ["row"],
    sort: ["_doc"],
    query: { bool: { filter: [{ exists: { field: "countries" } }, { term: { business_uuid: business } }] } },
  });
  while (page.hits.hits.length > 0) {
    for (const hit of page.hits.hits)
      rows.push({ record_id: hit._id, version: hit._version, row: hit.fields.row[0] ?? "" });
    page = await ask(new URL("/_search/scroll", url).href, { scroll: "1m", scroll_id: page._scroll_id });
  }
  return rows;
}

function productIdOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return "a record without bytes";
  const record = JSON.parse(new TextDecoder().decode(bytes)) as { readonly business_product_id?: string };
  return record.business_product_id ?? "a record without an id";
}

/** The receipt of every answer to a search or fetch in the region is in its store, as it was sent. */
export async function receiptFaults(
  cluster: TestCluster,
  { region, exchanges }: { readonly region: string; readonly exchanges: readonly Exchange[] },
): Promise<readonly string[]> {
  const faults = new Faults();
  await using truth = await openTruth(cluster, region);
  for (const { answer, what } of exchanges) {
    const receipt = answer?.status === 200 ? answer.json["receipt"] : undefined;
    if (receipt === undefined) continue;
    const id = retrievalIdOf(receipt);
    const kept = await truth.receipts.readReceipt(region, id);
    const isSame = kept !== null && JSON.stringify(JSON.parse(kept.envelope)) === JSON.stringify(receipt);
    faults.unless(isSame, () => `${what}: the receipt ${id} is ${kept === null ? "not there" : "another"}`);
  }
  return faults.all();
}

function retrievalIdOf(receipt: unknown): string {
  const { payload } = receipt as { readonly payload: string };
  const text = new TextDecoder().decode(Uint8Array.fromBase64(payload));
  return (JSON.parse(text) as { readonly retrieval_id: string }).retrieval_id;
}

/** Every nonce of an answered request is refused when it is replayed, at any node of the region. */
export async function nonceFaults(
  cluster: TestCluster,
  {
    region,
    caller,
    exchanges,
    surface,
    again,
  }: {
    readonly region: string;
    readonly caller: TestCaller;
    readonly exchanges: readonly Exchange[];
    readonly surface: Surface;
    /** The request that is sent with the old nonces. */
    readonly again: Parameters<ReturnType<typeof createClient>["request"]>[1];
  },
): Promise<readonly string[]> {
  const faults = new Faults();
  const client = createClient(
    caller,
    cluster.nodesOf(region).filter((node) => node.isRunning()),
  );
  for (const { attempts } of exchanges) {
    for (const { nonce, outcome, status, node } of attempts) {
      if (outcome !== "answered" || status >= 300) continue;
      const { answer } = await client.request(surface, { ...again, nonce });
      const code = answer?.json["code"];
      faults.unless(
        code === "nonce_reused",
        () => `a nonce of ${node} is answered ${answer?.status} ${code}`,
      );
    }
  }
  return faults.all();
}

/** The number of the nodes' commits that the fence refused. */
export async function refusedCommits(cluster: TestCluster): Promise<number> {
  let refused = 0;
  for (const node of cluster.nodes.filter((each) => each.isRunning()))
    refused += (await node.metrics()).get("svc_actors_refused_commits_total") ?? 0;
  return refused;
}
