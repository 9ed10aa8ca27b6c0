// Operators' pages in a real browser, on a node that runs. For tests and for the pictures in docs.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { findBrowser } from "../../tools/browser.ts";

export async function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser() ?? "";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

export interface WatchedNode extends AsyncDisposable {
  readonly home: string;
  readonly node: RunningNode;
  readonly browser: Browser;
}

/** A node with the samples of a sandbox, in a home of its own, and a browser to look at it with. */
export async function openWatchedNode(
  { logLevel = "error" }: Pick<NonNullable<Parameters<typeof startNode>[0]>, "logLevel"> = {},
  platform: Parameters<typeof startNode>[1] = {},
): Promise<WatchedNode> {
  await using opening = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "svc-watched-"));
  opening.defer(() => rm(home, { recursive: true, force: true }));
  const node = opening.use(await startNode({ home, portBase: 0, logLevel }, platform));
  await node.seeded;
  const browser = opening.use(await openBrowser());
  const opened = opening.move();
  return { home, node, browser, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

export interface View {
  readonly width: number;
  readonly scheme: "light" | "dark";
  readonly isOnPaper?: boolean;
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /** What the browser complained of: errors of scripts, and everything that the policy of the page refused. */
  readonly complaints: readonly string[];
  /** The paths that it asked for. */
  readonly asked: readonly string[];
}

export async function openPage(browser: Browser, url: string, view: View): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: 900 },
    colorScheme: view.scheme,
  });
  const page = await context.newPage();
  if (view.isOnPaper === true) await page.emulateMedia({ media: "print" });
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints, asked, [Symbol.asyncDispose]: () => context.close() };
}

/** What axe-core objects to, and whether the page is wider than the screen. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const judge = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] }).then(
    ({ violations, passes }) => [
      ...violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")),
      ...(passes.some(({ id }) => id === "color-contrast") ? [] : ["nothing was judged"]),
      ...(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ["wider than the screen"] : []),
    ])`;
  return (await page.evaluate(judge)) as readonly string[];
}
