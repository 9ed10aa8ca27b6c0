// A business comes in: somebody applies for it at the portal with a passkey made for it, and an operator decides.

import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef, personRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import type { Command } from "../../cli/command.ts";
import { opsApplications, opsApprove, opsRefuse } from "../../cli/ops/applications.ts";
import { applicationsOf } from "../../node/composition/portal-surface.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const why = ["--by", "Olga at the desk", "--reason", "Extract 1234 of today, by its registrar"];

const ops = (command: Command, words: readonly string[]) =>
  runRevoke(words, { home: portal.node.config.home, reply: "yes", command });

async function newPerson(name = "Ada Lovelace"): Promise<Visitor> {
  const person = new Visitor(portal.url);
  expect((await person.signUp(name)).status).toBe(200);
  return person;
}

/** Somebody who applied, and their application as operators see it. */
async function applied(legal_name: string) {
  const person = await newPerson();
  const page = await person.apply(legal_name);
  expect(page.html).toContain("waits for the operators");
  return { person, application: await applicationOf(legal_name) };
}

async function applicationOf(legal_name: string) {
  const answer = await ask("/ops/applications", null);
  return answer.applications.find((each: { legal_name: string }) => each.legal_name === legal_name);
}

async function ask(path: string, body: object | null) {
  const { config, urls } = portal.node;
  const token = readFileSync(join(config.home, "ops-token"), "utf8").trim();
  const answer = await contractFetch(`${urls.ops_url}${path}`, {
    method: body === null ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Basic ${Buffer.from(`Olga:${token}`).toString("base64")}`,
    },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  return answer.json();
}

const roleOf = async (uuid: string, person_id: string) =>
  (await portal.node.services.actors.ask(businessRef(uuid), { type: "member.read", person_id }))?.role;

describe("a business that somebody applies for", () => {
  it("comes in when an operator approves it: certified, with its owner and the owner's passkey", async () => {
    const { person, application } = await applied("Tea & Sons Ltd");
    const { uuid, key_id, applicant } = application;
    expect(await portal.node.services.parties.party(uuid)).toBeNull();
    const listed = await ops(opsApplications, []);
    expect(listed.printed).toContain("Tea & Sons Ltd");
    const run = await ops(opsApprove, [uuid, ...why]);
    expect([run.code, run.printed]).toEqual([0, expect.stringContaining(`Done: ${uuid} is opened.`)]);
    expect((await person.get("/")).html).toMatch(/Tea &amp; Sons Ltd.*open/s);
    expect(await roleOf(uuid, applicant)).toBe("owner");
    const { party } = await ask(`/ops/parties/${uuid}`, null);
    expect(party).toMatchObject({
      legal_name: "Tea & Sons Ltd",
      country: "GB",
      certificate: { status: "active" },
      keys: [{ key_id, role: "sealing", revoked_at: null }],
    });
    const { acts } = await ask(`/ops/acts/${uuid}`, null);
    expect(acts).toMatchObject(Array(acts.length).fill({ by: "Olga at the desk", reason: why[3] }));
    expect(acts.map(({ act }: { act: string }) => act)).toContain("key.register");
    // What is published names no person.
    const { verify_url } = portal.node.urls;
    const published = await (await fetch(`${verify_url}/v1/certificates/${uuid}/keys`)).text();
    expect(published).toContain(key_id);
    expect(published).not.toMatch(new RegExp(`${applicant}|Lovelace|owner`));
    const again = await ops(opsApprove, [uuid, ...why]);
    expect(again.printed).toContain("It was so before");
  });

  it("is repaired by approving it again, whatever the node did before it died", async () => {
    const { application } = await applied("Crash Ltd");
    const { uuid, applicant, key_id } = application;
    const { actors, parties } = portal.node.services;
    const act = { by: "Olga", reason: "Seen." };
    await actors.ask({ kind: "application", id: uuid }, { type: "application.approve", act });
    const party = { uuid, kind: "business", legal_name: "Crash Ltd", country: "GB", group: uuid } as const;
    await parties.open({ ...party, blocked_groups: [] }, act);
    expect((await applicationOf("Crash Ltd")).state).toBe("approved");
    expect((await ops(opsRefuse, [uuid, ...why, "--statement", "No."])).code).not.toBe(0);
    await ask(`/ops/applications/${uuid}/approve`, { reason: "Again." });
    const opened = await ask(`/ops/parties/${uuid}`, null);
    expect(opened.party.keys).toMatchObject([{ key_id, role: "sealing" }]);
    expect(await roleOf(uuid, applicant)).toBe("owner");
    expect((await applicationOf("Crash Ltd")).state).toBe("opened");
  });

  it("is opened by a repetition, and not certified again where its certificate was ended in between", async () => {
    const { application } = await applied("Ended Ltd");
    const { uuid, applicant } = application;
    const stateCustody = vi.spyOn(portal.node.services.parties, "stateCustody");
    stateCustody.mockRejectedValueOnce(new Error("The node died."));
    expect((await ops(opsApprove, [uuid, ...why])).code).not.toBe(0);
    stateCustody.mockRestore();
    const { certificate } = (await ask(`/ops/parties/${uuid}`, null)).party;
    const ending = { cert_id: certificate.cert_id, status_reason: "error", reason: "Seen." };
    await ask(`/ops/certificates/${uuid}/withdraw`, ending);
    await ask(`/ops/applications/${uuid}/approve`, { reason: "Again." });
    expect(await roleOf(uuid, applicant)).toBe("owner");
    const { party } = await ask(`/ops/parties/${uuid}`, null);
    expect(party.certificate.status).toBe("withdrawn");
  });

  it("is refused with words for the applicant, and is not approved after it", async () => {
    const { person, application } = await applied("Refused Ltd");
    const statement = "The register <b>has</b> no such company.";
    const run = await ops(opsRefuse, [application.uuid, ...why, "--statement", statement]);
    expect(run.code).toBe(0);
    const home = (await person.get("/")).html;
    expect(home).toContain("The register &lt;b>has&lt;/b> no such company.");
    expect(home).not.toContain("Extract 1234");
    expect((await ops(opsApprove, [application.uuid, ...why])).code).not.toBe(0);
    expect(await portal.node.services.parties.party(application.uuid)).toBeNull();
    // Nothing keeps the applicant any more.
    const left = await leave(person);
    expect([left.status, left.html]).toEqual([200, expect.stringContaining("Sign in")]);
  });

  it("is not approved where an operator certified its uuid under another name, and is refused then", async () => {
    const waiting = (await applied("Waiting Ltd")).application;
    const approved = (await applied("Approved Ltd")).application;
    const act = { by: "Olga", reason: "Seen." };
    const { actors } = portal.node.services;
    const died = { type: "application.approve", act } as const;
    await actors.ask({ kind: "application", id: approved.uuid }, died);
    for (const { uuid } of [waiting, approved]) {
      const other = { kind: "business", legal_name: "Elsewhere Ltd", country: "GB", cert_id: null };
      await ask(`/ops/parties/${uuid}/certify`, { ...other, reason: "Seen." });
      const run = await ops(opsApprove, [uuid, ...why]);
      expect([run.code === 0, run.said]).toEqual([false, expect.stringContaining("Another party")]);
    }
    expect((await applicationOf("Waiting Ltd")).state).toBe("waiting");
    for (const { uuid, legal_name } of [waiting, approved]) {
      expect((await ops(opsRefuse, [uuid, ...why, "--statement", "Apply again."])).code).toBe(0);
      expect((await applicationOf(legal_name)).state).toBe("refused");
    }
  });

  it("is not approved with a passkey that another business has, and then nothing of it is opened", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const [first, second] = [await newPerson(), await newPerson("Bob")];
    await first.apply("First Ltd", "GB", { privateKey });
    await second.apply("Second Ltd", "GB", { privateKey });
    expect((await ops(opsApprove, [(await applicationOf("First Ltd")).uuid, ...why])).code).toBe(0);
    const { uuid } = await applicationOf("Second Ltd");
    const run = await ops(opsApprove, [uuid, ...why]);
    expect([run.code === 0, run.said]).toEqual([false, expect.stringContaining("another party")]);
    expect((await applicationOf("Second Ltd")).state).toBe("waiting");
    expect(await portal.node.services.parties.party(uuid)).toBeNull();
    expect((await ops(opsRefuse, [uuid, ...why, "--statement", "Make a new passkey."])).code).toBe(0);
  });

  it("is found by its people for as long as they have a role in it, also when its application is forgotten", async () => {
    const person = await newPerson();
    const [, person_id = ""] = /^([0-9a-f-]{36})\./.exec(person.cookies.get("svc_portal") ?? "") ?? [];
    const { actors, parties } = portal.node.services;
    const [session] = (await actors.ask(personRef(person_id), { type: "person.read" }))?.sessions ?? [];
    const act = { by: "Olga", reason: "Seen." };
    const uuids = ["10000000-0000-4000-8000-0000000000a1", "10000000-0000-4000-8000-0000000000a2"] as const;
    for (const uuid of uuids) {
      const party = { uuid, kind: "business", legal_name: "Old Ltd", country: "GB", group: uuid } as const;
      await parties.open({ ...party, blocked_groups: [] }, act);
      const note = { type: "business.note", session: session?.session ?? "", uuid, name: "Old Ltd" } as const;
      await actors.ask(personRef(person_id), { ...note, network: null });
    }
    await actors.ask(businessRef(uuids[0]), { type: "member.set", person_id, role: "owner", act });
    const { clock } = portal.node.services;
    const laterMs = clock.now() + 11 * 60_000;
    const later = vi.spyOn(clock, "now").mockReturnValue(laterMs);
    const { html: home } = await person.get("/").finally(() => later.mockRestore());
    expect(home).toContain(`href="/businesses/${uuids[0]}"`);
    expect(home).not.toContain(uuids[1]);
    const report = await actors.ask(personRef(person_id), { type: "person.read" });
    expect(report?.businesses).toEqual([uuids[0]]);
  });
});

/** Asks to leave and confirms it; returns the page after it. */
async function leave(person: Visitor) {
  const asked = await person.send((await person.get("/account")).form("/leave"));
  const [own] = person.authenticator.passkeys;
  return person.answer(asked.form("/confirm"), own && { passkey: own });
}

describe("an application", () => {
  /** The last page of the three, before the passkey signs. */
  async function lastPage(person: Visitor, legal_name: string) {
    const asked = await person.send((await person.get("/apply")).form("/apply"), {
      legal_name,
      country: "gb",
    });
    return (await person.answer(asked.form("/apply/passkey"))).form("/apply/file");
  }

  it("is for exactly what was shown, by the passkey that was made for it, in the same session", async () => {
    const ada = await newPerson();
    const form = await lastPage(ada, "Shown Ltd");
    const act = JSON.parse(form.fields["act"] ?? "");
    const credential = ada.credentialFor(form);
    const changed = (more: object) => ({ credential, act: JSON.stringify({ ...act, ...more }) });
    const [signIn, sealing] = ada.authenticator.passkeys;
    const other = await lastPage(ada, "Other Ltd");
    for (const written of [
      changed({ legal_name: "Another Ltd" }),
      changed({ country: "DE" }),
      changed({ uuid: "10000000-0000-4000-8000-0000000000aa" }),
      changed({ public_key: JSON.parse(other.fields["act"] ?? "").public_key }),
      { credential: JSON.stringify(ada.authenticator.get(form.options, signIn && { passkey: signIn })) },
      { credential: ada.credentialFor(form, { flags: 0x01 }) },
      { credential: ada.credentialFor(form, { origin: "http://localhost:1" }) },
      { credential: ada.credentialFor(other) },
      { credential, ticket: other.fields["ticket"] ?? "" },
    ])
      expect((await ada.send(form, written)).status).toBe(401);
    const elsewhere = new Visitor(portal.url, ada.authenticator);
    await elsewhere.signIn(signIn && { passkey: signIn });
    const form_code = (await elsewhere.get("/account")).form("/leave").fields["form_code"] ?? "";
    expect((await elsewhere.send(form, { credential, form_code })).status).toBe(401);
    expect(await applicationOf("Shown Ltd")).toBeUndefined();
    expect((await ada.send(form, { credential })).html).toContain("waits for the operators");
    expect(sealing).toBeDefined();
    // A double click does no harm.
    expect((await ada.send(form, { credential })).html.match(/application for Shown Ltd/g)).toHaveLength(1);
  });

  it("is in the journal before it is filed, and filed by the same form after a crash in between", async () => {
    const ada = await newPerson();
    const form = await lastPage(ada, "Journal Ltd");
    const credential = ada.credentialFor(form);
    const { actors } = portal.node.services;
    const ask = actors.ask.bind(actors);
    const send = async (failing: string) => {
      const isFailing = (command: { readonly type: string }) => command.type === failing;
      const crash = vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
        if (isFailing(command)) throw new Error("The node died.");
        return ask(to, command);
      });
      const { status } = await ada.send(form, { credential }).finally(() => crash.mockRestore());
      return status;
    };
    const journal = async () => (await ada.get("/account")).html.match(/applied for a business/g);
    expect(await send("business.note")).toBe(500);
    expect([await journal(), await applicationOf("Journal Ltd")]).toEqual([null, undefined]);
    expect(await send("application.file")).toBe(500);
    expect([(await journal())?.length, await applicationOf("Journal Ltd")]).toEqual([1, undefined]);
    expect((await ada.get("/")).html).not.toContain("Journal Ltd");
    expect((await ada.send(form, { credential })).html).toContain("waits for the operators");
    expect((await journal())?.length).toBe(1);
  });

  it("that was taken back is not filed again by the same form", async () => {
    const ada = await newPerson();
    const form = await lastPage(ada, "Once Ltd");
    const credential = ada.credentialFor(form);
    const filed = await ada.send(form, { credential });
    const [own] = ada.authenticator.passkeys;
    const asked = await ada.send(filed.form("/applications/withdraw"));
    await ada.answer(asked.form("/confirm"), own && { passkey: own });
    const { actors } = portal.node.services;
    const report = () => actors.ask(personRef(ada.personId), { type: "person.read" });
    await expect.poll(async () => (await report())?.businesses).toEqual([]);
    const again = await ada.send(form, { credential });
    expect([again.status, again.html]).toEqual([409, expect.stringContaining("Done before")]);
    expect(await applicationOf("Once Ltd")).toBeUndefined();
  });

  it("whose party has no home, because a node of a cluster died before it gave one, harms no page, and is forgotten", async () => {
    const ada = await newPerson();
    const [, person_id = ""] = /^([0-9a-f-]{36})\./.exec(ada.cookies.get("svc_portal") ?? "") ?? [];
    const { services } = portal.node;
    const { actors } = services;
    const report = () => actors.ask(personRef(person_id), { type: "person.read" });
    const [session = rubbish({})] = (await report())?.sessions ?? [];
    const uuid = "10000000-0000-4000-8000-0000000000a3";
    const note = { type: "business.note", session: session.session, uuid, name: "Homeless Ltd" } as const;
    await actors.ask(personRef(person_id), { ...note, network: null });
    const none = async () => undefined;
    const placement = { homeOf: () => null, settle: none, assignHome: none };
    const inCluster = applicationsOf({
      ...services,
      cluster: rubbish({ region: "r1", placement }),
      clock: { ...services.clock, now: () => services.clock.now() + 11 * 60_000 },
    });
    const ask = actors.ask.bind(actors);
    const isHomeless = ({ id }: { readonly id: string }) => id === uuid;
    const nowhere = vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
      if (isHomeless(to)) throw new Error("The party has no home.");
      return ask(to, command);
    });
    const own = inCluster.own({ person_id, name: "Ada", session }).finally(() => nowhere.mockRestore());
    expect(await own).toEqual([]);
    expect((await report())?.businesses).toEqual([]);
  });

  it("has a sealing passkey that lets nobody in, and is none of those that do", async () => {
    const ada = await newPerson();
    const { privateKey } = ada.authenticator.passkeys[0] ?? {};
    const reused = await ada.apply("Reused Ltd", "GB", privateKey && { privateKey });
    expect([reused.status, await applicationOf("Reused Ltd")]).toEqual([401, undefined]);
    ada.authenticator.passkeys.pop();
    await ada.apply("Sealed Ltd");
    await ada.send((await ada.get("/")).form("/sign-out"));
    const [own, sealing] = ada.authenticator.passkeys;
    expect((await ada.signIn(sealing && { passkey: sealing })).status).toBe(401);
    expect((await ada.signIn(own && { passkey: own })).status).toBe(200);
  });

  it("is of a name and a country that can be certified, and people with one do not leave", async () => {
    const ada = await newPerson();
    const form = (await ada.get("/apply")).form("/apply");
    for (const legal_name of ["", "x".repeat(257), "a\u202eb", "a\u3164"])
      expect((await ada.send(form, { legal_name, country: "GB" })).html).toContain("Not a name");
    for (const country of ["", "G", "XX", "UK", "1A"])
      expect((await ada.send(form, { legal_name: "A", country })).html).toContain("Not a country");
    await ada.apply("Stay Ltd");
    expect((await leave(ada)).html).toContain("You work for a business");
  });

  it("is shown to the person who applied alone", async () => {
    const { application } = await applied("Hidden Ltd");
    const eve = await newPerson("Eve");
    const { actors } = portal.node.services;
    const [, eveId = ""] = /^([0-9a-f-]{36})\./.exec(eve.cookies.get("svc_portal") ?? "") ?? [];
    const report = await actors.ask(personRef(eveId), { type: "person.read" });
    const session = report?.sessions[0]?.session ?? "";
    const note = {
      type: "business.note",
      session,
      uuid: application.uuid,
      name: "x",
      network: null,
    } as const;
    await actors.ask(personRef(eveId), note);
    expect((await eve.get("/")).html).not.toContain("Hidden Ltd");
  });

  it("is taken back by its applicant alone, for as long as nobody decided it", async () => {
    const { person, application } = await applied("Withdrawn Ltd");
    const { person: eve, application: theirs } = await applied("Kept Ltd");
    const [own] = person.authenticator.passkeys;
    const form = (await person.get("/")).form("/applications/withdraw");
    expect((await person.send(form, { uuid: theirs.uuid })).status).toBe(409);
    const asked = (await person.send(form)).form("/confirm");
    const credential = person.credentialFor(asked, own && { passkey: own });
    const act = JSON.parse(asked.fields["act"] ?? "");
    const swapped = { credential, act: JSON.stringify({ ...act, uuid: theirs.uuid }) };
    expect((await person.send(asked, swapped)).status).toBe(401);
    const home = await person.send(asked, { credential });
    expect([home.status, home.html.includes("Withdrawn Ltd")]).toEqual([200, false]);
    expect((await person.send(asked, { credential })).html).toContain("Done before");
    expect(await applicationOf("Withdrawn Ltd")).toBeUndefined();
    expect((await ops(opsApprove, [application.uuid, ...why])).code).not.toBe(0);
    expect((await person.get("/account")).html).toMatch(
      /took back an application<\/td><td[^>]*>Withdrawn Ltd/,
    );
    expect((await leave(person)).html).toContain("Sign in");
    const late = (await eve.send((await eve.get("/")).form("/applications/withdraw"))).form("/confirm");
    expect((await ops(opsApprove, [theirs.uuid, ...why])).code).toBe(0);
    const [hers] = eve.authenticator.passkeys;
    expect((await eve.answer(late, hers && { passkey: hers })).html).toContain("decided it meanwhile");
    expect(await roleOf(theirs.uuid, theirs.applicant)).toBe("owner");
  });

  it("is begun from one address five times a minute at most", async () => {
    const ada = await newPerson();
    const form = (await ada.get("/apply")).form("/apply");
    const begin = async () => (await ada.send(form, { legal_name: "Many Ltd", country: "GB" })).status;
    for (let count = 1; count <= 5; count += 1) expect(await begin()).toBe(200);
    expect(await begin()).toBe(429);
  });
});
