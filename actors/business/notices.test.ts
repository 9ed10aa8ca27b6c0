import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  keyFacts,
  mandateFacts,
  partyFacts,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { MemberRole } from "../messages/members.ts";
import type { SentNotice } from "../messages/notices.ts";
import { businessActivities } from "./activities.ts";
import { businessActor } from "./definition.ts";

const act = { by: "Ada", reason: "She founded it." };
const dayMs = 86_400_000;

function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  const tick = () => {
    business.nowMs += 1;
  };
  const set = (person_id: string, role: MemberRole | null) => {
    tick();
    return business.send({ type: "member.set", person_id, role, act });
  };
  /** Who was sent what since the last look. */
  const sent = () =>
    business.effects.splice(0).flatMap((each) => {
      if (each.kind !== "tell" || each.to.kind !== "person") return [];
      const { notice } = each.message as unknown as SentNotice;
      return [`${each.to.id}: ${notice.kind}`];
    });
  const kept = (person_id = "ada") =>
    business.send({ type: "notices.read", person_id })?.notices.map(({ kind }) => kind);
  const give = (push_id: string) => {
    tick();
    business.send({
      type: "notice.give",
      notice_id: `${push_id}.complete`,
      facts: { kind: "push.ended", push_id, state: "complete", published: 1, rejected: 0 },
    });
  };
  return { business, set, sent, kept, give, tick };
}

describe("a notice", () => {
  it("is kept and sent to each who binds the party, once (NB1)", () => {
    const { set, sent, kept, give } = open();
    set("ada", "owner");
    set("bob", "admin");
    set("eve", "developer");
    sent();
    give("p");
    give("p");
    expect(sent()).toEqual(["ada: push.ended", "bob: push.ended"]);
    expect([kept("ada")?.[0], kept("bob")?.[0], kept("eve"), kept("nobody")]).toEqual([
      "push.ended",
      "push.ended",
      undefined,
      undefined,
    ]);
  });

  it("is neither kept nor sent where nobody binds the party (NB2)", () => {
    const { business, set, sent, give } = open();
    give("p");
    set("ada", "owner");
    expect([sent(), business.rows(97)]).toEqual([[], []]);
  });

  it("pushes out no notice of another kind, however many of its own there are (NB2)", () => {
    const { business, set, kept, give } = open();
    set("ada", "owner");
    set("bob", "viewer");
    for (let at = 0; at < 60; at += 1) give(`p${at}`);
    const known = business.send({ type: "notices.read", person_id: "ada" })?.notices ?? [];
    expect(known[0]).toMatchObject({ push_id: "p59" });
    expect([kept()?.length, kept()?.at(-1), business.rows(97).length]).toEqual([26, "role.changed", 26]);
    expect(business.rows(97)[0]?.expiresAtMs).toBe((known[0]?.at_ms ?? 0) + 90 * dayMs);
  });

  it("reaches nobody who does not want its kind, and others as before", () => {
    const { business, set, sent, kept, give } = open();
    set("ada", "owner");
    set("bob", "owner");
    const choose = (person_id: string) =>
      business.send({ type: "notices.choose", person_id, unwanted: ["push.ended"] });
    expect(choose("ada")).toMatchObject({ status: "done" });
    sent();
    give("p");
    expect([sent(), kept("ada"), kept("bob")?.[0]]).toEqual([
      ["bob: push.ended"],
      ["role.changed"],
      "push.ended",
    ]);
    set("eve", "developer");
    expect([choose("eve"), choose("nobody")]).toMatchObject([
      { code: "role_too_low" },
      { code: "role_too_low" },
    ]);
    business.send({ type: "notices.choose", person_id: "ada", unwanted: [] });
    expect(kept("ada")).toContain("push.ended");
    // Who comes back chooses again.
    choose("ada");
    set("ada", null);
    set("ada", "owner");
    expect(business.rows(98)).toEqual([]);
  });

  it("tells of roles those who bound the party before, also who loses theirs (NB3)", () => {
    const { set, sent } = open();
    set("ada", "owner");
    expect(sent()).toEqual([]);
    set("bob", "owner");
    expect(sent()).toEqual(["ada: role.changed"]);
    set("bob", "viewer");
    expect(sent()).toEqual(["ada: role.changed", "bob: role.changed"]);
    set("bob", null);
    expect(sent()).toEqual(["ada: role.changed"]);
  });

  it("tells of a hosted key in the commit that registered it, and by whom, once; of no other key", () => {
    const { business, set, sent } = open();
    set("ada", "owner");
    sent();
    const hosted = keyFacts({ key_id: "h", role: "hosted" });
    for (const given of [{ key: keyFacts({ key_id: "s" }), act }, { key: { ...hosted, key_id: "sandbox" } }])
      expect(business.send({ type: "key.register", ...given }).status).toBe("done");
    expect(sent()).toEqual([]);
    for (const _ of [1, 2]) business.send({ type: "key.register", key: hosted, act });
    const told = business.send({ type: "notices.read", person_id: "ada" })?.notices[0];
    expect([sent(), told]).toMatchObject([
      ["ada: sealer.added"],
      { kind: "sealer.added", key_id: "h", by: "Ada", hosted: true },
    ]);
  });

  it("tells of new sealing passkeys, ends of the certificate, and takedowns", () => {
    const { business, set, sent, kept, tick } = open();
    set("ada", "owner");
    business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
    expect(sent()).toEqual([]);
    const key = keyFacts({ key_id: "s", role: "sealing", person_role: "owner" });
    const seal = { type: "sealer.set", person_id: "ada", credential_id: "c", key, act } as const;
    business.send(seal);
    business.send(seal);
    expect(sent()).toEqual(["ada: sealer.added"]);
    for (const type of ["takedown.impose", "takedown.lift"] as const) {
      business.send({ type, record_id: null, statement_of_reasons: "Law.", act });
      expect(sent()).toEqual(["ada: takedown"]);
    }
    tick();
    const ended = certificateFacts({ cert_id: "d", status: "revoked" });
    business.send({ type: "certificate.issue", certificate: ended, follows: "c" });
    expect([sent(), kept()?.[0]]).toEqual([["ada: certificate.ends"], "certificate.ends"]);
  });
});

