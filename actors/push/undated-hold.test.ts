// A push that a build held which knew no end of holds, over a real store and across a restart.

import { afterEach, beforeEach, expect, it } from "vitest";
import { rowTable } from "../../storage/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { ActorProtocols } from "../messages/kinds.ts";
import { pushRef } from "../messages/refs.ts";
import { ManualTime } from "../system/manual-time.fixture.ts";
import type { LocalActorSystem } from "../system/ports.ts";
import { idle, newProcess } from "../system/processes.fixture.ts";
import { pushActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-000000000001";
const push = pushRef(business, "bat_1");
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let time: ManualTime;
let database: SqliteDatabase;

beforeEach(() => {
  time = new ManualTime(Date.UTC(2026, 0, 1));
  database = SqliteDatabase.open(":memory:");
});
afterEach(() => database.close());

const begin = (): LocalActorSystem<ActorProtocols> =>
  newProcess(
    { database, time },
    { definitions: [pushActor], activities: idle(["finishPush", "recordNotice", "mailNotice"]) },
  );

it("gets an end when it is looked at, although restoring it arms no timer, and ends then without being asked", async () => {
  const first = begin();
  const facts = pushFacts({ push_id: "bat_1", business_uuid: business });
  const reason = { code: "price_jump", detail: "d" } as const;
  const accept = { type: "push.accept", facts, held_reasons: [reason] } as const;
  await time.run(first.ask(push, { ...accept, accept_by_ms: Number.MAX_SAFE_INTEGER }));
  await time.run(first.drain(1_000));
  // What such a build left: the same events, and no timer.
  const forget = database.prepare("DELETE FROM actor_row WHERE rt = ?");
  expect(forget.run(rowTable.timer).changes).toBe(1);
  database.prepare("UPDATE actor_head SET wake_at = NULL").run();
  await time.advance(40 * dayMs);
  const second = begin();
  await second.start();
  const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
  const stateNow = async () => (await time.run(second.ask(push, status)))?.state;
  expect(await stateNow()).toBe("held");
  await time.advance(7 * dayMs - hourMs);
  expect(await stateNow()).toBe("held");
  await time.advance(2 * hourMs);
  const report = await time.run(second.ask(push, status));
  expect(report).toMatchObject({ state: "failed", error: { code: "hold_expired" } });
});
