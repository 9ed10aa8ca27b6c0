import { describe, expect, it } from "vitest";
import { hashOf } from "../protocol/bytes.ts";
import type { CatalogueEntry, PushAttempt } from "./business-answers.ts";
import { SvcProblemError } from "./errors.ts";
import { decideWithdrawal, type PlanDeps, planPush } from "./push-plan.ts";
import { recordBytes, recordSet, selectRecords } from "./record-set.ts";

const record = (id: string, name = "Loaf"): Uint8Array =>
  recordBytes({ business_product_id: id, product_name: name });

/** What is published: record ids are those of the business with `svc_` in front. */
function entry(id: string, { name = "Loaf", key = "mine" } = {}): CatalogueEntry {
  return {
    record_id: `svc_${id}`,
    business_product_id: id,
    last_updated: "",
    source: "api" as const,
    sha256: hashOf(record(id, name)),
    sealed_by_key_id: key,
  };
}

/** A service with this catalogue, in pages of two. */
function service(
  entries: readonly CatalogueEntry[],
  { held = [] as readonly string[], pendingReads = 0, tooOften = false } = {},
) {
  let pending = pendingReads;
  let nowMs = 1_800_000_000_000;
  const waits: number[] = [];
  const answer = (body: unknown) => ({ body, text: "", status: 200, requestHash: null });
  const client = {
    attemptsPage: async (query: { readonly status?: string; readonly from?: string }) => {
      expect(query).toMatchObject({ status: "pending", from: new Date(nowMs - 3_600_000).toISOString() });
      pending -= 1;
      return answer({ attempts: pending >= 0 ? [pendingAttempt] : [], next_cursor: null });
    },
    holdsPage: async () =>
      answer({ holds: held.length > 0 ? [{ push_id: "bat_1" }] : [], next_cursor: null }),
    pushStatus: async (_: string, page: unknown) => {
      expect(page).toEqual({ outcome: "held" });
      return answer({ results: held.map((record_id) => ({ record_id })), next_cursor: null });
    },
    cataloguePage: async ({ type, cursor = "0" }: { readonly type?: string; readonly cursor?: string }) => {
      expect(type).toBe("products");
      if (tooOften) throw refused;
      const next = Number(cursor) + 2;
      const next_cursor = next < entries.length ? String(next) : null;
      return answer({ entries: entries.slice(Number(cursor), next), next_cursor });
    },
  };
  const patience = {
    now: () => nowMs,
    wait: async (delayMs: number) => {
      waits.push(delayMs);
      nowMs += delayMs;
    },
    patienceMs: 5_000,
    onWaiting: () => {},
  };
  const deps = { client, patience, key: { keyId: "mine" } } as unknown as PlanDeps;
  return { deps, waits };
}

const pendingAttempt: PushAttempt = {
  attempt_id: "1",
  push_id: "bat_1",
  leaf_index: 0,
  status: "pending",
  category: null,
  record_id: null,
  business_product_id: null,
  version: null,
  errors: [],
  type: "products",
  seq: 1,
  source: "api",
  key_id: "mine",
  received_at: "2027-01-15T08:00:00.000Z",
  settled_at: null,
};

const refused = new SvcProblemError({
  status: 429,
  code: "rate_limited",
  detail: "",
  retryAfterSeconds: 3_600,
  problem: { reason: "catalogue_reads" },
});

describe("the plan of a push", () => {
  it("leaves what is served as it is, by the same key, and names what is missing", async () => {
    const { deps } = service([
      entry("same"),
      entry("other-text", { name: "Rye" }),
      entry("other-key", { key: "theirs" }),
      entry("gone"),
      entry("unreadable"),
    ]);
    const records = ["new", "same", "other-text", "other-key"].map((id) => record(id));
    const plan = await planPush(deps, recordSet(records), new Set(["unreadable"]));
    expect(plan).toEqual({
      changed: [0, 2, 3],
      unchanged: 1,
      live: 5,
      isWaiting: false,
      missing: [{ record_id: "svc_gone", business_product_id: "gone" }],
    });
  });

  it("sends bytes that are no product, and what a held push would replace", async () => {
    const { deps } = service([entry("a"), entry("b")], { held: ["svc_b"] });
    const records = [record("a"), record("b"), new Uint8Array([0xff]), new TextEncoder().encode("[1]")];
    const plan = await planPush(deps, recordSet(records));
    expect(plan).toMatchObject({ changed: [1, 2, 3], unchanged: 1, missing: [] });
  });

  it("waits for earlier pushes, and compares nothing if they take too long", async () => {
    const soon = service([entry("a")], { pendingReads: 2 });
    expect(await planPush(soon.deps, recordSet([record("a")]))).toMatchObject({ unchanged: 1 });
    expect(soon.waits).toEqual([1_000, 1_000]);
    const late = service([entry("a"), entry("b")], { pendingReads: 99 });
    expect(await planPush(late.deps, recordSet([record("a")]))).toMatchObject({
      changed: [0],
      unchanged: 0,
      isWaiting: true,
      live: 2,
      missing: [{ business_product_id: "b" }],
    });
    expect(late.waits).toHaveLength(5);
  });

  it("fails where the catalogue was read too often", async () => {
    const { deps, waits } = service([], { tooOften: true });
    await expect(planPush(deps, recordSet([record("a")]))).rejects.toBe(refused);
    expect(waits).toEqual([]);
  });
});

it.each([
  [10, 3, { count: 3 }, "allowed"],
  [10, 4, { count: 3 }, "over_limit"],
  [200, 10, { percent: 5 }, "allowed"],
  [200, 11, { percent: 5 }, "over_limit"],
  [19, 19, { percent: 100 }, "allowed"],
  [20, 4, { percent: 100 }, "allowed"],
  [20, 5, { percent: 100 }, "over_fifth"],
  [0, 0, { count: 0 }, "allowed"],
] as const)("of %d live products %d with %j: %s", (live, gone, limit, decision) => {
  const missing = Array(gone).fill({ record_id: "", business_product_id: "" });
  expect(decideWithdrawal({ live, missing }, limit)).toBe(decision);
});

it("some of a set's records have the same bytes, leaves and lines of a bulk file", async () => {
  const records = Array.from({ length: 9 }, (_, index) => record(`item-${index}`));
  const indexes = [0, 1, 4, 7, 8];
  const chosen = selectRecords(recordSet(records), indexes);
  const own = recordSet(indexes.map((index) => record(`item-${index}`)));
  expect([chosen.leaves, chosen.lengths]).toEqual([own.leaves, own.lengths]);
  for (const [first, count] of [
    [0, 5],
    [1, 3],
    [2, 1],
    [4, 9],
    [5, 2],
  ] as const) {
    expect(await chosen.read(first, count)).toEqual(await own.read(first, count));
    const text = async (set: typeof own) => await (await set.bulkFile(first, count)).text();
    expect(await text(chosen)).toBe(await text(own));
  }
});
