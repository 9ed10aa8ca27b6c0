import { beforeEach, describe, expect, it } from "vitest";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { ok, refuse } from "../../protocol/result.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { keyFacts } from "../facts.fixture.ts";
import type { RecoveryFacts } from "../messages/recovery.ts";
import type { ActivityContext, Effect } from "../system/definition.ts";
import { recoveryActivities } from "./activities.ts";
import { recoveryActor } from "./definition.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const facts: RecoveryFacts = {
  applicant: "p",
  applicant_name: "Ada",
  uuid,
  sealing: {
    public_key: { kty: "OKP", crv: "Ed25519", x: "x" },
    cose: "c",
    credential_id: "c",
    challenge: "c",
    proof: "{}",
  },
};
const dayMs = 86_400_000;
const [changed, same, done] = [
  { status: "done", changed: true },
  { status: "done", changed: false },
  { status: "done" },
];

let recovery: ActorHarness<"recovery">;
beforeEach(() => {
  recovery = driveActor(recoveryActor, `p.${uuid}`);
});

const file = (more: Partial<RecoveryFacts> = {}) =>
  recovery.send({ type: "recovery.file", recovery: { ...facts, ...more } });
const { public_key: seen } = facts.sealing;
const approve = (by: string, replaces = "ada", public_key: PublicJwk = seen) =>
  recovery.send({ type: "recovery.approve", act: { by, reason: "Seen." }, replaces, public_key });
const refuseIt = (public_key: PublicJwk = seen) =>
  recovery.send({
    type: "recovery.refuse",
    act: { by: "Olga", reason: "No." },
    statement: "Who are you?",
    public_key,
  });
const withdraw = () => recovery.send({ type: "recovery.withdraw" });
const read = () => recovery.send({ type: "recovery.read" });
const announced = () => recovery.send({ type: "recovery.announced", due_at_ms: recovery.nowMs + 3 * dayMs });
const stopped = (name = `p/${recovery.nowMs}`) => recovery.send({ type: "recovery.stopped", recovery: name });
const approved = () => [file(), approve("Olga"), approve("Max")];
const effects = () => recovery.effects.splice(0);
const activity = (name: string): Effect => ({ kind: "activity", name, params: {} });
const left: Effect = {
  kind: "tell",
  to: { kind: "person", id: "p" },
  message: rubbish({ type: "business.forget", uuid: `p.${uuid}` }),
};
const wrong = (state: string) => ({ status: "refused", code: "state", state });

