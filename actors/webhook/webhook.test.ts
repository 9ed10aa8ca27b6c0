// The deliveries of one endpoint: what is tried when, and what becomes of it.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { WebhookBody } from "../../protocol/wire/webhook.ts";
import { driveActor } from "../actor.fixture.ts";
import type { CallOutcome, Delivery } from "../messages/webhooks.ts";
import type { ActivityContext } from "../system/definition.ts";
import { webhookActivities } from "./activities.ts";
import { webhookActor } from "./definition.ts";

const hourMs = 3_600_000;
const uuid = "00000000-0000-4000-8000-000000000001";
const well: CallOutcome = { failure: null, status: 200 };
const failed: CallOutcome = { failure: "status", status: 500 };

function endpoint() {
  const webhook = driveActor(webhookActor, `${uuid}.whk_1`);
  const owe = (id: string) => {
    const delivery = { id, kind: "push.ended", ids: { push_id: "p" }, at_ms: webhook.nowMs } as const;
    return webhook.send({ type: "delivery.owe", delivery });
  };
  const due = () => webhook.send({ type: "deliveries.due" }).due.map(({ id }) => id);
  /** The next call: at the time for which it was set, or now if that is over. */
  const call = (outcome: CallOutcome | null | ((id: string) => CallOutcome | null)) => {
    webhook.nowMs = Math.max(webhook.nowMs, webhook.snapshot.context.callAtMs ?? 0);
    webhook.fireTimers();
    webhook.effects.splice(0);
    const called = due();
    const of = typeof outcome === "function" ? outcome : () => outcome;
    webhook.send({ type: "deliveries.tried", tried: called.map((id) => ({ id, outcome: of(id) })) });
    return called;
  };
  const read = () => webhook.send({ type: "deliveries.read" });
  return { webhook, owe, due, call, read };
}

describe("a delivery (WD1)", () => {
  it("is done by the first call that succeeds", () => {
    const { webhook, owe, call, read } = endpoint();
    owe("a");
    expect([call(well), webhook.snapshot.value]).toEqual([["a"], "idle"]);
    expect(read()).toMatchObject({
      waiting: 0,
      failing_since_ms: null,
      deliveries: [{ id: "a", state: "delivered", attempts: 1, outcome: well }],
    });
  });

  it("is tried eight times within a day, at growing pauses, and then given up", () => {
    const { webhook, owe, call, read } = endpoint();
    const begunMs = webhook.nowMs;
    owe("a");
    const at: number[] = [];
    while (webhook.snapshot.value !== "idle") {
      expect(call(failed)).toEqual(["a"]);
      at.push(webhook.nowMs - begunMs);
    }
    const pauses = at.slice(1).map((each, index) => each - (at[index] ?? 0));
    expect([at.length, (at.at(-1) ?? 0) <= 24 * hourMs]).toEqual([8, true]);
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
    expect(read()).toMatchObject({
      waiting: 0,
      failing_since_ms: begunMs,
      deliveries: [{ id: "a", state: "given_up", attempts: 8, outcome: failed }],
    });
  });

  it("that failed is done once an attempt succeeds, and the endpoint fails no more", () => {
    const { owe, call, read } = endpoint();
    owe("a");
    for (const outcome of [failed, failed, well]) call(outcome);
    expect(read()).toMatchObject({
      failing_since_ms: null,
      deliveries: [{ id: "a", state: "delivered", attempts: 3 }],
    });
  });

  it("is no other's: those that fail hold up none that is due", () => {
    const { owe, call, read } = endpoint();
    owe("a");
    call(failed);
    owe("b");
    expect(call(well)).toEqual(["b"]);
    expect(call(well)).toEqual(["a"]);
    expect(read().waiting).toBe(0);
  });

  it("is tried with three others at most, and the rest at once after them", () => {
    const { owe, call } = endpoint();
    for (const id of ["a", "b", "c", "d", "e"]) owe(id);
    expect([call(well), call(well)]).toEqual([["a", "b", "c", "d"], ["e"]]);
  });

  it("that is owed while others are called is called after them", () => {
    const { webhook, owe, call, due } = endpoint();
    owe("a");
    webhook.fireTimers();
    owe("b");
    expect([webhook.snapshot.value, due()]).toEqual(["calling", ["a", "b"]]);
    webhook.send({ type: "deliveries.tried", tried: [{ id: "a", outcome: well }] });
    expect(call(well)).toEqual(["b"]);
  });
});

