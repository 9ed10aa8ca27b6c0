// The operators' pages in Chromium: when their first content is painted, and what thousands of live updates leave behind.

import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { findBrowser } from "../../tools/browser.ts";

/** Null where there is no Chromium. */
export async function openBrowser(): Promise<Browser | null> {
  const executablePath = findBrowser();
  if (executablePath === null) return null;
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Waits for it, because a page may have loaded before it is painted. */
const firstPaint = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName("first-contentful-paint");
    if (entry !== undefined) resolve(entry.startTime);
  }).observe({ type: "paint", buffered: true });
})`;

/** Milliseconds from the navigation until the browser paints the first content of the page; nothing is in its cache. */
export async function firstPaintMs(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    const answer = await page.goto(url);
    if (answer?.status() !== 200) throw new Error(`${url} answers ${answer?.status()}`);
    return (await page.evaluate(firstPaint)) as number;
  } finally {
    await context.close();
  }
}

export interface Held {
  /** Bytes of the page's scripts and of its document, once what nobody needs has been collected. */
  readonly bytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

export interface FollowedPage extends AsyncDisposable {
  /** Number of views that have arrived. */
  updates(): number;
  held(): Promise<Held>;
}

/** Opens a page that follows the node, and counts the views that its browser receives. */
export async function followPage(browser: Browser, url: string, event: string): Promise<FollowedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let received = 0;
  session.on("Network.eventSourceMessageReceived", ({ eventName }) => {
    if (eventName === event) received += 1;
  });
  // The browser would keep what it receives, in case somebody asks for it.
  await session.send("Network.enable", { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
  await page.goto(url);
  await page.locator("[data-live=on]").waitFor();
  return {
    updates: () => received,
    held: () => heldBy(page, session),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

async function heldBy(page: Page, session: CDPSession): Promise<Held> {
  if ((await page.locator("[data-live=on]").count()) === 0)
    throw new Error("the page does not follow any more");
  // What is collected first may be what kept something else.
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, embedderHeapUsedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
  return { bytes: usedSize + embedderHeapUsedSize, nodes, listeners: jsEventListeners };
}
