// The operators' pages in a real browser: what is live moves, everything works from the keyboard, axe-core
// has nothing to object to, and the page's own policy is never broken.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { send } from "../../api/surfaces.fixture.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";
import { faultsOf, openPage, openWatchedNode, type View, type WatchedNode } from "./inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere) console.warn("NOT TESTED: no Chromium on this machine, so no page of operators was looked at.");
const inBrowser = it.skipIf(!isThere && process.env["CI"] === undefined);

let home = "";
let watched: WatchedNode | null = null;
let node: RunningNode;
let browser: Browser;
let business: TestBusiness;
let push = "";
/** The sequence number of the last batch. */
let seq = 0;

beforeAll(async () => {
  if (!isThere) return;
  watched = await openWatchedNode();
  ({ home, node, browser } = watched);
  business = await openBusiness(node.services);
  push = await publish("one");
  await refuse();
}, 240_000);

afterAll(() => watched?.[Symbol.asyncDispose]());

/** Publishes a product and returns the id of the push's actor. */
async function publish(...ids: readonly string[]): Promise<string> {
  seq += 1;
  const products = ids.map((id) => product(id));
  const outcome = await sealAndPublish(node.services, business, products, { seq });
  if (outcome.kind !== "answer") throw new Error(outcome.problem.detail);
  const { batch_id } = JSON.parse(String(outcome.body)) as { readonly batch_id: string };
  return `${business.party.uuid}.${batch_id}`;
}

/** Has a request refused that names the key of the business, and one that names none. */
async function refuse(): Promise<void> {
  const caller = { key: business.signingKey, grant: "" };
  await send(node.urls.business_url, caller, { path: "/v1/publish/products", body: "{}", tag: "svc-push" });
  await fetch(`${node.urls.verify_url}/nowhere`);
}

const wide: View = { width: 1280, scheme: "light" };
const urlOf = (path: string) => `${node.urls.ops_url}${path}`;
const actorUrl = (kind: string, id: string) => urlOf(`/ui/actors/${kind}/${encodeURIComponent(id)}`);

const pages: readonly (readonly [string, () => string])[] = [
  ["overview", () => urlOf("/ui/")],
  ["nodes", () => urlOf("/ui/nodes")],
  ["actors", () => urlOf("/ui/actors?kind=push&scope=known")],
  ["search", () => urlOf(`/ui/search?q=${business.party.uuid}`)],
  ["actor", () => actorUrl("push", push)],
  ["region", () => urlOf("/ui/actors?kind=region")],
  ["log", () => actorUrl("log-sequencer", "svc-log")],
  ["applications", () => urlOf("/ui/applications")],
  ["parties", () => urlOf("/ui/parties")],
  ["party", () => urlOf(`/ui/parties/${business.party.uuid}`)],
  ["accounts", () => urlOf("/ui/accounts")],
  ["lists", () => urlOf("/ui/lists")],
  ["refusals", () => urlOf("/ui/refusals")],
  ["key", () => urlOf(`/ui/keys/${business.key.key_id}`)],
  ["sign-in", () => urlOf("/ui/sign-in")],
  ["not-there", () => actorUrl("push", "no.such")],
];
const views: readonly View[] = [
  wide,
  { width: 1280, scheme: "dark" },
  { width: 360, scheme: "light" },
  { width: 720, scheme: "light", isOnPaper: true },
];

describe.each(views)("%o", (view) => {
  inBrowser(
    "everybody can read every page, which keeps its own policy and is not wider than the screen",
    async () => {
      for (const [name, url] of pages) {
        // It is a form and nothing else.
        if (view.isOnPaper === true && name === "sign-in") continue;
        await using opened = await openPage(browser, url(), view);
        expect(await faultsOf(opened.page), name).toEqual([]);
        // Nobody can press anything on paper.
        const pressed = opened.page.locator("nav, form, button").filter({ visible: true });
        expect((await pressed.count()) === 0, name).toBe(view.isOnPaper === true);
        const expected = name === "not-there" ? [expect.stringContaining("404")] : [];
        expect(opened.complaints, name).toEqual(expected);
      }
    },
    300_000,
  );
});

