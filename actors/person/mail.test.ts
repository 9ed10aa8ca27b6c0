import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { driveActor } from "../actor.fixture.ts";
import type { NoticeFacts, SentNotice } from "../messages/notices.ts";
import type { ActivityContext } from "../system/definition.ts";
import { type NoticeMail, personActivities } from "./activities.ts";
import { personActor } from "./definition.ts";

const dayMs = 86_400_000;

function joined() {
  const person = driveActor(personActor, "ada");
  person.send({
    type: "person.join",
    name: "Ada",
    passkey: { credential_id: "c", public_key: "p", name: "phone", counter: 0 },
    session: { session: "s", ends_at_ms: person.nowMs + dayMs / 2 },
    network: null,
  });
  let nonces = 0;
  const by = (session = "s") => {
    nonces += 1;
    const challenge = { nonce: `n${nonces}`, until_ms: person.nowMs + 1_000 };
    return { session, credential_id: "c", counter: 0, network: null, challenge };
  };
  const give = (address: string | null) => person.send({ type: "mail.give", by: by(), address });
  const confirm = (address: string, session = "s") =>
    person.send({ type: "mail.confirm", session, address, network: null });
  const read = () => person.send({ type: "mail.read" });
  const notice = (facts: NoticeFacts, uuid = "u"): SentNotice => ({
    uuid,
    legal_name: "Shop Ltd",
    notice: { ...facts, notice_id: "n", at_ms: person.nowMs },
  });
  const ended = { kind: "push.ended", push_id: "p", state: "complete", published: 1, rejected: 0 } as const;
  const held = { kind: "push.held", push_id: "p", records: 1 } as const;
  const told = (facts: NoticeFacts, uuid = "u") => {
    person.send({ type: "notice.send", ...notice(facts, uuid) });
    return person.effects.splice(0).length;
  };
  return { person, by, give, confirm, read, notice, ended, held, told };
}

