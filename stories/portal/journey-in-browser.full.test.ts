// A person in a real browser, from the first page on, with a virtual authenticator and from the keyboard. axe-core finds nothing on any page.

import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPortalNode, type PortalNode } from "../../portal/portal.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { faultsOf } from "../operators/inspector.fixture.ts";

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

interface Visit extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[];
}

/** A browser of somebody, with an authenticator that knows who they are. */
async function newVisit(): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devTools = await context.newCDPSession(page);
  await devTools.send("WebAuthn.enable");
  await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() };
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

inBrowser(
  "a person signs up, signs out and in again, and looks after their passkeys",
  async () => {
    await using visit = await newVisit();
    const { page, complaints } = visit;
    await page.goto(`${portal.url}/sign-in`);
    expect(await faultsOf(page)).toEqual([]);
    await signUp(visit);
    expect(await faultsOf(page)).toEqual([]);
    await press(page, "Sign out Ada Lovelace");
    await press(page, "Sign in with a passkey");
    await page.getByText("Welcome, Ada Lovelace").waitFor();
    await page.getByRole("link", { name: "My account" }).press("Enter");
    await page.getByRole("heading", { name: "What you did" }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByLabel("Name of a further passkey").fill("phone");
    await page.keyboard.press("Enter");
    await page.getByText("A further passkey is made, which is called phone.").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await press(page, "Confirm with a passkey");
    await page.getByRole("button", { name: "Make the passkey" }).waitFor();
    // The authenticator has one of this person already, and makes no second one; that is said.
    await press(page, "Make the passkey");
    await page.getByText("No passkey was used.").waitFor();
    expect(complaints).toEqual([]);
  },
  120_000,
);