inBrowser(
  "what a page asks for by itself is in the documented API, for scripts as well",
  async () => {
    const { paths } = (await (await fetch(urlOf("/openapi.json"))).json()) as { readonly paths: object };
    const documented = Object.keys(paths).map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
    const live = ["overview", "nodes", "actor", "log", "applications", "party", "lists", "refusals", "key"];
    const found = new Set<string>();
    for (const [name, url] of pages) {
      await using opened = await openPage(browser, url(), wide);
      if (live.includes(name)) await opened.page.locator("[data-live=on]").waitFor();
      for (const path of opened.asked) if (!path.startsWith("/ui/")) found.add(path);
    }
    expect([...found].some((path) => path.startsWith("/ops/live/actors/push/"))).toBe(true);
    expect([...found].filter((path) => !documented.some((each) => each.test(path)))).toEqual([]);
  },
  120_000,
);

inBrowser(
  "the lists of people who wait for operators, which wake an actor for each, are asked for every half minute",
  async () => {
    const page = await browser.newPage();
    await page.clock.install();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const times = () =>
      ["/ops/applications", "/ops/recoveries"].map((path) => asked.filter((each) => each === path).length);
    await page.goto(urlOf("/ui/applications"));
    await page.locator("[data-live=on]").waitFor();
    await expect.poll(times).toEqual([1, 1]);
    await page.clock.runFor(20_000);
    // Everything that was asked for by now has been sent.
    await page.evaluate(() => fetch("/ops/nodes"));
    expect(times()).toEqual([1, 1]);
    await page.clock.runFor(15_000);
    await expect.poll(times).toEqual([2, 2]);
    await page.close();
  },
  120_000,
);

const litStates = (page: Page): Promise<readonly string[]> =>
  page
    .locator(".chart .lit.leaf")
    .evaluateAll((found) => found.map((each) => each.getAttribute("data-state") ?? ""));

inBrowser(
  "the current state is lit",
  async () => {
    await using opened = await openPage(browser, actorUrl("push", push), wide);
    expect(await litStates(opened.page)).toEqual(["complete"]);
  },
  120_000,
);

inBrowser(
  "what happens is shown without loading the page again",
  async () => {
    await using watched = await openPage(browser, actorUrl("business", business.party.uuid), wide);
    await using overview = await openPage(browser, urlOf("/ui/"), wide);
    await watched.page.locator("[data-live=on]").waitFor();
    await overview.page.locator("[data-live=on]").waitFor();
    const journal = watched.page.getByRole("region", { name: "Events of the journal" });
    const before = await journal.locator("tbody tr").count();
    await publish("two");
    await expect.poll(() => journal.locator("tbody tr").count(), { timeout: 60_000 }).toBeGreaterThan(before);
    await expect
      .poll(() => overview.page.getByRole("row", { name: /^push / }).innerText(), { timeout: 60_000 })
      .toMatch(/complete \d/);
  },
  180_000,
);

