// The libraries that Node is linked with, from Debian's packages: all that the image holds beside the program.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../process.ts";

/** `base-files` names the distribution, by which scanners know the libraries; the others are what `ldd` shows, and theirs. */
const packages = ["base-files", "gcc-12-base", "libatomic1", "libc6", "libgcc-s1", "libstdc++6"] as const;

/** A package that went into the image, to be kept with the release: the same files give the same image. */
export interface BasePackage {
  readonly file: string;
  readonly sha256: string;
}

/** Downloads the packages with apt, which verifies Debian's signature over them. */
export async function downloadBase(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const got = await run("apt-get", ["download", "--quiet", ...packages], { cwd: folder });
  if (got.code !== 0) throw new Error(`apt-get download ended with ${got.code}:\n${got.output}`);
}

/** Unpacks the packages in `folder` into `target`, and notes their facts where scanners look. */
export async function stageBase(folder: string, target: string): Promise<readonly BasePackage[]> {
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
