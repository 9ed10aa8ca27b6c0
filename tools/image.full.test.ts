// The release as `npm run image` builds it: twice the same bytes, valid for the library with which container tools read images,
// and enough to run a node when nothing else is there.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import { startEngineProcess, startGuard, untilReady } from "./engines/engine-process.ts";
import { freePorts, surfacePorts } from "./free-ports.ts";
import { buildGoPrograms } from "./go-programs.ts";
import { type Built, buildRelease } from "./image/build.ts";
import { root } from "./process.ts";

const judge = await buildGoPrograms({ judge: "." }, "deploy-judge");
const lacks = ["apt-get", "dpkg-deb", "tar", "git"].filter(
  (tool) => spawnSync(tool, ["--version"]).status !== 0,
);
const hasSystemd = spawnSync("systemd-sysusers", ["--version"]).status === 0;
const isRoot = process.getuid?.() === 0;
if (lacks.length > 0) console.warn(`SKIPPED: the image, which needs ${lacks.join(", ")}`);
if (!isRoot)
  console.warn(
    "SKIPPED: the image's own file system and the installation, which root alone can enter and make",
  );
if (!hasSystemd) console.warn("SKIPPED: the installation, which needs systemd-sysusers");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-release-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  if (judge !== null) await rm(judge.folder, { recursive: true });
});

describe("compose.yaml", () => {
  it.skipIf(judge === null)("is what Docker Compose's own parser takes", () => {
    const done = spawnSync(judge?.paths.judge ?? "", ["compose", join(root, "compose.yaml")], {
      encoding: "utf8",
    });
    expect(done.stderr).toBe("");
    expect(done.stdout.trim().split(" ")).toEqual([
      "eu-a",
      "eu-b",
      "eu-cassandra",
      "eu-elasticsearch",
      "us-a",
      "us-b",
      "us-cassandra",
      "us-elasticsearch",
    ]);
  });
});

describe.skipIf(lacks.length > 0)("the release", () => {
  let first: Built;
  let second: Built;

  it("is the same when it is built again, under another umask and elsewhere", async () => {
    const debs = join(folder, "first", "debs");
    first = await buildRelease({ out: join(folder, "first") });
    const umask = process.umask(0o077);
    second = await buildRelease({ out: join(folder, "second"), debs });
    process.umask(umask);
    expect(second).toEqual(first);
    expect(await sha256(join(folder, "second", second.archive))).toBe(
      await sha256(join(folder, "first", first.archive)),
    );
    const blobs = async (name: string) => (await readdir(join(folder, name, "image/blobs/sha256"))).sort();
    expect(await blobs("second")).toEqual(await blobs("first"));
  });

  it.skipIf(!isRoot || !hasSystemd)("is installed and upgraded by docs/production.md", async () => {
    const [cwd, place] = [join(folder, "first"), join(folder, "machine")];
    const pages = await playedBlocks("production.md");
    const follow = (title: string, kind: string): void => {
      const script = pages.get(title)?.find((block) => block.kind === kind)?.script ?? "false";
      const env = { PATH: process.env["PATH"], ROOT: place };
      const done = spawnSync("bash", ["-c", `set -euo pipefail\n${script}`], { cwd, env, encoding: "utf8" });
      expect([done.status, done.stderr.replaceAll(/^Creat.*\n/gm, "")]).toEqual([0, expect.any(String)]);
    };
    follow("Install", "install");
    const current = join(place, "opt/svc/current");
    const said = spawnSync(join(current, "node_modules/.bin/node"), [join(current, "cli/main.ts"), "help"], {
      encoding: "utf8",
    });
    expect(said.stdout).toMatch(/^svc: /m);
    const modes: Readonly<Record<string, number>> = {
      "etc/svc/keys": 0o700,
      "etc/svc/clients": 0o700,
      "etc/svc/secrets.env": 0o600,
      "etc/systemd/system/svc-node.service": 0o644,
    };
    for (const [path, mode] of Object.entries(modes))
      expect([path, (await stat(join(place, path))).mode & 0o777]).toEqual([path, mode]);
    const users = new Map(
      (await readFile(join(place, "etc/passwd"), "utf8")).split("\n").map((line) => {
        const [name = "", , uid, gid] = line.split(":");
        return [name, { uid: Number(uid), gid: Number(gid) }] as const;
      }),
    );
    expect(users.get("svc")?.gid).toBe(users.get("svc-issuance")?.gid);
    expect(users.get("svc")?.uid).not.toBe(users.get("svc-issuance")?.uid);
    expect((await stat(join(place, "etc/svc/keys"))).uid).toBe(users.get("svc")?.uid);
    expect((await stat(join(place, "etc/svc/clients"))).uid).toBe(users.get("svc-issuance")?.uid);
    const wanted = join(place, "etc/systemd/system/multi-user.target.wants");
    expect((await readdir(wanted)).sort()).toEqual(["svc-issuance.service", "svc-node.service"]);
    await rm(current);
    follow("Upgrades", "upgrade");
    expect(await readlink(current)).toBe(first.version);
  });

  it.skipIf(judge === null || !isRoot)("runs a node without anything but itself", async () => {
    const [archive, rootfs] = [join(folder, "rootfs.tar"), join(folder, "rootfs")];
    const said = spawnSync(judge?.paths.judge ?? "", ["image", join(folder, "first/image"), archive], {
      encoding: "utf8",
    });
    expect(`${said.stdout.trim()}${said.stderr}`).toBe(first.digest);
    await mkdir(rootfs);
    expect(spawnSync("tar", ["-xpf", archive, "-C", rootfs]).status).toBe(0);
    const port = await freePorts(surfacePorts);
    const guard = startGuard();
    const node = startEngineProcess(
      {
        command: "chroot",
        args: [
          "--userspec=1000:1000",
          rootfs,
          "/srv/svc/node_modules/.bin/node",
          "/srv/svc/cli/main.ts",
          "start",
        ],
        // The image's own settings, and a port that is free here.
        env: {
          PATH: process.env["PATH"],
          SVC_HOME: "/data/home",
          SVC_LOG_TO: "stdout",
          SVC_PORT_BASE: String(port),
          SVC_SAMPLES: "no",
        },
        cwd: "/",
        logFile: join(folder, "node.log"),
      },
      guard,
    );
    try {
      const isReady = async (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${port + 4}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        );
      await untilReady(node, { name: "The image's node", maxMs: 300_000, isReady });
      const vectors = await fetch(`http://127.0.0.1:${port + 2}/openapi.json`);
      expect(vectors.status).toBe(200);
      expect(await readFile(join(folder, "node.log"), "utf8")).toContain('"ed25519":"libsodium"');
    } finally {
      await node.stop(10_000);
      await guard.close();
    }
  });
});

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
