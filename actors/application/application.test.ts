import { beforeEach, describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { ApplicationFacts } from "../messages/application.ts";
import { applicationActor } from "./definition.ts";

const act = { by: "Olga", reason: "HRB 1 was seen." };
const facts: ApplicationFacts = {
  applicant: "p",
  applicant_name: "Ada",
  kind: "business",
  legal_name: "Ada Ltd",
  country: "GB",
  sealing: {
    public_key: { kty: "OKP", crv: "Ed25519", x: "x" },
    cose: "c",
    credential_id: "c",
    challenge: "c",
    proof: "{}",
  },
};

const uuid = "00000000-0000-4000-8000-000000000001";
let application: ActorHarness<"application">;
beforeEach(() => {
  application = driveActor(applicationActor, uuid);
});

const file = (more: Partial<ApplicationFacts> = {}) =>
  application.send({ type: "application.file", application: { ...facts, ...more } });
const approve = () => application.send({ type: "application.approve", act });
const open = () => application.send({ type: "application.open" });
const refuse = () => application.send({ type: "application.refuse", act, statement: "No extract." });
const read = () => application.send({ type: "application.read" });
const [changed, same] = [true, false].map((each) => ({ status: "done", changed: each }));

describe("an application", () => {
  it("is filed once, and again only with the same facts", () => {
    expect(read()).toBeNull();
    expect([file(), file()]).toEqual([changed, same]);
    expect(file({ applicant: "eve" })).toEqual({ status: "refused", state: "waiting" });
    expect(read()).toMatchObject({ state: "waiting", applicant: "p", decided: null, statement: null });
  });

  it("is decided once, and every step can be repeated (AP1)", () => {
    expect(approve()).toEqual({ status: "refused", state: "unknown" });
    file();
    expect(open()).toEqual({ status: "refused", state: "waiting" });
    expect([approve(), approve()]).toEqual([changed, same]);
    expect(refuse()).toEqual({ status: "refused", state: "approved" });
    expect([open(), open(), approve()]).toEqual([changed, same, same]);
    expect(read()).toMatchObject({ state: "opened", decided: act });
  });

  it("that was approved is refused only if another party has its uuid (AP1)", () => {
    file();
    approve();
    const taken = { type: "application.refuse", act, statement: "Taken.", is_taken: true } as const;
    expect(application.send(taken)).toEqual(changed);
    expect(read()).toMatchObject({ state: "refused", statement: "Taken." });
    expect([approve(), open()]).toEqual(Array(2).fill({ status: "refused", state: "refused" }));
  });

  it("that was refused says why, and is approved no more (AP1)", () => {
    file();
    expect([refuse(), refuse()]).toEqual([changed, same]);
    expect(approve()).toEqual({ status: "refused", state: "refused" });
    expect(read()).toMatchObject({ state: "refused", statement: "No extract." });
  });

  const taken = { kind: "tell", to: { kind: "person", id: "p" }, message: { type: "business.forget" } };
  const swept = { kind: "activity", name: "forgetEvidence", params: { application: uuid, file: null } };

  it("ends where nobody decides for ninety days, and leaves its applicant's list (AP2, AP3)", () => {
    file();
    expect([...application.timers.values()]).toEqual([90 * 86_400_000]);
    application.fireTimers();
    expect([application.snapshot.status, application.effects]).toMatchObject(["done", [taken, swept]]);
  });

  it("is taken back by its applicant while it waits, and by nobody else (AP2, AP3)", () => {
    const withdraw = (applicant = "p") => application.send({ type: "application.withdraw", applicant });
    expect(withdraw()).toEqual({ status: "refused", state: "unknown" });
    file();
    expect(withdraw("eve")).toEqual({ status: "refused", state: "waiting" });
    expect(withdraw()).toEqual(changed);
    expect([application.snapshot.status, application.effects]).toMatchObject(["done", [taken, swept]]);
    expect(withdraw()).toMatchObject({ status: "refused" });
  });

  it("that was approved is not taken back", () => {
    file();
    approve();
    expect(application.send({ type: "application.withdraw", applicant: "p" })).toMatchObject({
      state: "approved",
    });
  });

  it.each([refuse, () => [approve(), open()]])(
    "is forgotten thirty days after the decision (AP2)",
    (decide) => {
      file();
      decide();
      expect([...application.timers.values()]).toEqual([30 * 86_400_000]);
      application.fireTimers();
      expect(application.snapshot.status).toBe("done");
    },
  );
});

describe("the evidence of an application", () => {
  const keyTable = 18;
  const begin = (applicant = "p", fresh_key = "k") =>
    application.send({ type: "evidence.begin", applicant, fresh_key });
  const sent = (name: string) =>
    ({ file: name, name, media_type: "application/pdf", bytes: 9, sha256: "sha256:0" }) as const;
  const add = (name: string, applicant = "p") =>
    application.send({ type: "evidence.add", applicant, added: sent(name) });
  const remove = (of: string, applicant = "p") =>
    application.send({ type: "evidence.remove", applicant, file: of });
  const take = (of: string, view = "v") =>
    application.send({ type: "evidence.view", file: of, by: "Olga", view });
  const notOpen = { status: "refused", code: "not_open" };
  const names = () => read()?.evidence.map(({ name }) => name);

  it("is encrypted under one key, which the first file draws (AE1)", () => {
    file();
    expect([begin(), begin("p", "another")]).toEqual(Array(2).fill({ status: "begun", key: "k" }));
    expect(add("a")).toEqual({ status: "added" });
    expect(take("a")).toMatchObject({ key: "k", evidence: { ...sent("a"), added_at_ms: application.nowMs } });
  });

  it("is changed by the applicant alone, and by nobody once it is decided (AE2)", () => {
    expect([begin(), add("a"), remove("a")]).toEqual(Array(3).fill(notOpen));
    file();
    begin();
    expect([begin("eve"), add("a", "eve")]).toEqual(Array(2).fill(notOpen));
    add("a");
    expect(remove("a", "eve")).toEqual(notOpen);
    approve();
    expect([begin(), add("b"), remove("a")]).toEqual(Array(3).fill(notOpen));
    expect(names()).toEqual(["a"]);
  });

  it("is twenty files at most, one that was added again counts once, and one that is removed no more", () => {
    file();
    begin();
    for (let count = 1; count <= 20; count += 1) {
      application.nowMs += 1;
      for (const _ of [1, 2]) expect(add(`${20 - count}`)).toEqual({ status: "added" });
    }
    const tooMany = { status: "refused", code: "too_many" };
    expect([begin(), add("more")]).toEqual([tooMany, tooMany]);
    expect(names()?.slice(0, 2)).toEqual(["19", "18"]);
    expect([remove("7"), remove("7")]).toEqual(Array(2).fill({ status: "removed" }));
    const params = { application: uuid, file: "7" };
    expect(application.effects).toEqual([{ kind: "activity", name: "forgetEvidence", params }]);
    expect([begin(), add("more")]).toEqual([{ status: "begun", key: "k" }, { status: "added" }]);
  });

  it("is handed to an operator only with a note of who took what, the newest shown first (AE3)", () => {
    file();
    begin();
    add("a");
    expect([take("b"), read()?.evidence_views]).toEqual([null, []]);
    take("a");
    application.nowMs += 1;
    for (let count = 0; count < 60; count += 1) take("a", `w${count}`);
    const views = read()?.evidence_views ?? [];
    expect([views.length, views[0]]).toEqual([50, { file: "a", by: "Olga", at_ms: application.nowMs }]);
    expect(application.rows(20)).toHaveLength(61);
  });

  it("is read by nobody thirty days after the first decision, whatever becomes of the application (AE1)", () => {
    file();
    begin();
    add("a");
    approve();
    const untilMs = application.nowMs + 30 * 86_400_000;
    expect(application.rows(keyTable)).toMatchObject([{ expiresAtMs: untilMs }]);
    application.nowMs += 10 * 86_400_000;
    application.send({ type: "application.refuse", act, statement: "Taken.", is_taken: true });
    expect(application.rows(keyTable)).toMatchObject([{ expiresAtMs: untilMs }]);
    application.nowMs = untilMs;
    expect(take("a")).not.toBeNull();
    application.nowMs += 1;
    expect(take("a")).toBeNull();
  });

  it("ends with the application, and before its rows are gone nobody is handed the key (AP4)", () => {
    file();
    begin();
    add("a");
    application.send({ type: "application.withdraw", applicant: "p" });
    expect(application.snapshot.status).toBe("done");
    expect([take("a"), begin(), add("b")]).toEqual([null, notOpen, notOpen]);
  });
});
