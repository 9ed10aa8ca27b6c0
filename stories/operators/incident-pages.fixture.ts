// The operators' pages as somebody uses them in an incident: in a real browser, from the overview on, by links, headings and buttons
// alone. The steps of docs/incidents.md quote their names («…»), and what was used is compared with what is quoted. For tests.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { root } from "../../tools/process.ts";
import { openPage } from "./inspector.fixture.ts";

/** For a machine that does much else. */
export const untilMaxMs = 120_000;

/** Who acts, and why, in every incident. */
export const operatorName = "Ada Lovelace";
export const operatorReason = "Incident 4711";

export interface OperatedNode {
  readonly home: string;
  /** The address of the operations surface. */
  readonly opsUrl: string;
}

/** Where somebody stands in a page, and what may be read or followed there. */
export interface Shown {
  /** Waits until its text matches, and returns it. */
  says(pattern: RegExp): Promise<string>;
  /** Follows a link by its text. */
  follow(text: string): Promise<void>;
}

export interface Operator extends AsyncDisposable {
  /** Goes to a page that every page leads to. */
  go(name: string): Promise<void>;
  /** The part of the page under a heading. */
  part(heading: string): Shown;
  /** The row of the part's table that has all these texts. */
  row(heading: string, ...texts: readonly string[]): Shown;
  /** Waits until this many rows of the part's table match, and returns them, each in one line. */
  rows(heading: string, count: number, pattern: RegExp): Promise<readonly string[]>;
  /** Waits until the part has no such row any more. */
  gone(heading: string, ...texts: readonly string[]): Promise<void>;
  /** The title of the page with its badges. */
  readonly title: Shown;
  /** Fills in an act up to the question whether it is meant; what is returned answers it. */
  prepare(
    act: string,
    fields?: Readonly<Record<string, string>>,
    form?: string,
  ): Promise<() => Promise<void>>;
  /** Expects that exactly what the runbook quotes under a title was used, in that order, and that the browser complained of nothing. */
  hasFollowed(title: string): Promise<void>;
}

/** Signs in, which is told once for all incidents, and begins on the overview. Who looks at two nodes has one list of what was used. */
export async function openOperator(
  browser: Browser,
  { home, opsUrl }: OperatedNode,
  used: string[] = [],
): Promise<Operator> {
  const opened = await openPage(browser, `${opsUrl}/ui/sign-in`, { width: 1280, scheme: "light" });
  const { page, complaints } = opened;
  page.setDefaultTimeout(untilMaxMs);
  const token = (await readFile(join(home, "ops-token"), "utf8")).trim();
  await page.getByLabel("Operators' token").fill(token);
  await page.getByLabel("Your name").fill(operatorName);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const heading = (name: string): Locator => {
    // A part that is looked at twice in a row is one step.
    if (used.at(-1) !== name) used.push(name);
    return page.getByRole("region", { name, exact: true });
  };
  const row = (name: string, texts: readonly string[]): Locator =>
    texts.reduce((rows, hasText) => rows.filter({ hasText }), heading(name).locator("tbody tr"));
  return {
    go: async (name) => {
      used.push(name);
      await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
      await isLive(page);
    },
    part: (name) => shownAt(page, heading(name)),
    row: (name, ...texts) => shownAt(page, row(name, texts).first()),
    rows: (name, count, pattern) => rowsAt(heading(name).locator("tbody tr"), count, pattern),
    gone: (name, ...texts) => row(name, texts).first().waitFor({ state: "hidden" }),
    title: shownAt(page, page.locator(".title")),
    prepare: (act, fields, form = "Act on it") => prepare(page, { form: heading(form), act, fields, used }),
    hasFollowed: async (title) => {
      expect(await quotedSteps("Before you begin")).toEqual(["Overview", actsOn, ...Object.values(labels)]);
      expect(used).toEqual(await quotedSteps(title));
      expect(complaints).toEqual([]);
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function shownAt(page: Page, place: Locator): Shown {
  return {
    says: async (pattern) => {
      await place.waitFor();
      let said = "";
      const read = async () => {
        said = (await place.innerText()).trim();
        return pattern.test(said);
      };
      await vi.waitUntil(read, { timeout: untilMaxMs, interval: 100 }).catch(() => {
        throw new Error(`${pattern} does not match what the page said last:\n${said}`);
      });
      return said;
    },
    follow: async (text) => {
      await place.getByRole("link", { name: text }).first().click();
      await isLive(page);
    },
  };
}

async function rowsAt(place: Locator, count: number, pattern: RegExp): Promise<readonly string[]> {
  let said: readonly string[] = [];
  const read = async () => {
    said = (await place.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
    return said.filter((row) => pattern.test(row)).length === count;
  };
  await vi.waitUntil(read, { timeout: untilMaxMs, interval: 250 }).catch(() => {
    throw new Error(
      `${pattern} does not match ${count} rows of what the page said last:\n${said.join("\n")}`,
    );
  });
  return said.filter((row) => pattern.test(row));
}

/** A page whose script runs: before that, a form would be sent without it. */
async function isLive(page: Page): Promise<void> {
  await page.locator("[data-live=on]").waitFor();
}

/** What is used in every act, in this order; the runbook tells it once. */
const labels = { reason: "Reason", go: "Continue", confirm: "Yes, do it" };
const actsOn = "Act on it";

interface Prepared {
  readonly form: Locator;
  readonly act: string;
  readonly fields: Readonly<Record<string, string>> | undefined;
  readonly used: string[];
}

async function prepare(page: Page, { form, act, fields = {}, used }: Prepared): Promise<() => Promise<void>> {
  used.push(act);
  const options = await form.getByLabel("What to do").locator("option").allInnerTexts();
  const label = options.find((each) => each === act || each.startsWith(`${act}:`));
  if (label === undefined) throw new Error(`${act} is not among ${options.join("; ")}`);
  await form.getByLabel("What to do").selectOption({ label });
  for (const [name, value] of Object.entries(fields)) await give(form, name, value);
  await form.getByLabel(labels.reason).fill(operatorReason);
  await form.getByRole("button", { name: labels.go }).click();
  await form.getByText(`Are you sure: ${label}`).waitFor();
  return async () => {
    await page.getByRole("button", { name: labels.confirm }).click();
    await form.getByText("Done: ").waitFor();
  };
}

/** A field is written into, or chosen from. The name of a label that contains its choices has their texts as well. */
async function give(form: Locator, name: string, value: string): Promise<void> {
  const field = form.locator(`xpath=.//label[text()="${name}"]/*`);
  if ((await field.locator("option").count()) > 0) await field.selectOption(value);
  else await field.fill(value);
}

/** The names that the runbook quotes under a title, where it says how the incident is dealt with from the pages. */
async function quotedSteps(title: string): Promise<readonly string[]> {
  const text = await readFile(join(root, "docs", "incidents.md"), "utf8");
  const [section = ""] = text.split(/^## /m).filter((each) => each.startsWith(`${title}\n`));
  const [, steps = ""] = /^\*\*From the pages\.\*\* (.+)$/m.exec(section) ?? [];
  return [...steps.matchAll(/«([^»]+)»/g)].map(([, name = ""]) => name);
}
