// People come in, sign in and confirm what they do, over HTTP and with an authenticator in software. What keeps others out has a test each.

import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { openPortalNode, type PortalNode, Visitor } from "./portal.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const visitor = () => new Visitor(portal.url);

async function newPerson(name?: string): Promise<Visitor> {
  const person = visitor();
  const home = await person.signUp(name);
  expect(home.status).toBe(200);
  return person;
}

/** The page on which a passkey confirms that a further one is added. */
async function askToAdd(person: Visitor, name = "phone") {
  return person.send((await person.get("/account")).form("/passkeys/add"), { name });
}

async function addPasskey(person: Visitor, name = "phone") {
  const make = await person.answer((await askToAdd(person, name)).form("/confirm"));
  return person.answer(make.form("/passkeys/make"));
}

/** What the account's page has for `signalAllAcceptedCredentials`. */
function acceptedIn(html: string): unknown {
  const [, accepted = ""] = /data-accepted="([^"]*)"/.exec(html) ?? [];
  return JSON.parse(accepted.replaceAll("&quot;", '"'));
}

describe("a person", () => {
  it("signs up with a passkey, signs out and signs in again", async () => {
    const ada = await newPerson();
    expect((await ada.get("/")).html).toContain("Welcome, Ada Lovelace");
    const out = await ada.send((await ada.get("/")).form("/sign-out"));
    expect(out.html).toContain("Sign in with a passkey");
    expect(ada.cookies.size).toBe(0);
    expect((await ada.get("/account")).html).toContain("Sign in with a passkey");
    expect((await ada.signIn()).html).toContain("Welcome, Ada Lovelace");
  });

  it("adds a passkey that an earlier one allowed, signs in with it, and removes the earlier one", async () => {
    const ada = await newPerson();
    expect((await addPasskey(ada)).html).toContain("Remove the passkey phone");
    const [first, second] = ada.authenticator.passkeys;
    const phone = new Visitor(portal.url, ada.authenticator);
    await phone.signIn();
    const { html: shown, form: formOf } = await phone.get("/account");
    const form = formOf("/passkeys/remove");
    const asked = await phone.send(form, { credential_id: first?.id ?? "" });
    expect(asked.html).toContain("The passkey Ada Lovelace is removed.");
    const after = await phone.answer(asked.form("/confirm"));
    expect(after.html.match(/Remove the passkey/g)).toEqual(["Remove the passkey"]);
    expect(acceptedIn(shown)).toMatchObject({
      allAcceptedCredentialIds: expect.arrayContaining([first?.id, second?.id]),
    });
    // Browsers are told which passkeys of whom are left (Web Authentication Level 3, §5.1.10).
    expect(acceptedIn(after.html)).toEqual({
      rpId: new URL(portal.origin).hostname,
      userId: second?.userHandle,
      allAcceptedCredentialIds: [second?.id],
    });
    // It opened the other session, and lets nobody in any more.
    expect((await ada.get("/")).html).toContain("Sign in with a passkey");
    expect((await phone.send(after.form("/passkeys/remove"))).html).toContain("The last passkey");
    expect(second).toBeDefined();
  });

  it("reads what they did, and leaves", async () => {
    const ada = await newPerson();
    await addPasskey(ada);
    const account = await ada.get("/account");
    for (const words of [
      "signed up",
      "allowed a further passkey",
      "added a passkey",
      ada.address.replace(/7$/, "0/24"),
    ])
      expect(account.html).toContain(words);
    expect(account.html).not.toContain(ada.address);
    const asked = await ada.send(account.form("/leave"));
    expect((await ada.answer(asked.form("/confirm"))).html).toContain("Sign in with a passkey");
    expect((await ada.signIn()).status).toBe(401);
  });

  it("ends another session of their own, and nobody else's", async () => {
    const ada = await newPerson();
    const elsewhere = new Visitor(portal.url, ada.authenticator);
    await elsewhere.signIn();
    const bob = await newPerson("Bob");
    const form = (await ada.get("/account")).form("/sessions/end");
    const code = (await bob.get("/account")).form("/passkeys/add").fields["form_code"] ?? "";
    await bob.post("/sessions/end", { session: form.fields["session"] ?? "", form_code: code });
    expect((await elsewhere.get("/")).html).toContain("Welcome");
    await ada.send(form);
    expect((await elsewhere.get("/")).html).toContain("Sign in with a passkey");
    expect((await ada.get("/")).html).toContain("Welcome");
  });
});

