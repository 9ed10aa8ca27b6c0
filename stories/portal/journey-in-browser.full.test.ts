// A person in a real browser, from the first page on, with a virtual authenticator and from the keyboard. axe-core finds nothing on any page.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ledgerRef } from "../../actors/messages/refs.ts";
import { newCaller, productSearch, send } from "../../api/surfaces.fixture.ts";
import { keygen, proveKey } from "../../cli/keygen.ts";
import { push } from "../../cli/publishing/push.ts";
import { search } from "../../cli/search.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import { openPortalNode, type PortalNode } from "../../portal/portal.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { root } from "../../tools/process.ts";
import { openOperator } from "../operators/incident-pages.fixture.ts";
import { faultsOf } from "../operators/inspector.fixture.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { priced } from "../publishing/hold-decisions.fixture.ts";
import { openBusiness, product, publish, type TestBusiness } from "../publishing/publishing.fixture.ts";
import { batchBody } from "../retrieval/attack.fixture.ts";
import { newVisit, type Visit } from "./browser.fixture.ts";
import { provenKey } from "./business.fixture.ts";

const path = findBrowser();
if (path === null) console.warn("NOT TESTED: no Chromium on this machine, so nobody came to the portal.");
const inBrowser = it.skipIf(path === null && process.env["CI"] === undefined);

let portal: PortalNode;
let browser: Browser;

beforeAll(async () => {
  if (path === null) return;
  portal = await openPortalNode();
  browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await portal?.[Symbol.asyncDispose]();
});

/** Has axe-core find nothing on the page that is shown, and keeps it as a picture of docs/portal.md where pictures are wanted. */
type Judged = (picture?: string) => Promise<void>;

function judging(page: Page): Judged {
  return async (picture) => {
    expect(await faultsOf(page)).toEqual([]);
    if (picture === undefined || process.env["SVC_WRITE_PICTURES"] === undefined) return;
    const taken = await page.screenshot({ fullPage: true });
    await sharp(taken)
      .png({ palette: true, effort: 10 })
      .toFile(join(root, "docs", "portal", `${picture}.png`));
  };
}

/** Lets in what is applied for, as an operator does in a browser of their own. */
async function approve(name: string): Promise<void> {
  const { config, urls, services } = portal.node;
  await using operator = await openOperator(browser, { home: config.home, opsUrl: urls.ops_url });
  await operator.go("Applications");
  await operator.row("Applications", name).says(/waits/);
  const uuids = await services.actorStore.listActors("application", "", 9);
  const named = async (id: string) =>
    (await services.actors.ask({ kind: "application", id }, { type: "application.read" }))?.legal_name;
  const at = (await Promise.all(uuids.map(named))).indexOf(name);
  const confirm = await operator.prepare("let it in", { Application: uuids[at] ?? "" }, "Decide");
  await confirm();
  await operator.row("Applications", name).says(/let in/);
  await services.register.refresh();
}

/** Presses the button as somebody without a mouse does. */
async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).focus();
  await page.keyboard.press("Enter");
}

async function signUp({ page }: Visit): Promise<void> {
  await page.goto(portal.url);
  await page.getByRole("link", { name: "I have no passkey here yet" }).press("Enter");
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Make my passkey" }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await press(page, "Make my passkey");
  await page.getByText("Welcome, Ada Lovelace").waitFor();
}

async function chooseNotices(page: Page, judged: Judged): Promise<void> {
  await page.getByRole("link", { name: "See them, and choose which you want" }).press("Enter");
  await page.getByText("A push waits for your decision").waitFor();
  await judged("notices");
  await page.getByLabel("pushes that are finished").focus();
  await page.keyboard.press("Space");
  await press(page, "Choose");
  await page.getByText("you are told of: pushes that wait for a decision;").waitFor();
  await judged();
  await press(page, "Confirm with a passkey");
  await expect.poll(() => page.getByLabel("pushes that are finished").isChecked()).toBe(false);
  await page.getByRole("link", { name: "See what your systems are told, and add some" }).press("Enter");
  await page.getByRole("heading", { name: "Add a webhook" }).waitFor();
  await judged("webhooks");
}

