import { expect, it } from "vitest";
import { driveActor } from "../../actors/actor.fixture.ts";
import { businessActor } from "../../actors/business/definition.ts";
import { businessUuid, certificateFacts, partyFacts } from "../../actors/facts.fixture.ts";
import type { ListingsReply } from "../../actors/messages/admission.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { workMsMax } from "../../std/work.ts";
import { WorkMeter } from "../../std/work-meter.fixture.ts";
import { CatalogueComparison, comparisonOf, type PlanDeps } from "./push-plan.ts";

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
  const deps = part<PlanDeps & Actors>({ actors: rubbish({ ask }), pace: () => null });
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

it("does little between two looks, however many small plans of the same records are pending (F3)", async () => {
  const business = driveActor(businessActor, businessUuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  const pending = Array.from({ length: 100 }, (_, index) => `push-${index}`);
  for (const push_id of pending) {
    business.nowMs += 60_000;
    const admit = {
      type: "push.admit",
      push_id,
      key_id: "k",
      records: 1_000,
      may_hold: false,
      plan: null,
    } as const;
    expect(business.send(admit).status).toBe("admitted");
  }
  const planned = Array.from({ length: 1_000 }, (_, index) => [`svc_${index}`, cost("9")] as const);
  using meter = new WorkMeter(setImmediate);
  const deps = part<PlanDeps & Actors>({
    actors: rubbish({
      ask: async (_: unknown, command: Parameters<typeof business.send>[0]) => business.send(command),
    }),
    records: rubbish({ readStagedDocument: async () => JSON.stringify(planned) }),
    pace: () => new Promise((resolve) => setImmediate(resolve)),
  });
  const push = { businessUuid, pushId: "p" };
  const comparison = await comparisonOf(deps, push, { listings: planned, pending });
  if (comparison === "too_many") throw new Error("there is room for these plans");
  const isWhole = !(comparison instanceof CatalogueComparison);
  const preview = isWhole
    ? business.send({
        type: "push.preview",
        push_id: "p",
        may_hold: true,
        plan: { ...comparison, listings: planned },
      })
    : await comparison.compare(planned);
  if (preview.status !== "admitted") throw new Error(preview.status);
  expect(new Set(preview.versions.map(([generation]) => generation))).toEqual(new Set([101]));
  await new Promise(setImmediate);
  const { ms, counts } = meter.take().longest;
  // What the rows of other records would take has room besides.
  expect(ms, JSON.stringify(counts)).toBeLessThan(workMsMax / 4);
});
