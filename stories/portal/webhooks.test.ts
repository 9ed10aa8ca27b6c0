// A business has systems of its own told of what happens, by signed calls to a domain that it controls.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { createDomainProbe } from "../../node/domains/domain-probe.ts";
import { type DomainServers, startDomainServers } from "../../node/domains/domain-servers.fixture.ts";
import { isSigned, type Received, receiving } from "../../node/notices/webhook-receiver.fixture.ts";
import { openPortalNode, type PortalNode, type Seen } from "../../portal/portal.fixture.ts";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { act, newBusinessAt, type Owned, setRoleAt, unescaped, writeRecord } from "./business.fixture.ts";

const domain = "harrier.example";
const host = `hooks.${domain}`;
const url = `https://${host}/notices`;

let movedMs = 0;
let servers: DomainServers;
let portal: PortalNode;
let status = 200;
const received: Received[] = [];

beforeAll(async () => {
  servers = await startDomainServers([domain, host]);
  servers.dns.a.set(host, ["127.0.0.1"]);
  const answer: RequestListener = (request, response) => {
    // Who calls it waits until they give up.
    if (request.url !== "/never") response.writeHead(status).end();
  };
  servers.answer = receiving(received, answer);
  portal = await openPortalNode({ SVC_DOMAIN_CHECKS: "yes" }, 0, {
    clock: { now: () => Date.now() + movedMs },
    domainProbe: createDomainProbe(servers.options),
    webhookResolving: servers.options,
  });
}, 120_000);
beforeEach(() => {
  status = 200;
});
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await servers?.[Symbol.asyncDispose]();
});

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/webhooks/${uuid}`);
const textOf = ({ html }: Seen) => unescaped(html.replaceAll(/<[^>]*>/g, " ")).replaceAll(/\s+/g, " ");
const of = ({ uuid }: Owned) => received.filter(({ body }) => body.business_uuid === uuid);
const shows = (owned: Owned, words: string) =>
  expect.poll(async () => textOf(await pageOf(owned)), { timeout: 15_000, interval: 100 }).toContain(words);

/** A business that controls the domain. */
async function newConfirmed(name: string): Promise<Owned> {
  const owned = await newBusinessAt(portal, name);
  const challenges = servers.dns.txt.get(`_svc-challenge.${domain}`) ?? [];
  servers.txt(domain, [...challenges, domainChallenge(owned.uuid, domain)]);
  const { brands_owned: _, ...file } = sampleRecords.business_files;
  const words = await writeRecord(owned, "business_files", file);
  expect((await owned.owner.answer(words.form("/records/seal"))).html).toContain("Published");
  const read = { type: "domains.read" } as const;
  await expect
    .poll(async () => (await portal.node.services.actors.ask(businessRef(owned.uuid), read)).domains)
    .toMatchObject([{ domain, status: "confirmed" }]);
  return owned;
}

async function add(owned: Owned, at = url) {
  const written = { url: at, "role.changed": "on" };
  const asked = await owned.owner.send((await pageOf(owned)).form("/webhooks/add"), written);
  return { asked, after: await owned.owner.confirm(asked.form("/confirm")) };
}

async function changeRole({ uuid }: Owned, role: "viewer" | "developer" | null): Promise<void> {
  const person_id = "10000000-0000-4000-8000-000000000007";
  const command = { type: "member.set", person_id, role, act } as const;
  expect(await portal.node.services.actors.ask(businessRef(uuid), command)).toMatchObject({ status: "done" });
}

const directoryUrl = () => `${portal.node.urls.verify_url}/.well-known/http-message-signatures-directory`;

describe("an owner", () => {
  it("adds a webhook with a passkey, which is told of what was chosen and signed by a published key", async () => {
    const owned = await newConfirmed("Told Ltd");
    const { asked, after } = await add(owned);
    expect(textOf(asked)).toContain(`${url} is told of: people who come, go or have another role.`);
    expect(textOf(after)).toContain("Nothing was sent yet.");
    await changeRole(owned, "developer");
    await expect.poll(() => of(owned).length).toBe(1);
    const [told] = of(owned);
    expect(told?.body).toEqual({
      v: 1,
      id: expect.stringMatching(/^whd_[0-9a-f]{32}$/),
      kind: "role.changed",
      business_uuid: owned.uuid,
      at: expect.any(String),
    });
    const answer = await fetch(directoryUrl());
    expect(answer.headers.get("content-type")).toContain(
      "application/http-message-signatures-directory+json",
    );
    const { keys } = await answer.json();
    if (told === undefined) throw new Error("Something was sent.");
    expect(await isSigned(told, keys)).toBe(true);
    await shows(owned, "role.changed taken 200");
    const account = textOf(await owned.owner.get("/account"));
    expect([account.includes("set a webhook"), account.includes(host)]).toEqual([true, false]);
    expect((await owned.owner.get(`/notices/${owned.uuid}`)).html).toContain(
      `href="/webhooks/${owned.uuid}"`,
    );
  });

  it("sees that it fails, and that it was taken later under the same id, and once", async () => {
    const owned = await newConfirmed("Later Ltd");
    await add(owned);
    status = 500;
    await changeRole(owned, "developer");
    await shows(owned, "failed once, is sent again 500");
    expect(textOf(await pageOf(owned))).toContain("fails since");
    status = 200;
    // The test is due before the next attempt, which then is a few seconds away.
    movedMs += 57_000;
    await owned.owner.send((await pageOf(owned)).form("/webhooks/test"));
    await shows(owned, "taken at attempt 2 200");
    await shows(owned, "State on");
    const ids = of(owned).flatMap(({ body }) => (body.kind === "role.changed" ? [body.id] : []));
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
    expect(of(owned).map(({ body }) => body.kind)).toContain("test");
  });

  it("waits for no endpoint of somebody else, nor for another one of the business", async () => {
    const [slow, quick] = [await newConfirmed("Slow Ltd"), await newConfirmed("Quick Ltd")];
    await add(slow, `https://${host}/never`);
    await changeRole(slow, "developer");
    await expect.poll(() => of(slow).length).toBe(1);
    await add(slow);
    await add(quick);
    for (const each of [slow, quick]) await changeRole(each, "viewer");
    for (const each of [slow, quick]) await shows(each, "role.changed taken 200");
    // The call that hangs is under way all the time.
    expect(textOf(await pageOf(slow))).toMatch(
      /whk_\w+ State on Wait to be sent [12] Nothing was sent yet\./,
    );
  });

  it("has nothing sent at a domain that was lost, and reads so", async () => {
    const owned = await newConfirmed("Lost Ltd");
    await add(owned);
    const withdrawn = await owned.owner.get(`/businesses/${owned.uuid}/records`);
    const [, id = ""] = /(bf_[a-z2-7]{26})/.exec(withdrawn.html) ?? [];
    expect(id).not.toBe("");
    const shown = withdrawn.form("/records/remove");
    const words = await owned.owner.send(shown, { record_id: id, action: "withdraw" });
    expect((await owned.owner.answer(words.form("/records/seal"))).status).toBe(200);
    await shows(owned, "nothing is sent: its domain is not confirmed");
    await changeRole(owned, "developer");
    await shows(owned, "not sent: the domain is not confirmed");
    const test = await owned.owner.send((await pageOf(owned)).form("/webhooks/test"));
    expect([test.status, textOf(test).includes(`a domain of ${host} is not confirmed`)]).toEqual([409, true]);
    expect(of(owned)).toEqual([]);
  });

  it("is told that one was switched off, switches it on again, and removes it", async () => {
    const owned = await newConfirmed("Off Ltd");
    await add(owned);
    const own = await portal.node.services.actors.ask(businessRef(owned.uuid), {
      type: "webhooks.read",
      person_id: owned.personId,
    });
    const endpoint_id = own?.endpoints[0]?.endpoint_id ?? "";
    await portal.node.services.actors.ask(businessRef(owned.uuid), {
      type: "webhook.fail",
      endpoint_id,
      since_ms: Date.now(),
    });
    expect(textOf(await pageOf(owned))).toContain("switched off since");
    expect(textOf(await owned.owner.get(`/notices/${owned.uuid}`))).toContain("A webhook is switched off");
    const again = await owned.owner.send((await pageOf(owned)).form("/webhooks/change"), {
      "push.held": "on",
    });
    expect(textOf(await owned.owner.confirm(again.form("/confirm")))).toContain("State on");
    expect((await pageOf(owned)).form("/webhooks/change").controls).toEqual({ "push.held": "on" });
    const gone = await owned.owner.send((await pageOf(owned)).form("/webhooks/remove"));
    expect(textOf(gone)).toContain("what waits for it is forgotten");
    expect((await owned.owner.confirm(gone.form("/confirm"))).html).not.toContain(url);
  });
});

