// Validating a batch against publishing one of the same size, each until it is answered.

import { sendOne } from "../load.ts";
import { type PreparedPush, preparePushOf } from "../prepared-push.ts";
import type { Figure } from "../report.ts";
import { targetOf } from "../requests.ts";
import { compare, takeRounds } from "../rounds.ts";
import { batchRecords, merchantOf, type OpenNode, publisherOf, type World } from "../world.ts";

/** A batch that is published within the request, and the largest one. */
const inlineRecords = 50;
const validating = "/v1/publish/products?validate_only=true";

export async function measureValidate(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.seededHome());
  const batches = new Batches(node);
  await validate(node, await batches.next(inlineRecords, validating));
  await publish(node, await batches.next(inlineRecords));
  const rounds = world.size(7, 1);
  return [
    await compareSizes(node, batches, {
      ...{ records: inlineRecords, rounds: world.size(40, 2) },
      note: "Published, they are stored and searchable when the answer leaves.",
    }),
    await compareSizes(node, batches, {
      ...{ records: world.size(batchRecords, 1_000), rounds },
      note: "Published, they are staged when the answer leaves, and judged afterwards; validated, all have been judged.",
    }),
  ];
}

/** Batches of new products, one after another. */
class Batches {
  readonly #node: OpenNode;
  #first = 0;

  constructor(node: OpenNode) {
    this.#node = node;
  }

  async next(count: number, path?: string): Promise<PreparedPush> {
    const first = this.#first;
    this.#first += count;
    const { sandbox } = this.#node;
    return await preparePushOf(sandbox.business_url, publisherOf(sandbox), { first, count }, path);
  }
}

async function compareSizes(
  node: OpenNode,
  batches: Batches,
  of: { readonly records: number; readonly rounds: number; readonly note: string },
): Promise<Figure> {
  const rounds = await takeRounds(of.rounds, {
    ours: async () => validate(node, await batches.next(of.records, validating)),
    floor: async () => publish(node, await batches.next(of.records)),
  });
  return {
    section: "validate",
    name: `${of.records.toLocaleString("en")} records validated, until answered, against published`,
    unit: "ms",
    ...compare(rounds),
    goal: { atMost: 1 },
    note: `The column of the floor is publishing. Batches of new records in turn, one at a time in one node. ${of.note}`,
  };
}

async function validate({ sandbox }: OpenNode, { request, records }: PreparedPush): Promise<number> {
  const startedMs = performance.now();
  const { status, body } = await sendOne(targetOf(sandbox.business_url), request);
  const tookMs = performance.now() - startedMs;
  if (status !== 200) throw new Error(`validation: ${status} ${body.slice(0, 500)}`);
  const { counts, known } = JSON.parse(body) as {
    readonly counts: { readonly accepted: number };
    readonly known: boolean;
  };
  if (counts.accepted !== records.length || known) throw new Error(`validation: ${body.slice(0, 500)}`);
  return tookMs;
}

/** The time until the answer; the next batch is not begun before this one is complete. */
async function publish(
  { child, sandbox }: OpenNode,
  { request, batch, records }: PreparedPush,
): Promise<number> {
  const startedMs = performance.now();
  const { status, body } = await sendOne(targetOf(sandbox.business_url), request);
  const tookMs = performance.now() - startedMs;
  if (status !== (records.length > inlineRecords ? 202 : 200))
    throw new Error(`push: ${status} ${body.slice(0, 500)}`);
  const push = { businessUuid: merchantOf(sandbox).uuid, pushId: batch.push_id };
  const ended = await child.call<{ state: string }>("awaitPush", push);
  if (ended.state !== "complete") throw new Error(`push: ${JSON.stringify(ended)}`);
  return tookMs;
}
