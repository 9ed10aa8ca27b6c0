// Builds what is released: the program as an archive to install, and the container image, from the same trees.

import { execFileSync } from "node:child_process";
import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { root, run } from "../process.ts";

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
  await cp(join(root, "deploy"), join(folder, "deploy"), { recursive: true });
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

// The libraries that Node is linked with, from Debian's packages: all that the image holds beside the program.

/** `base-files` names the distribution, by which scanners know the libraries; the others are what `ldd` shows, and theirs. */
const packages = ["base-files", "gcc-12-base", "libatomic1", "libc6", "libgcc-s1", "libstdc++6"] as const;

/** A package that went into the image, to be kept with the release: the same files give the same image. */
interface BasePackage {
  readonly file: string;
  readonly sha256: string;
}

/** Downloads the packages with apt, which verifies Debian's signature over them. */
async function downloadBase(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const got = await run("apt-get", ["download", "--quiet", ...packages], { cwd: folder });
  if (got.code !== 0) throw new Error(`apt-get download ended with ${got.code}:\n${got.output}`);
}

/** Unpacks the packages in `folder` into `target`, and notes their facts where scanners look. */
async function stageBase(folder: string, target: string): Promise<readonly BasePackage[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".deb")).sort();
  const missing = packages.filter((name) => !files.some((file) => file.startsWith(`${name}_`)));
  if (missing.length > 0 || files.length !== packages.length)
    throw new Error(`${folder} must hold one package each of ${packages.join(", ")}, and no other`);
  const status = join(target, "var/lib/dpkg/status.d");
  await mkdir(status, { recursive: true });
  const found: BasePackage[] = [];
  for (const file of files) {
    const path = join(folder, file);
    await succeed("dpkg-deb", ["--extract", path, target]);
    const control = await succeed("dpkg-deb", ["--field", path]);
    await writeFile(join(status, file.split("_")[0] ?? file), control);
    found.push({
      file,
      sha256: createHash("sha256")
        .update(await readFile(path))
        .digest("hex"),
    });
  }
  await mkdir(join(target, "etc"), { recursive: true });
  await writeFile(
    join(target, "etc/passwd"),
    "root:x:0:0:root:/root:/sbin/nologin\nsvc:x:1000:1000:svc:/data:/sbin/nologin\n",
  );
  await writeFile(join(target, "etc/group"), "root:x:0:\nsvc:x:1000:\n");
  return found;
}

async function succeed(command: string, args: readonly string[]): Promise<string> {
  const done = await run(command, args);
  if (done.code !== 0) throw new Error(`${command} ended with ${done.code}:\n${done.output}`);
  return done.output;
}

// The program as it is installed: the files that .dockerignore lets through, the packages that run in production, and Node.

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

async function stageProgram(folder: string): Promise<void> {
  for (const path of await programFiles()) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
  }
}

/** Installs the packages that run in production into `folder`, as the lock file pins them, and Node among them. */
async function stagePackages(folder: string, arch: string): Promise<void> {
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
  const libsodium = join(folder, "node_modules", "sodium-native", "prebuilds");
  const foreign = (await readdir(libsodium)).filter((name) => name !== `linux-${arch}`);
  for (const name of foreign) await rm(join(libsodium, name), { recursive: true });
  await chmod(join(runtime, "bin", "node"), 0o755);
}

// An image in the layout of the Open Container Initiative (image-spec 1.1): layers as compressed archives, their configuration,
// a manifest and an index, each in a file that has its hash as its name.
//   Y1. The same trees give the same bytes, on any day, under any user and umask: archives are sorted, and owners, times
//       and modes are set here.

export interface LayerSource {
  /** The tree that the layer adds at the root of the file system. */
  readonly folder: string;
  /** Numeric owner of its files: 0, or the user that the program runs as. */
  readonly owner: number;
  readonly what: string;
}

interface ImageFacts {
  readonly arch: "amd64" | "arm64";
  readonly version: string;
  readonly revision: string;
  /** Seconds since 1970 that every file and the image itself carry. */
  readonly epoch: number;
}

