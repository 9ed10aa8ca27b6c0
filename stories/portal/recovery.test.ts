// An owner lost all passkeys: they come in as somebody new, two operators approve it, those who bind the business are told and may stop it
// for 72 hours, and then the owner is replaced.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef, personRef, recoveryRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import type { Command } from "../../cli/command.ts";
import { opsApproveRecovery, opsRecoveries, opsRefuseRecovery } from "../../cli/ops/recoveries.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { keyAddedEntry } from "../../protocol/log/leaves.ts";
import { freePorts } from "../../tools/free-ports.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import {
  act,
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  showMandate,
  unescaped,
} from "./business.fixture.ts";

const hourMs = 3_600_000;
const home = mkdtempSync(join(tmpdir(), "svc-recovery-"));
let portal: PortalNode;
let portBase: number;
let aheadMs = 0;

const start = async (): Promise<void> => {
  const clock = { now: () => Date.now() + aheadMs };
  portal = await openPortalNode({ SVC_LOG_INTERVAL_SECONDS: "0" }, portBase, { clock }, home);
};
/** The node stops, and is started again so much later. */
const restart = async (laterMs = 0): Promise<void> => {
  await portal[Symbol.asyncDispose]();
  aheadMs += laterMs;
  await start();
  await portal.node.services.register.refresh();
};

