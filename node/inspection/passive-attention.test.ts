// What operators are shown of pushes that need a look and are in no memory.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import type { ActorRow } from "../../ops/inspection-shapes.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { type Held, heldPush } from "../../stories/publishing/hold-decisions.fixture.ts";
import { type AttackNode, openAttackNode } from "../../stories/retrieval/attack.fixture.ts";
import { createPassiveAttention, type PassiveDeps } from "./search.ts";

const nowMs = 1_000_000;
const long = nowMs - 60_000;
const row = (id: string, status: ActorRow["status"], reason: "held" | "stalled" | null): ActorRow => ({
  kind: "push",
  id,
  business_uuid: "b",
  party: null,
  region: "r",
  node: null,
  status,
  states: ["held"],
  head: 1,
  mailbox: 0,
  outbox: 0,
  waits: null,
  attention: reason === null ? null : { reason, since: null },
});

/** A store that has these staged pushes and uploads, and what is read of it. */
function storeOf(staged: readonly (readonly [string, number])[], uploads: readonly string[] = []) {
  const read: string[] = [];
  let listings = 0;
  const deps: PassiveDeps = {
    store: part({ listActors: async (_kind, _after, limit) => uploads.slice(0, limit) }),
    records: part({
      stagedPushes: async (cursor, limit) => {
        listings += 1;
        const page = staged.filter(([id]) => id > (cursor ?? "")).slice(0, limit);
        const pushes = page.map(([push_id, staged_at_ms]) => ({ push_id, staged_at_ms }));
        return { pushes, cursor: pushes.length < limit ? null : (pushes.at(-1)?.push_id ?? null) };
      },
    }),
    inspect: async () => ({ context: { pushId: "imported" } }),
    row: async ({ id }) => {
      read.push(id);
      if (id.endsWith("active")) return row(id, "active", "held");
      if (id.endsWith("fine")) return row(id, "passive", null);
      return row(id, "passive", id.endsWith("stalled") ? "stalled" : "held");
    },
    nowMs: () => nowMs,
    elapsedMs: () => 0,
  };
  return { deps, read, listings: () => listings };
}

describe("pushes in no memory that need a look", () => {
  it("PA1: are those with staged bytes and of uploads; what is under way or in memory is left out", async () => {
    const staged = [
      ["b.active", long] as const,
      ["b.fine", long] as const,
      ["b.held", long] as const,
      ["b.new-held", nowMs - 1_000] as const,
      ["b.stalled", long] as const,
    ];
    const { deps, read } = storeOf(staged, ["b.upload"]);
    const { rows, isComplete } = await createPassiveAttention(deps)();
    expect(rows.map(({ id }) => id)).toEqual(["b.held", "b.stalled", "b.imported"]);
    expect(isComplete).toBe(true);
    expect(read).not.toContain("b.new-held");
  });

  it("PA2: are read up to a bound, and it is said that more are left", async () => {
    const names = (count: number): readonly string[] =>
      Array.from({ length: count }, (_, index) => `b.${String(index).padStart(6, "0")}`);
    const many = storeOf(names(2_500).map((id) => [id, long]));
    expect((await createPassiveAttention(many.deps)()).isComplete).toBe(false);
    expect(many.read).toHaveLength(300);
    // Listing goes on past what is under way, and ends as well.
    const busy = storeOf([...names(20_000).map((id) => [id, nowMs] as const), ["c.held", long]]);
    expect(await createPassiveAttention(busy.deps)()).toEqual({ rows: [], isComplete: false });
    expect(busy.listings()).toBe(10);
    const uploads = storeOf([], names(301));
    expect((await createPassiveAttention(uploads.deps)()).isComplete).toBe(false);
  });

  it("PA3: are not read for each who asks, and again after a while, even if the clock was set back", async () => {
    const { deps, listings } = storeOf([["b.held", long]]);
    let now = 0;
    let clockMs = nowMs;
    const passive = createPassiveAttention({ ...deps, nowMs: () => clockMs, elapsedMs: () => now });
    await Promise.all([passive(), passive()]);
    clockMs -= 900_000;
    now += 9_999;
    await passive();
    expect(listings()).toBe(1);
    now += 1;
    await passive();
    expect(listings()).toBe(2);
  });

  it.each([
    ["a hundred times as long as it took", 300, 30_000],
    ["a minute at most", 5_000, 60_000],
  ])("PA3: are kept for %s", async (_what, tookMs, keptMs) => {
    const { deps, listings } = storeOf([["b.held", long]]);
    let now = 0;
    const row: PassiveDeps["row"] = (ref) => {
      now += tookMs;
      return deps.row(ref);
    };
    const passive = createPassiveAttention({ ...deps, row, elapsedMs: () => now });
    await passive();
    now += keptMs - 1;
    await passive();
    expect(listings()).toBe(1);
    now += 1;
    await passive();
    expect(listings()).toBe(2);
  });
});

describe("a held push that left memory", () => {
  let node: AttackNode;
  let held: Held;
  beforeAll(async () => {
    node = await openAttackNode();
    held = await heldPush(node);
  });
  afterAll(() => node.close());

  it("is listed by the running node, from the store", async () => {
    const id = `${held.business.party.uuid}.${held.pushId}`;
    const { actors } = node.running.services;
    const leave = async () => {
      actors.passivate({ kind: "push", id });
      return (await actors.inspect({ kind: "push", id }))?.status;
    };
    await expect.poll(leave, { timeout: 30_000 }).toBe("passive");
    const find = async () => {
      const answer = await contractFetch(`${node.running.urls.ops_url}/ops/attention`);
      const list = (await answer.json()) as { readonly actors: readonly ActorRow[] };
      return list.actors.find((each) => each.kind === "push" && each.id === id);
    };
    await expect
      .poll(find, { timeout: 60_000, interval: 500 })
      .toMatchObject({ status: "passive", node: null, states: ["held"], attention: { reason: "held" } });
    // Looking did not wake it.
    expect((await actors.inspect({ kind: "push", id }))?.status).toBe("passive");
  });
});
