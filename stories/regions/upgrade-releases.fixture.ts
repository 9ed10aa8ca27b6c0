// The two programs of an upgrade, for tests. The earlier one is the last release, which tools/last-release.json names, or this tree
// while nothing was released. The later one is a copy of this tree that is changed as a release may be: it has a higher version and
// one more step of the schema, and knows a command by a name that the earlier one does not know.

import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { root, run } from "../../tools/process.ts";

interface LastRelease {
  readonly version: string | null;
  /** Of its tag. */
  readonly commit: string | null;
}

const lastRelease = JSON.parse(readFileSync(join(root, "tools/last-release.json"), "utf8")) as LastRelease;
const { commit } = lastRelease;

export const earlierVersion = lastRelease.version ?? manifest.version;
const laterVersion = "999.0.0";

/** Whether the last release's commit is here, which it is not in a shallow clone. In CI that is an error. */
export function hasLastRelease(): boolean {
  if (commit === null) return true;
  const found = spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root });
  if (found.status === 0) return true;
  const why = `the commit of the last release, ${commit}, is not in this clone`;
  if (process.env["CI"] !== undefined) throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
  return false;
}

/** The `cli/main.ts` of both, absolute. */
export interface Releases extends AsyncDisposable {
  readonly earlier: string;
  readonly later: string;
}

export async function openReleases(): Promise<Releases> {
  const folder = await mkdtemp(join(tmpdir(), "svc-releases-"));
  const [earlier, later] = [commit === null ? root : join(folder, "earlier"), join(folder, "later")];
  if (commit !== null) await checkOut(commit, earlier);
  await cp(root, later, { recursive: true, filter: (path) => path === root || isPart(basename(path)) });
  await symlink(join(root, "node_modules"), join(later, "node_modules"));
  await makeLater(later);
  return {
    earlier: join(earlier, "cli/main.ts"),
    later: join(later, "cli/main.ts"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function isPart(name: string): boolean {
  return name !== "node_modules" && !name.startsWith(".");
}

async function makeLater(program: string): Promise<void> {
  await change(
    join(program, "package.json"),
    `"version": "${manifest.version}"`,
    `"version": "${laterVersion}"`,
  );
  const table = "CREATE TABLE IF NOT EXISTS of_a_later_release (id text PRIMARY KEY)";
  const step = `(migrations as string[][]).push(["${table}"]);\n`;
  await appendFile(join(program, "storage/cassandra/migrations.ts"), step);
  for (const file of [
    "actors/messages/company.ts",
    "actors/messages/crossing.ts",
    "actors/business/definition.ts",
    "actors/business/register.ts",
    "service/register/parties.ts",
  ])
    await change(join(program, file), '"group.join"', '"group.enter"');
}

async function change(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (!text.includes(from)) throw new Error(`${path} does not have ${from}`);
  await writeFile(path, text.replaceAll(from, to));
}

/** Checks a commit out, with the packages that its lock file pins. */
async function checkOut(of: string, program: string): Promise<void> {
  const archive = `${program}.tar`;
  await promisify(execFile)("git", ["archive", "--format=tar", "--output", archive, of], { cwd: root });
  await mkdir(program);
  await promisify(execFile)("tar", ["-xf", archive, "-C", program]);
  if (arePinnedHere(readFileSync(join(program, "package-lock.json"), "utf8"))) {
    await symlink(join(root, "node_modules"), join(program, "node_modules"));
    return;
  }
  const installed = await run("npm", ["ci", "--omit=dev", "--ignore-scripts"], { cwd: program });
  if (installed.code !== 0) throw new Error(installed.output);
}

/** Whether this release pins the same bytes for each package that the other one pins: then they are installed already. */
function arePinnedHere(theirs: string): boolean {
  const packagesIn = (text: string): Readonly<Record<string, { readonly integrity?: string }>> =>
    (JSON.parse(text) as { packages: Record<string, { integrity?: string }> }).packages;
  const ours = packagesIn(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packagesIn(theirs)).every(
    ([path, { integrity }]) => path === "" || ours[path]?.integrity === integrity,
  );
}
