// `svc start` as a separate process, on a folder that was previously readable by others, and on one that it cannot use.

import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { root } from "../tools/process.ts";

let home = "";

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-start-"));
  await chmod(home, 0o755);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const env = () => ({ PATH: process.env["PATH"], HOME: home, SVC_SAMPLES: "no", NO_COLOR: "1" });
const startArgs = () => ["cli/main.ts", "start", "--home", home, "--port-base", "0"];
const startHere = () => spawnSync(process.execPath, startArgs(), { cwd: root, env: env(), encoding: "utf8" });

it("refuses a home with a database of another program, with one sentence", () => {
  const store = join(home, "store.db");
  const other = new DatabaseSync(store);
  other.exec("CREATE TABLE migration (name TEXT PRIMARY KEY)");
  other.close();
  const { status, stdout, stderr } = startHere();
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: "",
    stderr: `${store} is a database of another program: start with an empty folder\n`,
  });
});

it("refuses a store file that is damaged, names it, and says how it comes back, in one sentence", () => {
  const store = join(home, "store.db");
  writeFileSync(store, "rubbish ".repeat(4_096));
  const { status, stdout, stderr } = startHere();
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toBe(
    `${store} is damaged (file is not a database): put it, the folder log and the keys back from one backup, as «Restoring» in docs/production.md says, and keep the damaged files\n`,
  );
});

/** Waits until the node has printed a text. */
type Said = (text: string) => Promise<void>;

/** Runs a node until it serves, calls `meanwhile`, stops it, and returns what it printed. */
async function serve(
  { runtime = [], samples = "no" }: { readonly runtime?: readonly string[]; readonly samples?: "yes" | "no" },
  meanwhile: (said: Said) => Promise<void> = async () => {},
): Promise<string> {
  // With the usual umask, under which new files are readable by everybody.
  const command = [process.execPath, ...runtime, ...startArgs()];
  const child = spawn("sh", ["-c", 'umask 022; exec "$@"', "sh", ...command], {
    cwd: root,
    env: { ...env(), SVC_SAMPLES: samples },
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  let output = "";
  const ended = new Promise<never>((_, reject) =>
    child.once("exit", (code) => reject(new Error(`ended with ${code}`))),
  );
  const said: Said = async (text) => {
    while (!output.includes(text)) {
      const more = new Promise((resolve) => child.stdout.once("data", resolve));
      await Promise.race([more, ended]);
    }
  };
  try {
    child.stdout.on("data", (chunk) => {
      output += String(chunk);
    });
    await said("node is running");
    await meanwhile(said);
  } finally {
    child.kill("SIGTERM");
    await closed;
  }
  return output;
}

it("leaves nothing in its home that others may read", async () => {
  await serve({}, async () => {
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    const names = await readdir(home, { recursive: true });
    expect(names).toEqual(expect.arrayContaining(["store.db", "rows.db", "node.log", "ops-token"]));
    for (const name of names) expect([name, (await stat(join(home, name))).mode & 0o077]).toEqual([name, 0]);
  });
});

it("refuses a home on which a node runs, whatever its ports, and changes nothing there", async () => {
  await serve({}, async () => {
    const before = await readFile(join(home, "ops-url"), "utf8");
    const { status, stdout, stderr } = startHere();
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: "",
      stderr: `--home: a node already runs on ${home} (operators' pages: ${before.trim()}); stop it, or give this one a folder of its own\n`,
    });
    expect(await readFile(join(home, "ops-url"), "utf8")).toBe(before);
  });
});

/** Has each thread of a process say at its end which packages it loaded. */
const tellPackages = `import { registerHooks } from "node:module";
  const names = new Set();
  registerHooks({
    load: (url, context, next) => {
      names.add(url.split("/node_modules/").at(-1).match(/^(@[^/]+\\/)?[^/]+/)[0]);
      return next(url, context);
    },
  });
  process.once("exit", () => console.log("packages " + [...names].join(" ")));`;

it("loads neither a bundler nor a decoder, and nothing that only a cluster or a collector of traces needs", async () => {
  const output = await serve({
    runtime: [`--import=data:text/javascript,${encodeURIComponent(tellPackages)}`],
  });
  const loaded = [...output.matchAll(/^packages (.*)$/gm)].flatMap(([, names = ""]) => names.split(" "));
  expect(loaded).toEqual(expect.arrayContaining(["fastify", "xstate"]));
  const needless = /^(rolldown|sharp|elkjs|cassandra-driver|@elastic\/.*|@opentelemetry\/(?!api$).*)$/;
  expect(loaded.filter((name) => needless.test(name))).toEqual([]);
});

/** Loaded before the program: prints which threads end. */
const tellThreads = `
import threads from "node:worker_threads";
import { syncBuiltinESMExports } from "node:module";
const { Worker } = threads;
threads.Worker = class extends Worker {
  constructor(file, options) {
    super(file, options);
    const [name] = /[a-z-]+(?=\\.ts$)/.exec(String(file)) ?? [];
    this.once("exit", () => console.log("thread ended: " + name));
  }
};
syncBuiltinESMExports();`;

it("ends the threads that published its samples, once it rests", async () => {
  const runtime = [`--import=data:text/javascript,${encodeURIComponent(tellThreads)}`];
  await serve({ runtime, samples: "yes" }, async (said) => {
    for (const name of ["signing-worker", "row-worker", "checkpoint-worker"])
      await said(`thread ended: ${name}`);
  });
}, 120_000);
