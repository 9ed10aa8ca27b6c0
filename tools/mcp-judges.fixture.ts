// The conformance suite of the Model Context Protocol, its inspector and a tokenizer, as they are published. They need more packages than
// this project, so they are installed into a folder of their own, exactly as tools/mcp-judges/package-lock.json pins them.

import { execFile, spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { npmCommand } from "./packages.ts";
import { root } from "./process.ts";
import { withoutJudge } from "./virtual-environment.fixture.ts";

/** A check of the conformance suite. */
export interface ConformanceCheck {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

export interface Inspected {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface McpJudges extends AsyncDisposable {
  /** Every check that the suite makes for a revision of the protocol, without extensions of it. */
  conformance(url: string, revision: string): Promise<readonly ConformanceCheck[]>;
  /** Runs the inspector's command line. */
  inspect(...args: readonly string[]): Promise<Inspected>;
  /** How many tokens of cl100k a text has. */
  tokens(text: string): Promise<number>;
}

const packages = "node_modules/@modelcontextprotocol";

/** Null, said loudly, where the packages cannot be installed; in CI that is a failure. */
export async function installMcpJudges(): Promise<McpJudges | null> {
  const folder = await mkdtemp(join(tmpdir(), "svc-mcp-judges-"));
  const source = join(root, "tools/mcp-judges");
  for (const name of ["package.json", "package-lock.json"]) await cp(join(source, name), join(folder, name));
  const [npm = "npm", ...first] = npmCommand();
  const args = [...first, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const done = spawnSync(npm, args, { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) {
    await rm(folder, { recursive: true });
    return withoutJudge(
      `the conformance suite and the inspector cannot be installed: ${done.error?.message ?? done.stderr}`,
    );
  }
  let runs = 0;
  const start = (program: string, words: readonly string[]) =>
    run(folder, [join(folder, packages, program), ...words]);
  return {
    conformance: async (url, revision) => {
      runs += 1;
      const results = join(folder, `results-${runs}`);
      const words = ["server", "--url", url, "--requirements", revision, "--output-dir", results];
      const { stdout, stderr } = await start("conformance/dist/index.js", words);
      return withoutExtensions(await checksIn(results), `${stdout}${stderr}`);
    },
    inspect: (...words) => start("inspector/clients/launcher/build/index.js", ["--cli", ...words]),
    tokens: async (text) => {
      const address = pathToFileURL(join(folder, "node_modules/gpt-tokenizer/esm/encoding/cl100k_base.js"));
      const { countTokens } = (await import(address.href)) as { countTokens: (text: string) => number };
      return countTokens(text);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Ends after a minute at the latest. The catalogue of the inspector's user is not touched. */
function run(home: string, args: readonly string[]): Promise<Inspected> {
  const { CI: _ci, ...env } = process.env;
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...args],
      { cwd: home, env: { ...env, HOME: home, NO_COLOR: "1" }, timeout: 60_000, maxBuffer: 64 * 1_048_576 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === "number") resolve({ code, stdout, stderr });
        else reject(error);
      },
    );
  });
}

/** The folder of a scenario is named after it and the instant of its run. */
async function checksIn(results: string): Promise<readonly ConformanceCheck[]> {
  const found: ConformanceCheck[] = [];
  for (const name of await readdir(results)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, "");
    const checks = JSON.parse(await readFile(join(results, name, "checks.json"), "utf8"));
    for (const check of checks as ConformanceCheck[]) found.push({ ...check, scenario });
  }
  return found;
}

/** Without the extensions, which the suite runs beside what the revision has, and marks. */
function withoutExtensions(checks: readonly ConformanceCheck[], said: string): readonly ConformanceCheck[] {
  const extensions = new Set([...said.matchAll(/^\s+[✓✗] (\S+) \(extension\)$/gm)].map(([, name]) => name));
  return checks.filter(({ scenario }) => !extensions.has(scenario));
}