describe("an address", () => {
  let shared: Owned | undefined;
  const own = async () => {
    shared ??= await newConfirmed("Address Ltd");
    return shared;
  };
  const ask = async (given: string, kinds: Readonly<Record<string, string>> = { "push.held": "on" }) => {
    const owned = await own();
    return owned.owner.send((await pageOf(owned)).form("/webhooks/add"), { url: given, ...kinds });
  };

  it.each([
    "",
    "hooks",
    `http://${host}/`,
    `https://${host}:8443/`,
    `https://ada@${host}/`,
    `https://${host}/?token=x`,
    `https://${host}/#x`,
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://[::1]/",
    "https://localhost/",
  ])("is none that may be called: %s", async (given) => {
    expect((await ask(given)).status).toBe(400);
  });

  it("has at most 512 characters", async () => {
    expect((await ask(`${url}${"x".repeat(600)}`)).status).toBe(400);
  });

  it("of a domain that is not confirmed is refused, and one that is told of nothing", async () => {
    const refused = await ask("https://hooks.other.example/");
    expect([refused.status, textOf(refused).includes("Not at a domain of yours")]).toEqual([409, true]);
    const owned = await own();
    expect((await ask(url, {})).status).toBe(400);
    expect((await pageOf(owned)).html).not.toContain("other.example");
  });

  it("that a name has and that is not public is refused after the look-up", async () => {
    const plain = await openPortalNode(
      { SVC_DOMAIN_CHECKS: "yes", SVC_DOMAIN_RESOLVERS: servers.dns.address },
      0,
      { domainProbe: createDomainProbe(servers.options) },
    );
    const here = portal;
    portal = plain;
    try {
      const owned = await newConfirmed("Private Ltd");
      await add(owned);
      await changeRole(owned, "developer");
      await shows(owned, "no public address");
      expect(of(owned)).toEqual([]);
    } finally {
      portal = here;
      await plain[Symbol.asyncDispose]();
    }
  }, 60_000);
});

