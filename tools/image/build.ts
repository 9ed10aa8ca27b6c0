// Builds what is released: the program as an archive to install, and the container image, from the same trees.

import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../process.ts";
import { type BasePackage, downloadBase, stageBase } from "./base.ts";
import { type ImageFacts, packTree, writeLayout } from "./layout.ts";
import { stagePackages, stageProgram } from "./program.ts";

export interface BuildOptions {
  /** A folder that does not exist yet. */
  readonly out: string;
  /** A folder with the Debian packages of an earlier build; by default apt downloads today's. */
  readonly debs?: string;
}

export interface Built {
  readonly version: string;
  readonly revision: string;
  /** The digest of the image's manifest. */
  readonly digest: string;
  readonly archive: string;
  readonly base: readonly BasePackage[];
}

const archs = { x64: "amd64", arm64: "arm64" } as const;

/** Writes `image/` (an OCI layout), `svc-VERSION-linux-ARCH.tar`, `debs/` and `built.json` into `out`. */
export async function buildRelease({ out, debs }: BuildOptions): Promise<Built> {
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  const facts = { arch: archs[arch], ...(await factsOfCommit()) };
  const scratch = await mkdtemp(join(tmpdir(), "svc-image-"));
  try {
    await mkdir(out);
    const tree = (name: string): string => join(scratch, name);
    const kept = debs ?? join(out, "debs");
    if (debs === undefined) await downloadBase(kept);
    await mkdir(tree("base"));
    const base = await stageBase(kept, tree("base"));
    await stagePackages(join(tree("packages"), "srv/svc"), arch);
    await stageProgram(join(tree("program"), "srv/svc"));
    for (const name of ["data", "tmp"]) await mkdir(join(tree("data"), name), { recursive: true });
    const layers = [
      { folder: tree("base"), owner: 0, what: base.map(({ file }) => file).join(" ") },
      { folder: tree("packages"), owner: 0, what: "packages of package-lock.json, and Node" },
      { folder: tree("program"), owner: 0, what: `svc ${facts.version} (${facts.revision})` },
      { folder: tree("data"), owner: 1_000, what: "/data and /tmp, for the program's user" },
    ];
    const digest = await writeLayout(join(out, "image"), layers, facts);
    const archive = `svc-${facts.version}-linux-${arch}.tar`;
    await packInstallable(tree, join(out, archive), facts);
    const built = { version: facts.version, revision: facts.revision, digest, archive, base };
    await writeFile(join(out, "built.json"), `${JSON.stringify(built, null, 2)}\n`);
    return built;
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** One folder with the program, its packages and the units, named by the version. */
async function packInstallable(
  tree: (name: string) => string,
  archive: string,
  facts: ImageFacts,
): Promise<void> {
  const folder = join(tree("installable"), facts.version);
  for (const part of ["packages", "program"])
    await cp(join(tree(part), "srv/svc"), folder, { recursive: true, verbatimSymlinks: true });
  for (const part of ["deploy", "docs"]) await cp(join(root, part), join(folder, part), { recursive: true });
  await packTree(tree("installable"), archive, { owner: 0, epoch: facts.epoch });
}

async function factsOfCommit(): Promise<Omit<ImageFacts, "arch">> {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const [revision = "", seconds = "0"] = git("log", "-1", "--format=%H %ct").split(" ");
  return { version, revision, epoch: Number(seconds) };
}
