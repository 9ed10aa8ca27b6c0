// Pushes that were held without a timer, in each form in which a release left them: a snapshot without the end of the hold, and a
// journal in whose replay there is one.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PartitionRow } from "../../storage/actor-store.ts";
import { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { ActorProtocols } from "../messages/kinds.ts";
import { pushRef } from "../messages/refs.ts";
import { ManualTime } from "../system/manual-time.fixture.ts";
import type { LocalActorSystem } from "../system/ports.ts";
import { createActorSystem } from "../system/runtime.ts";
import { pushActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-000000000001";
const push = pushRef(business, "bat_1");
const dayMs = 86_400_000;
const acceptedMs = Date.UTC(2026, 0, 1);
const facts = pushFacts({ push_id: "bat_1", business_uuid: business, records: 3 });
const held_reasons = [{ code: "price_jump", detail: "d" }];
const accepted = { type: "push.accepted", facts, held_reasons, at_ms: acceptedMs };

/** What that release wrote: no state had a timer, and no context a time. */
const context = {
  ...{ facts, heldReasons: held_reasons, chunksSettled: 0, tally: { accepted: 0, updated: 0, rejected: 0 } },
  ...{ unindexed: [], stalled: false, updatedAtMs: acceptedMs, completedAtMs: null, error: null },
};
const snapshot = { status: "active", value: "held", historyValue: {}, context, children: {} };
const event = { rt: 1, k: 1, k2: "", body: JSON.stringify({ v: 1, t: acceptedMs, e: [accepted] }) };

interface Written {
  readonly puts: readonly PartitionRow[];
  readonly snapshot?: { readonly seq: number; readonly body: string; readonly schemaVersion: number };
}
const forms: readonly (readonly [string, Written])[] = [
  ["its snapshot", { puts: [], snapshot: { seq: 1, body: JSON.stringify(snapshot), schemaVersion: 1 } }],
  ["its journal, in which the end of the hold is replayed and its timer is not", { puts: [event] }],
];

let time: ManualTime;
let store: MemoryActorStore;
let notices: string[];
let systems: LocalActorSystem<ActorProtocols>[];

beforeEach(() => {
  time = new ManualTime(acceptedMs);
  store = new MemoryActorStore({ now: () => time.now() });
  notices = [];
  systems = [];
});
afterEach(() => Promise.all(systems.map((system) => time.run(system.drain(1_000)))));

async function write({ puts, snapshot: written }: Written): Promise<void> {
  const { head } = await store.claim(push, "an earlier release");
  await store.commit({
    ...{ ref: push, epoch: head.epoch, expectedHead: 0, expectedOp: "", op: "one" },
    ...{ puts, deletes: [], wakeAtMs: null },
    ...(written === undefined ? {} : { snapshot: written }),
  });
}

function newProcess(): LocalActorSystem<ActorProtocols> {
  let operations = 0;
  const owner = `node-${systems.length}`;
  const system = createActorSystem<ActorProtocols>({
    ...{ store, definitions: [pushActor], clock: time, timers: time, owner, log: () => {} },
    activities: {
      finishPush: async () => null,
      mailNotice: async () => null,
      recordNotice: async (notice: { readonly notice_id: string }) => {
        notices.push(notice.notice_id);
        return null;
      },
    },
    entropy: { newOperationId: () => `${owner}-${operations++}` },
    limits: { pollMs: dayMs / 4, idleSweepMs: dayMs, deadlineSweepMs: dayMs, outboxWakeMs: dayMs / 4 },
  });
  systems.push(system);
  return system;
}

const read = async (system: LocalActorSystem<ActorProtocols>) => {
  const question = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
  return time.run(system.ask(push, question));
};
const at = (ms: number): string => new Date(ms).toISOString();

describe.each(forms)("a held push without a timer, read from %s,", (_form, written) => {
  it("ends thirty days after its acceptance, also where nobody asks any more and the process is another", async () => {
    await write(written);
    await time.advance(5 * dayMs);
    const first = newProcess();
    await read(first);
    await time.advance(1_000);
    expect(await read(first)).toMatchObject({
      state: "held",
      hold_expires_at: at(acceptedMs + 30 * dayMs),
    });
    await time.run(first.drain(1_000));
    const second = newProcess();
    await second.start();
    await time.advance(24.9 * dayMs);
    expect(await read(second)).toMatchObject({ state: "held" });
    await time.advance(dayMs);
    expect(await read(second)).toMatchObject({
      ...{ state: "failed", error: { code: "hold_expired" }, hold_expires_at: null },
      completed_at: at(acceptedMs + 30 * dayMs),
    });
    // It was told of when it was held, and is told of now that it is over.
    expect(notices).toEqual(["bat_1.failed"]);
  });

  it("has a week from when it is found, if its thirty days are over or nearly", async () => {
    await write(written);
    await time.advance(400 * dayMs);
    const system = newProcess();
    await system.start();
    const foundMs = time.now();
    await read(system);
    await time.advance(1_000);
    const report = await read(system);
    expect(report).toMatchObject({ state: "held", hold_expires_at: at(foundMs + 7 * dayMs) });
    // It is found once: the week is not a new one for each process.
    await time.advance(6 * dayMs);
    await time.run(system.drain(1_000));
    const next = newProcess();
    await next.start();
    expect((await read(next))?.hold_expires_at).toBe(report?.hold_expires_at);
    await time.advance(1.1 * dayMs);
    expect(await read(next)).toMatchObject({ state: "failed", error: { code: "hold_expired" } });
  });

  it("is decided as any other, and its timer ends with that", async () => {
    await write(written);
    await time.advance(dayMs);
    const system = newProcess();
    await read(system);
    await time.advance(1_000);
    await time.run(system.ask(push, { type: "hold.release", confirmed: false }));
    expect(await read(system)).toMatchObject({ state: "failed", error: { code: "hold_rejected" } });
    expect((await system.inspect(push))?.timers).toEqual([]);
  });
});

it("a hold that has its timer is left as it is", async () => {
  const system = newProcess();
  await time.run(
    system.ask(push, {
      ...({ type: "push.accept", accept_by_ms: Number.POSITIVE_INFINITY, hold_ms: dayMs } as const),
      ...{ facts, held_reasons: [{ code: "price_jump", detail: "d" }] },
    }),
  );
  await time.run(system.drain(1_000));
  const { head } = await store.claim(push, "reader");
  const again = newProcess();
  expect(await read(again)).toMatchObject({ hold_expires_at: at(acceptedMs + dayMs) });
  await time.advance(1_000);
  expect((await store.claim(push, "reader")).head.head).toBe(head.head);
});