describe("an endpoint", () => {
  it("is reported once nothing succeeded for five days, when a delivery is given up, and counts anew then (WD4)", () => {
    const { webhook, owe, call, read } = endpoint();
    const since_ms = webhook.nowMs;
    for (let day = 0; day < 5; day += 1) {
      webhook.nowMs = since_ms + day * 24 * hourMs;
      owe(`d${day}`);
      while (webhook.snapshot.value !== "idle") call(failed);
      expect(webhook.effects).toEqual([]);
    }
    webhook.nowMs = since_ms + 5 * 24 * hourMs;
    owe("last");
    while (webhook.snapshot.value !== "idle") call(failed);
    const message = { type: "webhook.fail", endpoint_id: "whk_1", since_ms };
    expect(webhook.effects).toEqual([{ kind: "tell", to: { kind: "business", id: uuid }, message }]);
    expect(read().failing_since_ms).toBeNull();
  });

  it("that is off has what waits dropped, and nothing of it shown", () => {
    const { owe, call, read } = endpoint();
    owe("a");
    expect(call(null)).toEqual(["a"]);
    expect(read()).toEqual({ waiting: 0, failing_since_ms: null, deliveries: [] });
  });

  it("has a thousand deliveries wait, and no more (WD3)", () => {
    const { webhook, owe, read } = endpoint();
    for (let at = 0; at < 1_001; at += 1) owe(`d${at}`);
    expect([read().waiting, webhook.rows(16).length]).toEqual([1_000, 1_000]);
  });

  it("shows the newest 25 of those that were tried", () => {
    const { webhook, owe, call, read } = endpoint();
    for (let at = 0; at < 60; at += 1) {
      owe(`d${at}`);
      webhook.nowMs += 1;
      if (at % 3 === 2) call(well);
    }
    const shown = read().deliveries.map(({ id }) => id);
    expect([shown.length, shown[0], webhook.rows(17).length]).toEqual([25, "d59", 25]);
  });

  it("that was removed is over with all that waits", () => {
    const { webhook, owe } = endpoint();
    owe("a");
    webhook.send({ type: "webhook.end" });
    expect(webhook.snapshot.status).toBe("done");
  });

  it("loses and repeats nothing, whatever its receiver answers (property)", () => {
    const acts = fc.array(
      fc.oneof(fc.constant("owe"), fc.array(fc.boolean(), { minLength: 4, maxLength: 4 })),
    );
    fc.assert(
      fc.property(acts, (all) => {
        const { webhook, owe, call, read } = endpoint();
        const taken: string[] = [];
        let owed = 0;
        const answer = (answers: readonly boolean[]) => {
          let at = 0;
          call((id) => {
            const isWell = answers[at++] === true;
            if (isWell) taken.push(id);
            return isWell ? well : failed;
          });
        };
        for (const each of all)
          if (typeof each === "string") owe(`d${owed++}`);
          else if (webhook.snapshot.value === "scheduled") answer(each);
        expect(read().waiting).toBe(webhook.rows(16).length);
        while (webhook.snapshot.value !== "idle") answer([true, true, true, true]);
        expect(new Set(taken).size).toBe(taken.length);
        expect([read().waiting, webhook.rows(16)]).toEqual([0, []]);
        // Within these few calls none is given up but by eight failures.
        expect(taken.length).toBeLessThanOrEqual(owed);
        if (all.filter((each) => typeof each !== "string").length < 8) expect(taken.length).toBe(owed);
      }),
    );
  });
});

describe("what calls an endpoint", () => {
  const delivery: Delivery = { id: "whd_1", kind: "push.ended", ids: { push_id: "bat_1" }, at_ms: 0 };
  const url = "https://hooks.shop.example/in";

  async function tried(target: { url: string; is_confirmed: boolean } | null) {
    const called: { url: string; body: WebhookBody; actor: string }[] = [];
    const call = async (asked: { url: string; body: WebhookBody; actor: string }) => {
      called.push(asked);
      return well;
    };
    const ask = async (_ref: unknown, { type }: { type: string }) =>
      type === "deliveries.due" ? { due: [delivery] } : target;
    const actor = { kind: "webhook", id: `${uuid}.whk_1` };
    const context = part<ActivityContext>({ actor, ask: rubbish(ask) });
    const done = await webhookActivities({ webhooks: { call } })["callEndpoint"]?.({}, context);
    return { called, done };
  }

  it("sends ids alone to where the endpoint is now", async () => {
    const body = { v: 1, id: "whd_1", kind: "push.ended", business_uuid: uuid, push_id: "bat_1" };
    expect(await tried({ url, is_confirmed: true })).toEqual({
      called: [{ actor: `webhook/${uuid}.whk_1`, url, body: { ...body, at: "1970-01-01T00:00:00.000Z" } }],
      done: { type: "deliveries.tried", tried: [{ id: "whd_1", outcome: well }] },
    });
  });

  it("calls no host of a domain that is not confirmed, and no endpoint that is gone", async () => {
    const outcome = { failure: "domain_unconfirmed", status: null };
    expect(await tried({ url, is_confirmed: false })).toMatchObject({
      called: [],
      done: { tried: [{ id: "whd_1", outcome }] },
    });
    expect(await tried(null)).toMatchObject({
      called: [],
      done: { tried: [{ id: "whd_1", outcome: null }] },
    });
  });
});
