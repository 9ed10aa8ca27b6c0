// Publishing while the index accepts no rows: settled records are answered, and index writes are retried until confirmed.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { publishBody } from "../../client/batch.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import { indexUnavailable, type RowIndex } from "../../storage/row-index.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealHosted,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";

import { removeBy, sealRemoval } from "../publishing/removal.fixture.ts";

/** Longer than an answer may take while the index is away, on a slow machine, and far shorter than any caller waits. */
const answeredMaxMs = 10_000;

let node: PublishingNode;
let business: TestBusiness;
let apply: (index: RowIndex, changes: Parameters<RowIndex["apply"]>[0]) => ReturnType<RowIndex["apply"]>;
/** Calls that the index never answered. */
let heldBack: (() => void)[] = [];

const isBack: typeof apply = (index, changes) => index.apply(changes);
const refuses: typeof apply = () => Promise.reject(indexUnavailable("unreachable", "nobody is there"));
const hangs: typeof apply = () =>
  new Promise((_, reject) => {
    heldBack.push(() => reject(indexUnavailable("timeout", "no answer came")));
  });

beforeEach(async () => {
  apply = isBack;
  const index = (rows: RowIndex): RowIndex => ({
    apply: (changes) => apply(rows, changes),
    search: (query) => rows.search(query),
    isFindable: (collection, id) => rows.isFindable(collection, id),
    purge: (collections) => rows.purge(collections),
    count: (collection) => rows.count(collection),
  });
  node = await openPublishingNode({}, { index });
  business = await openBusiness(node.services);
});

afterEach(async () => {
  comeBack();
  await node.close();
});

function comeBack(): void {
  apply = isBack;
  for (const fail of heldBack) fail();
  heldBack = [];
}

async function oneProduct(id: string): Promise<Uint8Array> {
  const records = [product(id)];
  return publishBody((await seal(business, records)).batch_seal, records);
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("not answered in time")), answeredMaxMs);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

const statusOf = async (pushId: string) => {
  const caller = rubbish({ key: business.key, party: business.party });
  return jsonOf(await readPush(node.services.actors, { caller, pushId, outcome: null, cursor: null }));
};

const found = async (): Promise<number> => {
  const hits = await node.services.index.search({
    collection: "products",
    country: "US",
    clauses: [],
    limit: 50,
    excludeBusinesses: [],
    sort: [{ field: "published_at", direction: "asc" }],
  });
  return hits.length;
};

describe.each([
  ["refuses", refuses],
  ["does not answer", hangs],
])("while the index %s", (_name, away) => {
  it("an inline push is answered with its outcomes, and is complete once the index has its rows", async () => {
    apply = away;
    const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
    const records = ids.map((id) => product(id));
    const batch = await seal(business, records);
    const body = publishBody(batch.batch_seal, records);
    const answer = jsonOf(await inTime(publish(node.services, business, body)));
    expect(answer).toMatchObject({ status: 200, held: false });
    const outcomes = (answer["results"] as { outcome: string; version: number }[]).map(
      ({ outcome, version }) => [outcome, version],
    );
    expect(outcomes).toEqual(ids.map(() => ["accepted", 1]));
    for (const id of ids) {
      const recordId = node.services.recordIdOf(business.party.uuid, "products", id);
      expect((await node.services.records.readServed(recordId))?.head.live).toBe(true);
    }
    expect(await statusOf(batch.push_id)).toMatchObject({
      state: "processing",
      progress: { settled: 10, total: 10 },
      completed_at: null,
      poll_after_seconds: 1,
    });
    // For the business it no longer waits for anything.
    const pending = async () => (await node.services.parties.facts(business.party.uuid, "")).pending;
    await expect.poll(pending).toEqual([]);
    // When sent again, it gets the same answer.
    const again = jsonOf(await inTime(publish(node.services, business, body)));
    expect(again["results"]).toEqual(answer["results"]);
    comeBack();
    await expect
      .poll(() => statusOf(batch.push_id), { timeout: 30_000 })
      .toMatchObject({ state: "complete" });
    expect(await found()).toBe(10);
  });

  it("a removal names the region, and the same document sent again does until the index is back", async () => {
    await publish(node.services, business, await oneProduct("removed"));
    const record_id = node.services.recordIdOf(business.party.uuid, "products", "removed");
    expect(await found()).toBe(1);
    apply = away;
    const sealed = await sealRemoval(business, { record_id }, business.signingKey);
    const send = async () => jsonOf(await removeBy(node.services, business, "withdraw", sealed));
    const { region } = node.services.config;
    expect(await inTime(send())).toMatchObject({ status: 200, live_in: [region] });
    // A fetch does not find it meanwhile.
    expect(await node.services.records.readServed(record_id)).toBeNull();
    expect(await inTime(send())).toMatchObject({ status: 200, live_in: [region] });
    comeBack();
    await expect.poll(async () => (await send())["live_in"], { timeout: 30_000 }).toEqual([]);
    expect(await found()).toBe(0);
  });

  it("a record sealed alone has its outcome", async () => {
    apply = away;
    const record = product("alone");
    const who = { uuid: business.party.uuid, certId: business.certId };
    const envelope = await sealHosted(node.services, who, {
      record,
      record_type: "products",
      ai_policy_version: 0,
    });
    const published = publishRecord(rubbish({ ...node.services, passkeys: node.services.anchors.passkeys }), {
      businessUuid: who.uuid,
      collection: "products",
      record,
      seal: envelope,
    });
    expect(await inTime(published)).toMatchObject({ ok: true, value: { outcome: "accepted", version: 1 } });
  });
});
