// Pushes of a business with a million live records against those of businesses with a thousand, in one node that has both.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { newPublisher } from "../cluster/callers.ts";
import { sendOne } from "../load.ts";
import { type PreparedPush, type ProductRange, type Publisher, preparePushOf } from "../prepared-push.ts";
import type { Figure } from "../report.ts";
import { targetOf } from "../requests.ts";
import { compare, takeRounds } from "../rounds.ts";
import { batchRecords, type OpenNode, publish, publisherOf, type World } from "../world.ts";

const smallCatalogue = 1_000;
/** Records of a push that is answered once all of them are published. */
const inlineRecords = 50;

export async function measureLargeBusiness(world: World): Promise<readonly Figure[]> {
  const products = world.size(1_000_000, 20_000);
  const home = await world.filledHome(products);
  await using node = await world.openNode(home);
  const small = async (): Promise<Publisher> => {
    const publisher = await newPublisher(join(home, "keys"), node.sandbox.business_url);
    await timePush(node, publisher, { first: 0, count: smallCatalogue });
    return publisher;
  };
  const large = publisherOf(node.sandbox);
  let first = products;
  await untilAllowed(world, node, async () => {
    first += 1;
    return (await preparePushOf(node.sandbox.business_url, large, { first: first - 1, count: 1 })).request;
  });
  const next = (count: number): ProductRange => {
    first += count;
    return { first: first - count, count };
  };
  const measure = async (count: number, rounds: number): Promise<Figure> => {
    // Both are warm: a small business is new in each round, so that it has no more than its thousand.
    await timePush(node, large, next(count));
    await timePush(node, await small(), next(count));
    const compared = await takeRounds(rounds, {
      ours: () => timePush(node, large, next(count)),
      floor: async () => timePush(node, await small(), next(count)),
    });
    return {
      section: "large-business",
      name: `push of ${count.toLocaleString("en")} records beside ${products.toLocaleString("en")} live ones, against beside ${smallCatalogue.toLocaleString("en")}`,
      unit: "ms",
      ...compare(compared),
      goal: { atMost: 1.1 },
      note: "The column of the floor is a new business with that many records in the same node. No slower, but for the tenth by which figures move.",
    };
  };
  return [
    await measure(inlineRecords, world.size(40, 2)),
    await measure(world.size(batchRecords, 1_000), world.size(5, 1)),
  ];
}

/** The mandate's cap is a million records an hour: a home that was just filled has used it up. */
async function untilAllowed(
  world: World,
  { sandbox }: OpenNode,
  push: () => Promise<Uint8Array>,
): Promise<void> {
  for (;;) {
    const { status, body } = await sendOne(targetOf(sandbox.business_url), await push());
    if (status === 200) return;
    const { retry_after_seconds: seconds } = JSON.parse(body) as { readonly retry_after_seconds?: number };
    if (status !== 429 || seconds === undefined) throw new Error(`push: ${status} ${body.slice(0, 500)}`);
    world.say(`waiting ${seconds} s until the business may publish more`);
    await delay(seconds * 1_000);
  }
}

/** From the first byte of the request until every record is published and searchable. */
async function timePush(node: OpenNode, publisher: Publisher, range: ProductRange): Promise<number> {
  const prepared: PreparedPush = await preparePushOf(node.sandbox.business_url, publisher, range);
  const startedMs = performance.now();
  await publish(node, prepared.request, {
    ...{ businessUuid: publisher.uuid, pushId: prepared.batch.push_id },
    records: range.count,
  });
  return performance.now() - startedMs;
}
