import { describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createTimings } from "./timings.ts";

const push = { ref: { kind: "push", id: "a" } };

async function shown(timings: ReturnType<typeof createTimings>, name: string): Promise<readonly string[]> {
  const lines = (await timings.registry.metrics()).split("\n");
  return lines.filter((line) => line.startsWith(name) && !line.includes("_bucket") && !line.includes("_sum"));
}

describe("timings", () => {
  it("of a store leave what it can do as it is", () => {
    const { watchCommits } = createTimings();
    expect(watchCommits(rubbish({ createsActors: true })).createsActors).toBe(true);
    expect(watchCommits(rubbish({ createsActors: false })).createsActors).toBe(false);
  });

  it("time the commits of each kind, and count those that the store did not answer", async () => {
    const timings = createTimings();
    let isAway = false;
    const outcome = { status: "applied" };
    const store = timings.watchCommits(
      rubbish({
        commit: () => (isAway ? Promise.reject(new Error("away")) : Promise.resolve(outcome)),
        readHead: async () => "head",
      }),
    );
    expect(await store.commit(rubbish(push))).toBe(outcome);
    expect(await store.readHead(push.ref)).toBe("head");
    isAway = true;
    await expect(store.commit(rubbish(push))).rejects.toThrow("away");
    expect(await shown(timings, "svc_actors_commit")).toEqual([
      'svc_actors_commit_duration_seconds_count{kind="push"} 1',
      "svc_actors_commit_failures_total 1",
    ]);
  });

  it("count the receipts that became durable by what was served, and no others", async () => {
    const timings = createTimings();
    let isAway = false;
    const receipts = timings.watchReceipts(
      rubbish({ sharesCommits: true, keep: () => (isAway ? Promise.reject(new Error("away")) : null) }),
    );
    expect(receipts.sharesCommits).toBe(true);
    await receipts.keep(rubbish({ served: { kind: "fetch" } }), null);
    isAway = true;
    await expect(receipts.keep(rubbish({ served: { kind: "fetch" } }), null)).rejects.toThrow("away");
    expect(await shown(timings, "svc_receipt")).toEqual([
      'svc_receipts_total{kind="search"} 0',
      'svc_receipts_total{kind="fetch"} 1',
      'svc_receipts_total{kind="ad_pool"} 0',
      "svc_receipt_write_duration_seconds_count 1",
      "svc_receipt_batches_closed_total 0",
    ]);
  });

  it("count the batches of receipts that were closed", async () => {
    const timings = createTimings();
    const store = timings.watchBatches(
      rubbish({ closeBatch: async () => {}, openBatches: async () => ["b"] }),
    );
    expect(await store.openBatches("eu", "m", 1)).toEqual(["b"]);
    await store.closeBatch(rubbish({}), []);
    expect(await shown(timings, "svc_receipt_batches")).toEqual(["svc_receipt_batches_closed_total 1"]);
  });
});
