// The form that acts, in a real browser: what it asks about is what it sends, once.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { proveToOperator } from "../../client/signing-key.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import { sampleBusinesses, sampleCompanies } from "../../node/sandbox/businesses.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { newSigningKey } from "../retrieval/attack.fixture.ts";
import { faultsOf, openPage, openWatchedNode, type View, type WatchedNode } from "./inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere) console.warn("NOT TESTED: no Chromium on this machine, so nothing was acted on in a page.");
const inBrowser = it.skipIf(!isThere && process.env["CI"] === undefined);

let watched: WatchedNode | null = null;
let home: string;
let node: RunningNode;
let browser: Browser;

beforeAll(async () => {
  if (!isThere) return;
  watched = await openWatchedNode();
  ({ home, node, browser } = watched);
}, 240_000);

afterAll(() => watched?.[Symbol.asyncDispose]());

const wide: View = { width: 1280, scheme: "light" };

/** The page of the nodes, with a reason for draining this one. */
async function fillIn(page: Page) {
  const act = page.locator("form").filter({ has: page.getByLabel("What to do") });
  await act.getByLabel("Reason").fill("it is to be upgraded");
  return act;
}

inBrowser(
  "an act that was confirmed is sent as it was, also where the page shows something else by then",
  async () => {
    await using opened = await openPage(browser, `${node.urls.ops_url}/ui/nodes`, wide);
    const { page } = opened;
    const act = await fillIn(page);
    await act.getByRole("button", { name: "Continue" }).click();
    await act.getByText("Are you sure").waitFor();
    // A node that joined is the first of the list, and this one is leaving by now.
    await page.route("**/ops/nodes", async (route) => {
      const [self, ...rest] = (await (await route.fetch()).json()).nodes;
      const joined = { ...self, incarnation: "joined-meanwhile", is_self: false };
      await route.fulfill({ json: { nodes: [joined, { ...self, state: "leaving" }, ...rest] } });
    });
    await page.getByText("joined-meanwhile").first().waitFor();
    const asked = page.waitForRequest((request) => request.method() === "POST");
    await act.getByRole("button", { name: "Yes, do it" }).click();
    const request = await asked;
    expect(new URL(request.url()).pathname).toBe(`/ops/nodes/${node.services.incarnation}/drain`);
    expect(request.postDataJSON()).toMatchObject({ expected: { state: "standalone" } });
  },
  120_000,
);

inBrowser(
  "a double click, or a key that is held down, neither confirms an act nor sends it twice",
  async () => {
    await using opened = await openPage(browser, `${node.urls.ops_url}/ui/nodes`, wide);
    const { page } = opened;
    const act = await fillIn(page);
    await act.getByLabel("Reason").focus();
    const sent: string[] = [];
    const answered = Promise.withResolvers<void>();
    await page.route("**/drain", async (route) => {
      sent.push(route.request().method());
      await answered.promise;
      await route.fulfill({ json: { outcome: "there" } });
    });
    // A key that is down already repeats.
    await page.keyboard.down("Enter");
    await page.keyboard.down("Enter");
    await act.getByText("Are you sure").waitFor();
    await page.keyboard.up("Enter");
    await act.getByLabel("Reason").fill("it is upgraded");
    await act.getByRole("button", { name: "Continue" }).dblclick();
    await act.getByText("Are you sure").waitFor();
    expect(sent).toEqual([]);
    await act.getByRole("button", { name: "Yes, do it" }).dblclick();
    await expect.poll(() => sent.length).toBe(1);
    // More presses while it is not answered yet.
    const button = act.getByRole("button");
    for (let press = 0; press < 2; press += 1) await button.click();
    answered.resolve();
    await act.getByText("Done: there.").waitFor();
    expect(sent).toEqual(["POST"]);
  },
  120_000,
);