it("nobody sets, tests or reads webhooks with a role too low, for another business, or by a forged form", async () => {
  const [mine, theirs] = [await newConfirmed("Mine Ltd"), await newConfirmed("Theirs Ltd")];
  await add(mine);
  const { owner } = mine;
  const page = await pageOf(mine);
  const forms = ["add", "change", "remove", "test"].map((each) => page.form(`/webhooks/${each}`));
  const written = { url, "push.held": "on" };
  expect((await owner.get(`/webhooks/${theirs.uuid}`)).status).toBe(404);
  for (const form of forms) {
    expect((await owner.send(form, { ...written, uuid: theirs.uuid })).status).toBe(404);
    expect((await owner.send(form, { ...written, form_code: "x" })).status).toBe(403);
  }
  const asked = await owner.send(page.form("/webhooks/add"), written);
  const form = asked.form("/confirm");
  const [own] = owner.authenticator.passkeys;
  const credential = owner.credentialFor(form, own && { passkey: own });
  const shown = JSON.parse(form.fields["act"] ?? "");
  for (const change of [{ uuid: theirs.uuid }, { url: `https://evil.${domain}/` }, { kinds: ["takedown"] }]) {
    const swapped = JSON.stringify({ ...shown, ...change });
    expect((await owner.send(form, { credential, act: swapped })).status).toBeGreaterThanOrEqual(400);
  }
  for (const role of ["developer", "viewer"] as const) {
    await setRoleAt(portal, mine, role);
    expect((await owner.send(form, { credential })).status).toBeGreaterThanOrEqual(403);
    for (const each of forms) expect((await owner.send(each, written)).status).toBe(403);
    expect((await pageOf(mine)).status).toBe(403);
  }
  expect(of(mine).filter(({ body }) => body.kind === "test")).toEqual([]);
});

it("the program of docs/verify-webhook.mjs accepts what is sent, and nothing that was changed", async () => {
  const printed = readFileSync(join(import.meta.dirname, "../..", "docs", "verify-webhook.mjs"), "utf8");
  const program = printed.replace(/"https:[^"]*-directory"/, JSON.stringify(directoryUrl()));
  expect(program).not.toBe(printed);
  const folder = mkdtempSync(join(tmpdir(), "svc-receiver-"));
  try {
    const path = join(folder, "receiver.mjs");
    writeFileSync(path, program);
    const { isOfService } = await import(pathToFileURL(path).href);
    const owned = await newConfirmed("Program Ltd");
    await add(owned);
    await owned.owner.send((await pageOf(owned)).form("/webhooks/test"));
    await expect.poll(() => of(owned).length).toBe(1);
    const [{ headers, bytes }] = of(owned) as [Received];
    expect(await isOfService(url, headers, bytes)).toBe(true);
    const { signature: _, ...unsigned } = headers;
    for (const [at, named, body] of [
      [`https://${domain}/notices`, headers, bytes],
      [`${url}/x`, headers, bytes],
      [url, unsigned, bytes],
      [url, { ...headers, "signature-input": "" }, bytes],
      [url, { ...headers, signature: "sig1=:AAAA:" }, bytes],
      [url, headers, Buffer.from("{}")],
    ] as const)
      expect(await isOfService(at, named, body)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
