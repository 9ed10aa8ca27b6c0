// Owners and admins are told of what happens to their business: on a page, and by one mail each at an address that they confirmed.

import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef, personRef } from "../../actors/messages/refs.ts";
import { signed } from "../../api/surfaces.fixture.ts";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { openBusiness, product, sealAndPublish } from "../publishing/publishing.fixture.ts";
import { act, newBusinessAt, type Owned, setRoleAt, unescaped } from "./business.fixture.ts";

interface Mailed {
  readonly to: string;
  readonly id: string;
  readonly subject: string;
  readonly text: string;
}

let portal: PortalNode;
let server: SMTPServer;
let isTaking = true;
const mailed: Mailed[] = [];

beforeAll(async () => {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 100,
    onRcptTo: (_address, _session, done) =>
      done(isTaking ? null : Object.assign(new Error("busy"), { responseCode: 451 })),
    onData: (stream, session, done) => {
      let text = "";
      stream.on("data", (part: Buffer) => {
        text += part.toString();
      });
      stream.on("end", () => {
        const header = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(text)?.[1]?.trim() ?? "";
        const to = session.envelope.rcptTo.map(({ address }) => address).join();
        const plain = text.replaceAll(/=\r?\n/g, "").replaceAll("=3D", "=");
        mailed.push({ to, id: header("Message-ID"), subject: header("Subject"), text: plain });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  portal = await openPortalNode({
    SVC_SMTP_URL: `smtp://127.0.0.1:${port}`,
    SVC_NOTICE_FROM: "notices@svc.example",
  });
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

const to = (address: string) => mailed.filter((each) => each.to === address);
const pageOf = ({ owner, uuid }: Owned) => owner.get(`/notices/${uuid}`);
const confirm = (person: Visitor, shown: Seen) => person.confirm(shown.form("/confirm"));
const textOf = ({ html }: Seen) => unescaped(html);

/** Asks for a link to the address, and gives its code. */
async function linkTo(owned: Owned, address: string): Promise<string> {
  const asked = await owned.owner.send((await pageOf(owned)).form("/notices/mail"), { address });
  expect(textOf(asked)).toContain(`A link is mailed to ${address}.`);
  const sent = await confirm(owned.owner, asked);
  expect([sent.status, textOf(sent).includes(`mailed to ${address}`)]).toEqual([200, true]);
  return /\/mail#(\S+)/.exec(to(address).at(-1)?.text ?? "")?.[1] ?? "";
}

const openLink = async ({ owner }: Owned, code: string) =>
  owner.send((await owner.get("/mail")).form("/mail"), { code });

/** A business whose owner gets mail. */
async function newMailed(name: string, address: string): Promise<Owned> {
  const owned = await newBusinessAt(portal, name);
  const opened = await openLink(owned, await linkTo(owned, address));
  expect([opened.status, textOf(opened).includes("Notices are mailed to you")]).toEqual([200, true]);
  return owned;
}

/** Another owner, who was let in. */
async function secondOwner({ uuid, ...owned }: Owned, name = "Bob"): Promise<Owned> {
  const owner = Visitor.of(portal);
  await owner.signUp(name);
  const { personId } = owner;
  const member = { type: "member.set", person_id: personId, role: "owner", act } as const;
  await portal.node.services.actors.ask(businessRef(uuid), member);
  return { ...owned, uuid, owner, personId };
}

async function makeSealer({ owner, uuid }: Owned): Promise<Seen> {
  const asked = await owner.send((await owner.get(`/businesses/${uuid}`)).form("/sealing/add"));
  const made = await confirm(owner, asked);
  return owner.answer((await owner.answer(made.form("/sealing/passkey"))).form("/sealing/register"));
}

describe("an owner is told", () => {
  it("of a changed role and a new sealing passkey, on the page and by one mail each", async () => {
    const first = await newMailed("Told Ltd", "ada@told.example");
    const bob = await secondOwner(first);
    expect((await makeSealer(bob)).status).toBe(200);
    await expect
      .poll(() => to("ada@told.example").map(({ subject }) => subject))
      .toEqual(["Confirm your address", "A role changed", "A passkey seals from now on"]);
    const [, role, sealer] = to("ada@told.example");
    expect(role?.text).toMatch(/About Told Ltd:\s+Bob works here as owner/);
    expect(sealer?.text).toContain("Bob");
    expect(role?.text).toContain(`${portal.origin}/notices/${first.uuid}`);
    expect(new Set(to("ada@told.example").map(({ id }) => id)).size).toBe(3);
    const page = textOf(await pageOf(first));
    expect(page).toMatch(/A passkey seals from now on.*A role changed.*Bob works here as owner/s);
    expect(page).toContain("They are mailed to ada@told.example");
    // Who gave no address reads the page.
    expect(textOf(await pageOf(bob))).toContain("Nothing is mailed to you.");
    expect((await first.owner.get(`/businesses/${first.uuid}`)).html).toContain(
      `href="/notices/${first.uuid}"`,
    );
    const account = textOf(await first.owner.get("/account"));
    expect([account.includes("confirmed an address"), account.includes("ada@told.example")]).toEqual([
      true,
      false,
    ]);
  });

  it("of what they want alone", async () => {
    const owned = await newMailed("Choose Ltd", "ada@choose.example");
    const asked = await owned.owner.send((await pageOf(owned)).form("/notices/choose"), {
      "sealer.added": "on",
    });
    expect(textOf(asked)).toContain("you are told of: passkeys and hosted keys that seal from now on.");
    const after = await confirm(owned.owner, asked);
    expect(after.form("/notices/choose").controls).toEqual(expect.objectContaining({ "sealer.added": "on" }));
    expect(Object.keys(after.form("/notices/choose").controls)).toHaveLength(1);
    const bob = await secondOwner(owned);
    await makeSealer(bob);
    await expect.poll(() => to("ada@choose.example").length).toBe(2);
    expect(to("ada@choose.example").at(-1)?.subject).toBe("A passkey seals from now on");
    const page = textOf(await pageOf(owned));
    expect([page.includes("A passkey seals"), page.includes("A role changed")]).toEqual([true, false]);
    expect(textOf(await owned.owner.get("/account"))).toContain("chose notices");
  });

  it("of a finished push, and of a key that is used from a new network", async () => {
    const owned = await newMailed("Push Ltd", "ada@push.example");
    const { services } = portal.node;
    const business = await openBusiness(services, owned.uuid, "Push Ltd");
    const items = Array.from({ length: 60 }, (_, at) => product(`item-${at}`));
    await sealAndPublish(services, business, items, { seq: 1 });
    await expect
      .poll(() => to("ada@push.example").map(({ subject }) => subject))
      .toContain("A push is finished");
    const { business_url } = portal.node.urls;
    const caller = { key: business.signingKey, grant: "" };
    const told = () => to("ada@push.example").filter(({ subject }) => subject.includes("network")).length;
    const read = { path: "/v1/domains", tag: "svc-business-read" } as const;
    const see = async (from: string, given?: Awaited<ReturnType<typeof signed>>) => {
      const { headers } = given ?? (await signed(business_url, caller, read));
      const url = new URL(read.path, business_url);
      return (await fetch(url, { headers: { ...headers, "x-forwarded-for": from } })).status;
    };
    const copied = await signed(business_url, caller, read);
    expect(await see("203.0.113.9", copied)).toBe(200);
    // A copy of a request tells nothing.
    expect(await see("192.0.2.1", copied)).toBe(401);
    expect(await see("203.0.113.200")).toBe(200);
    await expect.poll(() => services.actors.stats().mailboxed).toBe(0);
    for (const from of ["198.18.7.7", "198.18.7.99"]) expect(await see(from)).toBe(200);
    await expect.poll(told).toBe(1);
    const page = textOf(await pageOf(owned));
    expect(page).toContain("signed a request from 198.18.7.0/24.");
    expect([page.includes("198.18.7.7"), page.includes("192.0.2.0"), told()]).toEqual([false, false, 1]);
  });
});

describe("an address is confirmed", () => {
  it("by nobody but the person who gave it, by its own link, and a link again does no harm", async () => {
    const owned = await newBusinessAt(portal, "Link Ltd");
    const other = await secondOwner(owned, "Eve");
    const code = await linkTo(owned, "ada@link.example");
    // The same address of somebody else has another code.
    const others = await linkTo(other, "ada@link.example");
    expect(code).not.toBe(others);
    for (const [who, given] of [
      [other, code],
      [owned, others],
      [owned, `${code.slice(0, -2)}AA`],
      [owned, `9${code}`],
      [owned, "x"],
    ] as const)
      expect((await openLink(who, given)).status).toBe(409);
    const ask = { type: "mail.read" } as const;
    const read = () => portal.node.services.actors.ask(personRef(owned.personId), ask);
    expect((await read()).address).toBeNull();
    for (const _ of [1, 2]) expect((await openLink(owned, code)).status).toBe(200);
    expect((await read()).address).toBe("ada@link.example");
    const stranger = new Visitor(portal.url);
    expect((await stranger.send((await stranger.get("/mail")).form("/mail"), { code })).status).toBe(401);
    // A code of a form is none of a link.
    const form_code = (await pageOf(owned)).form("/notices/mail").fields["form_code"] ?? "";
    await linkTo(owned, "new@link.example");
    expect((await openLink(owned, form_code)).status).toBe(409);
    await confirm(owned.owner, await owned.owner.send((await pageOf(owned)).form("/notices/mail/remove")));
    expect(await read()).toEqual({ address: null, waiting: null });
    expect((await openLink(owned, code)).status).toBe(409);
  });

  it("and the earlier one is told that it was replaced, or taken away", async () => {
    const owned = await newMailed("Former Ltd", "ada@former.example");
    expect((await openLink(owned, await linkTo(owned, "eve@former.example"))).status).toBe(200);
    const last = (address: string) => expect.poll(() => to(address).at(-1));
    const page = expect.stringContaining(`${portal.origin}/account`);
    await last("ada@former.example").toMatchObject({
      subject: "Your address for notices was replaced",
      text: page,
    });
    await confirm(owned.owner, await owned.owner.send((await pageOf(owned)).form("/notices/mail/remove")));
    await last("eve@former.example").toMatchObject({
      subject: "Your address for notices was taken away",
      text: page,
    });
    expect([to("ada@former.example").length, to("eve@former.example").length]).toEqual([2, 2]);
    expect(to("ada@former.example").at(-1)?.text).not.toContain("eve@former.example");
  });

  it("again where the mail server did not take the link", async () => {
    const owned = await newBusinessAt(portal, "Busy Ltd");
    const form = (await pageOf(owned)).form("/notices/mail");
    isTaking = false;
    const asked = await owned.owner.send(form, { address: "ada@busy.example" });
    const failed = await confirm(owned.owner, asked).finally(() => {
      isTaking = true;
    });
    expect([failed.status, textOf(failed).includes("did not take it")]).toEqual([409, true]);
    expect((await openLink(owned, await linkTo(owned, "ada@busy.example"))).status).toBe(200);
  });

  it.each([
    "",
    "ada",
    "ada@shop",
    "a b@shop.example",
    "ada@shop.example\r\nbcc: eve@x.example",
    "ada@shop.example,eve@x.example",
    "<ada@shop.example>",
    `ada@${"a".repeat(250)}.example`,
    "ada@-shop.example",
  ])("if it is one: %j is not", async (address) => {
    const owned = await sharedBusiness();
    const asked = await owned.owner.send((await pageOf(owned)).form("/notices/mail"), { address });
    expect([asked.status, mailed.some(({ text }) => text.includes("eve@x.example"))]).toEqual([400, false]);
  });
});

let shared: Owned | undefined;
async function sharedBusiness(): Promise<Owned> {
  shared ??= await newBusinessAt(portal, "Shared Ltd");
  return shared;
}

describe("nobody", () => {
  it("reads, chooses or mails for another business, with a role too low, or by a forged or replayed form", async () => {
    const [mine, theirs] = [
      await newBusinessAt(portal, "Mine Ltd"),
      await newBusinessAt(portal, "Theirs Ltd"),
    ];
    const { owner } = mine;
    const page = await pageOf(mine);
    const forms = ["/notices/choose", "/notices/mail"].map((each) => page.form(each));
    const address = "ada@mine.example";
    expect((await owner.get(`/notices/${theirs.uuid}`)).status).toBe(404);
    for (const form of forms) {
      expect((await owner.send(form, { uuid: theirs.uuid, address })).status).toBe(404);
      expect((await owner.send(form, { form_code: "x", address })).status).toBe(403);
    }
    const asked = await owner.send(forms[0] ?? page.form("/notices/choose"), { "push.held": "on" });
    const form = asked.form("/confirm");
    const [own] = owner.authenticator.passkeys;
    const credential = owner.credentialFor(form, own && { passkey: own });
    const shown = JSON.parse(form.fields["act"] ?? "");
    for (const change of [{ uuid: theirs.uuid }, { kinds: [] }, { act: "mail.remove" }]) {
      const swapped = JSON.stringify({ ...shown, ...change });
      expect((await owner.send(form, { credential, act: swapped })).status).toBeGreaterThanOrEqual(400);
    }
    expect((await owner.send(form, { credential })).status).toBe(200);
    expect(textOf(await owner.send(form, { credential }))).toContain("Done before");
    const late = [
      (await owner.send(page.form("/notices/choose"))).form("/confirm"),
      page.form("/notices/choose"),
      page.form("/notices/mail"),
    ];
    const lateMail = (await owner.send(page.form("/notices/mail"), { address })).form("/confirm");
    for (const role of ["developer", "viewer"] as const) {
      await setRoleAt(portal, mine, role);
      expect((await owner.confirm(lateMail)).status).toBe(403);
      const [confirming, ...asking] = late;
      if (confirming !== undefined)
        expect((await owner.confirm(confirming)).status).toBeGreaterThanOrEqual(403);
      for (const each of asking) expect((await owner.send(each, { address })).status).toBe(403);
      expect((await pageOf(mine)).status).toBe(403);
    }
    expect(to(address)).toEqual([]);
    const person_id = theirs.personId;
    const read = { type: "notices.read", person_id } as const;
    const { actors } = portal.node.services;
    expect((await actors.ask(businessRef(theirs.uuid), read))?.unwanted).toEqual([]);
    expect(await actors.ask(businessRef(mine.uuid), read)).toBeNull();
  });
});
