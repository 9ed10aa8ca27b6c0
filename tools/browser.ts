// A script of ours in a real browser, on a page of its own, and what it answers.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "rolldown";
import { root } from "./process.ts";

/** The path of a Chromium; null where there is none. */
export function findBrowser(): string | null {
  const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  return paths.find((path) => existsSync(path)) ?? null;
}

export interface BrowserRun {
  readonly browser: string;
  /** Modules of the project, by their paths below its folder. */
  readonly modules: readonly string[];
  /** An async function as text: it is called with the modules in their order, and its answer is JSON. */
  readonly run: string;
  /** What the page may fetch, by path (`/anchors`). */
  readonly files: Readonly<Record<string, string>>;
}

/** Runs the function and answers what it did. Rejects with what it threw, or if the browser ends before. */
export async function runInBrowser({ browser, modules, run, files }: BrowserRun): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "svc-browser-"));
  try {
    const script = await bundle(folder, modules, run);
    await using page = await servePage({ "/": pageOf, "/script.js": script, ...files });
    const child = spawn(browser, [...switches, `--user-data-dir=${folder}`, page.url], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = endOf(child);
    try {
      return await Promise.race([page.answer, ended.then((said) => Promise.reject(new Error(said)))]);
    } finally {
      child.kill();
      await ended.catch(() => {});
    }
  } finally {
    // Processes of the browser may still be writing there.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

const switches = `--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking
  --disable-component-update --disable-sync --disable-quic`.split(/\s+/);

const tell = `(said) => fetch("/answer", { method: "POST", body: JSON.stringify(said) })`;

/** A script that cannot be read at all is an error of the window. */
const pageOf = `<!doctype html><body></body>
<script>const tell = ${tell}; addEventListener("error", ({ message }) => tell({ fault: message }));</script>
<script type="module" src="/script.js"></script>`;

async function bundle(folder: string, modules: readonly string[], run: string): Promise<string> {
  const entry = join(folder, "entry.ts");
  const imports = modules.map(
    (path, at) => `import * as module${at} from ${JSON.stringify(join(root, path))};`,
  );
  const list = modules.map((_, at) => `module${at}`).join(", ");
  await writeFile(
    entry,
    `${imports.join("\n")}
     const tell = ${tell};
     (${run})(${list}).then((answer) => tell({ answer }), (fault) => tell({ fault: String(fault?.stack ?? fault) }));`,
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

interface Page extends AsyncDisposable {
  readonly url: string;
  readonly answer: Promise<unknown>;
}

async function servePage(files: Readonly<Record<string, string>>): Promise<Page> {
  const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>();
  // Nobody may be waiting for it any more when it is refused.
  answer.catch(() => {});
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (request.method === "POST") {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      response.end();
      const said = JSON.parse(Buffer.concat(parts).toString("utf8")) as SaidByPage;
      if ("fault" in said) reject(new Error(said.fault));
      else resolve(said.answer);
      return;
    }
    const body = files[path];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": typeOf(path) }).end(body ?? "");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    answer,
    [Symbol.asyncDispose]: () => closed(server),
  };
}

type SaidByPage = { readonly answer: unknown } | { readonly fault: string };

function typeOf(path: string): string {
  if (path === "/") return "text/html; charset=utf-8";
  return path.endsWith(".js") ? "text/javascript" : "text/plain; charset=utf-8";
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** What the browser said when it ended. */
function endOf(child: ChildProcess): Promise<string> {
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4_000);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(`The browser ended with ${code}: ${said}`));
  });
}