describe("a recovery", () => {
  it("is filed once, and again only with the same facts", () => {
    expect(read()).toBeNull();
    expect([file(), file()]).toEqual([changed, same]);
    expect(file({ applicant_name: "Eve" })).toEqual(wrong("waiting"));
    expect(read()).toMatchObject({ state: "waiting", approvals: [], due_at_ms: null, statement: null });
  });

  it("takes two operators who name the same owner (RC1, RV1)", () => {
    expect(approve("Olga")).toEqual(wrong("unknown"));
    file();
    expect(approve("Olga")).toEqual(changed);
    expect(read()).toMatchObject({ state: "approved", approvals: [{ by: "Olga", replaces: "ada" }] });
    for (const by of ["Olga", " olga ", "ＯＬＧＡ", "OLGA"])
      expect(approve(by)).toEqual({ status: "refused", code: "same_operator", state: "approved" });
    expect(approve("Max", "bob")).toMatchObject({ code: "other_owner" });
    expect(effects()).toEqual([]);
    expect(approve("Max")).toEqual(changed);
    expect(effects()).toEqual([activity("announceRecovery")]);
    expect(approve("Eve")).toEqual(wrong("announcing"));
  });

  it("is approved, or refused, for the passkey that was seen alone (RV2)", () => {
    file();
    const other = approve("Olga", "ada", { kty: "OKP", crv: "Ed25519", x: "other" });
    expect(other).toEqual({ status: "refused", code: "other_key", state: "waiting" });
    expect(approve("Olga")).toEqual(changed);
    expect(approve("Max", "ada", { kty: "OKP", crv: "Ed25519", x: "y" })).toMatchObject({
      code: "other_key",
    });
    expect(refuseIt({ kty: "OKP", crv: "Ed25519", x: "y" })).toMatchObject({ code: "other_key" });
    expect(read()).toMatchObject({ state: "approved" });
  });

  it("waits once the business was told, and then replaces the owner (RC2)", () => {
    approved();
    effects();
    announced();
    expect(read()).toMatchObject({ state: "announced", due_at_ms: recovery.nowMs + 3 * dayMs });
    expect([...recovery.timers.values()]).toContain(3 * dayMs);
    expect(effects()).toEqual([]);
    recovery.timers.delete([...recovery.timers].find(([, ms]) => ms === 90 * dayMs)?.[0] ?? "");
    recovery.fireTimers();
    expect([read()?.state, effects()]).toEqual(["replacing", [activity("replaceOwner")]]);
    expect(recovery.send({ type: "recovery.replaced" })).toEqual(done);
    const [added] = effects();
    expect(added).toMatchObject({ to: { kind: "person", id: "p" }, message: { type: "business.add", uuid } });
    expect(read()?.state).toBe("done");
    expect([refuseIt(), withdraw()]).toEqual([wrong("done"), wrong("done")]);
  });

  it.each([
    ["before", () => file()],
    ["between", () => [file(), approve("Olga")]],
    ["after", () => [...approved(), announced()]],
  ])("is refused or taken back, and the business forgets it (RC3): %s the approvals", (when, go) => {
    for (const end of [refuseIt, withdraw]) {
      recovery = driveActor(recoveryActor, `p.${uuid}`);
      go();
      effects();
      expect(end()).toEqual(changed);
      const told = effects();
      expect(told.filter(({ kind }) => kind === "activity")).toEqual([]);
      expect(told.some((each) => each.kind === "tell" && each.message.type === "recovery.end")).toBe(
        when === "after",
      );
      if (end === withdraw) expect([recovery.snapshot.status, told.at(-1)]).toEqual(["done", left]);
      else expect(read()).toMatchObject({ state: "refused", statement: "Who are you?", failure: null });
    }
    expect(withdraw()).toMatchObject({ status: "refused" });
  });

  it("is stopped by the business, whatever step is under way, and by that of its own name alone (RC3)", () => {
    stopped();
    expect(read()).toBeNull();
    approved();
    expect([refuseIt(), withdraw()]).toEqual([wrong("announcing"), wrong("announcing")]);
    stopped("p/1");
    expect(read()?.state).toBe("announcing");
    announced();
    stopped();
    expect(read()?.state).toBe("stopped");
    recovery.send({ type: "recovery.replaced" });
    announced();
    expect(read()?.state).toBe("stopped");
  });

  it.each([refuseIt, () => stopped()])(
    "is asked for again after it did not come about, as if it were the first",
    (end) => {
      approved();
      announced();
      end();
      recovery.nowMs += 1;
      const sealing = { ...facts.sealing, credential_id: "d" };
      expect([file(), file({ sealing })]).toEqual([same, changed]);
      const fresh = { state: "waiting", approvals: [], due_at_ms: null, statement: null, failure: null };
      expect(read()).toMatchObject({ ...fresh, sealing, filed_at_ms: recovery.nowMs });
      expect(approve("Max")).toEqual(changed);
    },
  );

  it("fails where the business does not take it, and says why to operators", () => {
    approved();
    recovery.effects.length = 0;
    recovery.send({ type: "recovery.failed", failure: "No owner." });
    expect(read()).toMatchObject({ state: "refused", failure: "No owner.", statement: null });
    // It may have been announced although its business could not say so.
    expect(JSON.stringify(recovery.effects)).toContain("recovery.end");
    recovery.send({ type: "recovery.failed", failure: "Late." });
    expect(read()).toMatchObject({ failure: "No owner." });
  });

  it("ends after ninety days undecided, and thirty after it ended (RC4)", () => {
    file();
    expect([...recovery.timers.values()]).toEqual([90 * dayMs]);
    recovery.fireTimers();
    expect([recovery.snapshot.status, effects()]).toMatchObject(["done", [left]]);
    recovery = driveActor(recoveryActor, `p.${uuid}`);
    file();
    recovery.timers.clear();
    refuseIt();
    expect([...recovery.timers.values()]).toEqual([30 * dayMs]);
    const early = driveActor(recoveryActor, `p.${uuid}`);
    early.send({ type: "recovery.file", recovery: facts });
    const act = { by: "Olga", reason: "No." };
    early.send({ type: "recovery.refuse", act, statement: "No.", public_key: seen });
    expect(early.send({ type: "recovery.withdraw" })).toEqual(changed);
    expect([early.snapshot.status, early.effects]).toEqual(["done", [left]]);
    recovery.fireTimers();
    expect([recovery.snapshot.status, effects()]).toMatchObject(["done", [left]]);
  });
});