describe("the networks of a key (NB4)", () => {
  const seeing = () => {
    const opened = open();
    opened.set("ada", "owner");
    opened.sent();
    const see = (network: string, key_id = "k") => {
      opened.business.nowMs += 1;
      opened.business.send({ type: "network.seen", key_id, network });
      return opened.sent();
    };
    return { ...opened, see };
  };

  it("are told from the second on, each once, by key", () => {
    const { see } = seeing();
    expect([see("a"), see("a"), see("b"), see("b"), see("a")]).toEqual([
      [],
      [],
      ["ada: key.network"],
      [],
      [],
    ]);
    expect([see("b", "k2"), see("a", "k2")]).toEqual([[], ["ada: key.network"]]);
  });

  it("stay known for 90 days after their last use, and that the key signed for ever", () => {
    const { business, see } = seeing();
    see("a");
    for (let days = 0; days < 95; days += 5) {
      business.nowMs += 5 * dayMs;
      expect(see("b")).toEqual(days === 0 ? ["ada: key.network"] : []);
    }
    expect(business.rows(99)[0]?.body).not.toContain('"a"');
    expect(see("a")).toEqual(["ada: key.network"]);
    business.nowMs += 400 * dayMs;
    // The first after a long silence is news, and expired rows of others are in nobody's way.
    for (let at = 0; at < 70; at += 1) see("n", `j${String(at).padStart(2, "0")}`);
    business.nowMs += 91 * dayMs;
    expect([see("thief"), see("m", "j00"), see("m", "new")]).toEqual([
      ["ada: key.network"],
      ["ada: key.network"],
      [],
    ]);
    expect(business.rows(99).filter(({ expiresAtMs }) => expiresAtMs === undefined)).toHaveLength(72);
  });

  it("are told of one by one where two come in one moment", () => {
    const { business, see, sent } = seeing();
    see("a");
    for (const network of ["b", "c"]) business.send({ type: "network.seen", key_id: "k", network });
    expect(sent()).toEqual(["ada: key.network", "ada: key.network"]);
  });

  it("are no more than 64, and none of a party without people", () => {
    const { business, see } = seeing();
    const told = Array.from({ length: 80 }, (_, at) => see(`n${at}`)).filter(({ length }) => length > 0);
    const [{ body = "" } = {}] = business.rows(99);
    expect([told.length, Object.keys(JSON.parse(body)).length]).toEqual([63, 64]);
    const { business: alone } = open();
    alone.send({ type: "network.seen", key_id: "k", network: "a" });
    expect(alone.rows(99)).toEqual([]);
  });
});