describe("nobody is let in", () => {
  it("by an assertion of another origin, another domain, a frame of another page, or without user verification", async () => {
    const ada = await newPerson();
    await ada.send((await ada.get("/")).form("/sign-out"));
    for (const odd of [
      { origin: "http://localhost:1" },
      { origin: "https://portal.svc.example" },
      { rpId: "portal.svc.example" },
      { flags: 0x01 },
      { flags: 0x04 },
      { client: { crossOrigin: true } },
      { client: { topOrigin: "https://elsewhere.example" } },
    ])
      expect((await ada.signIn(odd)).status).toBe(401);
    expect((await ada.signIn()).status).toBe(200);
  });

  it("by a registration of another origin, in a frame of another page, without user verification, with an attestation, or for another challenge", async () => {
    for (const odd of [
      { origin: "http://localhost:1" },
      { flags: 0x01 },
      { isAttested: true as const },
      { challenge: "AAAA" },
      { client: { crossOrigin: true } },
    ]) {
      const eve = visitor();
      const asked = await eve.send((await eve.get("/sign-up")).form("/sign-up"), { name: "Eve" });
      expect((await eve.answer(asked.form("/sign-up/passkey"), odd)).status).toBe(401);
      expect(eve.cookies.size).toBe(0);
    }
  });

  it("by a challenge that was used before, at the door or for an act", async () => {
    const ada = await newPerson();
    const form = (await new Visitor(portal.url).get("/sign-in")).form("/sign-in");
    const credential = ada.credentialFor(form);
    const thief = visitor();
    expect((await ada.send(form, { credential })).status).toBe(200);
    const again = await thief.send(form, { credential });
    expect([again.status, thief.cookies.size]).toEqual([401, 0]);
    const add = (await askToAdd(ada)).form("/confirm");
    const confirmed = ada.credentialFor(add);
    expect((await ada.send(add, { credential: confirmed })).html).toContain("Make the passkey");
    expect((await ada.send(add, { credential: confirmed })).html).toContain("Done before");
  });

  it("under another name or as another person than the passkey was made for", async () => {
    const eve = visitor();
    const asked = await eve.send((await eve.get("/sign-up")).form("/sign-up"), { name: "Eve" });
    const form = asked.form("/sign-up/passkey");
    const credential = eve.credentialFor(form);
    expect((await eve.send(form, { credential, name: "Ada" })).status).toBe(401);
    const other = "10000000-0000-4000-8000-000000000001";
    expect((await eve.send(form, { credential, person_id: other })).status).toBe(401);
    expect((await eve.send(form, { credential })).status).toBe(200);
    expect((await visitor().send(form, { credential })).status).toBe(409);
  });

  it("differently whether the person, the passkey or the assertion is wrong", async () => {
    const [ada, nobody] = [await newPerson(), await newPerson("Gone")];
    const asked = await nobody.send((await nobody.get("/account")).form("/leave"));
    await nobody.answer(asked.form("/confirm"));
    const withoutKey = visitor();
    const [own] = ada.authenticator.passkeys;
    withoutKey.authenticator.create({
      challenge: "",
      rp: { id: "localhost" },
      user: { id: own?.userHandle ?? "" },
    });
    const answers = [
      await nobody.signIn(),
      await withoutKey.signIn(),
      await new Visitor(portal.url, ada.authenticator).signIn({ flags: 0x01 }),
    ];
    expect(new Set(answers.map(({ status, html }) => `${status} ${html}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });
});

describe("an act", () => {
  it("is confirmed by a passkey of the person, for exactly what was shown", async () => {
    const [ada, bob] = [await newPerson(), await newPerson("Bob")];
    const shown = (await askToAdd(ada)).form("/confirm");
    const act = (name: string) => JSON.stringify({ act: "passkey.add", name });
    const wrong = [
      { credential: ada.credentialFor(shown), act: act("another") },
      { credential: ada.credentialFor(shown), act: JSON.stringify({ act: "person.leave" }) },
      { credential: ada.credentialFor(shown, { flags: 0x01 }) },
      {
        credential: JSON.stringify(bob.authenticator.get({ ...shown.options, allowCredentials: [] })),
      },
      { credential: "" },
      { credential: "{}" },
    ];
    for (const each of wrong) expect((await ada.send(shown, each)).status).toBe(401);
    // A challenge at the door is none for an act.
    const door = (await visitor().get("/sign-in")).form("/sign-in");
    const atDoor = { credential: ada.credentialFor(door), ticket: door.fields["ticket"] ?? "" };
    expect((await ada.send(shown, atDoor)).status).toBe(401);
    expect((await ada.answer(shown)).html).toContain("Make the passkey");
  });

  it("of one session is not confirmed in another", async () => {
    const ada = await newPerson();
    const elsewhere = new Visitor(portal.url, ada.authenticator);
    await elsewhere.signIn();
    const shown = (await askToAdd(ada)).form("/confirm");
    const form_code = (await askToAdd(elsewhere)).form("/confirm").fields["form_code"] ?? "";
    const answer = await elsewhere.send(shown, { form_code, credential: elsewhere.credentialFor(shown) });
    expect(answer.status).toBe(401);
  });

  it("of somebody whose passkey was removed is not taken, and their sessions are over", async () => {
    const ada = await newPerson();
    const [first] = ada.authenticator.passkeys;
    await addPasskey(ada);
    const other = new Visitor(portal.url, ada.authenticator);
    await other.signIn();
    const shown = (await askToAdd(other)).form("/confirm");
    const late = other.credentialFor(shown);
    const removeForms = (await ada.get("/account")).html;
    const second = ada.authenticator.passkeys[1]?.id ?? "";
    expect(removeForms).toContain(second);
    const form = (await ada.get("/account")).form("/passkeys/remove");
    const asked = await ada.send(form, { credential_id: second });
    const confirm = asked.form("/confirm");
    const credential = JSON.stringify(
      ada.authenticator.get(confirm.options, first === undefined ? {} : { passkey: first }),
    );
    expect((await ada.send(confirm, { credential })).status).toBe(200);
    expect((await other.get("/account")).html).toContain("Sign in with a passkey");
    expect((await other.send(shown, { credential: late })).status).toBe(401);
  });
});

describe("what is refused without a page of its own", () => {
  const browser = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" };
  const get = async (path: string, who: Visitor | null, headers: object = browser) => {
    const cookie = [...(who?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(`${portal.url}${path}`, { headers: { ...headers, cookie } });
    return {
      status: answer.status,
      type: answer.headers.get("content-type"),
      html: await answer.text(),
      answer,
    };
  };

  it("is a page to a browser at an unknown address, the same for everybody", async () => {
    const ada = await newPerson();
    const ofNobody = await get("/nothing/there", null);
    expect([ofNobody.status, ofNobody.type]).toEqual([404, "text/html; charset=utf-8"]);
    expect(ofNobody.html).toContain("There is no such page");
    expect(ofNobody.html).toContain("/assets/style");
    const { headers } = ofNobody.answer;
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect([headers.get("cache-control"), headers.get("vary")]).toEqual(["no-store", "accept"]);
    expect((await get("/nothing/there", ada)).html).toBe(ofNobody.html);
    expect((await get(`/nothing?x=<script>alert(1)</script>`, null)).html).toBe(ofNobody.html);
    expect((await get("/sign-out", ada)).status).toBe(405);
    expect((await get("/sign-out", ada)).html).toContain("GET is not allowed here.");
    // Nor has one an address that is no text.
    const unreadable = await get("/%ff", null);
    expect([unreadable.status, unreadable.type]).toEqual([400, "text/html; charset=utf-8"]);
    expect(unreadable.html).toContain("The request target cannot be read.");
    const { headers: fields } = unreadable.answer;
    expect([fields.get("cache-control"), fields.get("vary")]).toEqual(["no-store", "accept"]);
    expect(fields.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await get("/%ff", null, { accept: "*/*" })).type).toBe("application/problem+json");
    const problem = await get("/nothing/there", ada, { accept: "*/*" });
    expect([problem.status, problem.type]).toEqual([404, "application/problem+json"]);
    expect(JSON.parse(problem.html)).toMatchObject({ code: "not_found" });
  });

  it("is a page to a browser that sent a form, with its status", async () => {
    const eve = visitor();
    const send = async (
      fields: Readonly<Record<string, string>>,
      headers: Record<string, string | null> = {},
    ) => {
      const {
        status,
        html,
        headers: answered,
      } = await eve.post("/sign-up", fields, { ...browser, ...headers });
      expect(answered.get("content-type")).toBe("text/html; charset=utf-8");
      expect(html).toMatch(/<main id="content".*role="alert"/s);
      return [status, html];
    };
    const said = (text: string) => expect.stringContaining(text);
    expect(await send({}, { origin: "https://elsewhere.example" })).toEqual([
      403,
      said("pages of this portal"),
    ]);
    expect(await send({}, { "content-type": "text/plain" })).toEqual([415, said("Send the form as")]);
    expect(await send({ name: "x".repeat(70_000) })).toEqual([413, expect.any(String)]);
    const many = Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`${at}`, ""]));
    expect(await send(many)).toEqual([413, said("at most 5000 fields")]);
  });
});

describe("a form", () => {
  it("of another origin is refused, also where it has everything else", async () => {
    const ada = await newPerson();
    const form = (await ada.get("/account")).form("/sign-out");
    for (const headers of [
      { origin: "https://elsewhere.example" },
      { origin: null },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      const answer = await ada.post(form.action, form.fields, headers);
      expect([answer.status, answer.html.includes("origin_not_allowed")]).toEqual([403, true]);
    }
    expect((await ada.get("/")).html).toContain("Welcome");
  });

  it("with a forged code, that of another person or of an earlier session is refused", async () => {
    const [ada, bob] = [await newPerson(), await newPerson("Bob")];
    const form = (await ada.get("/account")).form("/sign-out");
    const { form_code: code = "" } = form.fields;
    const bobs = (await bob.get("/account")).form("/sign-out").fields["form_code"] ?? "";
    const later = code.replace(/^[0-9]+/, (until) => String(Number(until) + 1));
    for (const form_code of ["", "1.AAAA", bobs, later]) {
      const answer = await ada.send(form, { form_code });
      expect(answer.html).toContain("Open the page again");
    }
    await ada.send(form);
    await ada.signIn();
    expect((await ada.send(form)).status).toBe(403);
    expect((await ada.get("/")).html).toContain("Welcome");
  });

  it("of a session that ended while the form was on its way is refused (VI6)", async () => {
    const ada = await newPerson();
    const form = (await ada.get("/account")).form("/passkeys/add");
    const body = new URLSearchParams({ ...form.fields, name: "Later" }).toString();
    const sent = request(`${portal.url}${form.action}`, {
      method: "POST",
      headers: {
        cookie: `svc_portal=${ada.cookies.get("svc_portal")}`,
        origin: portal.url,
        "content-type": "application/x-www-form-urlencoded",
        "content-length": body.length,
        expect: "100-continue",
      },
    });
    const answered = once(sent, "response");
    // The node has the head, and says so.
    sent.flushHeaders();
    await once(sent, "continue");
    await ada.send((await ada.get("/account")).form("/sign-out"));
    sent.end(body);
    const [answer] = await answered;
    answer.resume();
    expect(answer.statusCode).toBe(401);
  });

  it("of nobody who is known is not read at all (VI6)", async () => {
    const sent = request(`${portal.url}/passkeys/add`, {
      method: "POST",
      headers: {
        origin: portal.url,
        "content-type": "application/x-www-form-urlencoded",
        "content-length": 60_000,
      },
    });
    // No byte of the body is sent, and the answer is there.
    const answered = once(sent, "response");
    sent.flushHeaders();
    const [answer] = await answered;
    answer.resume();
    sent.destroy();
    expect([answer.statusCode, answer.headers.connection]).toEqual([401, "close"]);
  });

  it("of somebody who left meanwhile in another tab finds nobody, and harms nothing", async () => {
    const { actors } = portal.node.services;
    const ada = await newPerson();
    const account = await ada.get("/account");
    const [remove, add, allowed] = [
      account.form("/passkeys/remove"),
      account.form("/passkeys/add"),
      (await askToAdd(ada)).form("/confirm"),
    ];
    const ask = actors.ask.bind(actors);
    // They leave between the look at their session and the page.
    const isLater = (command: { readonly type: string }) => command.type === "person.read";
    const left = vi
      .spyOn(actors, "ask")
      .mockImplementation(async (to, command) => (isLater(command) ? rubbish(null) : ask(to, command)));
    try {
      const answers = [await ada.get("/account"), await ada.send(remove), await ada.send(add, { name: "x" })];
      answers.push(await ada.answer(allowed));
      for (const { status, html } of answers)
        expect([status, html.includes("Your session is over")]).toEqual([401, true]);
    } finally {
      left.mockRestore();
    }
  });

  it("is bounded, and nothing else than a form is read", async () => {
    const eve = visitor();
    expect((await eve.post("/sign-up", { name: "x".repeat(70_000) })).status).toBe(413);
    expect((await eve.post("/sign-up", { name: "Eve" }, { "content-type": "application/json" })).status).toBe(
      415,
    );
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}`, ""]));
    const most = await eve.post("/sign-up", fields(5_000));
    expect(most.html).toContain("Not a name");
    const more = await eve.post("/sign-up", fields(5_001));
    expect([more.status, more.html.includes("at most 5000 fields")]).toEqual([413, true]);
    for (const name of ["", " ", "x".repeat(101)])
      expect((await eve.post("/sign-up", { name })).html).toContain("Not a name");
  });
});

