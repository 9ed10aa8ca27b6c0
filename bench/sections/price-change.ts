// How long a changed price takes until a search answers it and its row verifies: of an owner's few, of a whole push, and of a whole file.

import { setTimeout as delay } from "node:timers/promises";
import { nativeCrypto } from "../../crypto/native.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { verifyRowSignature } from "../../verifier/row.ts";
import { type Trust, verifyKeySet } from "../../verifier/trust.ts";
import { count, figure, type Measured, median } from "../figures.ts";
import { refused, sendOne } from "../load.ts";
import { merchantOf } from "../parties.ts";
import {
  batchRecords,
  inlineRecords,
  type PreparedImport,
  type PreparedPush,
  type ProductRange,
  prepareImport,
  preparePush,
  productsIn,
  recordSearch,
  sendUpload,
  writeBulkFile,
} from "../publishing.ts";
import { ask, targetOf } from "../requests.ts";
import type { OpenNode, World } from "../world.ts";

/** Numbers of products that no other section publishes. */
const firstNumber = 10_000_000;
const pollMs = 10;
/** Of a file, which takes many seconds: a search each time `pollMs` would take a fifth of the processors. */
const filePollMs = 100;
/** A hold is due above one fifth of the catalogue's prices: of a file that is as large as the rest, every third price may change. */
const changedInFile = 3;

