// Builds the archive and the container image of this commit, without a container engine.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseOptions, runTool, UsageError } from "./command-line.ts";
import { buildRelease } from "./image/build.ts";

const help = `npm run image -- --out DIR [OPTIONS]
  The program as an archive to install, and as a container image (an OCI image layout): the same commit and the same
  Debian packages give the same bytes. Needs npm, apt-get, dpkg-deb and GNU tar.

  --out DIR    a folder that does not exist yet: image/, svc-VERSION-linux-ARCH.tar, debs/, built.json
  --debs DIR   the Debian packages of an earlier build (its debs/); by default apt downloads today's
  --help       show this`;

await runTool({ help, run: build });

async function build(args: readonly string[]): Promise<void> {
  const { out, debs } = parseOptions(args, { out: { type: "string" }, debs: { type: "string" } });
  if (out === undefined) throw new UsageError("--out must name a folder that does not exist yet.");
  if (existsSync(out)) throw new UsageError(`--out: ${out} exists; name another folder.`);
  if (debs !== undefined && !existsSync(debs)) throw new UsageError(`--debs: ${debs} is not there.`);
  const built = await buildRelease({
    out: resolve(out),
    ...(debs !== undefined && { debs: resolve(debs) }),
  });
  console.log(`${built.archive}\nimage ${built.digest}`);
}