/** Writes the archive of a tree (Y1). The modes of its folders and files become those that everybody may read. */
async function packTree(
  tree: string,
  archive: string,
  { owner, epoch }: { readonly owner: number; readonly epoch: number },
): Promise<void> {
  // By name, because the root itself would get the owner of a layer.
  const names = (await readdir(tree)).sort();
  const packed = await run("tar", [
    "--create",
    "--file",
    archive,
    "--directory",
    tree,
    "--sort=name",
    `--mtime=@${epoch}`,
    `--owner=${owner}`,
    `--group=${owner}`,
    "--numeric-owner",
    "--mode=u+rwX,go+rX,go-w",
    "--format=posix",
    "--pax-option=delete=atime,delete=ctime",
    "--",
    ...names,
  ]);
  if (packed.code !== 0) throw new Error(`tar ended with ${packed.code}:\n${packed.output}`);
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Writes the layout into a new folder; returns the digest of the image's manifest. */
async function writeLayout(
  folder: string,
  sources: readonly LayerSource[],
  facts: ImageFacts,
): Promise<string> {
  const blobs = join(folder, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const layers: (Blob & { readonly diffId: string })[] = [];
  for (const source of sources) layers.push(await writeLayer(blobs, source, facts.epoch));
  const created = new Date(facts.epoch * 1_000).toISOString();
  const config = await writeJson(blobs, configOf({ sources, layers, facts, created }));
  const annotations = {
    "org.opencontainers.image.created": created,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.revision": facts.revision,
    "org.opencontainers.image.title": "svc",
    "org.opencontainers.image.version": facts.version,
  };
  const manifest = await writeJson(blobs, {
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
    layers: layers.map(({ digest, size }) => ({
      mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
      digest,
      size,
    })),
    annotations,
  });
  const named = { "org.opencontainers.image.ref.name": facts.version };
  const platform = { architecture: facts.arch, os: "linux" };
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [{ mediaType: manifestType, ...manifest, platform, annotations: named }],
  };
  await writeFile(join(folder, "index.json"), JSON.stringify(index));
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return manifest.digest;
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";

function configOf({
  sources,
  layers,
  facts,
  created,
}: {
  readonly sources: readonly LayerSource[];
  readonly layers: readonly { readonly diffId: string }[];
  readonly facts: ImageFacts;
  readonly created: string;
}): object {
  return {
    created,
    architecture: facts.arch,
    os: "linux",
    config: {
      User: "1000:1000",
      Env: [
        "PATH=/srv/svc/node_modules/.bin:/usr/bin:/bin",
        "SVC_HOME=/data/home",
        "SVC_KEYS=/data/keys",
        "SVC_LOG_TO=stdout",
      ],
      Entrypoint: ["/srv/svc/node_modules/.bin/node", "cli/main.ts"],
      Cmd: ["start"],
      WorkingDir: "/srv/svc",
      Volumes: { "/data": {} },
      StopSignal: "SIGTERM",
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: sources.map(({ what }) => ({ created, created_by: what })),
  };
}

async function writeLayer(
  blobs: string,
  { folder, owner }: LayerSource,
  epoch: number,
): Promise<Blob & { readonly diffId: string }> {
  const archive = join(blobs, "..", "layer.tar");
  await packTree(folder, archive, { owner, epoch });
  const [plain, packed] = [createHash("sha256"), createHash("sha256")];
  const target = join(blobs, "..", "layer.tar.gz");
  let size = 0;
  const counted = passing(packed, (bytes) => {
    size += bytes;
  });
  await pipeline(
    createReadStream(archive),
    passing(plain),
    createGzip({ level: 6 }),
    counted,
    createWriteStream(target),
  );
  const hex = packed.digest("hex");
  await rename(target, join(blobs, hex));
  await rm(archive);
  return { digest: `sha256:${hex}`, size, diffId: `sha256:${plain.digest("hex")}` };
}

function passing(hash: Hash, count: (bytes: number) => void = () => {}): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      count(chunk.length);
      done(null, chunk);
    },
  });
}

async function writeJson(blobs: string, value: object): Promise<Blob> {
  const text = JSON.stringify(value);
  const hex = createHash("sha256").update(text).digest("hex");
  await writeFile(join(blobs, hex), text);
  return { digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
}