/** What a link asks for is read from it, and leaves the address. */
async function openAsked(page: Page, judged: Judged): Promise<void> {
  await page.goto(`${portal.url}/asked#e30`);
  await expect.poll(() => page.getByLabel("From the link").inputValue()).toBe("e30");
  expect(page.url()).toBe(`${portal.url}/asked`);
  await judged("link");
}

inBrowser(
  "a person signs up, signs out and in again, and looks after their passkeys",
  async () => {
    await using visit = await newVisit(browser);
    const { page, complaints } = visit;
    const judged = judging(page);
    await page.goto(`${portal.url}/sign-in`);
    await judged("sign-in");
    await signUp(visit);
    await judged("home");
    await press(page, "Sign out Ada Lovelace");
    await press(page, "Sign in with a passkey");
    await page.getByText("Welcome, Ada Lovelace").waitFor();
    await page.getByRole("link", { name: "My account" }).press("Enter");
    await page.getByRole("heading", { name: "What you did" }).waitFor();
    await judged("account");
    await page.getByLabel("Name of a further passkey").fill("phone");
    await page.keyboard.press("Enter");
    await page.getByText("A further passkey is made, which is called phone.").waitFor();
    await judged("confirm");
    await press(page, "Confirm with a passkey");
    await page.getByRole("button", { name: "Make the passkey" }).waitFor();
    // The authenticator has one of this person already, and makes no second one; that is said, and nothing before.
    const noAnswer = page.getByText("No passkey was used.");
    expect(await noAnswer.isVisible()).toBe(false);
    await press(page, "Make the passkey");
    await noAnswer.waitFor();
    expect(complaints).toEqual([]);
  },
  120_000,
);

