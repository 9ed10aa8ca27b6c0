import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { businessUuid, certificateFacts, endedPush, partyFacts } from "../facts.fixture.ts";
import { pushesPerMinute, repeatsPerDay } from "./admit.ts";
import { businessActor } from "./definition.ts";

function open(): ActorHarness<"business"> {
  const business = driveActor(businessActor, businessUuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

let pushes = 0;

/** Admits a push of these records and finishes it, so that none waits. */
function publish(business: ActorHarness<"business">, root?: string, push_id = `p${++pushes}`) {
  const plan = null;
  const of = root === undefined ? {} : { root };
  const reply = business.send({
    type: "push.admit",
    push_id,
    key_id: "k",
    records: 1,
    may_hold: false,
    plan,
    ...of,
  });
  if (reply.status === "admitted")
    business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });
  return reply;
}

describe("fair use", () => {
  it("admits a number of pushes a minute, whatever their keys and records, and more in the next (U1)", () => {
    const business = open();
    business.nowMs = Date.UTC(2026, 0, 1, 12, 0, 15);
    for (let index = 0; index < 10; index += 1)
      expect(publish(business, `r${index}`).status).toBe("admitted");
    const pace = business.rows(70).find(({ k2 }) => k2 === "pace");
    if (pace === undefined) throw new Error("the pace is not counted");
    const counted = JSON.parse(pace.body);
    expect(counted.pushes).toBe(10);
    // As if almost all of a minute's pushes had been admitted already.
    business.lay({ ...pace, body: JSON.stringify({ ...counted, pushes: pushesPerMinute - 1 }) });
    expect(publish(business, "last").status).toBe("admitted");
    const busy = { status: "busy", reason: "push_rate", retry_after_seconds: 45 };
    expect(publish(business, "another")).toEqual(busy);
    expect(publish(business)).toEqual(busy);
    expect(business.snapshot.context.number).toBe(11);
    business.nowMs += 45_000;
    expect(publish(business, "another").status).toBe("admitted");
  });

  it("admits the same records a number of times a day, and others meanwhile (U2)", () => {
    const business = open();
    business.nowMs = Date.UTC(2026, 0, 1, 23, 59, 0);
    for (let index = 0; index < repeatsPerDay; index += 1)
      expect(publish(business, "same").status).toBe("admitted");
    expect(publish(business, "same")).toEqual({
      status: "busy",
      reason: "records_unchanged",
      retry_after_seconds: 60,
    });
    expect(publish(business, "other").status).toBe("admitted");
    business.nowMs += 60_000;
    expect(publish(business, "same").status).toBe("admitted");
  });

  it("is said of a batch that is only validated, which counts for nothing", () => {
    const business = open();
    const plan = { pending: [], earlier: [], listings: [] };
    const validate = (root: string, push_id = "v") =>
      business.send({ type: "push.preview", push_id, may_hold: true, plan, root });
    for (let index = 0; index < repeatsPerDay; index += 1) {
      for (let again = 0; again < 2; again += 1) expect(validate("same").status).toBe("admitted");
      publish(business, "same");
    }
    const busy = publish(business, "same");
    expect(busy).toMatchObject({ status: "busy", reason: "records_unchanged" });
    expect(validate("same")).toEqual(busy);
    expect(validate("other").status).toBe("admitted");
  });

  it("does not count a push that is admitted again, nor one that is refused", () => {
    const business = open();
    const again = {
      type: "push.admit",
      push_id: "again",
      key_id: "k",
      records: 1,
      may_hold: false,
      plan: null,
    } as const;
    for (let index = 0; index < 2 * repeatsPerDay; index += 1)
      expect(business.send({ ...again, root: "same" }).status).toBe("admitted");
    business.send({ type: "push.finished", push_id: "again", chunks: 1, ended: endedPush });
    for (let index = 1; index < repeatsPerDay; index += 1) publish(business, "same");
    for (let index = 0; index < 3; index += 1) expect(publish(business, "same").status).toBe("busy");
    expect(business.rows(70).map(({ k2, body }) => [k2, JSON.parse(body).pushes])).toEqual([
      ["pace", repeatsPerDay],
      ["same", repeatsPerDay],
    ]);
  });

  it("forgets by itself", () => {
    const business = open();
    business.nowMs = Date.UTC(2026, 0, 1, 12, 0, 15);
    publish(business, "same");
    expect(business.rows(70).map(({ k2, expiresAtMs }) => [k2, expiresAtMs])).toEqual([
      ["pace", Date.UTC(2026, 0, 1, 12, 1)],
      ["same", Date.UTC(2026, 0, 2)],
    ]);
  });
});
