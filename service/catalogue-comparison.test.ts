import { expect, it } from "vitest";
import type { ListingsReply } from "../actors/messages/listings.ts";
import type { Listings } from "../protocol/listings.ts";
import { part, rubbish } from "../protocol/rubbish.fixture.ts";
import { CatalogueComparison, type ComparisonDeps } from "./catalogue-comparison.ts";

const cost = (amount: string): Listings => ({ US: [amount, "USD"] });
const plan = (amount: string) =>
  Array.from({ length: 30 }, (_, index) => [`svc_${index}`, cost(amount)] as const);

it("counts no listing twice whose push is published while the listings are counted (F2)", async () => {
  // What each look at the business finds: nothing of the pending push is published, then all records of it.
  const published: boolean[] = [];
  const ask = async (
    _: unknown,
    { record_ids }: { readonly record_ids: readonly string[] },
  ): Promise<ListingsReply> => {
    const isPublished = published.shift() ?? true;
    const records = record_ids.map((record_id) => ({
      record_id,
      bpid: null,
      former: {},
      listings: cost("1"),
    }));
    return {
      listings: isPublished ? 30 : 0,
      pending: [],
      held_reasons: null,
      records: isPublished ? records : [],
    };
  };
  const deps = part<ComparisonDeps>({ actors: rubbish({ ask }), pace: () => null });
  const comparison = new CatalogueComparison(
    deps,
    { businessUuid: "b", pushId: "p" },
    { pending: ["earlier"], earlier: [plan("1")] },
  );
  published.push(false);
  await comparison.note(plan("9"));
  // The total is read before, the records after they were published.
  published.push(false, true);
  expect(await comparison.heldReasons()).toMatchObject([
    { code: "price_changes", count: 30, of: 30 },
    { code: "price_jump", count: 30, of: 30 },
  ]);
  expect(published).toEqual([]);
});