describe("the steps of a recovery", () => {
  const key = keyFacts({ key_id: "new", role: "sealing", person_role: "owner" });

  /** Runs a step against a business that answers so. */
  async function step(name: "announceRecovery" | "replaceOwner", answers: Record<string, unknown>) {
    const asked: unknown[] = [];
    const ports = {
      claim: async () => (answers["claim"] === undefined ? ok(undefined) : refuse("key_taken", "Taken.")),
      keyOf: () => key,
      stateCustody: async (of: string, keyId: string) => void asked.push(["custody", of, keyId]),
    };
    const ask = async (to: { readonly kind: string }, command: { readonly type: string }) => {
      if (to.kind === "recovery") return read();
      asked.push(command);
      return answers[command.type];
    };
    const context: ActivityContext<"recovery"> = rubbish({
      actor: { kind: "recovery", id: `p.${uuid}` },
      ask,
    });
    const result = await recoveryActivities(ports)[name]?.({}, context);
    return { result, asked };
  }

  const refusal = (code: string) => ({ status: "refused", code, detail: "It says why." });

  it("tell the business what two operators approved, and nothing before", async () => {
    file();
    approve("Olga");
    expect((await step("announceRecovery", {})).result).toBeNull();
    approve("Max");
    const told = await step("announceRecovery", {
      "recovery.announce": { status: "announced", due_at_ms: 7 },
    });
    expect(told.result).toEqual({ type: "recovery.announced", due_at_ms: 7 });
    expect(told.asked).toMatchObject([
      { recovery: `p/${recovery.nowMs}`, person_id: "ada", applicant: "p", act: { by: "Olga; Max" } },
    ]);
    const failed = { type: "recovery.failed", failure: "It says why." };
    for (const [answers, result] of [
      [{ "recovery.announce": refusal("recovery_open") }, failed],
      [{ "recovery.announce": { status: "stopped" } }, { type: "recovery.stopped" }],
      [{ claim: "no" }, { type: "recovery.failed", failure: "Taken." }],
    ] as const)
      expect((await step("announceRecovery", answers)).result).toMatchObject(result);
  });

  it("replace the owner whose key they name, and are repeated where it was too early", async () => {
    approved();
    const found = { "recovery.find": { owners: [{ person_id: "ada", key_id: "old" }], open: null } };
    const replaced = await step("replaceOwner", { ...found, "owner.replace": done });
    expect(replaced.result).toEqual({ type: "recovery.replaced" });
    expect(replaced.asked.slice(1)).toMatchObject([
      { type: "owner.replace", revokes: "old", credential_id: "c", key: { key_id: "new" } },
      ["custody", uuid, "new"],
    ]);
    for (const code of ["recovery_early", "member_changed"])
      await expect(step("replaceOwner", { ...found, "owner.replace": refusal(code) })).rejects.toThrow("why");
    const other = await step("replaceOwner", { ...found, "owner.replace": refusal("owner_unknown") });
    expect(other.result).toEqual({ type: "recovery.failed", failure: "It says why." });
    const late = await step("replaceOwner", { ...found, "owner.replace": refusal("recovery_stopped") });
    expect(late.result).toMatchObject({ type: "recovery.stopped" });
  });
});
