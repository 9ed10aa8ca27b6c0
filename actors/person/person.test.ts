import { beforeEach, describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { Confirmation, UsedChallenge } from "../messages/person.ts";
import { passkeysMax, personActor } from "./definition.ts";

const hourMs = 3_600_000;
const network = "203.0.113.0/24";

let person: ActorHarness<"person">;
let nonces = 0;
beforeEach(() => {
  person = driveActor(personActor, "00000000-0000-4000-8000-000000000001");
});

const fresh = (): UsedChallenge => {
  nonces += 1;
  return { nonce: `n${nonces}`, until_ms: person.nowMs + 300_000 };
};
const passkey = (credential_id: string, counter = 0) => ({
  credential_id,
  public_key: "pk",
  name: credential_id,
  counter,
});
const session = (name: string) => ({ session: name, ends_at_ms: person.nowMs + 12 * hourMs });
const join = () =>
  person.send({ type: "person.join", name: "Ada", passkey: passkey("a"), session: session("s1"), network });
const by = (more: Partial<Confirmation> = {}): Confirmation => ({
  session: "s1",
  credential_id: "a",
  counter: 0,
  challenge: fresh(),
  network,
  ...more,
});
const open = (name: string, more: Partial<Confirmation> = {}) =>
  person.send({ type: "session.open", by: by(more), session: session(name) });
const use = (name: string) => person.send({ type: "session.use", session: name });
const add = (credential_id: string, challenge = fresh(), from = "s1") =>
  person.send({ type: "passkey.add", session: from, passkey: passkey(credential_id), challenge, network });
const remove = (credential_id: string, more: Partial<Confirmation> = {}) =>
  person.send({ type: "passkey.remove", by: by(more), credential_id });
const confirm = (more: Partial<Confirmation> = {}) =>
  person.send({ type: "act.confirm", by: by(more), act: "key.register", subject: "k" });
const report = () => person.send({ type: "person.read" });
const done = { status: "done" };
const refused = (code: string) => ({ status: "refused", code });

describe("a person", () => {
  it("joins once, with a passkey and a session", () => {
    expect(report()).toBeNull();
    expect(join()).toEqual(done);
    expect(join()).toEqual(refused("challenge_used"));
    expect(report()).toMatchObject({
      name: "Ada",
      passkeys: [{ credential_id: "a" }],
      sessions: [{ session: "s1" }],
    });
    expect(use("s1")).toMatchObject({ name: "Ada", session: { credential_id: "a", network } });
  });

  it("leaves, and is forgotten (PE2)", () => {
    join();
    expect(person.send({ type: "person.leave", by: by() })).toEqual(done);
    expect(person.snapshot.status).toBe("done");
  });

  it("is forgotten ninety days after they signed in last, unless they have a business (PE3)", () => {
    join();
    const days = () => [...person.timers.values()].map((ms) => ms / (24 * hourMs));
    expect(days()).toEqual([90]);
    const [first] = person.timers.keys();
    open("s2");
    expect([days(), [...person.timers.keys()]]).toEqual([[90], [first]]);
    person.send({ type: "business.note", session: "s2", uuid: "b", name: "Ada Ltd", network });
    person.send({ type: "business.note", session: "s2", uuid: "c", name: "Ada Ltd", network });
    expect(days()).toEqual([]);
    open("s3");
    person.send({ type: "business.forget", uuid: "b" });
    expect(days()).toEqual([]);
    person.send({ type: "business.forget", uuid: "c" });
    expect(days()).toEqual([90]);
    person.fireTimers();
    expect(person.snapshot.status).toBe("done");
  });

  it("reads what they did, the newest first, and for 90 days from where (PN4)", () => {
    join();
    person.nowMs += 1_000;
    confirm();
    const acts = report()?.acts.map(({ act, subject, network: from }) => [act, subject, from]);
    expect(acts).toEqual([
      ["key.register", "k", network],
      ["person.join", "", network],
    ]);
    const kept = (rt: number) =>
      person.rows(rt).map(({ expiresAtMs = 0 }) => Math.round((expiresAtMs - person.nowMs) / (24 * hourMs)));
    expect(kept(20)).toEqual([400, 400]);
    expect(kept(21)).toEqual([90, 90]);
  });
});

describe("the businesses of a person", () => {
  const note = (uuid: string, from = "s1") =>
    person.send({ type: "business.note", session: from, uuid, name: "Ada Ltd", network });

  it("are noted once, in a session in force, and there are twenty at most", () => {
    join();
    expect(note("b", "nobody's")).toEqual(refused("session_ended"));
    expect([note("b"), note("b")]).toEqual([done, done]);
    expect(report()?.acts.filter(({ act }) => act === "business.apply")).toHaveLength(1);
    for (let count = 1; count < 20; count += 1) expect(note(`b${count}`)).toEqual(done);
    expect(note("more")).toEqual(refused("too_many_businesses"));
    expect(note("b")).toEqual(done);
    person.send({ type: "business.forget", uuid: "b" });
    expect(report()?.businesses).toHaveLength(19);
    expect(note("more")).toEqual(done);
  });

  it("are noted by a proof once: not again after they were forgotten, and by no other act", () => {
    join();
    const challenge = fresh();
    const by = (uuid: string, used = challenge) =>
      person.send({ type: "business.note", session: "s1", uuid, name: "Ada Ltd", network, challenge: used });
    const keep = (source: string, used = challenge) =>
      person.send({
        type: "act.note",
        session: "s1",
        act: "sealing.add",
        subject: "k",
        source,
        network,
        challenge: used,
      });
    expect([by("b"), by("b")]).toEqual([done, done]);
    person.send({ type: "business.forget", uuid: "b" });
    expect([by("b"), by("c"), keep("k")]).toEqual(Array(3).fill(refused("challenge_used")));
    const other = fresh();
    expect([keep("k", other), keep("k", other)]).toEqual([done, done]);
    expect([keep("l", other), by("d", other)]).toEqual(Array(2).fill(refused("challenge_used")));
    expect(report()?.businesses).toEqual([]);
  });

  it("are added by what operators decided, once, and only for somebody who is there", () => {
    expect(person.send({ type: "business.add", uuid: "b" })).toEqual(done);
    expect(person.rows(22)).toEqual([]);
    join();
    const added = () => person.send({ type: "business.add", uuid: "b" });
    expect([added(), added()]).toEqual([done, done]);
    expect(report()?.businesses).toEqual(["b"]);
    expect(person.snapshot.value).toEqual({ active: "working" });
  });

  it("are forgotten, unless they were noted too late for it", () => {
    join();
    note("b");
    const forget = (noted_before_ms: number) =>
      person.send({ type: "business.forget", uuid: "b", noted_before_ms });
    expect(forget(person.nowMs)).toEqual(done);
    expect(report()?.businesses).toEqual(["b"]);
    forget(person.nowMs + 1);
    expect(report()?.businesses).toEqual([]);
  });

  it("become theirs by an act that they confirmed, within the same bound", () => {
    join();
    const confirm = (business: string) =>
      person.send({ type: "act.confirm", by: by(), act: "invitation.accept", subject: "Ada Ltd", business });
    expect([confirm("b"), confirm("b")]).toEqual([done, done]);
    expect(report()?.businesses).toEqual(["b"]);
    for (let count = 1; count < 20; count += 1) confirm(`b${count}`);
    expect(confirm("more")).toEqual(refused("too_many_businesses"));
    expect(person.send({ type: "name.read" })).toBe("Ada");
  });

  it("keep them from leaving", () => {
    join();
    note("b");
    expect(person.send({ type: "person.leave", by: by() })).toEqual(refused("has_business"));
    person.send({ type: "business.forget", uuid: "b" });
    expect(person.send({ type: "person.leave", by: by() })).toEqual(done);
  });
});

describe("a challenge", () => {
  it("is used once, whatever for (PN1)", () => {
    join();
    const challenge = fresh();
    expect(open("s2", { challenge })).toEqual(done);
    expect(open("s3", { challenge })).toEqual(refused("challenge_used"));
    expect(confirm({ challenge })).toEqual(refused("challenge_used"));
    expect(add("b", challenge)).toEqual(refused("challenge_used"));
    expect(use("s3")).toBeNull();
  });

  it("confirms an act that has a source again, by the same answer, and nothing else (PN1)", () => {
    join();
    const challenge = fresh();
    const act = { type: "act.confirm", act: "hosted.record.seal", subject: "r" } as const;
    const once = (source: string, more: Partial<Confirmation> = {}) =>
      person.send({ ...act, by: by({ challenge, counter: 3, ...more }), source });
    const kept = () => report()?.acts.filter((each) => each.act === act.act).length;
    expect([once("c"), once("c"), kept()]).toEqual([done, done, 1]);
    expect(once("other")).toEqual(refused("challenge_used"));
    expect(once("other", { challenge: fresh() })).toEqual(refused("counter_stale"));
    expect(once("c", { session: "none" })).toEqual(refused("session_ended"));
    expect(kept()).toBe(1);
  });

  it("is remembered for as long as anybody takes it", () => {
    join();
    const challenge = fresh();
    confirm({ challenge });
    const [row] = person.rows(19);
    expect(row?.expiresAtMs).toBeGreaterThan(challenge.until_ms + 60_000);
    person.nowMs = challenge.until_ms + 60_000;
    expect(confirm({ challenge: { ...challenge, nonce: "another" } })).toEqual(refused("challenge_used"));
  });
});

describe("a session", () => {
  it("ends twelve hours after it was opened, or two after it was used last (PN3)", () => {
    join();
    person.nowMs += 2 * hourMs - 1;
    expect(use("s1")).not.toBeNull();
    person.nowMs += 2 * hourMs - 1;
    expect(use("s1")).not.toBeNull();
    person.nowMs += 2 * hourMs;
    expect(use("s1")).toBeNull();
    open("s2");
    for (let hours = 0; hours < 11; hours += 1) {
      person.nowMs += hourMs;
      expect(use("s2")).not.toBeNull();
    }
    person.nowMs += hourMs;
    expect(use("s2")).toBeNull();
    expect(confirm({ session: "s2" })).toEqual(refused("session_ended"));
  });

  it("notes its use every few minutes only", () => {
    join();
    const noted = () => report()?.sessions[0]?.used_at_ms;
    const first = noted();
    person.nowMs += 60_000;
    use("s1");
    expect(noted()).toBe(first);
    person.nowMs += 300_000;
    use("s1");
    expect(noted()).toBe(person.nowMs);
  });

  it("is ended by another one, and then takes no act", () => {
    join();
    open("s2");
    expect(person.send({ type: "session.end", session: "s2", ended: "s1" })).toEqual(done);
    expect(use("s1")).toBeNull();
    expect(confirm()).toEqual(refused("session_ended"));
    expect(person.send({ type: "session.end", session: "s1", ended: "s2" })).toEqual(
      refused("session_ended"),
    );
    expect(use("s2")).not.toBeNull();
  });

  it("beyond twenty ends the one that was used longest ago", () => {
    join();
    for (let count = 2; count <= 21; count += 1) {
      person.nowMs += 1_000;
      open(`s${count}`);
    }
    expect(report()?.sessions).toHaveLength(20);
    expect(use("s1")).toBeNull();
    expect(use("s2")).not.toBeNull();
  });
});

describe("a passkey", () => {
  it("that is removed ends the sessions that it opened, in the same commit (PN2)", () => {
    join();
    add("b");
    open("s2", { credential_id: "b" });
    expect(remove("b")).toEqual(done);
    expect(use("s2")).toBeNull();
    expect(open("s3", { credential_id: "b" })).toEqual(refused("passkey_unknown"));
    expect(confirm({ credential_id: "b" })).toEqual(refused("passkey_unknown"));
    expect(report()?.passkeys.map(({ name }) => name)).toEqual(["a"]);
  });

  it("that is removed ends its sessions also beside many that were idle for too long (PN2)", () => {
    join();
    add("b");
    const names = (first: string) => Array.from({ length: 20 }, (_, index) => `${first}${index}`);
    for (const name of names("a")) open(name, { credential_id: "b" });
    person.nowMs += 2 * hourMs + 60_000;
    for (const name of names("z")) open(name, { credential_id: "b" });
    open("own");
    expect(remove("b", { session: "own" })).toEqual(done);
    expect(names("z").filter((name) => use(name) !== null)).toEqual([]);
  });

  it("that is removed ends its sessions also beside a page of those that are over and not forgotten yet (PN2, PN3)", () => {
    join();
    add("b");
    for (let count = 0; count < 25; count += 1) {
      person.nowMs += 12 * hourMs;
      open(`a${count}`);
    }
    person.nowMs += 12 * hourMs;
    open("own");
    open("z", { credential_id: "b" });
    expect([use("own"), use("z")]).not.toContain(null);
    expect(person.send({ type: "session.end", session: "own", ended: "a1" })).toEqual(done);
    expect(remove("b", { session: "own" })).toEqual(done);
    expect([use("z"), use("own") === null]).toEqual([null, false]);
  });

  it("may remove itself, and is gone then", () => {
    join();
    add("b");
    expect(remove("a")).toEqual(done);
    expect(report()?.passkeys.map(({ name }) => name)).toEqual(["b"]);
    expect(use("s1")).toBeNull();
  });

  it("stays if it is the last (PE1)", () => {
    join();
    expect(remove("a")).toEqual(refused("passkey_last"));
    expect(remove("x")).toEqual(refused("passkey_unknown"));
  });

  it("is added in a session in force, and there are twenty at most", () => {
    join();
    expect(add("b", fresh(), "nobody's")).toEqual(refused("session_ended"));
    for (let count = 1; count < passkeysMax; count += 1) expect(add(`p${count}`)).toEqual(done);
    expect(add("more")).toEqual(refused("too_many_passkeys"));
  });

  it("whose counter does not grow is refused, except where it has none (PN5)", () => {
    join();
    expect(confirm({ counter: 0 })).toEqual(done);
    expect(confirm({ counter: 5 })).toEqual(done);
    expect(confirm({ counter: 5 })).toEqual(refused("counter_stale"));
    expect(confirm({ counter: 0 })).toEqual(refused("counter_stale"));
    expect(open("s2", { counter: 4 })).toEqual(refused("counter_stale"));
    expect(confirm({ counter: 6 })).toEqual(done);
  });
});
