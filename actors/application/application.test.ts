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

let application: ActorHarness<"application">;
beforeEach(() => {
  application = driveActor(applicationActor, "00000000-0000-4000-8000-000000000001");
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

  it("ends where nobody decides for ninety days, and leaves its applicant's list (AP2, AP3)", () => {
    file();
    expect([...application.timers.values()]).toEqual([90 * 86_400_000]);
    application.fireTimers();
    expect([application.snapshot.status, application.effects]).toMatchObject(["done", [taken]]);
  });

  it("is taken back by its applicant while it waits, and by nobody else (AP2, AP3)", () => {
    const withdraw = (applicant = "p") => application.send({ type: "application.withdraw", applicant });
    expect(withdraw()).toEqual({ status: "refused", state: "unknown" });
    file();
    expect(withdraw("eve")).toEqual({ status: "refused", state: "waiting" });
    expect(withdraw()).toEqual(changed);
    expect([application.snapshot.status, application.effects]).toMatchObject(["done", [taken]]);
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