describe("a name", () => {
  const seenAs = async (name: string) => {
    const { html } = await visitor().post("/sign-up", { name });
    return html.includes("Not a name") ? null : html.replace(/.*makes a passkey for (.*?)\. Add.*/s, "$1");
  };

  it.each([
    ["reorders what follows", "a\u202eb"],
    ["is a control character", "a\u0000b"],
    ["breaks the line", "a\nb"],
    ["breaks the line as a character of its own", "a\u2028b"],
    ["is a letter that is blank", "\u3164"],
    ["is a letter that is blank, beside one that is seen", "a\u3164"],
    ["joins letters and is not seen", "a\u034fb"],
    ["is a variation selector", "a\ufe0f"],
    ["is a tag", "a\u{e0061}"],
    ["is a space of no width", "a\u200bb"],
    ["is the blank pattern of Braille", "a\u2800"],
    ["is a note without a head", "a\u{1d159}"],
    ["is a mark or a sign, and nothing else beside it", "\u0301.-"],
  ])("has nothing in it that %s", async (_what, name) => {
    expect(await seenAs(name)).toBeNull();
  });

  it("is taken as it is written in any script, with one space where there is one", async () => {
    const names = ["Ada Lovelace", "Ло́гинова", "山田太郎", "O’Neill-Çelik", "प्रिया", "3M"];
    for (const name of names) expect(await seenAs(name)).toBe(name.normalize("NFC"));
    expect(await seenAs("  山田\u3000太郎\u00a0 x ")).toBe("山田 太郎 x");
  });
});