describe("the end of a mandate (NB5)", () => {
  const ending = () => {
    const opened = open();
    const { business } = opened;
    opened.set("ada", "owner");
    business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
    business.send({ type: "key.register", key: keyFacts() });
    opened.sent();
    const accept = (mandate_id: string, days: number) => {
      const [valid_from, valid_until] = [0, days].map((each) =>
        new Date(business.nowMs + each * dayMs).toISOString(),
      );
      const mandate = mandateFacts({
        mandate_id,
        ...(valid_from && { valid_from }),
        ...(valid_until && { valid_until }),
      });
      business.send({ type: "mandate.accept", mandate });
    };
    /** The timer ends, and its activity does its work. */
    const fire = async () => {
      const delay = [...business.timers.values()][0] ?? Number.NaN;
      business.nowMs += delay;
      business.fireTimers();
      const isAsked = business.effects.some(
        (each) => each.kind === "activity" && each.name === "remindPeople",
      );
      const due = business.send({ type: "reminders.due" });
      const give = { type: "reminders.give", ...due } as const;
      business.send(give);
      const told = opened.sent();
      // A crash before the activity was done repeats it.
      business.send(give);
      return { days: delay / dayMs, isAsked, told, again: opened.sent() };
    };
    return { ...opened, accept, fire };
  };

  it("is told once, a quarter of its time before and at most fourteen days, the nearest first", async () => {
    const { business, accept, fire } = ending();
    accept("long", 92);
    accept("short", 20);
    expect(await fire()).toEqual({ days: 15, isAsked: true, told: ["ada: mandate.ends"], again: [] });
    expect(await fire()).toEqual({ days: 63, isAsked: true, told: ["ada: mandate.ends"], again: [] });
    expect([business.timers.size, business.rows(100)]).toEqual([0, []]);
    expect(business.send({ type: "notices.read", person_id: "ada" })?.notices).toMatchObject([
      { mandate_id: "long" },
      { mandate_id: "short" },
    ]);
  });

  it("is not told of one that was revoked, and of many in several rounds", async () => {
    const { business, accept, fire } = ending();
    for (let at = 0; at < 13; at += 1) accept(`m${at}`, 20);
    const revoked_at = new Date(business.nowMs).toISOString();
    business.send({ type: "mandate.revoke", mandate_id: "m3", revoked_at });
    expect((await fire()).told).toHaveLength(9);
    expect((await fire()).told).toHaveLength(3);
    expect(business.timers.size).toBe(0);
  });

  it("waits for nothing where the party has no people", () => {
    const { business } = open();
    business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
    business.send({ type: "key.register", key: keyFacts() });
    business.send({ type: "mandate.accept", mandate: mandateFacts() });
    expect([business.timers.size, business.rows(100)]).toEqual([0, []]);
  });

  it("is spoken of by an activity that asks what is due", async () => {
    const { remindPeople } = businessActivities(part({}));
    const ask = rubbish(async () => ({ mandate_ids: ["m"] }));
    expect(await remindPeople?.({}, part({ ask }))).toEqual({
      type: "reminders.give",
      mandate_ids: ["m"],
    });
  });
});
