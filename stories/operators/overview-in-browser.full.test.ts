// What an overview that is open in a real browser asks of its node.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startNode } from "../../node/composition/start.ts";
import { findBrowser } from "../../tools/browser.ts";
import { openBusiness, product, sealAndPublish } from "../publishing/publishing.fixture.ts";
import { openBrowser, openPage } from "./inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere) console.warn("NOT TESTED: no Chromium on this machine, so what an overview asks was not seen.");

it.skipIf(!isThere && process.env["CI"] === undefined)(
  "it reads the nodes every few seconds, however often the counts change",
  async () => {
    const home = await mkdtemp(join(tmpdir(), "svc-overview-"));
    await using _home = { [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }) };
    await using node = await startNode({ home, portBase: 0, logLevel: "error" });
    await node.seeded;
    const business = await openBusiness(node.services);
    await using browser = await openBrowser();
    await using overview = await openPage(browser, `${node.urls.ops_url}/ui/`, {
      width: 1280,
      scheme: "light",
    });
    const { page } = overview;
    await page.locator("[data-live=on]").waitFor();
    const reads: string[] = [];
    page.on("request", (request) => reads.push(new URL(request.url()).pathname));
    const pushes = page.locator("tr", { has: page.getByRole("link", { name: "push", exact: true }) });
    const startedMs = performance.now();
    for (const [index, id] of ["one", "two", "three", "four"].entries()) {
      const before = await pushes.innerText();
      const outcome = await sealAndPublish(node.services, business, [product(id)], { seq: index + 1 });
      expect(outcome.kind).toBe("answer");
      await expect.poll(() => pushes.innerText(), { timeout: 60_000, interval: 50 }).not.toBe(before);
    }
    const polls = 1 + Math.ceil((performance.now() - startedMs) / 3_000);
    await page.waitForResponse((answer) => answer.url().endsWith("/ops/nodes"), { timeout: 60_000 });
    expect(reads.filter((path) => path === "/ops/nodes").length).toBeLessThanOrEqual(polls + 1);
  },
  240_000,
);