inBrowser(
  "a business comes in, by pages and passkeys alone, as far as its first push",
  async () => {
    await using visit = await newVisit(browser);
    const { page, complaints } = visit;
    const folder = await mkdtemp(join(tmpdir(), "svc-journey-"));
    const inFolder = (name: string) => join(folder, name);
    const judged = judging(page);
    try {
      await signUp(visit);
      await page.getByRole("link", { name: "Apply for a business" }).press("Enter");
      await page.getByLabel("Legal name").fill("Crumb & Crust Ltd");
      await page.getByLabel("Country").fill("gb");
      await judged("application");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Make the passkey that seals" }).waitFor();
      await judged("sealing-passkey");
      await press(page, "Make the sealing passkey");
      await page.getByText("You apply for Crumb & Crust Ltd of GB.").waitFor();
      await judged("apply");
      await press(page, "Apply, with the sealing passkey");
      await page.getByText("waits for the operators").waitFor();
      await judged();
      await page.getByRole("link", { name: "Show who Crumb & Crust Ltd is" }).press("Enter");
      const extract = { name: "extract.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7\n") };
      await page.getByLabel("PDF, PNG or JPEG").setInputFiles(extract);
      await judged();
      await press(page, "Send it");
      await page.getByText("extract.pdf").waitFor();
      await judged("evidence");
      await approve("Crumb & Crust Ltd");
      await page.getByRole("link", { name: "Businesses" }).press("Enter");
      await page.getByRole("link", { name: "Crumb & Crust Ltd" }).press("Enter");
      await page.getByRole("heading", { name: "Keys of your systems" }).waitFor();
      await judged();
      // What the page prints is what one types.
      const commands = (await page.locator("pre").first().innerText()).split("\n");
      const words = (line: string) => line.replace(/ > .*/, "").split(" ").slice(2);
      const local = { home: null, reply: null };
      const place = (word: string) => (word === "key.json" ? inFolder(word) : word);
      await runRevoke(words(commands[0] ?? "").map(place), { ...local, command: keygen });
      const proof = await runRevoke(words(commands[1] ?? "").map(place), { ...local, command: proveKey });
      await writeFile(inFolder("proof.json"), proof.printed);
      await page.getByLabel("Or the file with it").setInputFiles(inFolder("proof.json"));
      await expect.poll(() => page.getByLabel("What svc prove-key printed").inputValue()).toBe(proof.printed);
      await press(page, "Register the key");
      await page.getByText("is registered for Crumb & Crust Ltd").waitFor();
      await judged("key");
      await press(page, "Confirm with a passkey");
      await page.getByRole("heading", { name: "Mandates" }).waitFor();
      await portal.node.services.register.refresh();
      await page.reload();
      await page.getByLabel("Countries").fill("GB, US, CA");
      await judged();
      await press(page, "Show its words");
      await page.getByText("This is what you seal, word by word.").waitFor();
      await judged("mandate");
      await press(page, "Seal it");
      await page.getByRole("heading", { name: "Mandates" }).waitFor();
      await portal.node.services.register.refresh();
      await page.reload();
      await page.getByRole("heading", { name: "Push" }).waitFor();
      await judged("business");
      await writeFile(inFolder("business.json"), await page.locator("#push ~ pre").first().innerText());
      await writeFile(inFolder("products.json"), `[${new TextDecoder().decode(product("loaf"))}]`);
      const pushed = await runRevoke([inFolder("products.json"), "--config", inFolder("business.json")], {
        ...local,
        home: inFolder("home"),
        command: push,
      });
      expect(pushed.code, pushed.said).toBe(0);
      const business = await decideHold(page, judged);
      await publishByHand(page, business, judged);
      await followPush(page, business, judged);
      await advertise(page, inFolder("shoe.png"), judged);
      await look(page, judged);
      await expectFound(business);
      await lookOtherwise(page, business);
      await page.getByRole("link", { name: "My account" }).press("Enter");
      await page.getByText("sealed a mandate").waitFor();
      await judged();
      await page.getByRole("link", { name: "Businesses" }).press("Enter");
      await page.getByRole("link", { name: "Crumb & Crust Ltd" }).press("Enter");
      await chooseNotices(page, judged);
      await openAsked(page, judged);
      await page.goto(`${portal.url}/businesses/${business.party.uuid}`);
      await page.getByRole("link", { name: "See who works here" }).press("Enter");
      await page.getByRole("heading", { name: "Invitations" }).waitFor();
      await judged("people");
      await press(page, "Invite somebody");
      await page.getByText("It is good once, for seven days.").waitFor();
      await judged("invite");
      await press(page, "Confirm with a passkey");
      const link = await page.getByLabel("Link", { exact: true }).inputValue();
      await judged();
      // Somebody new opens it; its secret leaves the address.
      await using second = await newVisit(browser);
      await second.page.goto(link);
      await expect.poll(() => second.page.getByLabel("Invitation").inputValue()).toBe(link.split("#")[1]);
      expect(second.page.url()).toBe(`${portal.url}/invitation`);
      await judging(second.page)("invitation");
      await press(second.page, "Continue");
      await second.page.getByText("as viewer. Sign in with your passkey").waitFor();
      expect(await faultsOf(second.page)).toEqual([]);
      await second.page.getByLabel("Your name").fill("Bob");
      await second.page.keyboard.press("Enter");
      await press(second.page, "Make my passkey");
      await press(second.page, "Continue");
      await press(second.page, "Confirm with a passkey");
      await second.page.getByRole("heading", { name: "Crumb & Crust Ltd" }).waitFor();
      expect(second.complaints).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  240_000,
);

const payment = {
  type: "money.enter",
  entry_id: "invoice-7",
  kind: "top_up",
  amount: 250_000_000,
  currency: "EUR",
  by: "Olga",
  reason: "Invoice 7 was paid.",
} as const;

inBrowser(
  "an AI company comes in, registers a key, agrees to the terms, asks, and looks at its receipts",
  async () => {
    await using visit = await newVisit(browser);
    const { page, complaints } = visit;
    const judged = judging(page);
    const folder = await mkdtemp(join(tmpdir(), "svc-journey-"));
    const local = { home: join(folder, "home"), reply: null };
    const inFolder = (name: string) => join(folder, name);
    try {
      await signUp(visit);
      await page.getByRole("link", { name: "Apply for" }).press("Enter");
      await page.locator("select[name=kind]").selectOption("ai_company");
      await page.getByLabel("Legal name").fill("Answers Ltd");
      await page.getByLabel("Country").fill("GB");
      await judged("company-application");
      await page.keyboard.press("Enter");
      await page.getByText("You apply for Answers Ltd").waitFor();
      await judged();
      await press(page, "Confirm with a passkey");
      await approve("Answers Ltd");
      await page.goto(portal.url);
      await page.getByRole("link", { name: "Answers Ltd" }).press("Enter");
      await page.getByRole("heading", { name: "Terms" }).waitFor();
      await page.getByRole("button", { name: /^Agree to version/ }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Confirm with a passkey" }).waitFor();
      await judged("terms");
      await press(page, "Confirm with a passkey");
      await page.getByText("Agreed to at").waitFor();
      const [, uuid = ""] = /([0-9a-f-]{36})/.exec(page.url()) ?? [];
      const { certificate } = await portal.node.services.parties.facts(uuid, "");
      const key = await provenKey({ uuid, certId: certificate?.cert_id ?? "" }, "retrieval");
      await writeFile(inFolder("key.json"), JSON.stringify(key.jwk));
      await page.getByLabel("What svc prove-key printed").fill(key.printed);
      await press(page, "Register the key");
      await press(page, "Confirm with a passkey");
      await page.getByRole("heading", { name: "Search" }).waitFor();
      await portal.node.services.register.refresh();
      await page.reload();
      await writeFile(inFolder("company.json"), await page.locator("#ask ~ pre").first().innerText());
      const words = ["events", "--country", "GB", "--config", inFolder("company.json")];
      await runRevoke(words, { ...local, command: search });
      await page.reload();
      await judged("company");
      await press(page, "Show the receipts");
      await page.getByRole("cell", { name: "search events" }).first().waitFor();
      await judged("receipts");
      await portal.node.services.actors.ask(ledgerRef(uuid), payment);
      await page.goto(`${portal.url}/companies/${uuid}`);
      await page.getByRole("link", { name: "See all payments" }).press("Enter");
      await page.getByRole("cell", { name: "invoice-7" }).waitFor();
      await judged("statements");
      await page.locator("td a").first().press("Enter");
      await page.getByRole("heading", { name: "What was charged" }).waitFor();
      await judged("statement");
      expect(complaints).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

/** A push of the business's system that is held, and confirmed on the page that shows its differences. */
async function decideHold(page: Page, judged: Judged): Promise<TestBusiness> {
  const [, uuid = ""] = /businesses\/([0-9a-f-]{36})/.exec(page.url()) ?? [];
  const { services } = portal.node;
  const business = await openBusiness(services, uuid, "Crumb & Crust Ltd");
  const catalogue = Array.from({ length: 25 }, (_, at) => priced(`bun-${at}`, "10.00"));
  await publish(services, business, (await batchBody(business, catalogue)).body);
  await publish(services, business, (await batchBody(business, [priced("bun-3", "99.00")], { seq: 2 })).body);
  await page.getByRole("link", { name: "Held pushes" }).press("Enter");
  await page.getByRole("cell", { name: "99.00 USD" }).waitFor();
  await judged("hold");
  await page.getByRole("button", { name: "Confirm the push" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("is confirmed: everything in it is published.").waitFor();
  await judged("decision");
  await press(page, "Seal it");
  await page.getByRole("heading", { name: "The push is confirmed" }).waitFor();
  await judged();
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
  return business;
}

/** A large push, and one with faults: their pages go on by themselves. */
async function followPush(page: Page, business: TestBusiness, judged: Judged): Promise<void> {
  const many = Array.from({ length: 2_000 }, (_, at) => priced(`roll-${at}`, "1.00"));
  const { body } = await batchBody(business, many, { seq: 3, aiPolicyVersion: 1 });
  await publish(portal.node.services, business, body);
  await page.getByRole("link", { name: "Pushes", exact: true }).press("Enter");
  await page.getByText("2,000 of 2,000").waitFor({ timeout: 60_000 });
  await page.getByText("None is on its way.").waitFor({ timeout: 60_000 });
  await judged("pushes");
  const faulty = { availability: "in_stok" };
  const records = many.map((_, at) =>
    at < 3 ? product(`cake-${at}`, faulty) : priced(`cake-${at}`, "1.00"),
  );
  const second = await batchBody(business, records, { seq: 4, aiPolicyVersion: 1 });
  await publish(portal.node.services, business, second.body);
  await page.goto(`${portal.url}/businesses/${business.party.uuid}/pushes/${second.pushId}`);
  await page.getByText("2,000 of 2,000").waitFor({ timeout: 60_000 });
  await page.getByText("complete", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByRole("cell", { name: "cake-0, cake-1, cake-2" }).waitFor();
  await judged("push");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  await judged();
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.getByRole("link", { name: "Back to the pushes" }).press("Enter");
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
}

/** Who asks, a campaign and an ad with a picture, written on a business's page without a mouse. */
async function advertise(page: Page, picture: string, judged: Judged): Promise<void> {
  await page.getByRole("link", { name: "Who is asking" }).press("Enter");
  await page.getByRole("heading", { name: "AI companies" }).waitFor();
  await judged("asking");
  await page.getByLabel("Records").selectOption("events");
  await press(page, "Show");
  await page.getByText("Nobody asked.").first().waitFor();
  await judged();
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
  await page.getByRole("link", { name: "Campaigns" }).press("Enter");
  await page.getByText("There is no campaign.").waitFor();
  await judged("campaigns");
  await page.getByRole("link", { name: "New campaign" }).press("Enter");
  await page.getByLabel("Campaign id").fill("spring");
  await page.getByLabel("Price").fill("0.25");
  await page.getByLabel("Budget").fill("much");
  await page.getByLabel("Starts at").fill("2026-01-01T08:00");
  await page.getByLabel("Ends at").fill("2099-01-01T08:00");
  await press(page, "Show its words");
  await page.getByRole("link", { name: "/budget" }).press("Enter");
  await judged("campaign-form");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("500");
  await page.keyboard.press("Enter");
  await page.getByText('/budget: "500"').waitFor();
  await judged("campaign-words");
  await press(page, "Seal it");
  await page.getByRole("heading", { name: "The campaign is in force" }).waitFor();
  await judged();
  await page.getByRole("link", { name: "spring" }).press("Enter");
  await press(page, "New ad");
  await page.getByLabel("Language").fill("en");
  await page.getByLabel("Business ad id").fill("shoe");
  await page.getByLabel("Countries").fill("GB");
  await page.getByLabel("Keywords").fill("running shoes");
  await page.getByLabel("Headline").fill("Shoes for the trail");
  await page.getByLabel("Display domain").fill("shoes.example");
  await page.getByLabel("Destination url").fill("https://shoes.example/trail");
  await writeFile(picture, await imageOf("image/png"));
  await page.getByLabel("Add an image").setInputFiles(picture);
  await expect.poll(() => page.locator("textarea[name=image]").inputValue()).toMatch(/^iVBOR/);
  await judged("ad");
  await press(page, "Show its words");
  await page.getByRole("link", { name: "/images/0/alt" }).press("Enter");
  await judged();
  await page.keyboard.type("A shoe.");
  await press(page, "Show its words");
  await page.getByText('/images/0/alt: "A shoe."').waitFor();
  await judged();
  await press(page, "Seal it");
  await page.getByRole("heading", { name: "The ad is published" }).waitFor();
  await judged();
  await page.getByRole("link", { name: "spring" }).press("Enter");
  await page.getByRole("cell", { name: "running shoes" }).waitFor();
  await judged("campaign");
  await page.getByRole("button", { name: "Edit ad_" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Headline").inputValue()).toBe("Shoes for the trail");
  await judged();
  await page.goBack();
  await page.getByRole("button", { name: "Withdraw ad_" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("is withdrawn: it is served no more.").waitFor();
  await page.getByRole("link", { name: "Go back, and change nothing" }).press("Enter");
  await page.getByRole("cell", { name: "0 EUR", exact: true }).waitFor();
  await judged();
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
}

/** What the system pushed is found by search. */
async function expectFound({ party }: TestBusiness): Promise<void> {
  const { grant } = portal.node.services.keys;
  const company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c1");
  const body = JSON.stringify(productSearch);
  const { json } = await send(portal.node.urls.base_url, company, { path: "/v1/products/search", body });
  const rows = json["rows"] as readonly { readonly business_uuid: string }[];
  expect(rows.some((row) => row.business_uuid === party.uuid)).toBe(true);
}

/** Pages in the dark on a phone, and on paper. */
async function lookOtherwise(page: Page, { party: { uuid } }: TestBusiness): Promise<void> {
  const of = [
    "",
    "/records",
    "/pushes",
    "/holds",
    "/ai-policy",
    "/domains",
    "/asking",
    "/campaigns",
    "/blocks",
  ];
  const paths = ["/", "/account", "/recover", ...of.map((part) => `/businesses/${uuid}${part}`)];
  const size = page.viewportSize() ?? { width: 1280, height: 720 };
  for (const path of [
    ...paths,
    `/businesses/${uuid}/new/products`,
    `/notices/${uuid}`,
    `/webhooks/${uuid}`,
  ]) {
    await page.goto(`${portal.url}${path}`);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 844 });
    expect([path, await faultsOf(page)]).toEqual([path, []]);
    await page.emulateMedia({ colorScheme: "light", media: "print" });
    expect([path, await faultsOf(page)]).toEqual([path, []]);
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize(size);
  }
  await page.goto(`${portal.url}/businesses/${uuid}`);
}

/** Pages of which the journey needs nothing else. */
async function look(page: Page, judged: Judged): Promise<void> {
  for (const [name, picture] of [
    ["Blocked AI companies", "blocks"],
    ["Domains", "domains"],
  ] as const) {
    await page.getByRole("link", { name }).press("Enter");
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await judged(picture);
    await page.getByRole("link", { name: "Back to the business" }).press("Enter");
  }
}

/** An AI policy and an update, written on a business's page without a mouse. */
async function publishByHand(page: Page, business: TestBusiness, judged: Judged): Promise<void> {
  await page.getByRole("link", { name: "AI policy" }).press("Enter");
  await page.getByLabel("cite_as_source").press("Space");
  await judged("ai-policy");
  await press(page, "Show its words");
  await page.getByText("Asked: cite_as_source.").waitFor();
  await judged("ai-policy-words");
  await page.getByRole("button", { name: "Seal it", exact: true }).dblclick();
  await page.getByRole("heading", { name: "The AI policy is in force" }).waitFor();
  await judged();
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
  await page.getByRole("link", { name: "New update" }).press("Enter");
  await page.getByLabel("Language").fill("en");
  await page.getByLabel("Business product id").fill("hours");
  await page.getByLabel("Countries").fill("GB, UK");
  await page.getByLabel("Headline").fill("Open on Sundays");
  await page.getByLabel("Body", { exact: true }).fill("From nine to noon.\nThe oven is on.");
  await page.getByLabel("Update type").selectOption({ label: "Opening hours" });
  await page.getByLabel("Relevant until").fill("2099-01-01T08:00");
  await judged();
  await press(page, "Show its words");
  await page.getByText("1 thing is not right").waitFor();
  await judged("form");
  await page.getByRole("link", { name: "/countries/1" }).press("Enter");
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("name")))
    .toBe("/countries");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("GB");
  await page.keyboard.press("Enter");
  const words = page.getByText('/headline: "Open on Sundays"');
  await words.waitFor();
  await judged();
  // What is lost on its way is sent again by loading the page again, and changes nothing the second time.
  await page.context().setOffline(true);
  await press(page, "Seal it");
  await expect.poll(() => page.url()).toMatch(/^chrome-error:/);
  await page.context().setOffline(false);
  for (const _ of ["sent again", "once more"]) {
    await page.reload();
    await page.getByRole("heading", { name: "Published" }).waitFor();
  }
  const { recordIdOf, records } = portal.node.services;
  const update = recordIdOf(business.party.uuid, "updates", "hours");
  expect(await records.listVersions(update, null, 9)).toHaveLength(1);
  await judged("published");
  await page.getByRole("link", { name: "Published records" }).press("Enter");
  await page.getByRole("button", { name: "Withdraw hours" }).waitFor();
  await judged("records");
  await page.getByRole("button", { name: "Edit hours" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Headline").inputValue()).toBe("Open on Sundays");
  await page.goBack();
  await page.getByRole("button", { name: "Withdraw hours" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("is withdrawn: it is served no more.").waitFor();
  await judged();
  await press(page, "Seal it");
  await page.getByRole("heading", { name: "Taken out" }).waitFor();
  await judged();
  await page.getByRole("link", { name: "Back to the business" }).press("Enter");
  // The largest forms have nothing against them either.
  for (const type of ["product", "business file", "event", "job"]) {
    const name = `New ${type}`;
    await page.getByRole("link", { name }).press("Enter");
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await judged(type.replace(" ", "-"));
    await page.goBack();
  }
}