describe("an address of a person (PN6)", () => {
  it("gets nothing before it is confirmed, and the earlier one stays until then", () => {
    const { person, give, confirm, read, told, held } = joined();
    expect(told(held)).toBe(0);
    expect(give("a@x.example")).toEqual({ status: "done" });
    expect([read(), told(held)]).toEqual([{ address: null, waiting: "a@x.example" }, 0]);
    expect([confirm("a@x.example"), confirm("a@x.example")]).toEqual([
      { status: "done" },
      { status: "done" },
    ]);
    expect([read(), told(held)]).toEqual([{ address: "a@x.example", waiting: null }, 1]);
    give("b@x.example");
    expect(read()).toEqual({ address: "a@x.example", waiting: "b@x.example" });
    confirm("b@x.example");
    expect(read().address).toBe("b@x.example");
    give(null);
    person.effects.splice(0);
    expect([read(), told(held)]).toEqual([{ address: null, waiting: null }, 0]);
  });

  it("is given by a confirmation that is new, and confirmed in a session of its own", () => {
    const { person, by, give, confirm, read } = joined();
    const used = by();
    const ask = () => person.send({ type: "mail.give", by: used, address: "a@x.example" });
    expect([ask(), ask()]).toMatchObject([{ status: "done" }, { code: "challenge_used" }]);
    const stale = { type: "mail.give", by: by("other"), address: "b@x.example" } as const;
    expect(person.send(stale)).toMatchObject({ code: "session_ended" });
    expect(confirm("a@x.example", "other")).toMatchObject({ code: "session_ended" });
    give("c@x.example");
    expect(confirm("a@x.example")).toMatchObject({ code: "address_changed" });
    expect(read().address).toBeNull();
    const acts = person.send({ type: "person.read" })?.acts ?? [];
    expect(acts.map(({ act, subject }) => [act, subject])).toContainEqual(["mail.set", ""]);
  });

  it("is told once that it was replaced or taken away, and one that was never confirmed nothing", () => {
    const { person, give, confirm } = joined();
    const former = () => person.effects.splice(0).map((each) => (each.kind === "activity" ? each : null));
    give("a@x.example");
    give(null);
    give("a@x.example");
    for (const _ of [1, 2]) confirm("a@x.example");
    expect(former()).toEqual([]);
    give("b@x.example");
    expect([confirm("c@x.example").status, former()]).toEqual(["refused", []]);
    const told = (to: string, change: string) => ({
      kind: "activity",
      name: "mailFormer",
      params: { to, change, at_ms: person.nowMs },
    });
    for (const _ of [1, 2]) confirm("b@x.example");
    expect(former()).toEqual([told("a@x.example", "replaced")]);
    for (const _ of [1, 2]) give(null);
    expect(former()).toEqual([told("b@x.example", "removed")]);
  });

  it("is asked for five times a day", () => {
    const { person, give } = joined();
    const asked = Array.from({ length: 6 }, () => give("a@x.example").status);
    expect(asked).toEqual(["done", "done", "done", "done", "done", "refused"]);
    // Taking it away does not make room, and a day does.
    give(null);
    expect(give("a@x.example")).toMatchObject({ code: "too_many_mails" });
    person.nowMs += dayMs;
    const session = { session: "t", ends_at_ms: person.nowMs + 1_000 };
    const challenge = { nonce: "in", until_ms: person.nowMs + 1_000 };
    person.send({
      type: "session.open",
      by: { credential_id: "c", counter: 0, network: null, challenge },
      session,
    });
    const by = { session: "t", credential_id: "c", counter: 0, network: null };
    const fresh = { nonce: "out", until_ms: person.nowMs + 1_000 };
    const again = { type: "mail.give", by: { ...by, challenge: fresh }, address: "a@x.example" } as const;
    expect(person.send(again)).toEqual({ status: "done" });
  });

  it("gets a hundred mails of each party and kind a day, and the counts go with the party", () => {
    const { person, by, give, confirm, told, ended, held } = joined();
    give("a@x.example");
    confirm("a@x.example");
    const mailed = Array.from({ length: 120 }, () => told(ended)).filter((each) => each > 0).length;
    expect([mailed, told(held), told(ended, "v")]).toEqual([100, 1, 1]);
    // However many days there were, each of them counts from nothing.
    for (let day = 0; day < 50; day += 1) {
      person.nowMs += dayMs;
      expect([told(ended), told(held), told(ended, "v")]).toEqual([1, 1, 1]);
    }
    expect(person.rows(24)).toHaveLength(3);
    const session = { session: "t", ends_at_ms: person.nowMs + dayMs };
    person.send({ type: "session.open", by: by(), session });
    for (const uuid of ["u", "w"])
      person.send({ type: "business.note", session: "t", uuid, name: "Shop", network: null });
    person.send({ type: "business.forget", uuid: "u" });
    expect(person.rows(24).map(({ k2 }) => k2)).toEqual(["v/push.ended"]);
  });
});

describe("the mail of a notice", () => {
  it("goes to the address of the moment, names the person of a role, and to nobody once there is none", async () => {
    const { notice } = joined();
    const sent: NoticeMail[] = [];
    const send = async (mail: NoticeMail) => void sent.push(mail);
    const { mailPerson } = personActivities({ mail: { send, sendFormer: async () => {} } });
    let address: string | null = "a@x.example";
    const ask = async (_to: unknown, { type }: { readonly type: string }) =>
      type === "name.read" ? "Bob" : { address, waiting: null };
    const context = part<ActivityContext>({ actor: { kind: "person", id: "ada" }, ask: rubbish(ask) });
    const role = notice({ kind: "role.changed", person_id: "bob", role: "admin", by: "Eve" });
    expect(await mailPerson?.(role, context)).toBeNull();
    address = null;
    expect(await mailPerson?.(role, context)).toBeNull();
    expect(sent).toMatchObject([
      { to: "a@x.example", person_id: "ada", name: "Bob", legal_name: "Shop Ltd" },
    ]);
  });
});
