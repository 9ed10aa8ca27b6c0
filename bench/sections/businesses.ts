// What a business sees beside the time of a push: validating a batch against publishing one of the same size; and pushes of a
// business with a million live records against those of businesses with a thousand, in one node that has both.

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { compare, count, type Figure, figuresOf, takeRounds } from "../figures.ts";
import { refused, sendOne, type WholeAnswer } from "../load.ts";
import { merchantOf, newPublisher, type Publisher } from "../parties.ts";
import {
  batchRecords,
  inlineRecords,
  type ProductRange,
  preparePush,
  publish as publishAll,
  untilComplete,
} from "../publishing.ts";
import { targetOf } from "../requests.ts";
import { msOf } from "../work.ts";
import type { OpenNode, World } from "../world.ts";

const validating = "/v1/publish/products?validate_only=true";

export async function measureValidate(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.seededHome());
  let first = 0;
  const next = async (records: number, path?: string) => {
    first += records;
    const range = { first: first - records, count: records };
    return await preparePush(node.businessUrl, merchantOf(node.sandbox), range, path);
  };
  const answerTo = async ({ request }: { readonly request: Uint8Array }) => {
    const startedMs = performance.now();
    const answer = await sendOne(targetOf(node.businessUrl), request);
    return { answer, tookMs: performance.now() - startedMs };
  };
  const validate = async (records: number): Promise<number> => {
    const { answer, tookMs } = await answerTo(await next(records, validating));
    if (!isValidated(answer, records)) throw refused("validation", answer);
    return tookMs;
  };
  /** The time until the answer; the next batch is not begun before this one is complete. */
  const publish = async (records: number): Promise<number> => {
    const prepared = await next(records);
    const { answer, tookMs } = await answerTo(prepared);
    if (answer.status !== (records > inlineRecords ? 202 : 200)) throw refused("push", answer);
    await untilComplete(node, prepared);
    return tookMs;
  };
  await validate(inlineRecords);
  await publish(inlineRecords);
  const measure = async (records: number, rounds: number, note: string): Promise<Figure> => {
    const sides = { ours: () => validate(records), floor: () => publish(records) };
    return figuresOf("validate")(
      `${count(records)} records validated, until answered, against published`,
      "ms",
      compare(await takeRounds(rounds, sides)),
      { atMost: 1 },
      `The column of the floor is publishing. Batches of new records in turn, one at a time in one node. ${note}`,
    );
  };
  return [
    await measure(
      inlineRecords,
      world.size(40, 2),
      "Published, they are stored and searchable when the answer leaves.",
    ),
    await measure(
      world.size(batchRecords, 1_000),
      world.size(7, 1),
      "Published, they are staged when the answer leaves, and judged afterwards; validated, all have been judged.",
    ),
  ];
}

function isValidated({ status, body }: WholeAnswer, records: number): boolean {
  if (status !== 200) return false;
  const { counts, known } = JSON.parse(body) as {
    readonly counts: { readonly accepted: number };
    readonly known: boolean;
  };
  return counts.accepted === records && !known;
}

const smallCatalogue = 1_000;

export async function measureLargeBusiness(world: World): Promise<readonly Figure[]> {
  const products = world.size(1_000_000, 20_000);
  const home = await world.filledHome(products);
  await using node = await world.openNode(home);
  const small = async (): Promise<Publisher> => {
    const publisher = await newPublisher(join(home, "keys"), node.businessUrl);
    await timePush(node, publisher, { first: 0, count: smallCatalogue });
    return publisher;
  };
  const large = merchantOf(node.sandbox);
  let first = products;
  const next = (records: number): ProductRange => {
    first += records;
    return { first: first - records, count: records };
  };
  await untilAllowed(world, node, async () => (await preparePush(node.businessUrl, large, next(1))).request);
  const measure = async (records: number, rounds: number): Promise<Figure> => {
    // Both are warm: a small business is new in each round, so that it has no more than its thousand.
    await timePush(node, large, next(records));
    await timePush(node, await small(), next(records));
    const compared = await takeRounds(rounds, {
      ours: () => timePush(node, large, next(records)),
      floor: async () => timePush(node, await small(), next(records)),
    });
    return figuresOf("large-business")(
      `push of ${count(records)} records beside ${count(products)} live ones, against beside ${count(smallCatalogue)}`,
      "ms",
      compare(compared),
      { atMost: 1.1 },
      "The column of the floor is a new business with that many records in the same node. No slower, but for the tenth by which figures move.",
    );
  };
  return [
    await measure(inlineRecords, world.size(40, 2)),
    await measure(world.size(batchRecords, 1_000), world.size(5, 1)),
  ];
}

/** The mandate's cap is a million records an hour: a home that was just filled has used it up. */
async function untilAllowed(
  world: World,
  { businessUrl }: OpenNode,
  request: () => Promise<Uint8Array>,
): Promise<void> {
  for (;;) {
    const answer = await sendOne(targetOf(businessUrl), await request());
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
  return await msOf(() => publishAll(node, prepared));
}
