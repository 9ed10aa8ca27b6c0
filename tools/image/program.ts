// The program as it is installed: the files that .dockerignore lets through, the packages that run in production, and Node.

import { execFileSync } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { root, run } from "../process.ts";

export interface ContextRules {
  /** The names at the project's root that may come in. */
  readonly allowed: ReadonlySet<string>;
  isLeftOut(path: string): boolean;
  /** The lines as they are written, without comments. */
  readonly lines: readonly string[];
}

/** What .dockerignore says, as far as it is used here: `*`, then what may come in, then what is left out of it. */
export async function readContextRules(): Promise<ContextRules> {
  const lines = (await readFile(join(root, ".dockerignore"), "utf8"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const allowed = new Set(lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1)));
  const leftOut = lines.filter((line) => line !== "*" && !line.startsWith("!"));
  const isLeftOut = (path: string): boolean =>
    leftOut.some((line) => {
      if (!line.startsWith("**/")) return path === line || path.startsWith(`${line}/`);
      const pattern = line.slice(3);
      return pattern.startsWith("*") ? path.endsWith(pattern.slice(1)) : path.split("/").includes(pattern);
    });
  return { allowed, isLeftOut, lines };
}

/** The files of the program, from the project's root: those that are committed or staged, so that nothing stray comes in. */
export async function programFiles(): Promise<readonly string[]> {
  const { allowed, isLeftOut } = await readContextRules();
  const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  return tracked
    .split("\0")
    .filter((path) => path !== "" && allowed.has(path.split("/")[0] ?? "") && !isLeftOut(path))
    .sort();
}

/** Copies the program into `folder`. */
export async function stageProgram(folder: string): Promise<void> {
  for (const path of await programFiles()) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
  }
}

/** Installs the packages that run in production into `folder`, as the lock file pins them, and Node among them. */
export async function stagePackages(folder: string, arch: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const needed = ["package.json", "package-lock.json", ".npmrc"];
  for (const name of needed) await cp(join(root, name), join(folder, name));
  const target = ["--os=linux", `--cpu=${arch}`, "--libc=glibc"];
  const installed = await run("npm", ["ci", "--omit=dev", "--ignore-scripts", ...target], { cwd: folder });
  if (installed.code !== 0) throw new Error(`npm ci ended with ${installed.code}:\n${installed.output}`);
  for (const name of needed) await rm(join(folder, name));
  const runtime = join(folder, "node_modules", `node-linux-${arch}`);
  // Headers for packages that are compiled; none is.
  await rm(join(runtime, "include"), { recursive: true, force: true });
  const others = (await readdir(join(folder, "node_modules"))).filter(
    (name) => /^node-(bin-)?(linux|darwin|win)-/.test(name) && name !== `node-linux-${arch}`,
  );
  for (const name of others) await rm(join(folder, "node_modules", name), { recursive: true });
  await chmod(join(runtime, "bin", "node"), 0o755);
}
