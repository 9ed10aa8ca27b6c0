// The owner of a business that came in by the portal registers the key of its system and seals its mandate; then the system pushes.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { push } from "../../cli/publishing/push.ts";
import { openPortalNode, type PortalNode, type ShownForm, Visitor } from "../../portal/portal.fixture.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  act,
  mandate,
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  setRoleAt,
  showMandate,
  unescaped,
  verifiedOnPage,
} from "./business.fixture.ts";

let portal: PortalNode;
let folder: string;
beforeAll(async () => {
  portal = await openPortalNode();
  folder = await mkdtemp(join(tmpdir(), "svc-owner-"));
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const newBusiness = (name: string) => newBusinessAt(portal, name);

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}`);

const confirm = ({ owner }: Owned, form: ShownForm) => owner.confirm(form);
const proven = provenKey;

async function registerKey(owned: Owned, key?: Awaited<ReturnType<typeof proven>>) {
  const made = await registerKeyAt(portal, owned, key ?? (await proven(owned)));
  expect(made.asked.html).toContain(made.key_id);
  return made;
}

const setRole = (owned: Owned, role: MemberRole) => setRoleAt(portal, owned, role);

/** Another owner, who was let in. */
async function secondOwner(owned: Owned): Promise<Owned> {
  const owner = Visitor.of(portal);
  await owner.signUp("Bob");
  const { personId } = owner;
  const member = { type: "member.set", person_id: personId, role: "owner", act } as const;
  await portal.node.services.actors.ask(businessRef(owned.uuid), member);
  return { ...owned, owner, personId };
}

/** The page that asks for the new passkey, after the person has confirmed it. */
async function makeSealer(owned: Owned) {
  const asked = await owned.owner.send((await pageOf(owned)).form("/sealing/add"));
  return confirm(owned, asked.form("/confirm"));
}

/** The page on which the new passkey proves itself. */
const proveSealer = async (owned: Owned) =>
  owned.owner.answer((await makeSealer(owned)).form("/sealing/passkey"));

/** The system of the business publishes a product with the configuration of its page. */
async function pushAs(owned: Owned, jwk: object, id: string): Promise<void> {
  const page = unescaped((await pageOf(owned)).html);
  const [, config = ""] = /<pre[^>]*>(\{.*?\})<\/pre>/s.exec(page) ?? [];
  await writeFile(join(folder, "business.json"), config);
  await writeFile(join(folder, "key.json"), JSON.stringify(jwk));
  await writeFile(join(folder, "products.json"), `[${new TextDecoder().decode(product(id))}]`);
  const words = [join(folder, "products.json"), "--config", join(folder, "business.json")];
  const run = await runRevoke(words, { home: join(folder, "home"), reply: null, command: push });
  expect(run.code, run.said + run.printed).toBe(0);
}

describe("an owner who was invited", () => {
  it("makes a passkey that seals, and seals a mandate with it, and the first owner may go", async () => {
    const first = await newBusiness("Second Ltd");
    const { uuid } = first;
    const second = await secondOwner(first);
    const { owner: bob, personId } = second;
    const form = (await proveSealer(second)).form("/sealing/register");
    const credential = bob.credentialFor(form);
    const { actors, register } = portal.node.services;
    // A double click changes nothing.
    for (const _ of [1, 2]) expect((await bob.send(form, { credential })).status).toBe(200);
    await register.refresh();
    const member = await actors.ask(businessRef(uuid), { type: "member.read", person_id: personId });
    const key_id = member?.sealing?.key_id;
    const own = (await register.keys(uuid)).filter((each) => each.key_id === key_id);
    expect(own).toMatchObject([{ role: "sealing", person_role: "owner", revoked_at: null }]);
    expect(await register.custody(uuid)).toContainEqual(expect.objectContaining({ key_id, custody: "self" }));
    await registerKey(second);
    const sealed = await bob.answer((await showMandate(second)).form("/mandates/seal"));
    await register.refresh();
    expect([sealed.status, (await register.mandates(uuid)).length]).toEqual([200, 1]);
    expect((await bob.get("/account")).html).toContain("made a passkey that seals");
    const people = await first.owner.get(`/people/${uuid}`);
    const leaving = await first.owner.send(people.form("/people/remove"), { person_id: first.personId });
    expect((await confirm(first, leaving.form("/confirm"))).status).toBe(200);
    await register.refresh();
    expect((await register.keys(uuid)).filter(({ role }) => role === "sealing")).toMatchObject([
      { revoked_at: expect.any(String) },
      { revoked_at: null },
    ]);
  });

  it("makes none for another business, by another act, twice, or with a role that does not seal", async () => {
    const [first, other] = [await newBusiness("Alone Ltd"), await newBusiness("Elsewhere Ltd")];
    const second = await secondOwner(first);
    const { owner: bob, uuid, personId } = second;
    const make = (await makeSealer(second)).form("/sealing/passkey");
    const late = (await proveSealer(second)).form("/sealing/register");
    const credential = bob.credentialFor(make);
    const act_ = JSON.parse(make.fields["act"] ?? "");
    const elsewhere = { credential, act: JSON.stringify({ ...act_, uuid: other.uuid }) };
    expect((await bob.send(make, elsewhere)).status).toBe(401);
    const prove = (await bob.send(make, { credential })).form("/sealing/register");
    const proof = bob.credentialFor(prove);
    const asked = JSON.parse(prove.fields["act"] ?? "");
    const swapped = (change: object) =>
      bob.send(prove, { credential: proof, act: JSON.stringify({ ...asked, ...change }) });
    // The code is of the act as it was shown, and the proof of the key in it.
    for (const change of [{ uuid: other.uuid }, { legal_name: "Bob Ltd" }])
      expect((await swapped(change)).status).not.toBe(200);
    const [signsIn] = bob.authenticator.passkeys;
    const forged = signsIn && bob.credentialFor(prove, { passkey: signsIn });
    expect((await bob.send(prove, { credential: forged ?? "" })).status).toBe(409);
    for (const role of ["developer", "viewer"] as const) {
      await setRole({ ...second }, role);
      expect((await bob.send(prove, { credential: proof })).status).toBe(403);
    }
    const { actors, register } = portal.node.services;
    await register.refresh();
    expect((await register.keys(uuid)).length).toBe(1);
    await actors.ask(businessRef(uuid), { type: "member.set", person_id: personId, role: "owner", act });
    expect((await bob.send(prove, { credential: proof })).status).toBe(200);
    const refused = await bob.answer(late);
    expect([refused.status, refused.html.includes("already")]).toEqual([409, true]);
    // Only what happened is in the journal.
    const { html } = await bob.get("/account");
    expect(html.match(/made a passkey that seals/g)).toHaveLength(1);
  });

  it("makes another one once an operator revoked the key, and none while the certificate is ended", async () => {
    const owned = await newBusiness("Stolen Ltd");
    const { owner, uuid } = owned;
    const { parties, register } = portal.node.services;
    const own = (await register.keys(uuid))[0]?.key_id ?? "";
    const form_code = (await pageOf(owned)).form("/keys/register").fields["form_code"] ?? "";
    expect((await owner.post("/sealing/add", { uuid, form_code })).status).toBe(404);
    const revoked_at = new Date().toISOString();
    await parties.revokeKey({ uuid, key_id: own, revoked_at, compromised_from: null, act });
    await expect
      .poll(async () => {
        await register.refresh();
        return (await register.keys(uuid))[0]?.revoked_at;
      })
      .toBe(revoked_at);
    const prove = (await proveSealer(owned)).form("/sealing/register");
    const facts = vi.spyOn(parties, "facts").mockImplementation(async () => {
      facts.mockRestore();
      return { ...(await parties.facts(uuid, "")), certificate: null };
    });
    const credential = owner.credentialFor(prove);
    expect((await owner.send(prove, { credential })).status).toBe(409);
    expect((await owner.send(prove, { credential })).status).toBe(200);
    const live = async () => {
      await register.refresh();
      return (await register.keys(uuid)).filter(({ revoked_at: ended }) => ended === null).length;
    };
    await expect.poll(live).toBe(1);
  });
});

describe("the owner of a business", () => {
  it("registers a key, seals a mandate word by word, and its system pushes", async () => {
    const owned = await newBusiness("Tea Ltd");
    const { owner, uuid } = owned;
    const { jwk, key_id } = await registerKey(owned);
    expect((await pageOf(owned)).html).toContain(key_id);
    const shown = await showMandate(owned);
    const form = shown.form("/mandates/seal");
    const payload = Uint8Array.fromBase64(form.fields["payload"] ?? "", { alphabet: "base64url" });
    const { crypto, register } = portal.node.services;
    const words = sealedWords(crypto, payloadTypes["mandate.v1"], { payload, document: null });
    expect(JSON.parse(new TextDecoder().decode(payload))).toMatchObject({ business_uuid: uuid, key_id });
    expect(words.ok && unescaped(shown.html)).toContain(words.ok ? words.value.join("\n") : "words");
    const sealed = await owner.answer(form);
    await register.refresh();
    const stored = await register.mandates(uuid);
    expect([sealed.status, stored.length]).toEqual([200, 1]);
    // The page that verifies says the same words, letter for letter.
    const report = await verifiedOnPage(portal, JSON.parse(stored[0]?.envelope ?? "{}"));
    expect([report.valid, { ok: true, value: report.words }]).toEqual([true, words]);
    // A double click does no harm.
    await owner.answer(form);
    await pushAs(owned, jwk, "green-tea");
    const account = (await owner.get("/account")).html;
    expect(account).toMatch(/sealed a mandate.*registered a key/s);
    expect(account.match(/sealed a mandate/g)).toHaveLength(1);
  });

  it("has a sealed mandate in the journal before it is in force, and none that does not verify", async () => {
    const owned = await newBusiness("Journal Ltd");
    const { owner, uuid } = owned;
    await registerKey(owned);
    const form = (await showMandate(owned)).form("/mandates/seal");
    const { parties, register } = portal.node.services;
    const isKept = async () => (await owner.get("/account")).html.includes("sealed a mandate");
    expect((await owner.send(form, { credential: owner.credentialFor(form, { flags: 0x01 }) })).status).toBe(
      409,
    );
    expect(await isKept()).toBe(false);
    const crash = vi.spyOn(parties, "acceptMandate").mockRejectedValueOnce(new Error("The node died."));
    const credential = owner.credentialFor(form);
    expect((await owner.send(form, { credential }).finally(() => crash.mockRestore())).status).toBe(500);
    expect(await isKept()).toBe(true);
    expect((await owner.send(form, { credential })).status).toBe(200);
    await register.refresh();
    expect((await register.mandates(uuid)).length).toBe(1);
  });

  it("revokes a mandate and a key", async () => {
    const owned = await newBusiness("Revoke Ltd");
    const { owner, uuid } = owned;
    const { key_id } = await registerKey(owned);
    // Each page that follows an act shows it.
    let page = await owner.answer((await showMandate(owned)).form("/mandates/seal"));
    for (const path of ["/mandates/revoke", "/keys/revoke"]) {
      const asked = await owner.send(page.form(path));
      expect(asked.html).toContain("at once and for good");
      page = await confirm(owned, asked.form("/confirm"));
      expect([page.status, page.html.includes(`action="${path}"`)]).toEqual([200, false]);
    }
    const { register } = portal.node.services;
    expect((await register.mandates(uuid))[0]?.revoked_at).not.toBeNull();
    expect((await register.keys(uuid)).find((key) => key.key_id === key_id)?.revoked_at).not.toBeNull();
  });
});

describe("a key that was in other hands", () => {
  it("is revoked since a moment: what it sealed from then on stands no more, what it sealed before stands", async () => {
    const owned = await newBusiness("Stolen Ltd");
    const { owner, uuid } = owned;
    const { jwk, key_id } = await registerKey(owned);
    await owner.answer((await showMandate(owned)).form("/mandates/seal"));
    const { register, clock } = portal.node.services;
    await register.refresh();
    await pushAs(owned, jwk, "mine");
    const since = new Date(clock.now()).toISOString();
    await pushAs(owned, jwk, "theirs");
    const published = async () => (await owner.get(`/businesses/${uuid}/records`)).html;
    expect(await published()).toMatch(/mine.*theirs|theirs.*mine/s);
    const form = (await pageOf(owned)).form("/keys/revoke");
    const asked = await owner.send(form, { compromised_from: since.slice(0, -1) });
    expect(asked.html).toContain(`${key_id} of Stolen Ltd is revoked`);
    expect(asked.html).toContain(`in other hands since ${since}`);
    expect((await confirm(owned, asked.form("/confirm"))).status).toBe(200);
    await register.refresh();
    expect(await register.key(key_id)).toMatchObject({ compromised_from: since });
    await expect.poll(published, { timeout: 30_000 }).not.toContain("theirs");
    expect(await published()).toContain("mine");
    expect((await owner.get("/account")).html).toContain(`${key_id}, in other hands since ${since}`);
  });

  it("is not revoked since a later moment, one that is none, or another than was confirmed", async () => {
    const owned = await newBusiness("Moment Ltd");
    const { owner } = owned;
    const { key_id } = await registerKey(owned);
    const { register, clock } = portal.node.services;
    const form = (await pageOf(owned)).form("/keys/revoke");
    const later = new Date(clock.now() + 3_600_000).toISOString().slice(0, -1);
    for (const [written, why] of [
      [later, "in the future"],
      ["yesterday", "is not a moment"],
      ["2026-02-30T00:00", "is not a moment"],
    ] as const) {
      const refused = await owner.send(form, { compromised_from: written });
      expect([refused.status, refused.html]).toEqual([409, expect.stringContaining(why)]);
    }
    const shown = (await owner.send(form, { compromised_from: "2026-01-02T03:04" })).form("/confirm");
    const act_ = JSON.parse(shown.fields["act"] ?? "");
    expect(act_).toMatchObject({ compromised_from: "2026-01-02T03:04:00.000Z" });
    const [own] = owner.authenticator.passkeys;
    const credential = owner.credentialFor(shown, own && { passkey: own });
    for (const compromised_from of ["2026-01-01T00:00:00.000Z", null, "no moment"]) {
      const swapped = { credential, act: JSON.stringify({ ...act_, compromised_from }) };
      expect((await owner.send(shown, swapped)).status).not.toBe(200);
    }
    await register.refresh();
    expect(await register.key(key_id)).toMatchObject({ revoked_at: null, compromised_from: null });
  });

  it("stays revoked as it was where another tab still shows that it stands", async () => {
    const owned = await newBusiness("Tabs Ltd");
    const { owner } = owned;
    const { key_id } = await registerKey(owned);
    const { register } = portal.node.services;
    const form = (await pageOf(owned)).form("/keys/revoke");
    const [first, second] = [
      await owner.send(form),
      await owner.send(form, { compromised_from: "2026-01-02T03:04" }),
    ];
    expect((await confirm(owned, first.form("/confirm"))).status).toBe(200);
    await register.refresh();
    const revoked = await register.key(key_id);
    expect((await confirm(owned, second.form("/confirm"))).status).toBe(404);
    await register.refresh();
    expect(await register.key(key_id)).toEqual(revoked);
    expect(revoked).toMatchObject({ compromised_from: null, revoked_at: expect.any(String) });
  });
});

describe("nothing is done for a business", () => {
  it("by somebody whose role is too low, or was taken away since the page was shown", async () => {
    const owned = await newBusiness("Roles Ltd");
    const { owner } = owned;
    await registerKey(owned);
    const words = (await showMandate(owned)).form("/mandates/seal");
    const keys = (await pageOf(owned)).form("/keys/register");
    const made = await proven(owned);
    const asked = (await owner.send(keys, { proven: made.printed })).form("/confirm");
    await setRole(owned, "developer");
    expect((await owner.answer(words)).status).toBe(403);
    expect((await pageOf(owned)).html).not.toContain("Show its words");
    await setRole(owned, "viewer");
    expect((await confirm(owned, asked)).status).toBe(403);
    expect((await owner.send(keys, { proven: made.printed })).status).toBe(403);
    expect((await pageOf(owned)).html).not.toContain("Register the key");
    const { register } = portal.node.services;
    await setRoleAt(portal, owned, null);
    expect((await pageOf(owned)).status).toBe(404);
    expect((await owner.send(keys, { proven: made.printed })).status).toBe(404);
    await register.refresh();
    expect((await register.mandates(owned.uuid)).length).toBe(0);
    expect((await register.keys(owned.uuid)).map(({ key_id }) => key_id)).not.toContain(made.key_id);
  });

  it("under the ids of another one", async () => {
    const [mine, theirs] = [await newBusiness("Mine Ltd"), await newBusiness("Theirs Ltd")];
    const their = await registerKey(theirs);
    await theirs.owner.answer((await showMandate(theirs)).form("/mandates/seal"));
    await registerKey(mine);
    const { register } = portal.node.services;
    await register.refresh();
    const theirMandate = (await register.mandates(theirs.uuid))[0]?.mandate_id ?? "";
    const { owner } = mine;
    expect((await owner.get(`/businesses/${theirs.uuid}`)).status).toBe(404);
    expect((await owner.get("/businesses/10000000-0000-4000-8000-0000000000ff")).status).toBe(404);
    expect((await owner.get("/businesses/x")).status).toBe(404);
    const form = (await pageOf(mine)).form("/keys/revoke");
    expect((await owner.send(form, { key_id: their.key_id })).status).toBe(404);
    expect((await owner.send(form, { uuid: theirs.uuid, key_id: their.key_id })).status).toBe(404);
    const mandates = (await pageOf(mine)).form("/mandates/make");
    expect((await owner.send(mandates, { ...mandate, key_id: their.key_id })).status).toBe(404);
    expect((await owner.send(mandates, { ...mandate, uuid: theirs.uuid, key_id: their.key_id })).status).toBe(
      404,
    );
    const { form_code = "" } = form.fields;
    const revoke = await owner.post("/mandates/revoke", {
      uuid: mine.uuid,
      mandate_id: theirMandate,
      form_code,
    });
    expect(revoke.status).toBe(404);
    // A proof for another business is none for this one.
    const foreign = await proven(theirs);
    const asked = await owner.send((await pageOf(mine)).form("/keys/register"), { proven: foreign.printed });
    expect(asked.html).toContain("not what svc prove-key prints");
  });

  it("by another key, mandate or passkey than was shown, or without user verification", async () => {
    const owned = await newBusiness("Shown Ltd");
    const { owner } = owned;
    const [made, other] = [await proven(owned), await proven(owned)];
    const asked = await owner.send((await pageOf(owned)).form("/keys/register"), { proven: made.printed });
    const [own] = owner.authenticator.passkeys;
    const credential = owner.credentialFor(asked.form("/confirm"), own && { passkey: own });
    const swapped = await owner.send(asked.form("/confirm"), { credential, proven: other.printed });
    expect(swapped.html).toContain("another key than was shown");
    await registerKey(owned, made);
    const words = (await showMandate(owned)).form("/mandates/seal");
    const more = (await showMandate(owned, { countries: "GB, DE" })).form("/mandates/seal");
    const { payload = "", code = "", ticket = "" } = more.fields;
    const sealed = owner.credentialFor(words);
    for (const written of [
      { credential: sealed, payload },
      { credential: sealed, payload, code, ticket },
      // Nothing of the time and the bytes that were shown can be changed.
      {
        credential: sealed,
        ticket: (words.fields["ticket"] ?? "").replace(/[0-9]$/, (last) => (last === "9" ? "8" : "9")),
      },
      { credential: sealed, code },
      { credential: owner.credentialFor(words, { flags: 0x01 }) },
      { credential: owner.credentialFor(words, { origin: "http://localhost:1" }) },
      {
        credential: owner.credentialFor(
          { ...words, options: { ...words.options, allowCredentials: [] } },
          own && { passkey: own },
        ),
      },
      { credential: "{}" },
    ])
      expect((await owner.send(words, written)).status).toBe(409);
    const { register } = portal.node.services;
    await register.refresh();
    expect((await register.mandates(owned.uuid)).length).toBe(0);
    expect((await owner.send(words, { credential: sealed })).status).toBe(200);
  });

  it("by a mandate that cannot be one", async () => {
    const owned = await newBusiness("Faulty Ltd");
    await registerKey(owned);
    for (const written of [
      { days: "93" },
      { days: "0" },
      { days: "999999999999999" },
      { countries: "" },
      { countries: "<b>" },
      { type_products: "" },
      { sources: "<script>" },
    ]) {
      const shown = await showMandate(owned, written);
      expect([shown.status, shown.html.includes("<script>alert")]).toEqual([409, false]);
    }
  });
});
