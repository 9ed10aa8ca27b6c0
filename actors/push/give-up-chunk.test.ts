import { describe, expect, it } from "vitest";
import type { Signer } from "../../crypto/port.ts";
import { sha256 } from "../../protocol/bytes.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { type ActorRef, StoreError } from "../../storage/actor-store.ts";
import type { RecordHead } from "../../storage/record-store.ts";
import { driveActor } from "../actor.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { PushCommand } from "../messages/push.ts";
import type { ActivityContext } from "../system/definition.ts";
import { pushActivities } from "./activities.ts";
import { pushActor } from "./definition.ts";
import { chunkFailuresMax } from "./process-chunk.ts";

const facts = pushFacts({ records: 2, mode: "queued" });
const record = (id: string) => canonicalBytes({ ...sampleRecords.products, business_product_id: id });
const signer = part<Signer>({ keyId: "k", signMany: async () => Promise.reject(new Error("no such form")) });

/** What the business answered for the chunk, by the leaves it was first asked for. */
function businessOf(assigned: readonly number[] | "cancelled") {
  const asked: number[] = [];
  const ask = async (to: ActorRef, message: { readonly leaves: readonly unknown[] }) => {
    if (to.kind !== "business") throw new Error(to.kind);
    asked.push(message.leaves.length);
    if (assigned === "cancelled") return { assigned_at_ms: 0, assignments: [], cancelled: true };
    const assignments = assigned.map((leaf_index) => ({
      leaf_index,
      record_id: `svc_${leaf_index}`,
      outcome: "accepted",
      generation: 3,
      change: 7,
    }));
    return { assigned_at_ms: 0, assignments };
  };
  return { asked, ask };
}

function attempts(
  business: ReturnType<typeof businessOf>,
  stored: readonly string[],
  heads: RecordHead[],
  loadLeaves = async () => [record("a"), record("b")],
) {
  const activities = pushActivities({
    records: part({
      listVersions: async (id: string) =>
        stored.includes(id)
          ? [{ generation: 3, hash: "h", published_at_ms: 0 }]
          : [{ generation: 2, hash: "h", published_at_ms: 0 }],
      readPublished: async () => rubbish({ seal_id: facts.push_id }),
      putHeads: async (put: readonly RecordHead[]) => void heads.push(...put),
    }),
    crypto: part({ sha256 }),
    projection: () => signer,
    sidecar: () => signer,
    leaves: { load: loadLeaves, tree: async () => rubbish(null), drop: () => {} },
    planOf: async () => [],
    paces: { inline: () => () => null, queued: () => () => null },
    parsed: { take: () => undefined, note: () => {}, drop: () => {} },
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
    lists: { protectedNames: [], exemptNames: [], blockedHosts: [], certified: noCertifiedNames },
    region: "eu-west1",
    regions: () => ["eu-west1"],
  });
  const context = part<ActivityContext>({
    actor: { kind: "push", id: "u.bat_0" },
    workId: "w",
    ask: rubbish(business.ask),
    nowMs: () => 0,
  });
  return async (): Promise<PushCommand> =>
    rubbish(await activities["processChunk"]?.({ facts, chunk: 0 }, context));
}

async function lastOf(attempt: () => Promise<PushCommand>): Promise<PushCommand> {
  for (let count = 1; count < chunkFailuresMax; count += 1) await expect(attempt()).rejects.toThrow();
  return attempt();
}

