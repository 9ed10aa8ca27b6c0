// A terminal asks for a key and a mandate by links; an owner opens them, and does the same as by hand.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keysRegister, mandateRequest } from "../../cli/asked.ts";
import { generatePrivateJwk, parseSigningKey } from "../../client/signing-key.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { askedIn, linkCodeLengthMax } from "../../protocol/portal-link.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import {
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  setRoleAt,
  unescaped,
} from "./business.fixture.ts";

let portal: PortalNode;
let folder: string;
let owned: Owned;
beforeAll(async () => {
  portal = await openPortalNode();
  folder = await mkdtemp(join(tmpdir(), "svc-asked-"));
  owned = await newBusinessAt(portal, "Terminal Ltd");
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const run = (command: typeof keysRegister, words: readonly string[]) =>
  runRevoke(words, { home: null, reply: null, command });
const codeIn = (link: string) => link.trim().split("#")[1] ?? "";

async function linkForKey({ uuid, certId }: Pick<Owned, "uuid" | "certId">, ...more: readonly string[]) {
  const jwk = await generatePrivateJwk("Ed25519");
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(key.detail);
  const { keyId } = key.value;
  const file = join(folder, `${keyId}.json`);
  await writeFile(file, JSON.stringify(jwk));
  const party = ["--business", uuid, "--certificate", certId];
  const ran = await run(keysRegister, [file, ...party, "--portal", portal.origin, ...more]);
  return { ...ran, keyId };
}

const linkForMandate = (uuid: string, keyId: string, ...more: readonly string[]) => {
  const of = ["--business", uuid, "--key", keyId, "--country", "GB"];
  return run(mandateRequest, [...of, "--portal", `${portal.origin}/anywhere`, ...more]);
};

const open = async (person: Visitor, code: string) =>
  person.send((await person.get("/asked")).form("/asked"), { code });

describe("a link that a terminal printed", () => {
  it("has a key registered, and then a mandate of it sealed, as by hand", async () => {
    const { owner, uuid } = owned;
    const { printed, said, keyId, code } = await linkForKey(owned);
    expect([code, printed.startsWith(`${portal.origin}/asked#`), said.includes(keyId)]).toEqual([
      0,
      true,
      true,
    ]);
    // Browsers tell no server what is after the #; who pastes the whole link is understood as well.
    const asked = await open(owner, printed.trim());
    expect(unescaped(asked.html)).toContain(`The key ${keyId} is registered for Terminal Ltd.`);
    expect((await owner.confirm(asked.form("/confirm"))).status).toBe(200);
    const { register } = portal.node.services;
    await register.refresh();
    expect((await register.keys(uuid)).map(({ key_id }) => key_id)).toContain(keyId);
    const more = [
      "--type",
      "products",
      "--type",
      "jobs",
      "--country",
      "IE",
      "--days",
      "30",
      "--from",
      "203.0.113.0/24",
    ];
    const link = await linkForMandate(uuid, keyId, ...more);
    const shown = await open(owner, codeIn(link.printed));
    for (const word of [keyId, "products", "jobs", "GB", "IE", "203.0.113.0/24", "10,000"])
      expect(unescaped(shown.html)).toContain(word);
    expect((await owner.answer(shown.form("/mandates/seal"))).status).toBe(200);
    await register.refresh();
    expect(await register.mandates(uuid)).toMatchObject([
      { key_id: keyId, scope: { countries: ["GB", "IE"] } },
    ]);
  });

  it("asks nobody else: a role too low, another business, a stranger, or a forged form", async () => {
    const { owner, uuid } = owned;
    const other = await newBusinessAt(portal, "Other Terminal Ltd");
    const made = await provenKey(owned);
    await registerKeyAt(portal, owned, made);
    const key = codeIn((await linkForKey(owned)).printed);
    const mandate = codeIn((await linkForMandate(uuid, made.key_id)).printed);
    for (const code of [key, mandate]) {
      expect((await open(other.owner, code)).status).toBe(404);
      expect((await open(new Visitor(portal.url), code)).status).toBe(401);
      const form = (await owner.get("/asked")).form("/asked");
      expect((await owner.send(form, { code, form_code: "x" })).status).toBe(403);
    }
    // A proof for another certificate, and a key of somebody else.
    const stale = await linkForKey({ uuid, certId: other.certId });
    const asked = await open(owner, codeIn(stale.printed));
    expect((await owner.confirm(asked.form("/confirm"))).status).toBe(409);
    const theirs = codeIn((await linkForMandate(other.uuid, made.key_id)).printed);
    expect((await open(other.owner, theirs)).status).toBe(404);
    for (const [role, ofKey] of [
      ["developer", 200],
      ["viewer", 403],
    ] as const) {
      await setRoleAt(portal, owned, role);
      expect([(await open(owner, key)).status, (await open(owner, mandate)).status]).toEqual([ofKey, 403]);
    }
  });

  it("is not one where anything is missing, too much or too long", async () => {
    const { owner } = await newBusinessAt(portal, "Bounds Ltd");
    const codeOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const link = await linkForMandate(owned.uuid, "k".repeat(43));
    const asked = askedIn(codeIn(link.printed));
    expect(asked).not.toBeNull();
    for (const code of [
      "",
      "x",
      codeOf({}),
      codeOf({ ...asked, days: 93 }),
      codeOf({ ...asked, more: 1 }),
      codeOf({ ...asked, ask: "key.register" }),
      codeOf({ ask: "key.register", proven: { party_uuid: owned.uuid, public_key: {}, proof: {} } }),
      `${codeIn(link.printed)}!`,
    ]) {
      const refused = await open(owner, code);
      expect([refused.status, refused.html.includes("Not a link of ours")]).toEqual([400, true]);
    }
    expect(askedIn("A".repeat(linkCodeLengthMax + 4))).toBeNull();
  });
});

describe("a terminal", () => {
  it.each([
    ["--portal", "http://portal.example", "--portal"],
    ["--country", "gb", "This asks for nothing"],
    ["--type", "ads", "--type"],
    ["--days", "93", "--days"],
    ["--from", "everywhere", "This asks for nothing"],
    ["--key", "k", "This asks for nothing"],
    ["--business", "b", "This asks for nothing"],
  ])("prints no link that no page would show: %s %s", async (option, value, words) => {
    const { code, printed, said } = await linkForMandate(owned.uuid, "k".repeat(43), option, value);
    expect([code, printed, said.includes(words)]).toEqual([2, "", true]);
  });

  it("proves a key for one party, and is told what is missing", async () => {
    const both = await linkForKey(owned, "--company", owned.uuid);
    const none = await linkForKey({ ...owned, certId: "c" });
    expect([both.code, both.printed, none.code, none.printed]).toEqual([2, "", 2, ""]);
  });
});
