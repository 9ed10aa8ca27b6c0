// The pages for people in a real browser: axe-core finds nothing to object to, in light and dark, on a phone and on paper.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { findBrowser } from "../../tools/browser.ts";
import { readPages, type ShownPage } from "./pages.fixture.ts";

const browser = findBrowser();
if (browser === null) console.warn("NOT TESTED: no Chromium on this machine, so no page was looked at.");

let home = "";
let node: RunningNode;
let pages: readonly ShownPage[];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-pages-"));
  node = await startNode({ home, portBase: 0, logLevel: "error" });
  await node.seeded;
  pages = await readPages(node);
}, 120_000);

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** As the page says what it found; its own style is as it was served. */
const judge = `
  const found = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] });
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const contrast = found.passes.some(({ id }) => id === "color-contrast");
  const faults = found.violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" "));
  document.body.textContent = "<found>" + JSON.stringify({ faults, wide, contrast }) + "</found>";`;

/** What a browser with these switches finds in the page. */
async function lookAt(html: string, switches: readonly string[]): Promise<unknown> {
  const judged = html.replace(
    "</body>",
    '<script src="/axe.js"></script><script type="module" src="/judge.js"></script></body>',
  );
  const files: Files = {
    "/": ["text/html; charset=utf-8", judged],
    "/axe.js": ["text/javascript", axe.source],
    "/judge.js": ["text/javascript", judge],
  };
  const dom = await serving(files, (url) =>
    saidBy([...switches, "--virtual-time-budget=60000", "--dump-dom", url]),
  );
  const [, found = "null"] = /&lt;found&gt;(.*)&lt;\/found&gt;/s.exec(dom) ?? [];
  return JSON.parse(found.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"));
}

type Files = Readonly<Record<string, readonly [type: string, body: string]>>;

async function serving<T>(files: Files, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => {
    const [type, body] = files[request.url ?? ""] ?? ["text/plain", null];
    response.writeHead(body === null ? 404 : 200, { "content-type": type }).end(body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.close();
  }
}

/** Runs a browser to its end. */
function saidBy(options: readonly string[]): Promise<string> {
  const always = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
  ];
  const child = spawn(browser ?? "", [...always, `--user-data-dir=${join(home, "browser")}`, ...options]);
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(said));
  });
}

const onPaper = (html: string): string => html.replace("@media print", "@media all");

const views: readonly (readonly [string, readonly string[], (html: string) => string])[] = [
  ["in light", ["--window-size=1000,900"], (html) => html],
  ["in dark", ["--window-size=1000,900", "--blink-settings=preferredColorScheme=0"], (html) => html],
  ["on a phone", ["--window-size=500,900"], (html) => html],
  ["on paper", ["--window-size=1000,900"], onPaper],
];

describe.each(views)("%s", (_view, switches, shown) => {
  it.skipIf(browser === null && process.env["CI"] === undefined)(
    "everybody can read the pages, and nothing is wider than the screen",
    async () => {
      for (const { name, html } of pages)
        expect(await lookAt(shown(html), switches), name).toEqual({
          faults: [],
          wide: false,
          contrast: true,
        });
    },
    120_000,
  );
});

it.skipIf(browser === null && process.env["CI"] === undefined)(
  "a page that nobody could read is found out",
  async () => {
    const [{ html } = { html: "" }] = pages;
    const pale = html
      .replaceAll(/--quiet: [^;]+;/g, "--quiet: #dddddd;")
      .replace('<html lang="en">', "<html>");
    const found = (await lookAt(pale, ["--window-size=1000,900"])) as { readonly faults: readonly string[] };
    expect(found.faults.map((each) => each.split(":")[0]).toSorted()).toEqual([
      "color-contrast",
      "html-has-lang",
    ]);
  },
  60_000,
);

/** The pictures in docs, of the size at which a page is read. */
const pictures: readonly (readonly [string, string, readonly string[], (html: string) => string])[] = [
  ["record", "record", ["--window-size=1000,1250"], (html) => html],
  [
    "record",
    "record-dark",
    ["--window-size=1000,1250", "--blink-settings=preferredColorScheme=0"],
    (html) => html,
  ],
  ["record-cited-wrongly", "record-on-a-phone", ["--window-size=500,900"], (html) => html],
  ["record", "record-on-paper", ["--window-size=800,1130"], onPaper],
  ["certificate", "certificate", ["--window-size=1000,950"], (html) => html],
];

it.runIf(process.env["SVC_WRITE_PICTURES"] !== undefined)(
  "writes the pictures in docs",
  async () => {
    for (const [of, picture, switches, shown] of pictures) {
      const html = shown(pages.find(({ name }) => name === of)?.html ?? "");
      const path = new URL(`../../docs/pages/${picture}.png`, import.meta.url).pathname;
      await serving({ "/": ["text/html; charset=utf-8", html] }, (url) =>
        saidBy([...switches, `--screenshot=${path}`, url]),
      );
      expect(existsSync(path), picture).toBe(true);
    }
  },
  120_000,
);
