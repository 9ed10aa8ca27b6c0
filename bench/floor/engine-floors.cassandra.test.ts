import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  openTestKeyspace,
  type TestKeyspace,
  testRegions,
} from "../../storage/cassandra/keyspace.fixture.ts";
import { migrations } from "../../storage/cassandra/migrations.ts";
import { openCassandraRecordStore } from "../../storage/cassandra/record-store.ts";
import type { CassandraSession, CqlRow } from "../../storage/cassandra/session.ts";
import { elasticUrl, hasElastic, openFresh } from "../../storage/elasticsearch/elastic.fixture.ts";
import { IndexNames, rowsAlias } from "../../storage/elasticsearch/layout.ts";
import { fresh, head, seal, version } from "../../storage/record-store.fixture.ts";
import { recordIdFor } from "../../storage/row-index.fixture.ts";
import type { CallLoad } from "../actors/program.ts";
import { Child } from "../child.ts";
import { sendAll, sendOne } from "../load.ts";
import type { Stored } from "../serve.ts";
import type { EngineFloorPlan, EnginePlace, EnginePush, EngineReplay } from "./engines.ts";

const [region = ""] = testRegions;
const [cassandra = ""] = (process.env["SVC_TEST_CASSANDRA"] ?? "").split(",");

const records = 20;

function storedProducts(): readonly Stored[] {
  const space = Date.now() % 2 ** 31;
  return Array.from({ length: records }, (_, n) => {
    const id = recordIdFor("products", space, n);
    const { business_uuid } = head(id);
    const named = { business_uuid, record_id: id, countries: ["US"], product_name: `lamp ${n}` };
    const row = JSON.stringify(named);
    return { version: version(id, "bat_floor", { row }), head: head(id) };
  });
}

const nonceRow = 16;