it("lets an address come to the door thirty times a minute, and no other address less for it", async () => {
  const eve = visitor();
  const knock = async (who: Visitor) => (await who.post("/sign-in", {})).status;
  for (let count = 1; count <= 30; count += 1) expect(await knock(eve)).toBe(409);
  expect(await knock(eve)).toBe(429);
  expect(await knock(visitor())).toBe(409);
});

describe("a page", () => {
  it("is never kept, framed, or run as anything else", async () => {
    const ada = await newPerson();
    for (const path of ["/sign-in", "/sign-up", "/", "/account"]) {
      const { headers } = await (path.startsWith("/sign") ? visitor() : ada).get(path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("default-src 'none'; script-src 'self'");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    }
  });

  it("shows what people wrote as text, whatever it is", async () => {
    const script = `<script>alert("x")</script>'"&`;
    const ada = await newPerson(script);
    await addPasskey(ada, `${script}2`);
    const asked = await askToAdd(ada, `${script}3`);
    for (const { html } of [await ada.get("/"), await ada.get("/account"), asked]) {
      expect(html).not.toContain("<script>alert");
      expect(html).toContain("&lt;script>alert");
    }
  });

  it("tells browsers where passkeys are managed", async () => {
    const answer = await fetch(`${portal.url}/.well-known/passkey-endpoints`);
    const manage = `${portal.url}/account`;
    expect(await answer.json()).toEqual({ enroll: manage, manage });
  });

  it("keeps its session in a cookie that no script reads", async () => {
    const asked = await fetch(`${portal.url}/sign-in`);
    expect(asked.headers.get("set-cookie")).toBeNull();
    const eve = visitor();
    const page = await eve.send((await eve.get("/sign-up")).form("/sign-up"), { name: "Eve" });
    const form = page.form("/sign-up/passkey");
    const body = new URLSearchParams({ ...form.fields, credential: eve.credentialFor(form) });
    const headers = { origin: portal.url, "content-type": "application/x-www-form-urlencoded" };
    const answer = await fetch(`${portal.url}${form.action}`, {
      method: "POST",
      body,
      headers,
      redirect: "manual",
    });
    expect(answer.headers.get("set-cookie")).toMatch(
      /^svc_portal=[0-9a-f-]{36}\.[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/,
    );
  });
});
