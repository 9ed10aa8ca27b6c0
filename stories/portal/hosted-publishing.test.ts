// Hosted publishing: people without a sealing passkey publish by the key that the service holds, and confirm each record with the passkey
// that signs them in. What keeps others out has a test each.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { KeyFacts } from "../../actors/messages/business.ts";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { signingUnavailable } from "../../crypto/port.ts";
import { openPortalNode, type PortalNode, type ShownForm, Visitor } from "../../portal/portal.fixture.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { custodyAt } from "../../verifier/business-keys.ts";
import {
  act,
  idIn,
  newBusinessAt,
  type Owned,
  setRoleAt,
  unescaped,
  writeRecord,
} from "./business.fixture.ts";

let portal: PortalNode;
let shop: Owned;
let dev: Visitor;
beforeAll(async () => {
  portal = await openPortalNode();
  shop = await newBusinessAt(portal, "Harrier Sports Ltd");
  dev = await joined(shop, "developer");
  await choose(shop);
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

/** Somebody new, who works for the business without a sealing passkey. */
async function joined({ uuid }: Owned, role: MemberRole): Promise<Visitor> {
  const visitor = Visitor.of(portal);
  await visitor.signUp("Grace Hopper");
  const { actors } = portal.node.services;
  await actors.ask(businessRef(uuid), { type: "member.set", person_id: visitor.personId, role, act });
  return visitor;
}

/** Switches hosted publishing on where it is off, and off where it is on. */
async function choose({ owner, uuid }: Owned) {
  const asked = await owner.send((await owner.get(`/businesses/${uuid}`)).form("/hosted-publishing"));
  const done = await owner.confirm(asked.form("/confirm"));
  await portal.node.services.register.refresh();
  return done;
}

async function hostedKeys({ uuid }: Owned): Promise<readonly KeyFacts[]> {
  const { register } = portal.node.services;
  await register.refresh();
  const keys = (await register.keys(uuid)).filter(({ role }) => role === "hosted");
  return keys.toSorted((a, b) => (a.valid_from < b.valid_from ? -1 : 1));
}

const update = (own_id: string, changes: JsonObject = {}): JsonObject => ({
  ...sampleRecords.updates,
  business_product_id: own_id,
  ...changes,
});

const write = (by: Visitor, record: JsonObject, { uuid } = shop) =>
  writeRecord({ ...shop, owner: by, uuid }, "updates", record);
const shownTo = async (by: Visitor, own_id: string, changes: JsonObject = {}): Promise<ShownForm> =>
  (await write(by, update(own_id, changes))).form("/records/seal");
const bytesIn = (form: ShownForm, name: string) =>
  Uint8Array.fromBase64(form.fields[name] ?? "", { alphabet: "base64url" });
const served = (id: string) => portal.node.services.records.readServed(id);
const journalOf = async (by: Visitor) => unescaped((await by.get("/account")).html);
const isListed = async (record: string) =>
  (await shop.owner.get(`/businesses/${shop.uuid}/records`)).html.includes(record);

describe("a business whose owner switched hosted publishing on", () => {
  it("has a key that the service holds, as everybody can verify", async () => {
    const keys = await hostedKeys(shop);
    expect(keys).toMatchObject([{ revoked_at: null, valid_until: null }]);
    const [{ key_id = "", valid_from: at = "" } = {}] = keys;
    const { services, urls } = portal.node;
    const custody = await fetch(`${urls.verify_url}/v1/certificates/${shop.uuid}/key-custody`);
    const about = { business_uuid: shop.uuid, key_id, at };
    expect(custodyAt(services.trust(), rubbish(await custody.json()), about)).toEqual({
      ok: true,
      value: "hosted",
    });
    const notices = unescaped((await shop.owner.get(`/notices/${shop.uuid}`)).html);
    expect(notices).toContain(`the service seals by the key ${key_id} what people confirm`);
    expect((await journalOf(shop.owner)).match(/switched hosted publishing on or off/g)).toHaveLength(1);
    const { acts } = await services.actors.ask(businessRef(shop.uuid), {
      type: "acts.read",
      after: 0,
      limit: 50,
    });
    expect(JSON.stringify(acts)).toContain("Hosted publishing was switched on.");
  });

  it("lets a developer without a sealing passkey publish, edit, withdraw and delete", async () => {
    const [key] = await hostedKeys(shop);
    const shown = await write(dev, update("day"));
    expect(shown.html).toContain("once you confirm exactly this");
    expect(unescaped(shown.html)).toContain(`Sealed by the key ${key?.key_id}`);
    const form = shown.form("/records/seal");
    const id = idIn(await dev.confirm(form));
    const first = await served(id);
    const seal = JSON.parse(first?.seal.envelope ?? "{}");
    expect(seal.signatures).toMatchObject([{ keyid: key?.key_id }]);
    const hash = hashOf(bytesIn(form, "document"));
    const journal = await journalOf(dev);
    expect([journal.includes("had a record sealed"), journal.includes(`${id}, ${hash}`)]).toEqual([
      true,
      true,
    ]);
    const list = await dev.get(`/businesses/${shop.uuid}/records`);
    const { controls, ...edit } = (await dev.send(list.form("/records/edit"))).form("/records/make");
    const again = await dev.send({ ...edit, controls }, { ...controls, "/headline": "Changed" });
    expect(idIn(await dev.confirm(again.form("/records/seal")))).toBe(id);
    expect(new TextDecoder().decode((await served(id))?.version.bytes)).toContain("Changed");
    for (const action of ["withdraw", "delete"]) {
      const now = await dev.get(`/businesses/${shop.uuid}/records`);
      const words = await dev.send(now.form("/records/remove"), { action });
      expect((await dev.confirm(words.form("/records/seal"))).html).toContain("Taken out");
      expect(await isListed(id)).toBe(false);
      if (action === "withdraw") await dev.confirm(await shownTo(dev, "day", { headline: "Back" }));
    }
    expect(await journalOf(dev)).toMatch(/had a deletion sealed[\s\S]*had a withdrawal sealed/);
  });

  it("lets who has a sealing passkey seal with it, as before", async () => {
    const form = (await write(shop.owner, update("own"))).form("/records/seal");
    expect((await shop.owner.answer(form)).html).toContain("Published");
  });

  it("lets the same answer come again, with the same seal, whatever failed in between", async () => {
    const { actors, hostedKeys: keys } = portal.node.services;
    const mate = await joined(shop, "developer");
    const form = await shownTo(mate, "again");
    // An authenticator that counts: its answer does not count on when it comes again.
    const [own] = mate.authenticator.passkeys;
    const credential = mate.credentialFor(form, { ...(own && { passkey: own }), counter: 7 });
    const hash = hashOf(bytesIn(form, "document"));
    const kept = async () => (await journalOf(mate)).split(hash).length - 1;
    const seal = vi.spyOn(keys, "seal");
    // Which of the keys it is is known since the key first sealed.
    const asked = vi.spyOn(keys, "publicKey");
    const ask = actors.ask.bind(actors);
    const typeOf = ({ type: named }: { readonly type: string }) => named;
    const failing = async (type: string, how: () => never) => {
      const crash = vi
        .spyOn(actors, "ask")
        .mockImplementation(async (to, command) => (typeOf(command) === type ? how() : ask(to, command)));
      return (await mate.send(form, { credential }).finally(() => crash.mockRestore())).status;
    };
    const dies = (): never => {
      throw new Error("The node died.");
    };
    const refused = (): never => rubbish({ status: "refused", code: "session_ended" });
    expect(await failing("act.confirm", dies)).toBe(500);
    expect(await failing("act.confirm", refused)).toBe(401);
    expect([seal.mock.calls.length, await kept()]).toEqual([0, 0]);
    seal.mockImplementationOnce(dies);
    expect((await mate.send(form, { credential })).status).toBe(500);
    expect(await kept()).toBe(1);
    expect(await failing("push.status", dies)).toBe(500);
    expect([await isListed("again"), await kept()]).toEqual([false, 1]);
    const done = await mate.send(form, { credential });
    const id = idIn(done);
    const first = await served(id);
    expect(idIn(await mate.send(form, { credential }))).toBe(id);
    const second = await served(id);
    expect(second?.version.generation).toBe(first?.version.generation);
    const seals = await Promise.all(seal.mock.results.slice(1).map(({ value }) => value));
    expect(new Set(seals.map((each) => JSON.stringify(each))).size).toBe(1);
    expect([seals.length > 1, await kept()]).toEqual([true, 1]);
    const [code] = new Set(seal.mock.calls.map(([, { confirmation }]) => confirmation));
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
    expect(code).toBe(form.fields["code"]);
    seal.mockRestore();
  });
});

describe("the hosted key seals nothing", () => {
  it("for who is not in the business, has too low a role, or lost it since the page was shown", async () => {
    const [viewer, admin] = [await joined(shop, "viewer"), await joined(shop, "admin")];
    const stranger = Visitor.of(portal);
    await stranger.signUp();
    const page = `/businesses/${shop.uuid}/new/updates`;
    expect([(await viewer.get(page)).status, (await stranger.get(page)).status]).toEqual([403, 404]);
    const form = await shownTo(admin, "roles");
    const seal = vi.spyOn(portal.node.services.hostedKeys, "seal");
    const others = [await shownTo(dev, "roles")];
    for (const other of others) {
      const form_code = (await viewer.get("/account")).form("/leave").fields["form_code"] ?? "";
      expect((await viewer.confirm({ ...other, fields: { ...other.fields, form_code } })).status).toBe(403);
      const own_code = (await stranger.get("/account")).form("/leave").fields["form_code"] ?? "";
      const taken = { ...other, fields: { ...other.fields, form_code: own_code } };
      expect((await stranger.confirm(taken)).status).toBe(404);
    }
    for (const [role, status] of [
      ["viewer", 403],
      [null, 404],
    ] as const) {
      await setRoleAt(portal, { ...shop, personId: admin.personId }, role);
      expect((await admin.confirm(form)).status).toBe(status);
    }
    expect(seal).not.toHaveBeenCalled();
    seal.mockRestore();
    expect(await isListed("roles")).toBe(false);
  });

  it("that binds the business: neither an AI policy nor a mandate, a campaign or a decision", async () => {
    const admin = await joined(shop, "admin");
    const policy = (await shop.owner.get(`/businesses/${shop.uuid}/ai-policy`)).form("/ai-policies/make");
    const form_code = (await admin.get("/account")).form("/leave").fields["form_code"] ?? "";
    expect((await admin.send(policy, { form_code })).status).toBe(403);
    const make = { uuid: shop.uuid, form_code };
    expect((await admin.post("/mandates/make", { ...make, key_id: "k" })).status).toBe(403);
    expect((await admin.post("/holds/decide", { ...make, push_id: "p", decision: "confirm" })).status).toBe(
      403,
    );
    expect((await admin.get(`/businesses/${shop.uuid}/campaigns/new`)).status).toBe(403);
  });

  it("but exactly what was shown, to this person, in this session, confirmed with their passkey", async () => {
    const form = await shownTo(dev, "exact");
    const other = await shownTo(dev, "exact", { headline: "Other" });
    const [own] = dev.authenticator.passkeys;
    const by = own && { passkey: own };
    const credential = dev.credentialFor(form, by);
    const fieldsOf = (from: ShownForm, ...names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, from.fields[name] ?? ""]));
    const elsewhere = new Visitor(portal.url, dev.authenticator);
    await elsewhere.answer((await elsewhere.get("/sign-in")).form("/sign-in"), by);
    const form_code = (await elsewhere.get("/account")).form("/leave").fields["form_code"] ?? "";
    const passkeys = (await write(shop.owner, update("exact"))).form("/records/seal");
    const mate = await joined(shop, "developer");
    const [theirs] = mate.authenticator.passkeys;
    const seal = vi.spyOn(portal.node.services.hostedKeys, "seal");
    expect((await elsewhere.send(form, { form_code, credential })).status).toBe(409);
    const mates = (await mate.get("/account")).form("/leave").fields["form_code"] ?? "";
    expect((await mate.send(form, { form_code: mates, credential })).status).toBe(409);
    for (const changed of [
      fieldsOf(other, "document"),
      fieldsOf(other, "payload"),
      fieldsOf(other, "payload", "document"),
      fieldsOf(other, "payload", "document", "code", "ticket"),
      fieldsOf(other, "ticket"),
      { ticket: (form.fields["ticket"] ?? "").replace(/[0-9]$/, (last) => (last === "9" ? "8" : "9")) },
      { credential: dev.credentialFor(form, { ...by, flags: 0x01 }) },
      { credential: dev.credentialFor(form, { ...by, origin: "http://localhost:1" }) },
      { credential: dev.credentialFor(other, by) },
      {
        credential: dev.credentialFor(
          { ...form, options: { ...form.options, allowCredentials: [] } },
          theirs && { passkey: theirs },
        ),
      },
      { credential: "{}" },
    ])
      expect((await dev.send(form, { credential, ...changed })).status).toBe(409);
    // What a sealing passkey was to seal is not sealed by a confirmation.
    const foreign = { ...passkeys.fields, form_code: form.fields["form_code"] ?? "", credential };
    expect((await dev.post("/records/seal", foreign)).status).toBe(403);
    expect(seal).not.toHaveBeenCalled();
    seal.mockRestore();
    expect((await dev.send(form, { credential })).html).toContain("Published");
  });

  it("for another business of the same person", async () => {
    const theirs = await newBusinessAt(portal, "Theirs Ltd");
    const { actors } = portal.node.services;
    const member = { type: "member.set", person_id: dev.personId, role: "developer", act } as const;
    await actors.ask(businessRef(theirs.uuid), member);
    const form = await shownTo(dev, "theirs");
    expect((await dev.get(`/businesses/${theirs.uuid}/new/updates`)).status).toBe(403);
    const [own] = dev.authenticator.passkeys;
    const credential = dev.credentialFor(form, own && { passkey: own });
    // It names no hosted key there, and the person has no passkey.
    expect((await dev.send(form, { uuid: theirs.uuid, credential })).status).toBe(403);
    await choose(theirs);
    expect((await dev.send(form, { uuid: theirs.uuid, credential })).status).toBe(403);
    expect((await hostedKeys(theirs))[0]?.key_id).not.toBe((await hostedKeys(shop))[0]?.key_id);
  });

  it("once it is switched off or revoked, and what is switched on again is another key", async () => {
    const owned = await newBusinessAt(portal, "Switches Ltd");
    const mate = await joined(owned, "developer");
    const shown = async () => (await write(mate, update("switch"), owned)).form("/records/seal");
    await choose(owned);
    const form = await shown();
    await choose(owned);
    const late = await mate.confirm(form);
    expect([late.status, late.html.includes("was switched off")]).toEqual([409, true]);
    expect((await mate.get(`/businesses/${owned.uuid}/new/updates`)).status).toBe(403);
    await choose(owned);
    expect((await mate.confirm(form)).status).toBe(409);
    const again = await shown();
    const [, second] = await hostedKeys(owned);
    const at = formatTimestamp(portal.node.services.clock.now());
    const ended = {
      uuid: owned.uuid,
      key_id: second?.key_id ?? "",
      revoked_at: at,
      compromised_from: at,
      act,
    };
    await portal.node.services.parties.revokeKey(ended);
    expect((await mate.confirm(again)).status).toBe(409);
    await portal.node.services.register.refresh();
    await choose(owned);
    expect((await mate.confirm(await shown())).html).toContain("Published");
    const keys = await hostedKeys(owned);
    expect(new Set(keys.map(({ key_id }) => key_id)).size).toBe(3);
    expect(keys.map(({ revoked_at }) => revoked_at === null)).toEqual([false, false, true]);
  });

  it("that breaks a rule since it was shown, and keeps no act of it", async () => {
    const form = await shownTo(dev, "rules", { headline: "Boots of Quillfeather Harbour Ltd" });
    await newBusinessAt(portal, "Quillfeather Harbour Ltd");
    const seal = vi.spyOn(portal.node.services.hostedKeys, "seal");
    expect((await dev.confirm(form)).html).toContain("1 thing is not right");
    expect(seal).not.toHaveBeenCalled();
    seal.mockRestore();
    expect(await journalOf(dev)).not.toContain(hashOf(bytesIn(form, "document")));
    expect(await isListed("rules")).toBe(false);
  });
});