describe.skipIf(cassandra === "" || !hasElastic)("the floors on engines", () => {
  let keyspace: TestKeyspace;
  let session: CassandraSession;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(migrations.flat());
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    session = await keyspace.connect();
  });
  afterEach(() => session.close());

  const place = (): EnginePlace => ({ cassandra, region, keyspace: keyspace.name, elastic: elasticUrl });
  const rowsOf = async (cql: string): Promise<readonly CqlRow[]> =>
    (await session.execute(cql, [], { idempotent: true })).rows;

  it("make every recorded commit again, and refuse one that does not fit", async () => {
    const load: CallLoad = { at: place(), actors: 4, callers: 4, calls: 40 };
    await using ours = new Child();
    const commits = (await ours.call("actors/program.ts", "record", load)).flat();
    expect(commits.length).toBeGreaterThanOrEqual(load.actors);
    await using floor = new Child();
    const replay = (some: EngineReplay["commits"]): Promise<number> =>
      floor.call("floor/engines.ts", "replay", { place: place(), callers: 4, commits: some });
    expect(await replay(commits)).toBeGreaterThan(0);
    const lastOf = new Map(commits.map((commit) => [commit.ref.id, commit]));
    const heads = await rowsOf("SELECT DISTINCT kind, id, head, op FROM actor");
    for (const [id, { expectedHead, op }] of lastOf) {
      // Ours and the floor's: another partition with the same end.
      const ends = heads.filter((row) => row["id"] === id || String(row["id"]).endsWith(`/${id}`));
      const end = [expectedHead + 1, op];
      expect(ends.map((row) => [row["head"], row["op"]])).toEqual([end, end]);
    }
    const [first] = commits;
    const without = commits.filter((commit) => commit.ref.id === first?.ref.id).toSpliced(1, 1);
    await expect(replay(without)).rejects.toThrow("a batch was refused");
  });

  it("store every version and head again under other ids, and index every row", async () => {
    const stored = storedProducts();
    const { index, options, close } = await openFresh(["products"]);
    try {
      const alias = rowsAlias(new IndexNames(options.prefix, "products").generation(1));
      const push: EnginePush = {
        place: place(),
        stored,
        marks: ["abcd"],
        indexes: [{ elastic: elasticUrl, alias }],
      };
      await using floor = new Child();
      const { elapsedMs, cpu } = await floor.call("floor/engines.ts", "push", push);
      expect(elapsedMs).toBeGreaterThan(0);
      expect(cpu.mainMs).toBeGreaterThan(0);
      expect(await index.count("products")).toBe(records);
      const store = openCassandraRecordStore(session);
      await store.putSeal(seal("bat_floor"));
      for (const each of stored) {
        const record_id = `${each.head.record_id.slice(0, -4)}abcd`;
        expect(await store.readServed(record_id)).toEqual({
          head: { ...each.head, record_id },
          version: { ...each.version, record_id },
          seal: seal("bat_floor"),
        });
        expect(await store.readHead(each.head.record_id)).toBeNull();
      }
      const { heads } = await store.listCatalogue(stored[0]?.head.business_uuid ?? "", null, 1_000);
      expect(heads.map(({ record_id }) => record_id)).toEqual(
        expect.arrayContaining(stored.map(({ head: { record_id } }) => `${record_id.slice(0, -4)}abcd`)),
      );
      const lost = [{ elastic: elasticUrl, alias: `${alias}.none` }];
      const again = { ...push, marks: ["abce"], indexes: lost };
      await expect(floor.call("floor/engines.ts", "push", again)).rejects.toThrow("a row was refused");
    } finally {
      await close();
    }
  });

  const requestOf = (method: string, path: string, body: string): Uint8Array =>
    Buffer.from(
      `${method} ${path} HTTP/1.1\r\nhost: x\r\nsignature-input: sig1=();nonce="${fresh("nonce-of-the-floor")}"\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  const kept = async () => {
    const rows = await rowsOf("SELECT kind, rt FROM actor");
    const receipts = await rowsOf("SELECT region, envelope FROM receipt");
    return {
      nonces: rows.filter((row) => row["kind"] === "floor" && row["rt"] === nonceRow).length,
      envelopes: receipts.map((row) => Buffer.from(row["envelope"] as Uint8Array).length),
    };
  };

  it("ask the engines, keep a nonce and a receipt for every answer, and answer the bytes that they were given", async () => {
    const recordId = recordIdFor("products", 7, 1);
    const store = openCassandraRecordStore(session);
    await store.putVersions([version(recordId, "bat_floor")], [head(recordId)]);
    const { options, close } = await openFresh(["products"]);
    const { serving } = new IndexNames(options.prefix, "products");
    const lanes = 3;
    const body = { query: { match_all: {} } };
    const plan: EngineFloorPlan = {
      place: place(),
      lanes,
      signatureBaseLength: 300,
      receiptLength: 700,
      envelopeLength: 900,
      bodies: [Buffer.from("one"), Buffer.from("two")],
      queries: new Map([
        ["a query", { path: `/${serving}/_search`, body }],
        ["a query of nothing", { path: "/no-such-index/_search", body }],
      ]),
    };
    try {
      await using floor = new Child();
      const target = { host: "127.0.0.1", port: await floor.call("floor/engines.ts", "listen", plan) };
      const fetchOne = (): Uint8Array => requestOf("GET", `/v1/records/${recordId}`, "");
      const search = (): Uint8Array => requestOf("POST", "/v1/search", "a query");
      expect(await sendOne(target, fetchOne())).toMatchObject({ status: 200, body: "one" });
      expect(await sendOne(target, search())).toMatchObject({ status: 200, body: "two" });
      const many = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? fetchOne() : search()));
      await sendAll(target, many, lanes);
      expect(await kept()).toEqual({ nonces: 22, envelopes: Array.from({ length: 22 }, () => 900) });
      // What the engines do not find is answered with 500, and nothing is stored for it.
      const unknown = requestOf("GET", `/v1/records/${recordIdFor("products", 7, 2)}`, "");
      expect((await sendOne(target, unknown)).status).toBe(500);
      const lost = requestOf("POST", "/v1/search", "a query of nothing");
      expect((await sendOne(target, lost)).status).toBe(500);
      expect((await kept()).nonces).toBe(22);
    } finally {
      await close();
    }
  });
});