/** A page of somebody who has signed in, as a person does. */
async function openSignedIn(path: string, view: View = wide) {
  const next = encodeURIComponent(path);
  const opened = await openPage(browser, `${node.urls.ops_url}/ui/sign-in?next=${next}`, view);
  const { page } = opened;
  await page.getByLabel("Operators' token").fill((await readFile(join(home, "ops-token"), "utf8")).trim());
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${node.urls.ops_url}${path}`);
  return opened;
}

/** Chooses an act in the form of a section, fills it in, and confirms it. */
async function actIn(
  page: Page,
  section: string,
  {
    act,
    fields,
    chosen = {},
  }: {
    readonly act: string;
    readonly fields: Readonly<Record<string, string>>;
    readonly chosen?: Readonly<Record<string, string>>;
  },
) {
  const form = page.locator("section").filter({ has: page.getByRole("heading", { name: section }) });
  await form.getByLabel("What to do").selectOption({ label: act });
  for (const [label, value] of Object.entries(chosen)) await form.getByLabel(label).selectOption(value);
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label).fill(value);
  await form.getByRole("button", { name: "Continue" }).click();
  await form.getByText("Are you sure").waitFor();
  await form.getByRole("button", { name: "Yes, do it" }).click();
  return form;
}

inBrowser(
  "a session is ended on the page to which the name of who signed in leads",
  async () => {
    await using opened = await openSignedIn("/ui/nodes");
    const { page } = opened;
    const viaOf = () => page.evaluate(async () => (await (await fetch("/ops/session")).json()).via);
    expect(await viaOf()).toBe("session");
    await page.getByRole("link", { name: "Signed in as Ada Lovelace" }).click();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${node.urls.ops_url}/ui/nodes`);
    await page.getByRole("link", { name: "Sign in" }).waitFor();
    expect(await viaOf()).not.toBe("session");
    expect(opened.complaints).toEqual([]);
  },
  120_000,
);

inBrowser(
  "an account is opened by its first top-up, on the page of its company, and stands among all",
  async () => {
    const { uuid = "", legalName = "" } = sampleCompanies[0] ?? {};
    await using opened = await openSignedIn(`/ui/parties/${uuid}`);
    const { page } = opened;
    await page.getByText("Nothing was ever paid in.").waitFor();
    const fields = { Amount: "250", Currency: "EUR", "Name of the entry": "payment-1", Reason: "Invoice 1" };
    const form = await actIn(page, "Account", { act: "top up", fields });
    await form.getByText("Done: the balance is 250 EUR.").waitFor();
    await form.getByText("Available").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
    await page.getByRole("link", { name: "Accounts" }).click();
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: legalName }) });
    expect(await row.textContent()).toContain("250 EUR");
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await faultsOf(page)).toEqual([]);
  },
  120_000,
);

