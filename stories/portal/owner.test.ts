// The owner of a business that came in by the portal registers the key of its system and seals its mandate; then the system pushes.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { push } from "../../cli/publishing/push.ts";
import { generatePrivateJwk, parseSigningKey, proveToOperator } from "../../client/signing-key.ts";
import { openPortalNode, type PortalNode, type ShownForm } from "../../portal/portal.fixture.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { newBusinessAt, type Owned, setRoleAt, unescaped } from "./business.fixture.ts";

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

async function proven({ uuid, certId }: Pick<Owned, "uuid" | "certId">) {
  const jwk = await generatePrivateJwk("Ed25519");
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(key.detail);
  const proof = await proveToOperator(key.value, { uuid, role: "integration", certId });
  if (!proof.ok) throw new Error(proof.detail);
  return { jwk, key_id: key.value.keyId, printed: JSON.stringify(proof.value) };
}

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}`);

/** Confirms with the passkey that signs in, which is the first. */
function confirm({ owner }: Owned, form: ShownForm) {
  const [own] = owner.authenticator.passkeys;
  return owner.answer(form, own && { passkey: own });
}

async function registerKey(owned: Owned, key?: Awaited<ReturnType<typeof proven>>) {
  const made = key ?? (await proven(owned));
  const asked = await owned.owner.send((await pageOf(owned)).form("/keys/register"), {
    proven: made.printed,
  });
  expect(asked.html).toContain(made.key_id);
  const after = await confirm(owned, asked.form("/confirm"));
  await portal.node.services.register.refresh();
  return { ...made, after };
}

const mandate = {
  type_products: "on",
  countries: "GB, US, CA",
  records_per_hour: "1000",
  bytes_per_day: "1000000",
  days: "30",
  sources: "",
};

/** The page with the words of a mandate. */
async function showMandate(owned: Owned, written: object = {}) {
  const shown = await pageOf(owned);
  const [, key_id = ""] = /<option value="([^"]+)"/.exec(shown.html) ?? [];
  return owned.owner.send(shown.form("/mandates/make"), { key_id, ...mandate, ...written });
}

const setRole = (owned: Owned, role: MemberRole) => setRoleAt(portal, owned, role);

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
    expect([sealed.status, (await register.mandates(uuid)).length]).toEqual([200, 1]);
    // A double click does no harm.
    await owner.answer(form);
    const page = unescaped((await pageOf(owned)).html);
    const [, config = ""] = /<pre[^>]*>(\{.*?\})<\/pre>/s.exec(page) ?? [];
    await writeFile(join(folder, "business.json"), config);
    await writeFile(join(folder, "key.json"), JSON.stringify(jwk));
    await writeFile(join(folder, "products.json"), `[${new TextDecoder().decode(product("green-tea"))}]`);
    const run = await runRevoke([join(folder, "products.json"), "--config", join(folder, "business.json")], {
      home: join(folder, "home"),
      reply: null,
      command: push,
    });
    expect(run.code, run.said + run.printed).toBe(0);
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
    await owner.answer((await showMandate(owned)).form("/mandates/seal"));
    const { register } = portal.node.services;
    await register.refresh();
    for (const path of ["/mandates/revoke", "/keys/revoke"]) {
      const asked = await owner.send((await pageOf(owned)).form(path));
      expect(asked.html).toContain("at once and for good");
      expect((await confirm(owned, asked.form("/confirm"))).status).toBe(200);
      await register.refresh();
    }
    expect((await register.mandates(uuid))[0]?.revoked_at).not.toBeNull();
    expect((await register.keys(uuid)).find((key) => key.key_id === key_id)?.revoked_at).not.toBeNull();
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
