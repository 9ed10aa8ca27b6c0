// A synthetic day of a country: 100,000 businesses with 50 million records, 200 AI companies, a million pushes, 20,000 searches and fetches a
// second in three regions of 14 nodes. The real stores and actors write one minute of it in full, of the largest party of each kind, and the
// same in small at later times: a partition that gets new rows three minutes, half an hour or half a day later is as full as that says.

import { createHash, randomUUID } from "node:crypto";
import { heads } from "../../actors/business/rows.ts";
import { integrationKeyActor } from "../../actors/integration-key/definition.ts";
import { logSequencerActivities } from "../../actors/log-sequencer/activities.ts";
import { logSequencerActor } from "../../actors/log-sequencer/definition.ts";
import { appendedMax } from "../../actors/messages/log-sequencer.ts";
import { businessRef, keyRef, logRef, nonceRef, pushRef } from "../../actors/messages/refs.ts";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp, recordIdOf } from "../../protocol/identifiers.ts";
import type { LogEntry } from "../../protocol/log/leaves.ts";
import { receiptEventText, receiptMinute } from "../../protocol/receipt.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { openCassandraActorStore } from "../../storage/cassandra/actor-store.ts";
import { openCassandraEventStore } from "../../storage/cassandra/event-store.ts";
import { openCassandraInsightStore } from "../../storage/cassandra/insight-store.ts";
import { openCassandraLogStore } from "../../storage/cassandra/log-store.ts";
import { openCassandraReceiptStore } from "../../storage/cassandra/receipt-store.ts";
import { openCassandraRecordStore } from "../../storage/cassandra/record-store.ts";
import { hashed } from "../../storage/receipt-batch.fixture.ts";
import { closedAfterMs, type NewReceipt } from "../../storage/receipt-store.ts";
import { head, seal, version } from "../../storage/record-store.fixture.ts";
import { PartitionLedger } from "./ledger-session.fixture.ts";

const region = "region-a";
/** Of the largest company, with one key: a tenth of all traffic, a third of that in this region; three quarters of it from one node. */
const requestsPerSecond = 670;
const rowsPerAnswer = 20;
/** What a commit of a key's actor shares at this rate, where a conditional batch takes some 6 ms. */
const noncesPerCommit = 4;
const nodes = 14;
const regions = 3;
const pushesPerMinute = 694;
/** Of the largest shop's key, each with one record, answered with its outcome. */
const pushesOfShopPerMinute = 70;
/** Characters of such an answer, as measured in a sandbox. */
const answerLength = 10_300;
const recordsOfShop = 1_000_000;
/** So many of them are written. */
const someRecords = 10_000;
const companies = 200;
const subjects = 5_000;
/** So many of them are counted. */
const someSubjects = 50;
const countriesOfShop = 5;

const owner = "node/1";
/** Bytes of a record. */
const recordLength = 1_500;
const minuteMs = 60_000;
const startMs = Date.parse("2026-11-30T00:00:00Z");
/** Minutes after the start, and what part of a minute's work is done then. Those of the first ten come to every window of nonces. */
const later = [
  { atMinute: 2, part: 1 / 20 },
  { atMinute: 3.6, part: 1 / 20 },
  { atMinute: 5.2, part: 1 / 20 },
  { atMinute: 6.8, part: 1 / 20 },
  { atMinute: 8.4, part: 1 / 20 },
  { atMinute: 10, part: 1 / 20 },
  { atMinute: 30, part: 1 / 40 },
  { atMinute: 720, part: 1 / 40 },
  { atMinute: 2_160, part: 1 / 40 },
] as const;

const company = "10000000-0000-4000-8000-000000000001";
const shop = "20000000-0000-4000-8000-000000000001";
const keyId = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

/** Writes the day. */
export async function writeDay(): Promise<PartitionLedger> {
  const time = new ManualTime(startMs);
  const ledger = new PartitionLedger(region, () => time.now());
  const country = new Country(ledger, time);
  await country.publishHeads();
  await country.count();
  await country.answer(1);
  await country.push(1);
  for (const { atMinute, part } of later) {
    await time.advance(startMs + atMinute * minuteMs - time.now());
    ledger.begin({ atMinute, standsFor: 1 / part });
    await country.answer(part);
    await country.push(part);
  }
  return ledger;
}

/** The stores and actors of a region, over one session. */
class Country {
  readonly #ledger: PartitionLedger;
  readonly #time: ManualTime;
  readonly #stores: ReturnType<typeof storesOn>;
  readonly #system: LocalActorSystem;
  #numbers = 0;

  constructor(ledger: PartitionLedger, time: ManualTime) {
    this.#ledger = ledger;
    this.#time = time;
    this.#stores = storesOn(ledger, () => time.now());
    this.#system = systemOn(ledger, this.#stores.actors, time);
  }