inBrowser(
  "an AI company is opened on the page of parties, and its key registered on its own, by its proof alone",
  async () => {
    await using opened = await openSignedIn("/ui/parties");
    const { page } = opened;
    const named = { "Legal name": "Ask & Answer Ltd", Country: "GB", Reason: "Extract 1234 of its register" };
    const form = await actIn(page, "Let one in", {
      act: "open a party and certify it",
      chosen: { Kind: "ai_company" },
      fields: named,
    });
    await form.getByRole("link", { name: "The page of Ask & Answer Ltd" }).click();
    await page.getByRole("heading", { name: "Ask & Answer Ltd" }).waitFor();
    const uuid = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    // The reason is with the act, for operators alone.
    await page.getByText("Extract 1234 of its register").first().waitFor();
    const { certificate } = await node.services.parties.facts(uuid, "");
    const published = await fetch(`${node.urls.verify_url}/v1/certificates/${uuid}?format=json`);
    expect(await published.text()).not.toContain("Extract 1234");
    const key = await newSigningKey();
    const claim = { uuid, role: "retrieval", certId: certificate?.cert_id ?? "" } as const;
    const proven = await proveToOperator(key, claim);
    if (!proven.ok) throw new Error(proven.detail);
    const act = "register the key of a system";
    const section = page.locator("section").filter({ has: page.getByRole("heading", { name: "Act on it" }) });
    const wrong = JSON.stringify({ ...proven.value, party_uuid: "10000000-0000-4000-8000-000000000001" });
    await section.getByLabel("What to do").selectOption({ label: act });
    await section.getByLabel("What svc prove-key printed").fill(wrong);
    await section.getByLabel("Reason").fill("Sent by its director");
    await section.getByRole("button", { name: "Continue" }).click();
    await section.getByText("This is the proof of another party.").waitFor();
    const fields = { "What svc prove-key printed": JSON.stringify(proven.value, null, 2) };
    const filled = await actIn(page, "Act on it", { act, fields });
    await filled.getByText("Done: it is so now.").waitFor();
    await page.getByRole("link", { name: key.keyId }).waitFor();
    expect((await node.services.register.key(key.keyId))?.party_uuid).toBe(uuid);
    expect(await faultsOf(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  },
  120_000,
);

inBrowser(
  "a party whose opening got no answer is opened once, when it is sent again",
  async () => {
    await using opened = await openSignedIn("/ui/parties");
    const { page } = opened;
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
    });
    await page.route(
      "**/certify",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    const fields = { "Legal name": "Twice Ltd", Country: "GB", Reason: "Extract 1235 of its register" };
    const open = { act: "open a party and certify it", chosen: { Kind: "business" }, fields };
    const form = await actIn(page, "Let one in", open);
    await form.locator(".bad").waitFor();
    await form.getByRole("button", { name: "Continue" }).click();
    await form.getByRole("button", { name: "Yes, do it" }).click();
    await form.getByText("Done: it was so already, and nothing changed.").waitFor();
    expect(asked).toEqual([asked[0], asked[0]]);
    // The next one is another.
    await actIn(page, "Let one in", open);
    await form.getByText("Done: it is so now.").waitFor();
    expect(asked[2]).not.toBe(asked[0]);
  },
  120_000,
);

inBrowser(
  "what the page does not show is read before the question, and is not done once it was undone meanwhile",
  async () => {
    const { uuid = "" } = sampleBusinesses[0] ?? {};
    await using opened = await openSignedIn("/ui/takedowns");
    const { page } = opened;
    const form = page.locator("form").filter({ has: page.getByLabel("What to do") });
    const told = "Article 6 of the terms";
    const ask = async () => {
      await form.getByLabel("Record id, or UUID of a business").fill(uuid);
      await form.getByLabel("What the business is told").fill(told);
      await form.getByLabel("Reason").fill("Complaint 4714");
      await form.getByRole("button", { name: "Continue" }).click();
      await form.getByText("Are you sure").waitFor();
    };
    await ask();
    const token = (await readFile(join(home, "ops-token"), "utf8")).trim();
    const headers = { authorization: signedIn(token), "content-type": "application/json" };
    const path = `${node.urls.ops_url}/ops/takedowns/${uuid}`;
    let expected = 0;
    for (const last of ["impose", "lift"]) {
      const statement = last === "impose" ? { statement_of_reasons: told } : {};
      const body = JSON.stringify({ ...statement, expected, reason: "Complaint 4713" });
      const answer = await (await fetch(`${path}/${last}`, { method: "POST", headers, body })).json();
      expect(answer).toMatchObject({ changed: true });
      expected = (answer as { readonly subject: { readonly change: number } }).subject.change;
    }
    await form.getByRole("button", { name: "Yes, do it" }).click();
    await form.getByText("It was changed meanwhile").waitFor();
    await ask();
    await form.getByRole("button", { name: "Yes, do it" }).click();
    await form.getByText("Done: it is so now.").waitFor();
    await form.getByLabel("What to do").selectOption({ label: "undo its takedown" });
    await form.getByLabel("Record id, or UUID of a business").fill("nobody");
    await form.getByLabel("Reason").fill("Complaint 4714");
    await form.getByRole("button", { name: "Continue" }).click();
    await form.getByText("No record and no business has this id here.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
  },
  120_000,
);

inBrowser(
  "a list is set by the text of a file as it is, once it was read, and by no file that is no text",
  async () => {
    await using opened = await openPage(browser, `${node.urls.ops_url}/ui/lists`, wide);
    const { page } = opened;
    const act = page.locator("form").filter({ has: page.getByLabel("What to do") });
    const sent: unknown[] = [];
    await page.route("**/ops/lists/*/set", async (route) => {
      sent.push([new URL(route.request().url()).pathname, route.request().postDataJSON()]);
      await route.fulfill({ json: { changed: true } });
    });
    const file = act.getByLabel("File, 32 MiB at most");
    const choose = (bytes: Buffer) =>
      file.setInputFiles({ name: "urls.txt", mimeType: "text/plain", buffer: bytes });
    await act.getByLabel("List").selectOption("blocked-urls");
    await choose(Buffer.from([0xc3, 0x28]));
    await act.getByRole("alert").getByText("This file is not a text in UTF-8.").waitFor();
    await choose(Buffer.from("\ufeffbad.example\r\n"));
    await act.getByLabel("Reason").fill("Complaint 4713");
    await act.getByRole("button", { name: "Continue" }).click();
    await act.getByText("by a file with 14 characters").waitFor();
    await act.getByRole("button", { name: "Yes, do it" }).click();
    await act.getByText("Done:").waitFor();
    const text = "\ufeffbad.example\r\n";
    expect(sent).toEqual([
      ["/ops/lists/blocked-urls/set", { text, expected: null, reason: "Complaint 4713" }],
    ]);
    // The next one is chosen again.
    expect(await file.inputValue()).toBe("");
  },
  120_000,
);
