// An image in the layout of the Open Container Initiative (image-spec 1.1): layers as compressed archives, their configuration,
// a manifest and an index, each in a file that has its hash as its name.
//   Y1. The same trees give the same bytes, on any day, under any user and umask: archives are sorted, and owners, times
//       and modes are set here.

import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { run } from "../process.ts";

export interface LayerSource {
  /** The tree that the layer adds at the root of the file system. */
  readonly folder: string;
  /** Numeric owner of its files: 0, or the user that the program runs as. */
  readonly owner: number;
  readonly what: string;
}

export interface ImageFacts {
  readonly arch: "amd64" | "arm64";
  readonly version: string;
  readonly revision: string;
  /** Seconds since 1970 that every file and the image itself carry. */
  readonly epoch: number;
}

/** Writes the archive of a tree (Y1). The modes of its folders and files become those that everybody may read. */
export async function packTree(
  tree: string,
  archive: string,
  { owner, epoch }: { readonly owner: number; readonly epoch: number },
): Promise<void> {
  // By name, because the root itself would get the owner of a layer.
  const names = (await readdir(tree)).sort();
  const packed = await run("tar", [
    ...["--create", "--file", archive, "--directory", tree],
    ...["--sort=name", `--mtime=@${epoch}`, `--owner=${owner}`, `--group=${owner}`, "--numeric-owner"],
    ...["--mode=u+rwX,go+rX,go-w", "--format=posix", "--pax-option=delete=atime,delete=ctime"],
    ...["--", ...names],
  ]);
  if (packed.code !== 0) throw new Error(`tar ended with ${packed.code}:\n${packed.output}`);
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Writes the layout into a new folder; returns the digest of the image's manifest. */
export async function writeLayout(
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
      ...{ digest, size },
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
    ...{ created, architecture: facts.arch, os: "linux" },
    config: {
      User: "1000:1000",
      Env: [
        "PATH=/srv/svc/node_modules/.bin:/usr/bin:/bin",
        ...["SVC_HOME=/data/home", "SVC_KEYS=/data/keys", "SVC_LOG_TO=stdout"],
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