  /** Requests of the largest company, in that part of a minute, and the closing of their batches. */
  async answer(part: number): Promise<void> {
    const { receipts, events } = this.#stores;
    const time = this.#time;
    const beganMs = time.now();
    const count = Math.round(requestsPerSecond * 60 * part);
    for (let asked = 0; asked < count; asked += noncesPerCommit) {
      const nowMs = time.now();
      const some = Array.from({ length: noncesPerCommit }, () => receipt(this.#number(), nowMs));
      const claims = some.map(({ nonce }) => {
        const claim = { type: "nonce.claim", nonce, expires_ms: nowMs + 300_000 } as const;
        return this.#system.ask(nonceRef(keyId, region), claim);
      });
      await this.#done(Promise.all([...claims, ...some.map((each) => receipts.append(each))]));
      const dueMs = beganMs + Math.floor((minuteMs * part * asked) / count);
      if (dueMs > time.now()) await time.advance(dueMs - time.now());
    }
    await time.advance(minuteMs - (time.now() % minuteMs) + closedAfterMs + 1_000);
    const append = (entries: readonly LogEntry[]): Promise<void> => this.#append(entries);
    const ports = { receipts, events, sha256: nativeCrypto.sha256, append };
    await this.#done(closeReceiptBatches(ports, region, time.now()));
    await events.read({ region, company, after: null, limit: 100 });
  }

  async push(part: number): Promise<void> {
    const { records, actors } = this.#stores;
    // The shop pushes in full, so that its key's journal begins again from a snapshot as often as it does.
    const count = Math.max(pushesPerMinute * part, pushesOfShopPerMinute);
    for (let pushed = 0; pushed < count; pushed += 1) {
      const number = this.#number();
      const isOfShop = pushed < pushesOfShopPerMinute;
      const party = isOfShop ? shop : uuid(`business ${number}`);
      const pushId = `push_${digest(`push ${number}`).slice(0, 32)}`;
      await records.stageLeaves(pushId, 0, [new Uint8Array(recordLength)]);
      if (isOfShop) await this.#charge(pushId, number);
      await actors.claim(pushRef(party, pushId), owner);
      const recordId = isOfShop ? recordOfShop(number) : recordOf(`${number}`);
      const texts = {
        bytes: new Uint8Array(recordLength),
        sidecar: "s".repeat(2_000),
        row: "r".repeat(1_200),
      };
      await records.putSeal(seal(pushId, { envelope: "e".repeat(1_000) }));
      await records.putVersions(
        [version(recordId, pushId, { business_uuid: party, ...texts })],
        [head(recordId, { business_uuid: party, change: number })],
      );
      await records.dropStaged(pushId);
    }
    // The log is appended to in full: how full a tile is follows from the number of leaves and not from the time.
    for (let from = 0; from < pushesPerMinute; from += appendedMax) {
      const leaves = Array.from({ length: appendedMax }, () => hashOf(`leaf ${this.#number()}`));
      const entries = leaves.map((leaf) => ({ leaf, leaf_type: "seal", subject: shop }) as const);
      await this.#done(this.#append(entries));
    }
    await records.stagedPushes(null, 100);
    await this.#time.advance(2_000);
  }

  /** The heads of all records of the largest shop, which are there however many are pushed. */
  async publishHeads(): Promise<void> {
    const { actors, records } = this.#stores;
    const ref = businessRef(shop);
    const { head: claimed } = await actors.claim(ref, owner);
    let { head: expectedHead, op: expectedOp } = claimed;
    await this.#ledger.standingFor(recordsOfShop / someRecords, async () => {
      for (let from = 0; from < someRecords; from += 200) {
        const ids = Array.from({ length: 200 }, (_, at) => recordOfShop(from + at));
        const puts = ids.map((id) => heads.write(id, headOf(id)));
        const op = randomUUID();
        const { epoch } = claimed;
        await actors.commit({ ref, epoch, expectedHead, expectedOp, op, puts, deletes: [], wakeAtMs: null });
        [expectedHead, expectedOp] = [expectedHead + 1, op];
        await records.putHeads(ids.map((id) => head(id, { business_uuid: shop, change: from + 1 })));
      }
    });
  }

