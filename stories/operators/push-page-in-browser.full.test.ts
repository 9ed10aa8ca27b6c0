// The page of a push in a real browser: every step with its time up to the public log, and a push that is under way.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RunningNode } from "../../node/composition/start.ts";
import { indexUnavailable, type RowIndex } from "../../storage/row-index.ts";
import { findBrowser } from "../../tools/browser.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";
import { faultsOf, openPage, openWatchedNode, type View, type WatchedNode } from "./inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere)
  console.warn("NOT TESTED: no Chromium on this machine, so the page of a push was not looked at.");
const inBrowser = it.skipIf(!isThere && process.env["CI"] === undefined);
const wide: View = { width: 1280, scheme: "light" };

let watched: WatchedNode | null = null;
let node: RunningNode;
let browser: Browser;
let business: TestBusiness;
/** The sequence number of the last batch. */
let seq = 0;
let isIndexAway = false;

beforeAll(async () => {
  if (!isThere) return;
  watched = await openWatchedNode({}, { index: sometimesAway });
  ({ node, browser } = watched);
  business = await openBusiness(node.services);
}, 240_000);

afterAll(() => watched?.[Symbol.asyncDispose]());

/** The node's index, which is away when a test says so. */
const sometimesAway = (rows: RowIndex): RowIndex => ({
  apply: async (changes) => {
    if (isIndexAway) throw indexUnavailable("unreachable", "Nobody is there.");
    return rows.apply(changes);
  },
  search: (query) => rows.search(query),
  isFindable: (collection, id) => rows.isFindable(collection, id),
  purge: (collections) => rows.purge(collections),
  count: (collection) => rows.count(collection),
});

/** Publishes so many products and returns the address of the push's page. */
async function publish(count: number): Promise<string> {
  seq += 1;
  const products = Array.from({ length: count }, (_, at) => product(`shoe-${seq}-${at}`));
  const outcome = await sealAndPublish(node.services, business, products, { seq });
  if (outcome.kind !== "answer") throw new Error(outcome.problem.detail);
  const { batch_id } = JSON.parse(String(outcome.body)) as { readonly batch_id: string };
  return `${node.urls.ops_url}/ui/pushes/${business.party.uuid}.${batch_id}`;
}

/** The steps in the order in which the page shows them, with their times. */
const stepsOn = async (page: Page): Promise<readonly (readonly [what: string, at: string])[]> =>
  page
    .locator("tr:has([data-step])")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector("[data-step]")?.getAttribute("data-step") ?? "",
        row.querySelector("time")?.getAttribute("datetime") ?? "",
      ]),
    );

inBrowser(
  "the road of a push has every step with its time, in their order, up to the public log",
  async () => {
    await using opened = await openPage(browser, await publish(1), wide);
    const { page } = opened;
    // The log takes the seal up a few seconds later: the page moves on by itself.
    await page.locator("[data-step=log_published]").waitFor({ timeout: 60_000 });
    const steps = await stepsOn(page);
    const wanted = ["received", "charged", "numbered", "accepted", "complete", "logged", "log_published"];
    expect(steps.map(([what]) => what).filter((what) => wanted.includes(what))).toEqual(wanted);
    expect(steps.map(([, at]) => at)).toEqual(steps.map(([, at]) => at).toSorted());
    for (const [, at] of steps) expect(at).toMatch(/^20\d\d-.*Z$/);
    expect(await page.locator("[data-log]").getAttribute("data-log")).toBe("published");
    expect(await page.getByRole("region", { name: "Chunks of the push" }).innerText()).toContain("settled");
    expect(await page.locator("section", { hasText: "Traces" }).innerText()).toContain("SVC_OTLP_ENDPOINT");
  },
  120_000,
);

inBrowser(
  "a push that is under way moves on without being loaded again: its chunks, its indexes, its end",
  async () => {
    isIndexAway = true;
    try {
      const url = await publish(250);
      await using opened = await openPage(browser, url, wide);
      const { page } = opened;
      await page.evaluate("window.isTheSamePage = true");
      await page.locator("[data-chunk='1'][data-chunk-state=settled]").waitFor({ timeout: 60_000 });
      const indexes = page.getByRole("region", { name: "How far the index of each region is" });
      const { region } = node.services.config;
      expect(await indexes.getByRole("row", { name: region }).innerText()).toMatch(/\b0\s+2\b/);
      expect(await faultsOf(page)).toEqual([]);
      isIndexAway = false;
      await page.locator("[data-step=complete]").waitFor({ timeout: 60_000 });
      expect(await indexes.getByRole("row", { name: region }).innerText()).toMatch(/\b2\s+0\b/);
      expect(await page.evaluate("window.isTheSamePage")).toBe(true);
      expect(opened.complaints).toEqual([]);
      for (const view of [
        { width: 360, scheme: "light" } as const,
        { width: 1280, scheme: "dark" } as const,
      ]) {
        await using again = await openPage(browser, url, view);
        expect(await faultsOf(again.page), JSON.stringify(view)).toEqual([]);
      }
    } finally {
      isIndexAway = false;
    }
  },
  240_000,
);