inBrowser(
  "what is refused, and what becomes of a key, is shown without loading the page again",
  async () => {
    const other = await openBusiness(node.services, business.party.uuid);
    const { key_id: id } = other.key;
    // A key has no actor before its first push.
    seq += 1;
    await sealAndPublish(node.services, other, [product("three")], { seq });
    const actor = actorUrl("integration-key", `${business.party.uuid}.${id}`);
    await using chart = await openPage(browser, actor, wide);
    await using refusals = await openPage(browser, urlOf("/ui/refusals"), wide);
    await using key = await openPage(browser, urlOf(`/ui/keys/${id}`), wide);
    const rowOf = (page: Page, heading: string) =>
      page.getByRole("region", { name: heading, exact: true }).locator("tr", { hasText: "not_found" });
    const countOf = async () =>
      Number(await rowOf(refusals.page, "By surface and code").locator("td").nth(2).innerText());
    for (const { page } of [refusals, key, chart]) await page.locator("[data-live=on]").waitFor();
    expect(await litStates(chart.page)).toEqual(["live"]);
    const before = await countOf();
    expect(before).toBeGreaterThan(0);
    await refuse();
    await expect.poll(countOf, { timeout: 60_000 }).toBe(before + 1);
    expect(await key.page.locator(".title").innerText()).toContain("in force");
    const authorization = signedIn((await readFile(join(home, "ops-token"), "utf8")).trim());
    const revoked = await fetch(urlOf(`/ops/keys/${id}/revoke`), {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ reason: "it was in a public repository" }),
    });
    expect(revoked.status).toBe(200);
    await key.page.locator(".title", { hasText: "revoked" }).waitFor({ timeout: 60_000 });
    await key.page.getByText("it was in a public repository").waitFor();
    await expect.poll(() => litStates(chart.page), { timeout: 60_000 }).toEqual(["retired"]);
  },
  180_000,
);

inBrowser(
  "the page of a business leads to its keys, and those to whose they are",
  async () => {
    const { party, key } = business;
    await using opened = await openPage(browser, actorUrl("business", party.uuid), wide);
    const { page } = opened;
    await page.getByRole("link", { name: "Certificate, keys and account of its party" }).click();
    await page.getByRole("link", { name: key.key_id, exact: true }).first().click();
    const whose = page.getByRole("region", { name: "Whose it is" });
    expect(await whose.innerText()).toContain(party.legal_name);
    await whose.getByRole("link", { name: "Statechart and journal of its actor" }).click();
    await page.getByRole("heading", { name: key.key_id }).waitFor();
    await page.getByRole("link", { name: "Whose key it is, and ending it" }).click();
    await page.getByRole("link", { name: party.legal_name }).click();
    await page.getByRole("heading", { name: party.legal_name, level: 1 }).waitFor();
  },
  120_000,
);

inBrowser(
  "everything is reached from the keyboard",
  async () => {
    await using opened = await openPage(browser, urlOf("/ui/"), wide);
    const { page } = opened;
    const focused = () => page.evaluate("document.activeElement.textContent || document.activeElement.name");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    await page.getByRole("searchbox").focus();
    await page.keyboard.type(push.split(".")[1] ?? "");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: push }).waitFor();
    await page.getByRole("link", { name: push }).press("Enter");
    await page.getByRole("heading", { name: "Statechart" }).waitFor();
  },
  120_000,
);

inBrowser(
  "a page says that its node is gone, keeps what it had, and goes on by itself when it is back",
  async () => {
    const other = await mkdtemp(join(tmpdir(), "svc-inspector-"));
    const base = await freePorts(surfacePorts);
    const start = () => startNode({ home: other, portBase: base, logLevel: "error" });
    let running = await start();
    try {
      await running.seeded;
      await using opened = await openPage(browser, `${running.urls.ops_url}/ui/`, wide);
      const { page } = opened;
      await page.locator("[data-live=on]").waitFor();
      await using nodes = await openPage(browser, `${running.urls.ops_url}/ui/nodes`, wide);
      const readiness = nodes.page.getByRole("region", { name: "Is each node ready?", exact: true });
      await nodes.page.locator("[data-live=on]").waitFor();
      const { incarnation } = running.services;
      expect(await readiness.innerText()).toContain(incarnation);
      await running[Symbol.asyncDispose]();
      await page.locator("[data-live=lost]").waitFor();
      await nodes.page.locator("[data-live=lost]").waitFor();
      expect(await readiness.innerText()).toContain(incarnation);
      expect(await page.getByRole("region", { name: "Nodes by region" }).innerText()).toContain("standalone");
      running = await start();
      await page.locator("[data-live=on]").waitFor({ timeout: 60_000 });
      await readiness.getByText(running.services.incarnation).waitFor({ timeout: 60_000 });
    } finally {
      await running[Symbol.asyncDispose]();
      await rm(other, { recursive: true, force: true });
    }
  },
  240_000,
);

