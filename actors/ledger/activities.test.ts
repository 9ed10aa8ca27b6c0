import { expect, it } from "vitest";
import type { PriceList } from "../../protocol/price-list.ts";
import type { BillableAnswer } from "../messages/region.ts";
import type { ActivityContext } from "../system/definition.ts";
import { ledgerActivities } from "./activities.ts";

const company = "00000000-0000-4000-8000-00000000000c";
const answer: BillableAnswer = {
  key_id: "k",
  nonce: "n",
  kind: "fetch",
  collection: null,
  served_at_ms: 1_000,
  incarnation: "a",
  retrieval_id: "ret_1",
};

/** The activity of a node with these prices, where the region has these answers. */
function collect(prices: PriceList | null, answers: readonly BillableAnswer[]): Promise<unknown> {
  const { collectCharges } = ledgerActivities({ prices: () => prices, regions: () => ["eu-west1"] });
  const context = {
    workId: "w",
    nowMs: () => 2_000,
    ask: async () => ({ status: "read", answers, up_to: "9", more: false, settled_ms: 2_000 }),
  } as unknown as ActivityContext;
  return collectCharges?.({ region: "eu-west1", company, after: "" }, context) as Promise<unknown>;
}

it("answers are never passed over by a node without prices: it tries again until it has them", async () => {
  await expect(collect(null, [answer])).rejects.toThrow("SVC_PRICES");
  expect(await collect(null, [])).toMatchObject({ charges: [], up_to: "9" });
});
