import { describe, expect, it } from "vitest";
import { Random } from "../kernel/random.ts";
import { openSimRecordStore } from "./record-store.ts";
import { calmStoreModel } from "./store-model.ts";

describe("the simulator's records", () => {
  it("tell when a push was staged last, and spare what was staged since (R6)", async () => {
    let nowMs = 1_000;
    const model = calmStoreModel(Random.of(1), () => nowMs);
    const store = openSimRecordStore({ model, life: null, region: "eu-west1" });
    const leaves = [Uint8Array.of(1), Uint8Array.of(2)];
    await store.stageLeaves("a", 0, leaves);
    await store.putStagedDocument("a", "plan", "{}");
    nowMs = 2_000;
    await store.stageLeaves("a", 0, leaves);
    expect((await store.stagedPushes(null, 5)).pushes).toEqual([{ push_id: "a", staged_at_ms: 2_000 }]);
    await store.dropStaged("a", 1_999);
    expect([await store.loadLeaves("a", 0, 5), await store.readStagedDocument("a", "plan")]).toEqual([
      leaves,
      "{}",
    ]);
    await store.dropStaged("a", 2_000);
    expect([await store.loadLeaves("a", 0, 5), await store.readStagedDocument("a", "plan")]).toEqual([
      [],
      null,
    ]);
    expect((await store.stagedPushes(null, 5)).pushes).toEqual([]);
  });
});
