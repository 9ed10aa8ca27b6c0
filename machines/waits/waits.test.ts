import { describe, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { adCampaignMachine } from "../ad-campaign.ts";
import { adPoolMachine } from "../ad-pool.ts";
import { adSessionMachine } from "../ad-session.ts";
import { applicationMachine } from "../application.ts";
import { bulkUploadMachine } from "../bulk-upload.ts";
import { businessMachine } from "../business.ts";
import { type ChartState, chartOf } from "../chart.ts";
import { integrationKeyMachine } from "../integration-key.ts";
import { keyLimitsMachine } from "../key-limits.ts";
import { ledgerMachine } from "../ledger.ts";
import { logSequencerMachine } from "../log-sequencer.ts";
import { personMachine } from "../person.ts";
import { pushMachine } from "../push.ts";
import { recoveryMachine } from "../recovery.ts";
import { regionMachine } from "../region.ts";
import { webhookMachine } from "../webhook.ts";
import { explainWaits, type WaitingActor, waitsOfKinds } from "./waits.ts";

const machines: Readonly<Record<keyof typeof waitsOfKinds, AnyStateMachine>> = {
  "ad-campaign": adCampaignMachine,
  "ad-pool": adPoolMachine,
  "ad-session": adSessionMachine,
  application: applicationMachine,
  "bulk-upload": bulkUploadMachine,
  business: businessMachine,
  "integration-key": integrationKeyMachine,
  "key-limits": keyLimitsMachine,
  ledger: ledgerMachine,
  "log-sequencer": logSequencerMachine,
  person: personMachine,
  push: pushMachine,
  recovery: recoveryMachine,
  region: regionMachine,
  webhook: webhookMachine,
};

/** Paths of the states that have no states of their own. */
function leaves(machine: AnyStateMachine): readonly string[] {
  const found: string[] = [];
  const visit = ({ path, states }: ChartState): void => {
    if (states.length === 0) found.push(path);
    for (const child of states) visit(child);
  };
  visit(chartOf(machine).root);
  return found.sort();
}

const nowMs = Date.parse("2026-11-25T12:00:00.000Z");
const pushContext = {
  facts: { records: 450 },
  heldReasons: [],
  chunksSettled: 1,
  unindexed: [],
  updatedAtMs: nowMs - 60_000,
  completedAtMs: null,
  error: null,
};
const push = (state: unknown, context: object = {}, more: Partial<WaitingActor> = {}): WaitingActor => ({
  kind: "push",
  id: "b.p",
  state,
  context: { ...pushContext, ...context },
  timers: [],
  outbox: [],
  ...more,
});

describe("why an actor waits", () => {
  it.each(Object.entries(machines))(
    "%s: every state has an explanation, and every explanation a state",
    (kind, machine) => {
      const explained = Object.keys(waitsOfKinds[kind as keyof typeof machines]).sort();
      expect(explained).toEqual(leaves(machine));
    },
  );

  it.each(Object.entries(machines))(
    "%s: every explanation takes the machine's first context",
    (kind, machine) => {
      const { context } = machine.getInitialSnapshot(rubbish({}), {
        uuid: "u",
        uploadId: "u",
        pushId: "p",
        region: "r",
        keyId: "k",
      });
      for (const path of leaves(machine)) {
        const state = path
          .split(".")
          .reduceRight<unknown>((below, key) => (below === null ? key : { [key]: below }), null);
        const waits = explainWaits({ kind, id: "x", state, context, timers: [], outbox: [] });
        if (waits.length === 0) {
          // A region that waits for nothing says nothing.
          expect(path).toMatch(/^\w+\.(none|served)$/);
          continue;
        }
        expect(waits).toHaveLength(1);
        expect(waits[0]?.code).toMatch(/^[a-z]+$/);
        expect(waits[0]?.words).toMatch(/^[A-Z0-9].*\.$/s);
        expect(waits[0]?.words).not.toMatch(/undefined|NaN|\[object/);
      }
    },
  );

  it("says which chunk is next, which indexes are behind, and when it would be stalled", () => {
    const dueMs = nowMs + 540_000;
    const timers = [{ id: "xstate.after.stall.push.working.pace.moving", dueMs, event: "x" }];
    const working = { step: "processing", pace: "moving" };
    const [found, pace] = explainWaits(push({ working }, { unindexed: [[0, "us-east1"]] }, { timers }));
    expect(found).toMatchObject({ code: "chunk", next: null, attention: null });
    expect(pace).toMatchObject({ code: "step", next: { what: "stalls", atMs: dueMs }, attention: null });
    expect(found?.words).toContain("chunk 2 of 3");
    expect(found?.words).toContain("us-east1");
  });

  it("asks for a look at a push that stalls, that is held, or that an index does not confirm", () => {
    const sinceMs = pushContext.updatedAtMs;
    const [, stalled] = explainWaits(push({ working: { step: "queued", pace: "stalled" } }));
    expect(stalled).toMatchObject({ code: "step", next: null, attention: { reason: "stalled", sinceMs } });
    const [unindexed] = explainWaits(push({ indexing: "stalled" }, { unindexed: [[0, "us-east1"]] }));
    expect(unindexed).toMatchObject({ code: "indexes", attention: { reason: "stalled", sinceMs } });
    const [held] = explainWaits(
      push("held", { heldReasons: [{ code: "price_jump" }], holdEndsAtMs: nowMs + 1_000 }),
    );
    expect(held).toMatchObject({
      next: { what: "fails", atMs: nowMs + 1_000 },
      attention: { reason: "held", sinceMs },
    });
    const [lagging] = explainWaits(push({ indexing: "moving" }, { unindexed: [[0, "us-east1"]] }));
    expect(lagging).toMatchObject({ code: "indexes", attention: { reason: "index_lag" } });
  });

  it("says what failed and since when, and asks for a look once it failed three times", () => {
    const effect = { to: "business/b", attempts: 2, lastError: "unreachable", sinceMs: nowMs - 5_000 };
    const waits = explainWaits(push("complete", {}, { outbox: [effect, { ...effect, attempts: 0 }] }));
    expect(waits.map(({ code, attention }) => [code, attention])).toEqual([
      ["nothing", null],
      ["effect", null],
      ["effects", null],
    ]);
    expect(waits[1]?.words).toContain(
      "business/b failed 2 times since 2026-11-25T11:59:55.000Z (unreachable)",
    );
    const [, failing] = explainWaits(push("complete", {}, { outbox: [{ ...effect, attempts: 3 }] }));
    expect(failing?.attention).toEqual({ reason: "outbox_failing", sinceMs: nowMs - 5_000 });
  });

  it("says how far the log is behind, which batch is written, and what is not published yet", () => {
    const context = {
      pending: 3,
      oldestMs: nowMs - 60_000,
      dueMs: nowMs + 1_000,
      batch: { count: 2, up_to: 9 },
      publishing: { size: 40 },
      unwitnessed: null,
      held: null,
    };
    const at = (sequencing: string, publication: string, head = "known", more: object = {}) =>
      explainWaits({
        kind: "log-sequencer",
        id: "svc-log",
        state: { sequencing, publication, head },
        context: { ...context, ...more },
        timers: [],
        outbox: [],
      });
    const [waiting, publishing] = at("waiting", "publishing");
    expect(waiting).toMatchObject({
      code: "due",
      next: { what: "goes_on", atMs: context.dueMs },
      attention: null,
    });
    expect(waiting?.words).toContain("3 leaves, the oldest since 2026-11-25T11:59:00.000Z, wait");
    expect(publishing?.words).toContain("size 40");
    expect(at("writing", "current")[0]?.words).toContain("2 leaves");
    const since = { sinceMs: nowMs - 5_000, attempts: 4, detail: "w.example answered 500" };
    const [, unwitnessed] = at("idle", "unwitnessed", "known", { unwitnessed: since });
    expect(unwitnessed).toMatchObject({ attention: { reason: "unwitnessed", sinceMs: since.sinceMs } });
    expect(unwitnessed?.words).toContain("4 attempts; w.example answered 500");
    const held = { ...since, reason: "home_lost" };
    const parts = at("stopped", "stopped", "held", { held });
    expect(parts.map(({ attention }) => attention)).toEqual([
      null,
      null,
      { reason: "log_held", sinceMs: since.sinceMs },
    ]);
  });

  it("says how many batches of receipts a region closed, when the next is due, and what its index failed at", () => {
    const region = { work: { a: null, b: { status: "failed" } }, batchesClosed: 17, lastFailure: "HTTP 429" };
    const dueMs = nowMs + 30_000;
    const [index, receipts] = explainWaits({
      kind: "region",
      id: "eu-west1",
      state: { index: "serving", receipts: "open" },
      context: region,
      timers: [{ id: "xstate.after.receiptBatch.region.receipts.open", dueMs, event: "x" }],
      outbox: [],
    });
    expect(index).toMatchObject({ code: "index", attention: null });
    expect(index?.words).toContain("1 piece of work");
    expect(receipts).toMatchObject({
      code: "receipts",
      next: { what: "goes_on", atMs: dueMs },
      attention: null,
    });
    expect(receipts?.words).toContain("17 batches of receipts");
    expect(receipts?.words).toContain("2026-11-25T12:00:30.000Z");
    const [behind] = explainWaits({
      kind: "region",
      id: "eu-west1",
      state: { index: "catching_up", receipts: "open" },
      context: region,
      timers: [],
      outbox: [],
    });
    expect(behind?.attention?.reason).toBe("index_lag");
    expect(behind?.words).toContain("HTTP 429");
  });

  it("admits that it does not know a state", () => {
    expect(explainWaits(push({ working: "dreaming" }))[0]).toMatchObject({ code: "unexplained" });
  });
});
