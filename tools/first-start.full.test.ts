// The README's first command in a copy of the checkout without packages: `npm start` installs what a node needs and no development
// packages, and what is made when somebody first asks for it works without them.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root, run, type StartedProcess, startProcess } from "./process.ts";

const graceMs = 20_000;

it("starts a node without development packages, with its pages, their scripts and the commands", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-first-start-"));
  let node: StartedProcess | null = null;
  try {
    const checkout = join(folder, "svc");
    const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
    const present = tracked.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
    for (const path of present) await cp(join(root, path), join(checkout, path));
    const settings = Object.keys(process.env).filter((name) => /^(SVC_|VITEST|NODE_|npm_)/.test(name));
    const unset = Object.fromEntries(settings.map((name) => [name, undefined]));
    const args = ["start", "--", "--port-base", "0"];
    const env = { ...process.env, ...unset, NO_COLOR: "1" };
    node = startProcess("npm", args, {
      cwd: checkout,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      isGroup: true,
    });
    expect(await outputUntil(node, "Ctrl-C stops the node")).not.toContain("Installing the development");

    const lock = JSON.parse(await readFile(join(checkout, "package-lock.json"), "utf8")).packages;
    const development = Object.keys(lock).filter((path) => lock[path].dev === true);
    expect(development).toContain("node_modules/typescript");
    expect(development.filter((path) => existsSync(join(checkout, path)))).toEqual([]);

    const urls = JSON.parse(await readFile(join(checkout, ".svc", "sandbox.json"), "utf8"));
    for (const page of [`${urls.verify_url}/docs/svc`, `${urls.verify_url}/docs/search`, urls.portal_url]) {
      const answer = await fetch(page);
      expect([page, answer.status]).toEqual([page, 200]);
      const [, script] = /<script type="module" src="([^"]+)"/.exec(await answer.text()) ?? [];
      if (!page.endsWith("/svc")) expect((await fetch(new URL(script ?? "", answer.url))).status).toBe(200);
    }
    const runNpm = (...words: readonly string[]) => run("npm", words, { cwd: checkout, env: unset });
    const words = ["products", "ideal", "cut", "--country", "US"];
    const found = await runNpm("run", "-s", "svc", "--", "search", ...words);
    expect(found.code, found.output).toBe(0);
    expect(found.output).toContain("USD");

    // The official client of the tool server is a development package: it is added beside the running node.
    const session = await runNpm("run", "-s", "mcp:session");
    expect(session.output).toContain("Installing the development packages");
    expect(session.code, session.output).toBe(0);
    expect((await fetch(`${urls.ops_url}/healthz`)).status).toBe(200);
    expect(
      development.filter((path) => !existsSync(join(checkout, path)) && lock[path].optional !== true),
    ).toEqual([]);
  } finally {
    await node?.stop(graceMs);
    await rm(folder, { recursive: true, force: true });
  }
}, 600_000);

function outputUntil({ child, ended }: StartedProcess, wanted: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.includes(wanted)) resolve(text);
      });
    }
    void ended.then(({ code }) => reject(new Error(`npm start ended with ${code}: ${text}`)));
  });
}