inBrowser(
  "an act needs a session, a name, a reason and a second look, and is recorded",
  async () => {
    await using opened = await openPage(browser, actorUrl("business", business.party.uuid), wide);
    const { page } = opened;
    const act = page.locator("form").filter({ has: page.getByLabel("What to do") });
    const doIt = async (): Promise<void> => {
      await page.locator("[data-live=on]").waitFor();
      await act.getByLabel("What to do").selectOption("passivate");
      await act.getByLabel("Reason").fill("it is in the way");
      await act.getByRole("button", { name: "Continue" }).click();
      await act.getByText("Are you sure").waitFor();
      await act.getByRole("button", { name: "Yes, do it" }).click();
    };
    await doIt();
    await act.getByRole("link", { name: "Sign in to act" }).click();
    await page.getByLabel("Operators' token").fill("not the token of the operators of this node");
    await page.getByLabel("Your name").fill("Ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This is not a token of the operators.").waitFor();
    await page.getByLabel("Operators' token").fill((await readFile(join(home, "ops-token"), "utf8")).trim());
    await page.getByLabel("Your name").fill("Ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Why it waits" }).waitFor();
    await doIt();
    await act.getByText("Done: leaving.").waitFor();
    const recorded = (await readFile(join(home, "audit.log"), "utf8")).split("\n");
    expect(
      recorded.findLast((line) => line.includes("passivate") && line.includes("it is in the way")),
    ).toContain("Ada");
  },
  120_000,
);

inBrowser(
  "an act on a node asks for a name, a reason and a second look, and for a session",
  async () => {
    await using opened = await openPage(browser, urlOf("/ui/nodes"), wide);
    const { page } = opened;
    const act = page.locator("form").filter({ has: page.getByLabel("What to do") });
    await act.getByLabel("Reason").fill("it is to be upgraded");
    await act.getByRole("button", { name: "Continue" }).click();
    await act.getByText(`Are you sure: drain a node`).waitFor();
    await act.getByRole("button", { name: "Yes, do it" }).click();
    const link = act.getByRole("link", { name: "Sign in to act" });
    expect(await link.getAttribute("href")).toBe("/ui/sign-in?next=%2Fui%2Fnodes");
  },
  120_000,
);

/** The pictures in docs. */
const pictures: readonly (readonly [name: string, of: string, view: View])[] = [
  ["overview", "overview", wide],
  ["overview-dark", "overview", { width: 1280, scheme: "dark" }],
  ["nodes", "nodes", wide],
  ["actors", "actors", wide],
  ["search", "search", wide],
  ["refusals", "refusals", wide],
  ["key", "key", wide],
  ["actor", "actor", wide],
  ["actor-dark", "log", { width: 1280, scheme: "dark" }],
  ["actor-on-a-phone", "actor", { width: 390, scheme: "light" }],
  ["sign-in", "sign-in", wide],
];

it.runIf(process.env["SVC_WRITE_PICTURES"] !== undefined)(
  // The names of those that are wanted, or 1 for all.
  "writes the pictures in docs",
  async () => {
    const wanted = process.env["SVC_WRITE_PICTURES"]?.split(",") ?? [];
    push = await publish(...Array.from({ length: 450 }, (_, at) => `seen-${at}`));
    await expect
      .poll(async () => (await node.services.actors.inspect({ kind: "push", id: push }))?.state, {
        timeout: 60_000,
      })
      .toBe("complete");
    for (const [name, of, view] of pictures) {
      if (!wanted.includes("1") && !wanted.includes(name)) continue;
      const [, url] = pages.find(([each]) => each === of) ?? ["", () => ""];
      await using opened = await openPage(browser, url(), view);
      if (["overview", "actor", "log"].includes(of)) await opened.page.locator("[data-live=on]").waitFor();
      const path = new URL(`../../docs/inspector/${name}.png`, import.meta.url).pathname;
      const fullPage = of !== "actors" && of !== "search" && of !== "sign-in";
      await opened.page.screenshot({ path, fullPage });
    }
  },
  120_000,
);
