// Test support: a script of ours in a real browser, on a page of its own, and what it answers.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { build } from "rolldown";
import { root } from "./process.ts";

/** The path of a Chromium; null, said loudly, where there is none. */
export function findBrowser(whatFor: string): string | null {
  const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = paths.find((path) => existsSync(path));
  if (found === undefined) console.warn(`NOT TESTED: no Chromium on this machine, so ${whatFor}.`);
  return found ?? null;
}

/** One script that passes the modules to `run`, an async function as text, and shows what it answers as the page's text. */
export async function bundleForBrowser(
  home: string,
  modules: readonly string[],
  run: string,
): Promise<string> {
  const entry = join(home, "entry.ts");
  const imports = modules.map((path, at) => `import * as module${at} from ${JSON.stringify(path)};`);
  const list = modules.map((_, at) => `module${at}`).join(", ");
  await writeFile(
    entry,
    `${imports.join("\n")}
     (${run})([${list}]).then(
       (answer) => { document.body.textContent = JSON.stringify(answer); },
       (fault) => { document.body.textContent = JSON.stringify(String(fault)); },
     );`,
  );
  const built = await build({
    input: entry,
    write: false,
    platform: "browser",
    output: { format: "esm" },
    resolve: { extensions: [".ts", ".js"] },
    cwd: root,
  });
  return built.output[0].code;
}

/** A page that runs `/script.js`, with further files by their paths. */
export async function servePage(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; close(): void }> {
  const page = '<!doctype html><body></body><script type="module" src="/script.js"></script>';
  const all: Readonly<Record<string, string>> = { "/": page, ...files };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const body = all[path];
    const type = path === "/" ? "text/html" : path.endsWith(".js") ? "text/javascript" : "text/plain";
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type }).end(body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}

/** The text of the page once its script has run. */
export function textOfPage(browser: string, url: string, home: string): Promise<string> {
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    `--user-data-dir=${join(home, "browser")}`,
    "--virtual-time-budget=60000",
    "--dump-dom",
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(browser, [...flags, url]);
    let dom = "";
    child.stdout.on("data", (chunk: Buffer) => {
      dom += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", () => {
      const text = /<body>(.*)<\/body>/s.exec(dom)?.[1] ?? dom;
      resolve(text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"));
    });
  });
}
