// Pushes of a business with a million live records against those of businesses with a thousand, in one node that has both.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { compare, count, figure, type Measured, takeRounds } from "../figures.ts";
import { refused, sendOne } from "../load.ts";
import { merchantOf, newPublisher, type Publisher } from "../parties.ts";
import {
  batchRecords,
  inlineRecords,
  type ProductRange,
  preparePush,
  productRanges,
  publish,
} from "../publishing.ts";
import { targetOf } from "../requests.ts";
import { msOf } from "../work.ts";
import type { OpenNode, World } from "../world.ts";

const smallCatalogue = 1_000;

export async function measureLargeBusiness(world: World): Promise<readonly Measured[]> {
  const products = world.size(1_000_000, 20_000);
  const home = await world.filledHome(products);
  await using node = await world.openNode(home);
  const large = merchantOf(node.sandbox);
  const next = productRanges(products);
  await untilAllowed(world, node, async () => (await preparePush(node.businessUrl, large, next(1))).request);
  const measure = async (records: number, rounds: number): Promise<Measured> => {
    const sides = {
      ours: () => timePush(node, large, next(records)),
      // A small business is new in each round, so that it has no more than its thousand.
      floor: async () => {
        const small = await newPublisher(join(home, "keys"), node.businessUrl);
        await timePush(node, small, { first: 0, count: smallCatalogue });
        return await timePush(node, small, next(records));
      },
    };
    const compared = compare(await takeRounds(rounds, sides, 1));
    const name = `push of ${count(records)} records beside ${count(products)} live ones, against beside ${count(smallCatalogue)}`;
    const note =
      "The column of the floor is a new business with that many records in the same node. No slower, but for the tenth by which figures move.";
    return figure(name, "ms", compared, { atMost: 1.1 }, note);
  };
  return [
    await measure(inlineRecords, world.size(40, 2)),
    await measure(world.size(batchRecords, 1_000), world.size(5, 1)),
  ];
}

/** The mandate's cap is a million records an hour: a home that was just filled has used it up. */
async function untilAllowed(world: World, node: OpenNode, request: () => Promise<Uint8Array>): Promise<void> {
  for (;;) {
    const answer = await sendOne(targetOf(node.businessUrl), await request());
    if (answer.status === 200) return;
    const { retry_after_seconds: seconds } = JSON.parse(answer.body) as {
      readonly retry_after_seconds?: number;
    };
    if (answer.status !== 429 || seconds === undefined) throw refused("push", answer);
    world.say(`waiting ${seconds} s until the business may publish more`);
    await delay(seconds * 1_000);
  }
}

/** From the first byte of the request until every record is published and searchable. */
async function timePush(node: OpenNode, publisher: Publisher, range: ProductRange): Promise<number> {
  const prepared = await preparePush(node.businessUrl, publisher, range);
  return await msOf(() => publish(node, prepared));
}
