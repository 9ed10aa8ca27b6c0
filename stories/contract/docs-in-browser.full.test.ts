// The documentation in a real browser: axe-core finds nothing to object to, the search works, and without a script every heading is there.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { findBrowser } from "../../tools/browser.ts";
import { faultsOf, openBrowser, openPage, type View } from "../operators/inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere)
  console.warn("NOT TESTED: no Chromium on this machine, so no page of the documentation was looked at.");
const isSkipped = !isThere && process.env["CI"] === undefined;

let home = "";
let node: RunningNode;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-docs-"));
  node = await startNode({ home, portBase: 0, logLevel: "error" });
}, 120_000);
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

const paths = [
  "/",
  "/docs/choices",
  "/docs/ops",
  "/docs/first-answer",
  "/docs/for-ai-companies",
  "/docs/problems",
  "/docs/problems/rate_limited",
  "/docs/reference",
  "/docs/reference/retrieval",
  "/docs/reference/retrieval/post_v1_search",
  "/docs/search?q=threat",
  "/docs/nothing",
];
const views: readonly View[] = [
  { width: 1280, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 390, scheme: "light" },
  { width: 800, scheme: "light", isOnPaper: true },
];

it.skipIf(isSkipped).each(views)(
  "everybody can read its pages: $width wide, $scheme",
  async (view) => {
    await using browser = await openBrowser();
    for (const path of paths) {
      await using opened = await openPage(browser, `${node.urls.verify_url}${path}`, view);
      expect(await faultsOf(opened.page), path).toEqual([]);
      const isMissing = path === "/docs/nothing";
      expect(
        opened.complaints.filter((each) => !isMissing || !each.includes("404")),
        path,
      ).toEqual([]);
      expect(
        opened.asked.filter((each) => !/^\/(?:$|docs)/.test(each)),
        path,
      ).toEqual([]);
    }
  },
  240_000,
);

it.skipIf(isSkipped)(
  "a search shows what has its words, from the form of any page of any surface",
  async () => {
    await using browser = await openBrowser();
    for (const url of [node.urls.portal_url, node.urls.ops_url, node.urls.business_url]) {
      await using opened = await openPage(browser, `${url}/docs/keys`, { width: 1280, scheme: "light" });
      const { page } = opened;
      await page.locator("input[name=q]").fill("threat model");
      await page.locator("input[name=q]").press("Enter");
      await page.locator("#said", { hasText: / found$/ }).waitFor();
      await page.getByRole("link", { name: "Hardening a cluster: Threat model" }).click();
      await page.waitForURL("**/docs/hardening#threat-model");
      expect(opened.complaints).toEqual([]);
    }
  },
  240_000,
);

it.skipIf(isSkipped)(
  "without a script every heading is a link",
  async () => {
    await using browser = await openBrowser();
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${node.urls.mcp_url}/docs/search?q=threat`);
    expect(await page.locator("#found a").count()).toBeGreaterThan(300);
    await context.close();
  },
  120_000,
);