  /** What is counted of a day, which ends with what there is to count. */
  async count(): Promise<void> {
    const { insight } = this.#stores;
    const day = {
      day: "2026-11-30",
      country: "DE",
      collection: "products",
      writer: "i1-0123456789",
    } as const;
    const counts = { ...day, searches: 9, rows: 9, fetches: 0 };
    const askers = Array.from({ length: companies }, (_, at) => uuid(`company ${at}`));
    const names = Array.from({ length: someSubjects }, (_, at) => `subject of ${at}`);
    const writers = nodes * regions;
    await this.#ledger.standingFor(writers * (subjects / someSubjects), async () => {
      for (const name of names)
        await insight.put(
          "demand",
          askers.map((each) => ({ ...counts, name, company: each })),
        );
    });
    await this.#ledger.standingFor(writers * countriesOfShop, () =>
      insight.put(
        "shown",
        askers.map((each) => ({ ...counts, name: shop, company: each })),
      ),
    );
  }

  /** Claims the Idempotency-Key, charges the push and keeps its answer. */
  async #charge(pushId: string, seq: number): Promise<void> {
    const key = keyRef(shop, keyId);
    const asked = { scope: `publish/products ${pushId}`, digest: digest(pushId) };
    await this.#done(
      this.#system.ask(key, { type: "idempotency.begin", ...asked, token: pushId.slice(0, 22) }),
    );
    const load = { records: 1, bytes: recordLength, caps: { records_per_hour: 1e9, bytes_per_day: 1e12 } };
    const charge = {
      type: "push.charge",
      seq,
      push_id: pushId,
      digest: asked.digest,
      attempt: "a",
      ...load,
    } as const;
    await this.#done(this.#system.ask(key, charge));
    const answer = {
      status: 200,
      headers: { "content-type": "application/json" },
      body: "o".repeat(answerLength),
    };
    await this.#done(this.#system.ask(key, { type: "idempotency.settle", ...asked, answer }));
  }

  async #append(entries: readonly LogEntry[]): Promise<void> {
    await this.#system.ask(logRef(), { type: "log.append", entries });
  }

  /** Time goes on only for what waits for it. */
  async #done<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = promise.finally(() => {
      isOver = true;
    });
    over.catch(() => {});
    for (await this.#time.settle(); !isOver; await this.#time.settle()) await this.#time.advance(1);
    return over;
  }

  #number(): number {
    this.#numbers += 1;
    return this.#numbers;
  }
}

function storesOn(ledger: PartitionLedger, now: () => number) {
  const partyOf = ({ id }: ActorRef): string | null => id.split(".")[0] ?? null;
  return {
    receipts: openCassandraReceiptStore(ledger, { now }),
    events: openCassandraEventStore(ledger, now),
    records: openCassandraRecordStore(ledger, { now }),
    insight: openCassandraInsightStore(ledger, { retentionDays: 400, now }),
    actors: openCassandraActorStore(ledger, { region, now, partyOf }),
  };
}

function systemOn(ledger: PartitionLedger, store: ActorStore, time: ManualTime): LocalActorSystem {
  const origin = "svc.test/log";
  return createActorSystem({
    store,
    definitions: [
      integrationKeyActor,
      logSequencerActor({ origin, intervals: { leafMs: 3_600_000, receiptsMs: 1_000 } }),
    ],
    activities: logSequencerActivities({
      log: openCassandraLogStore(ledger),
      origin,
      sha256: nativeCrypto.sha256,
      sign: async (text) => text,
      cosign: async ({ note }) => ({ note }),
      keyFault: () => null,
      policy: "none",
      report: () => {},
    }),
    clock: time,
    timers: time,
    entropy: { newOperationId: randomUUID },
    owner,
  });
}

function receipt(number: number, servedAtMs: number): NewReceipt {
  const unique = digest(`receipt ${number}`);
  const minute = receiptMinute(formatTimestamp(servedAtMs));
  const row = hashed({
    region,
    batch: `${minute}-i${number % 4 === 0 ? (number / 4) % nodes : 1}`,
    retrieval_id: `ret_${servedAtMs.toString(16).padStart(12, "0")}${unique.slice(0, 20)}`,
    company,
    key_id: keyId,
    nonce: unique.slice(0, 22),
    billable: true,
    served_at_ms: servedAtMs,
    envelope: `{"number":${number}}`,
    event: receiptEventText({
      company,
      type: "search",
      collection: "products",
      country: "DE",
      rows: rowsPerAnswer,
      client_query_id: null,
    }),
  });
  const versions = Array.from({ length: rowsPerAnswer }, (_, at) => ({
    record_id: recordOfShop(at),
    generation: 3,
  }));
  const reference = {
    payloadType: "application/vnd.svc.receipt+json",
    keyId,
    signature: new Uint8Array(64),
    versions,
  };
  return { ...row, reference: { ...reference, payload: `${"p".repeat(500)}"rows":[]` } };
}

function headOf(id: string) {
  return {
    collection: "products",
    generation: 3,
    change: 123_456,
    live: true,
    number: 1_234,
    hash: hashOf(id),
    bpid: `SKU-${id.slice(4, 12)}`,
    listings: { DE: ["19.99", "EUR"] },
    sealed_at_ms: startMs,
  } as const;
}

/** One of those that `publishHeads` writes. */
function recordOfShop(number: number): string {
  return recordOf(`of shop ${number % someRecords}`);
}

function recordOf(text: string): string {
  return recordIdOf("products", sha256(utf8(text)));
}

function hashOf(text: string): string {
  return formatHash(sha256(utf8(text)));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function uuid(text: string): string {
  const hex = digest(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