beforeAll(async () => {
  portBase = await freePorts(6);
  await start();
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const textOf = ({ html }: Seen) => unescaped(html);

async function newPerson(name: string): Promise<Visitor> {
  const person = Visitor.of(portal);
  expect((await person.signUp(name)).status).toBe(200);
  return person;
}

async function newMember(uuid: string, role: MemberRole): Promise<Visitor> {
  const person = await newPerson("Bob");
  const member = { type: "member.set", person_id: person.personId, role, act } as const;
  await portal.node.services.actors.ask(businessRef(uuid), member);
  return person;
}

/** Asks for the place of an owner, up to the last page, which the new passkey signs. */
async function lastPage(person: Visitor, uuid: string) {
  const asked = await person.send((await person.get("/recover")).form("/recover"), { uuid });
  return (await person.answer(asked.form("/recover/passkey"))).form("/recover/file");
}

/** Somebody new who asks for the place of an owner, and the id of that. */
async function asking(uuid: string, name = "Ada again") {
  const person = await newPerson(name);
  const form = await lastPage(person, uuid);
  const page = await person.answer(form);
  return { person, page, form, id: recoveryRef(person.personId, uuid).id };
}

const ops = (command: Command, words: readonly string[], by = "Olga") =>
  runRevoke([...words, ...(command === opsRecoveries ? [] : ["--by", by, "--reason", "Called back."])], {
    home,
    reply: "yes",
    command,
  });
const approve = (id: string, by: string, { personId }: Pick<Owned, "personId">) =>
  ops(opsApproveRecovery, [id, "--replaces", personId], by);

async function ask(path: string, body: object | null = null) {
  const token = readFileSync(join(home, "ops-token"), "utf8").trim();
  const authorization = `Basic ${Buffer.from(`Olga:${token}`).toString("base64")}`;
  const sent = { method: "POST", body: JSON.stringify(body) };
  const answer = await contractFetch(`${portal.node.urls.ops_url}${path}`, {
    headers: { authorization, "content-type": "application/json" },
    ...(body === null ? {} : sent),
  });
  return answer.json();
}

const stateOf = async (id: string) => (await ask(`/ops/recoveries/${id}`)).recovery?.state;
const roleOf = async (uuid: string, person_id: string) =>
  (await portal.node.services.actors.ask(businessRef(uuid), { type: "member.read", person_id }))?.role ??
  null;

/** Approved by two, so that those who bind the business are told. */
async function announced(owned: Owned, name?: string) {
  const asked = await asking(owned.uuid, name);
  expect((await approve(asked.id, "Olga", owned)).code).toBe(0);
  expect((await approve(asked.id, "Max", owned)).code).toBe(0);
  await expect.poll(() => stateOf(asked.id), { timeout: 20_000 }).toBe("announced");
  return asked;
}

async function signInAgain(person: Visitor): Promise<void> {
  const [own] = person.authenticator.passkeys;
  person.cookies.clear();
  expect((await person.signIn(own && { passkey: own })).status).toBe(200);
}

describe("an owner who lost all passkeys", () => {
  it("is replaced by two operators, 72 hours after all who bind the business were told, across restarts", async () => {
    const owned = await newBusinessAt(portal, "Lost Ltd");
    const { owner, uuid, personId } = owned;
    const bob = await newMember(uuid, "admin");
    const { person, page, id } = await asking(uuid);
    expect(textOf(page)).toContain("waits for two operators");
    expect((await ops(opsRecoveries, [])).printed).toContain("Lost Ltd");

    expect((await approve(id, "Olga", owned)).printed).toContain("is approved");
    for (const same of ["Olga", "olga "]) {
      const run = await approve(id, same, owned);
      expect([run.code === 0, run.said]).toEqual([false, expect.stringContaining("Another operator")]);
    }
    const other = await approve(id, "Max", { personId: bob.personId });
    expect(other.said).toContain("no owner");
    expect(await stateOf(id)).toBe("approved");
    // The second operator is shown whom to name, and nobody afterwards.
    const ownersOf = async () => (await ask(`/ops/recoveries/${id}`)).recovery.owners;
    expect(await ownersOf()).toContainEqual(expect.objectContaining({ person_id: owned.personId }));
    // Who does not want to be told is told.
    const none = await bob.send((await bob.get(`/notices/${uuid}`)).form("/notices/choose"), {});
    await bob.confirm(none.form("/confirm"));
    expect((await approve(id, "Max", owned)).code).toBe(0);
    expect(await ownersOf()).toEqual([]);
    await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBe("announced");
    for (const told of [owner, bob]) {
      expect(textOf(await told.get(`/notices/${uuid}`))).toContain("An owner is about to be replaced");
      expect(textOf(await told.get(`/businesses/${uuid}`))).toMatch(/is called Ada again.*Stop it/s);
    }
    expect(textOf(await person.get("/"))).toContain("may stop it until");
    expect((await person.get(`/businesses/${uuid}`)).status).toBe(404);

    // A restart in the wait changes nothing, until its time is over.
    await restart(71.9 * hourMs);
    expect(await stateOf(id)).toBe("announced");
    expect([await roleOf(uuid, personId), await roleOf(uuid, person.personId)]).toEqual(["owner", null]);
    await signInAgain(person);
    await signInAgain(owner);
    expect((await person.get(`/businesses/${uuid}`)).status).toBe(404);
    expect((await owner.get(`/businesses/${uuid}`)).status).toBe(200);
    await restart(0.2 * hourMs);
    await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBe("done");
    await portal.node.services.register.refresh();

    expect([await roleOf(uuid, personId), await roleOf(uuid, person.personId)]).toEqual([null, "owner"]);
    expect((await owner.get(`/businesses/${uuid}`)).status).toBe(404);
    expect(textOf(await owner.get("/"))).not.toContain("Lost Ltd");
    expect(textOf(await person.get("/"))).toMatch(/Lost Ltd.*open/s);
    expect(textOf(await bob.get("/"))).toContain("Sign in");
    const { recovery } = await ask(`/ops/recoveries/${id}`);
    const { party } = await ask(`/ops/parties/${uuid}`);
    expect(party.keys).toMatchObject([
      { role: "sealing", revoked_at: expect.any(String) },
      { key_id: recovery.key_id, role: "sealing", revoked_at: null },
    ]);
    const { acts } = await ask(`/ops/acts/${uuid}`);
    const [replaced] = acts.filter(({ act }: { act: string }) => act === "owner.replace");
    expect(replaced).toMatchObject({ by: "Olga; Max", reason: "Called back. / Called back." });
    const custody = await portal.node.services.register.custody(uuid);
    expect(custody.map(({ key_id }) => key_id)).toContain(recovery.key_id);
    const { leaf } = keyAddedEntry(uuid, recovery.key_id, nativeCrypto.sha256);
    const inclusion = `${portal.node.urls.verify_url}/v1/log/inclusion?leaf=${encodeURIComponent(leaf)}`;
    await expect.poll(async () => (await fetch(inclusion)).status, { timeout: 30_000 }).toBe(200);
    // What an owner seals needs the new passkey, and is sealed with it.
    const { certificate } = party;
    const newOwned = { ...owned, owner: person, certId: certificate.cert_id };
    await registerKeyAt(portal, newOwned, await provenKey(newOwned));
    const mandate = await showMandate(newOwned);
    const sealing = person.authenticator.passkeys.at(-1);
    const sealed = await person.answer(mandate.form("/mandates/seal"), sealing && { passkey: sealing });
    expect(sealed.status).toBe(200);
    await portal.node.services.register.refresh();
    expect(textOf(await person.get(`/businesses/${uuid}`))).toMatch(/m-20[\w-]+/);
    expect(textOf(await person.get(`/notices/${uuid}`))).toContain("An owner was replaced");
  });

  it.each(["the owner", "an admin"])("stays where %s stops it, and then nothing changes", async (who) => {
    const owned = await newBusinessAt(portal, "Stopped Ltd");
    const { owner, uuid, personId } = owned;
    const bob = await newMember(uuid, "admin");
    const eve = await newMember(uuid, "developer");
    const { person, id } = await announced(owned);
    const stopping = who === "the owner" ? owner : bob;
    const form = (await stopping.get(`/businesses/${uuid}`)).form("/recoveries/stop");
    expect(textOf(await eve.get(`/businesses/${uuid}`))).not.toContain("about to be replaced");
    const { form_code = "" } = (await eve.get("/account")).form("/leave").fields;
    expect((await eve.send(form, { form_code })).status).toBe(403);
    expect((await stopping.send(form, { recovery: "other" })).status).toBe(404);
    const asked = await stopping.send(form);
    expect(textOf(asked)).toContain("does not become an owner of Stopped Ltd");
    await stopping.confirm(asked.form("/confirm"));
    await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBe("stopped");
    expect(textOf(await owner.get(`/notices/${uuid}`))).toContain("No owner is replaced");
    expect(textOf(await person.get("/"))).toContain("stopped by the business");
    expect(textOf(await stopping.get("/account"))).toContain("stopped that an owner is replaced");
    await restart(73 * hourMs);
    expect([await roleOf(uuid, personId), await roleOf(uuid, person.personId)]).toEqual(["owner", null]);
    expect((await approve(id, "Eve", owned)).code).not.toBe(0);
    // Who asked may ask again.
    await signInAgain(person);
    expect(textOf(await person.answer(await lastPage(person, uuid)))).toContain("waits for two operators");
  });

  it("stays where operators refuse it in the wait, or the applicant takes it back", async () => {
    const owned = await newBusinessAt(portal, "Refused Ltd");
    const { owner, uuid, personId } = owned;
    const first = await announced(owned, "Mallory");
    // One at a time.
    const second = await asking(uuid, "Trudy");
    expect((await approve(second.id, "Olga", owned)).said).toContain("being replaced already");
    const statement = "You could not be called back.";
    expect((await ops(opsRefuseRecovery, [first.id, "--statement", statement], "Olga")).code).toBe(0);
    expect(textOf(await first.person.get("/"))).toContain(statement);
    const shown = async () => textOf(await owner.get(`/businesses/${uuid}`));
    await expect.poll(shown, { timeout: 20_000 }).not.toContain("about to be replaced");
    for (const by of ["Olga", "Max"]) expect((await approve(second.id, by, owned)).code).toBe(0);
    await expect.poll(() => stateOf(second.id), { timeout: 20_000 }).toBe("announced");
    expect(await shown()).toContain("Trudy");
    const back = await second.person.send((await second.person.get("/")).form("/applications/withdraw"));
    await second.person.confirm(back.form("/confirm"));
    await expect.poll(shown, { timeout: 20_000 }).not.toContain("about to be replaced");
    await restart(73 * hourMs);
    for (const { person } of [first, second]) expect(await roleOf(uuid, person.personId)).toBeNull();
    expect(await roleOf(uuid, personId)).toBe("owner");
  });

  it("is replaced once, whatever the node did before it died", async () => {
    const owned = await newBusinessAt(portal, "Crashed Ltd");
    const { uuid, personId } = owned;
    const { parties } = portal.node.services;
    const claim = vi.spyOn(parties, "claimProvenKey").mockRejectedValueOnce(new Error("The node died."));
    const { person, id } = await announced(owned);
    expect(claim.mock.calls.length).toBe(2);
    claim.mockRestore();
    // It dies after the owner was replaced, and before that was said to the recovery.
    const state = vi.spyOn(parties, "stateCustody").mockRejectedValueOnce(new Error("The node died."));
    aheadMs += 73 * hourMs;
    // It leaves memory, and is woken because the store says that it is due.
    const passivated = { reason: "Now.", expected: { status: "active" } };
    await ask(`/ops/actors/recovery/${id}/passivate`, passivated);
    await expect.poll(() => state.mock.calls.length, { timeout: 30_000 }).toBe(2);
    state.mockRestore();
    await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBe("done");
    const { actors } = portal.node.services;
    const report = await actors.ask(recoveryRef(person.personId, uuid), { type: "recovery.read" });
    const acts = async () => (await ask(`/ops/acts/${uuid}`)).acts.length;
    const before = await acts();
    const recovery = `${person.personId}/${report?.filed_at_ms}`;
    const [key = null] = await portal.node.services.register.keys(uuid);
    if (key === null) throw new Error("The business has no key.");
    const again = { type: "owner.replace", recovery, key, credential_id: "c", revokes: null, act } as const;
    expect(await actors.ask(businessRef(uuid), again)).toEqual({ status: "done" });
    expect(await acts()).toBe(before);
    expect([await roleOf(uuid, personId), await roleOf(uuid, person.personId)]).toEqual([null, "owner"]);
  });
});

describe("asking for the place of an owner", () => {
  it("is approved for the passkey that an operator saw: with another one since, it is to be looked at again", async () => {
    const owned = await newBusinessAt(portal, "Seen Ltd");
    const { uuid, personId: replaces } = owned;
    const { person, id } = await asking(uuid);
    const { key_id } = (await ask(`/ops/recoveries/${id}`)).recovery;
    expect((await approve(id, "Olga", owned)).code).toBe(0);
    expect((await ops(opsRefuseRecovery, [id, "--statement", "Ask again."])).code).toBe(0);
    const again = await person.answer(await lastPage(person, uuid));
    expect(textOf(again)).toContain("waits for two operators");
    const approving = { replaces, key_id, reason: "Called back." };
    expect(await ask(`/ops/recoveries/${id}/approve`, approving)).toMatchObject({
      status: 409,
      code: "state_changed",
    });
    const late = { statement: "Ask again.", key_id, reason: "Called back." };
    expect(await ask(`/ops/recoveries/${id}/refuse`, late)).toMatchObject({
      status: 409,
      code: "state_changed",
    });
    const named = [id, "--replaces", replaces, "--yes"];
    expect((await ops(opsApproveRecovery, named)).said).toContain("--key is missing");
    expect((await ops(opsApproveRecovery, [...named, "--key", key_id])).said).toContain("another passkey");
    expect(await stateOf(id)).toBe("waiting");
    const { key_id: now } = (await ask(`/ops/recoveries/${id}`)).recovery;
    expect((await ops(opsApproveRecovery, [...named, "--key", now])).printed).toContain("is approved");
  });

  it("says nothing about whether there is such a business, and who owns it", async () => {
    const { uuid } = await newBusinessAt(portal, "Silent Ltd");
    const nowhere = "10000000-0000-4000-8000-0000000000c1";
    const pages: unknown[] = [];
    for (const each of [uuid, nowhere]) {
      const person = await newPerson("Ada again");
      const asked = await person.send((await person.get("/recover")).form("/recover"), { uuid: each });
      const made = await person.answer(asked.form("/recover/passkey"));
      const filed = await person.answer(made.form("/recover/file"));
      const words = (html: string) => html.replaceAll(/<[^>]*>/g, " ").replaceAll(each, "UUID");
      pages.push([asked, made, filed].map(({ status, html }) => [status, words(html)]));
    }
    expect(pages[0]).toEqual(pages[1]);
    expect(JSON.stringify(pages)).toMatch(/UUID.*waits for two operators/);
    const { recoveries } = await ask("/ops/recoveries");
    const unknown = recoveries.find((each: { uuid: string }) => each.uuid === nowhere);
    expect(unknown).toMatchObject({ legal_name: null, owners: [] });
    expect((await approve(unknown.recovery_id, "Olga", { personId: nowhere })).said).toContain("no business");
  });

  it("is for exactly what was shown, by the passkey that was made for it, and once", async () => {
    const { uuid } = await newBusinessAt(portal, "Shown Ltd");
    const person = await newPerson("Ada again");
    const form = await lastPage(person, uuid);
    const act = JSON.parse(form.fields["act"] ?? "");
    const credential = person.credentialFor(form);
    const [signIn] = person.authenticator.passkeys;
    for (const written of [
      { credential, act: JSON.stringify({ ...act, uuid: "10000000-0000-4000-8000-0000000000c2" }) },
      { credential: JSON.stringify(person.authenticator.get(form.options, signIn && { passkey: signIn })) },
    ])
      expect((await person.send(form, written)).status).toBe(401);
    expect(textOf(await person.send(form, { credential }))).toContain("waits for two operators");
    // A double click does no harm, and a second passkey is no second recovery.
    expect((await person.send(form, { credential })).status).toBe(200);
    expect(textOf(await person.answer(await lastPage(person, uuid)))).toContain("You asked before");
    expect((await person.get("/account")).html.match(/asked for a place as an owner/g)).toHaveLength(1);
    // What was taken back is not asked for by the same signature again.
    const back = await person.send((await person.get("/")).form("/applications/withdraw"));
    await person.confirm(back.form("/confirm"));
    const report = () => portal.node.services.actors.ask(personRef(person.personId), { type: "person.read" });
    await expect.poll(async () => (await report())?.businesses).toEqual([]);
    expect(textOf(await person.send(form, { credential }))).toContain("Done before");
    expect((await person.send((await person.get("/recover")).form("/recover"), { uuid: "x" })).status).toBe(
      400,
    );
  });

  it("gives nobody a sealing passkey on another way than its own, and the other way round", async () => {
    const { owner, uuid } = await newBusinessAt(portal, "Ways Ltd");
    const admin = await newMember(uuid, "admin");
    const made = (await admin.send((await admin.get("/recover")).form("/recover"), { uuid })).form(
      "/recover/passkey",
    );
    const sealer = JSON.stringify({ act: "sealing.make", uuid, legal_name: uuid });
    const credential = admin.credentialFor(made);
    for (const act of [made.fields["act"] ?? "", sealer])
      expect([400, 401]).toContain(
        (await admin.post("/sealing/passkey", { ...made.fields, act, credential })).status,
      );
    expect((await admin.get(`/businesses/${uuid}`)).html).toContain("/sealing/add");
    const asked = await admin.send((await admin.get(`/businesses/${uuid}`)).form("/sealing/add"));
    const making = (await admin.confirm(asked.form("/confirm"))).form("/sealing/passkey");
    const again = { ...making.fields, credential: admin.credentialFor(making) };
    const recover = JSON.stringify({ act: "recovery.make", uuid, legal_name: "Ways Ltd" });
    for (const act of [making.fields["act"] ?? "", recover])
      expect([400, 401]).toContain((await admin.post("/recover/passkey", { ...again, act })).status);
    expect((await owner.get(`/businesses/${uuid}`)).status).toBe(200);
  });

  it("is not for somebody who works for the business", async () => {
    const { owner, uuid } = await newBusinessAt(portal, "Inside Ltd");
    expect(textOf(await owner.answer(await lastPage(owner, uuid)))).toContain("You work for it");
  });
});