describe("hosted publishing is switched", () => {
  it("by owners and admins alone, each confirming exactly this", async () => {
    const owned = await newBusinessAt(portal, "Owners Ltd");
    const [mate, viewer] = [await joined(owned, "developer"), await joined(owned, "viewer")];
    for (const each of [mate, viewer]) {
      expect((await each.get(`/businesses/${owned.uuid}`)).html).not.toContain("/hosted-publishing");
      const form_code = (await each.get("/account")).form("/leave").fields["form_code"] ?? "";
      const asked = { uuid: owned.uuid, on: "yes", form_code };
      expect((await each.post("/hosted-publishing", asked)).status).toBe(403);
    }
    const { owner, uuid } = owned;
    const asked = await owner.send((await owner.get(`/businesses/${uuid}`)).form("/hosted-publishing"));
    expect(asked.html).toContain("The service holds a key for Owners Ltd from now on");
    const confirm = asked.form("/confirm");
    const [own] = owner.authenticator.passkeys;
    const credential = owner.credentialFor(confirm, own && { passkey: own });
    const off = JSON.stringify({ ...JSON.parse(confirm.fields["act"] ?? ""), on: false });
    expect((await owner.send(confirm, { credential, act: off })).status).toBe(401);
    await setRoleAt(portal, owned, "developer");
    expect((await owner.send(confirm, { credential })).status).toBe(403);
    expect(await hostedKeys(owned)).toEqual([]);
  });

  it("on nowhere that no key is held, and is again once one is", async () => {
    const owned = await newBusinessAt(portal, "Away Ltd");
    const away = signingUnavailable("hosted_key", "The issuance process holds no keys for businesses.");
    const { hostedKeys: held } = portal.node.services;
    const none = vi.spyOn(held, "publicKey").mockRejectedValue(away);
    const refused = await choose(owned);
    expect([refused.status, refused.html.includes('"reason":"hosted_key"')]).toEqual([503, true]);
    expect(await hostedKeys(owned)).toEqual([]);
    none.mockRestore();
    expect((await choose(owned)).status).toBe(200);
    const mate = await joined(owned, "developer");
    const form = (await write(mate, update("away"), owned)).form("/records/seal");
    const seal = vi.spyOn(held, "seal").mockRejectedValueOnce(away);
    const [own] = mate.authenticator.passkeys;
    const credential = mate.credentialFor(form, own && { passkey: own });
    const sent = { ...form.fields, credential };
    const later = await mate.post("/records/seal", sent, { accept: "text/html" });
    expect([later.status, later.html]).toEqual([503, expect.stringContaining("Look in a minute")]);
    expect((await mate.send(form, { credential })).html).toContain("Published");
    seal.mockRestore();
  });

  it("on with its notice, also where its custody cannot be stated then", async () => {
    const owned = await newBusinessAt(portal, "Notice Ltd");
    const custody = vi.spyOn(portal.node.services.parties, "stateCustody");
    custody.mockRejectedValueOnce(signingUnavailable("issuance", "The issuance process is away."));
    expect((await choose(owned)).status).toBe(503);
    custody.mockRestore();
    const notices = unescaped((await owned.owner.get(`/notices/${owned.uuid}`)).html);
    await expect.poll(async () => (await hostedKeys(owned)).length).toBe(1);
    const [key] = await hostedKeys(owned);
    expect(notices).toContain(`the service seals by the key ${key?.key_id} what people confirm`);
  });

  it("off for each key that the business has, also for one that this region does not know yet", async () => {
    const owned = await newBusinessAt(portal, "Late Region Ltd");
    await choose(owned);
    const { owner, uuid } = owned;
    const off = (await owner.get(`/businesses/${uuid}`)).form("/hosted-publishing");
    const { register, hostedKeys: held } = portal.node.services;
    const behind = vi.spyOn(register, "keys").mockResolvedValue([]);
    const away = signingUnavailable("hosted_key", "The issuance process holds no keys for businesses.");
    const none = vi.spyOn(held, "publicKey").mockRejectedValue(away);
    const switchOff = async () => (await owner.confirm((await owner.send(off)).form("/confirm"))).status;
    expect(await switchOff()).toBe(503);
    none.mockRestore();
    expect(await switchOff()).toBe(200);
    behind.mockRestore();
    const revoked = async () => (await hostedKeys(owned)).map(({ revoked_at }) => revoked_at !== null);
    await expect.poll(revoked).toEqual([true]);
    // What the region knows does not wait for the issuance process.
    await choose(owned);
    await expect.poll(revoked).toEqual([true, false]);
    const gone = vi.spyOn(held, "publicKey").mockRejectedValue(away);
    expect((await choose(owned)).status).toBe(503);
    gone.mockRestore();
    await expect.poll(revoked).toEqual([true, true]);
  });

  it("on for nobody whose certificate has ended, and off by no revocation of a system's key", async () => {
    const owned = await newBusinessAt(portal, "Ended Ltd");
    await choose(owned);
    const [key] = await hostedKeys(owned);
    const mate = await joined(owned, "developer");
    const form_code = (await mate.get("/account")).form("/leave").fields["form_code"] ?? "";
    const revoking = { uuid: owned.uuid, key_id: key?.key_id ?? "", form_code };
    expect((await mate.post("/keys/revoke", revoking)).status).toBe(404);
    await choose(owned);
    const { parties, clock } = portal.node.services;
    const party = await parties.party(owned.uuid);
    if (party === null) throw new Error("unknown");
    const at = formatTimestamp(clock.now());
    const { kind, legal_name, country } = party;
    await parties.issueCertificate({
      uuid: owned.uuid,
      kind,
      legal_name,
      country,
      verified_since: at,
      status: "closed",
      status_effective_from: at,
      status_reason: null,
    });
    const refused = await choose(owned);
    expect([refused.status, refused.html.includes("active certificate")]).toEqual([409, true]);
  });
});