describe("a chunk that keeps failing for a reason of its own", () => {
  it("is settled as rejected after its bound, and the business then gives it no generation (G1)", async () => {
    const business = businessOf([]);
    const missing = async () => [record("a")];
    const settled = await lastOf(attempts(business, [], [], missing));
    expect(settled).toMatchObject({
      type: "chunk.settle",
      outcomes: [
        { leaf_index: 0, outcome: "rejected", errors: [{ code: "processing_failed" }] },
        { leaf_index: 1, outcome: "rejected", errors: [{ code: "processing_failed" }] },
      ],
      references: [],
      unindexed: [],
      failed: { code: "processing_failed", detail: expect.stringContaining("is not staged") },
    });
    expect(business.asked).toEqual([0]);
  });

  it("keeps what of it is published already, and has every index told of that (G2)", async () => {
    const heads: RecordHead[] = [];
    const settled = await lastOf(attempts(businessOf([0, 1]), ["svc_1"], heads));
    expect(settled).toMatchObject({
      outcomes: [
        { leaf_index: 0, outcome: "rejected", version: null },
        { leaf_index: 1, outcome: "accepted", version: 3, record_id: "svc_1" },
      ],
      references: [{ record_id: "svc_1", generation: 3, change: 7 }],
      unindexed: ["eu-west1"],
      failed: { code: "processing_failed" },
    });
    expect(heads).toMatchObject([{ record_id: "svc_1", live: true, change: 7, generation: 3 }]);
  });

  it("is not given up for an outage, however long that lasts", async () => {
    const attempt = attempts(businessOf([]), [], [], () => Promise.reject(new StoreError("unknown", "away")));
    for (let count = 0; count < 5 * chunkFailuresMax; count += 1)
      await expect(attempt()).rejects.toThrow("away");
  });

  it("whose push was cancelled meanwhile, and its bytes dropped, ends as cancelled", async () => {
    expect(await lastOf(attempts(businessOf("cancelled"), [], [], async () => []))).toEqual({
      type: "push.cancelled",
    });
  });

  it("of a cancelled push ends the push as cancelled", async () => {
    expect(await attempts(businessOf("cancelled"), [], [])()).toEqual({ type: "push.cancelled" });
  });
});

describe("a push with a chunk that was given up", () => {
  const failed = { code: "processing_failed", detail: "d" };
  const push = () => {
    const opened = driveActor(pushActor, "bat_0");
    opened.send({
      type: "push.accept",
      facts: pushFacts({ records: 450 }),
      held_reasons: [],
      accept_by_ms: Number.POSITIVE_INFINITY,
      seal_leaf: "sha256:s",
    });
    return opened;
  };
  const settle = (opened: ReturnType<typeof push>, chunk: number, count: number, more = {}) => {
    const outcome = "failed" in more ? "rejected" : "accepted";
    const outcomes = Array.from({ length: count }, (_, index) => ({
      leaf_index: chunk * 200 + index,
      record_id: null,
      version: null,
      errors: [],
      outcome: outcome as "rejected" | "accepted",
    }));
    opened.send({ type: "chunk.settle", chunk, outcomes, references: [], unindexed: [], ...more });
  };
  const status = (opened: ReturnType<typeof push>) =>
    opened.send({ type: "push.status", outcome: null, from_leaf: 0, limit: 1 });

  it("goes on, ends as failed, and says what was published (P6)", () => {
    const opened = push();
    settle(opened, 0, 200);
    settle(opened, 1, 200, { failed });
    expect(status(opened)).toMatchObject({ state: "processing", error: null, settled: 400 });
    settle(opened, 2, 50);
    expect(status(opened)).toMatchObject({
      state: "failed",
      error: failed,
      settled: 450,
      completed_at: expect.any(String),
      counts: { accepted: 250, rejected: 200, pending: 0 },
    });
    expect(opened.effects.slice(-3)).toMatchObject([
      { name: "finishPush" },
      { name: "recordNotice", params: { state: "failed", counts: { accepted: 250, rejected: 200 } } },
      { name: "mailNotice" },
    ]);
  });

  it("waits for the indexes as any other, and ends as failed then", () => {
    const opened = push();
    settle(opened, 0, 200, { failed });
    settle(opened, 1, 200, { unindexed: ["us"] });
    settle(opened, 2, 50);
    expect(status(opened)).toMatchObject({ state: "processing" });
    opened.send({ type: "chunk.indexed", chunk: 1, region: "us" });
    expect(status(opened)).toMatchObject({ state: "failed", error: failed });
  });
});