/** From the first byte of the request, in milliseconds. */
interface Found {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The product with prices of its own in this round: less than a hundredth more than they were. */
function repriced(product: Uint8Array, round: number): Uint8Array {
  const record = JSON.parse(Buffer.from(product).toString()) as JsonObject & {
    readonly prices: readonly (JsonObject & { readonly amount: string })[];
  };
  const prices = record.prices.map((price) => ({
    ...price,
    amount: (Number(price.amount) + (round + 1) / 100).toFixed(2),
  }));
  return canonicalBytes({ ...record, prices });
}

/** Publishes the changed records, and polls until their first and their last are found with their new prices, and their rows verify. */
async function timeChange(
  node: OpenNode,
  trust: Trust,
  prepared: PreparedPush | PreparedImport,
  [first, last]: readonly [Uint8Array, Uint8Array],
): Promise<Found> {
  const everyMs = "upload" in prepared ? filePollMs : pollMs;
  const startedMs = performance.now();
  if ("upload" in prepared) await sendUpload(prepared);
  const answer = await sendOne(targetOf(node.businessUrl), prepared.request);
  if (answer.status !== 202 && answer.status !== 200) throw refused("push", answer);
  const hitMs = async (record: Uint8Array): Promise<number> => {
    while (!(await isVerifiedHit(node, trust, record))) await delay(everyMs);
    return performance.now() - startedMs;
  };
  const firstMs = await hitMs(first);
  const lastMs = await hitMs(last);
  const { state, counts } = await node.child.call(
    "serve.ts",
    "awaitPush",
    prepared.publisher.uuid,
    prepared.pushId,
  );
  if (state !== "complete" || counts.updated !== prepared.records)
    throw new Error(`price change: ${JSON.stringify({ state, counts })}`);
  return { firstMs, lastMs };
}

/** Whether a search finds the record with this price; throws where its row does not verify. */
async function isVerifiedHit(node: OpenNode, trust: Trust, record: Uint8Array): Promise<boolean> {
  const { status, body } = await sendOne(node.target, await recordSearch(node.sandbox, record));
  if (status !== 200) throw refused("search", { status, body });
  const { rows } = JSON.parse(body) as { readonly rows: readonly JsonValue[] };
  const { business_product_id: id } = JSON.parse(Buffer.from(record).toString()) as JsonObject;
  const [recordId] = await node.child.call("serve.ts", "recordIds", merchantOf(node.sandbox).uuid, [
    String(id),
  ]);
  const row = rows.find((each) => (each as JsonObject)["record_id"] === recordId);
  if (row === undefined) return false;
  const verified = verifyRowSignature(trust, row);
  if (!verified.ok) throw new Error(`the row of ${id} does not verify: ${verified.code}`);
  return true;
}

export async function measurePriceChange(world: World): Promise<readonly Measured[]> {
  await using node = await world.openNode(await world.filledHome());
  const publisher = merchantOf(node.sandbox);
  const keys = JSON.parse(
    await ask(node.baseUrl, node.caller, { method: "GET", path: "/.well-known/keys", tag: "svc-retrieval" }),
  ) as JsonValue;
  const trust = verifyKeySet(node.sandbox.anchors, keys, nativeCrypto);
  if (!trust.ok) throw new Error(`the key set does not verify: ${trust.code}`);
  const pushed = world.size(batchRecords, 1_000);
  const few: ProductRange = { first: firstNumber, count: inlineRecords };
  const many: ProductRange = { first: firstNumber + inlineRecords, count: pushed };
  const push = async (range: ProductRange, rounds: number): Promise<readonly Found[]> => {
    const before = productsIn(range);
    await publishNew(node, before);
    const found: Found[] = [];
    for (let round = 0; round < rounds; round += 1) {
      world.say(`a price change of ${range.count}, round ${round + 1}`);
      const records = before.map((product) => repriced(product, round));
      const prepared = await preparePush(node.businessUrl, publisher, records);
      found.push(await timeChange(node, trust.value, prepared, endsOf(records)));
    }
    return found;
  };
  const ofFew = await push(few, world.size(20, 5));
  const ofMany = await push(many, world.size(5, 2));
  const ofFile = await changeFile(world, node, trust.value);
  const last = (found: readonly Found[]): number => median(found.map(({ lastMs }) => lastMs));
  const note = `From the first byte of the request until a search, one every ${pollMs} ms (of the file, ${filePollMs}), finds the record with its new price and its row verifies; ${count(world.products)} other products. `;
  return [
    figure(
      `p50 of ${inlineRecords} changed prices, until the last is found and verified`,
      "ms",
      last(ofFew),
      { atMost: 300 },
      note,
    ),
    figure(
      `${count(pushed)} changed prices, until the first is found and verified`,
      "ms",
      median(ofMany.map(({ firstMs }) => firstMs)),
      { atMost: 300 },
      note,
    ),
    figure(
      `${count(pushed)} changed prices, until the last is found and verified`,
      "ms",
      last(ofMany),
      { atMost: 2_000 },
      note,
    ),
    figure(
      `a file of ${count(world.bulkRecords)} records, every third with changed prices, until the last is found and verified`,
      "ms",
      ofFile.lastMs,
      { atMost: 15_000 },
      `${note}More changed prices would be held.`,
    ),
  ];
}

async function publishNew(node: OpenNode, records: readonly Uint8Array[]): Promise<void> {
  const prepared = await preparePush(node.businessUrl, merchantOf(node.sandbox), records);
  const answer = await sendOne(targetOf(node.businessUrl), prepared.request);
  if (answer.status !== 202 && answer.status !== 200) throw refused("push", answer);
  await node.child.call("serve.ts", "awaitPush", prepared.publisher.uuid, prepared.pushId);
}

function endsOf(records: readonly Uint8Array[]): readonly [Uint8Array, Uint8Array] {
  return [records[0] ?? new Uint8Array(), records.at(-1) ?? new Uint8Array()];
}

async function changeFile(world: World, node: OpenNode, trust: Trust): Promise<Found> {
  const range = { first: firstNumber + 1_000_000, count: world.bulkRecords };
  const change = (product: Uint8Array, at: number): Uint8Array =>
    at % changedInFile === 0 || at === range.count - 1 ? repriced(product, 0) : product;
  const merchant = merchantOf(node.sandbox);
  const importOf = async (name: string, of?: typeof change): Promise<PreparedImport> =>
    await prepareImport(node.businessUrl, merchant, await writeBulkFile(world.path(name), range, of));
  const before = await importOf("before.txt");
  await sendUpload(before);
  const answer = await sendOne(targetOf(node.businessUrl), before.request);
  if (answer.status !== 202) throw refused("import", answer);
  await node.child.call("serve.ts", "awaitPush", merchant.uuid, before.pushId);
  world.say(`a price change of a file of ${range.count}`);
  const [first] = productsIn({ ...range, count: 1 });
  const changed = await importOf("changed.txt", change);
  return await timeChange(node, trust, changed, [repriced(first ?? new Uint8Array(), 0), changed.lastRecord]);
}
