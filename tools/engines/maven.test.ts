import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Host, readHost } from "./host.ts";
import type { Distribution } from "./jdk.ts";
import { EngineUnavailable, provide } from "./maven.ts";

const jar = "the engine";
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const engine: Distribution = {
  name: "cassandra",
  version: "0.0.1",
  artifact: "example:engine:0.0.1",
  form: "jars",
  file: "engine.jar",
  sha256: hashOf(jar),
  contentsSha256: hashOf([`${hashOf(jar)} 10 engine.jar\n`, `${hashOf("x")} 1 other.jar\n`].sort().join("")),
  jdk: { min: 99, max: 99 },
};

let folder = "";
let host: Host;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-maven-"));
  await mkdir(join(folder, "jdk", "bin"), { recursive: true });
  await mkdir(join(folder, "commands"));
  await writeFile(join(folder, "jdk", "release"), 'JAVA_VERSION="99"\n');
  await program("jdk/bin/java", "");
  host = {
    ...readHost(),
    cacheFolder: join(folder, "cache"),
    javaHome: join(folder, "jdk"),
    path: [join(folder, "commands")],
  };
});
afterEach(() => rm(folder, { recursive: true }));

async function program(path: string, body: string): Promise<void> {
  await writeFile(join(folder, path), `#!/bin/sh\n${body}\n`);
  await chmod(join(folder, path), 0o755);
}

/** A Maven that writes the engine's file and records each run. */
function mavenThatGives(text: string): Promise<void> {
  return program(
    "commands/mvn",
    `echo run >> "${folder}/runs"
for arg; do case "$arg" in -DoutputDirectory=*) out="\${arg#*=}";; esac; done
printf '%s' '${text}' > "$out/engine.jar"
printf 'x' > "$out/other.jar"`,
  );
}

async function runs(): Promise<number> {
  return (await readFile(join(folder, "runs"), "utf8")).split("\n").length - 1;
}

describe.skipIf(process.platform === "win32")("the cache of engines", () => {
  it("fetches once, also when several ask at once (C2)", async () => {
    await mavenThatGives(jar);
    const [first, second] = await Promise.all([provide(engine, host), provide(engine, host)]);
    expect(first).toEqual(second);
    expect(await readFile(join(first.folder, "engine.jar"), "utf8")).toBe(jar);
    await provide(engine, host);
    expect(await runs()).toBe(1);
    expect(await readdir(host.cacheFolder)).toEqual(["cassandra-0.0.1"]);
  });

  it("needs no checksum of the repository, since the pins decide (C3)", async () => {
    await mavenThatGives(jar);
    const fetched = await readFile(join(folder, "commands", "mvn"), "utf8");
    const lacks = 'case " $* " in *" --strict-checksums "*) echo "checksum is missing"; exit 1;; esac';
    await program("commands/mvn", fetched.replace("#!/bin/sh\n", `${lacks}\n`));
    const { folder: files } = await provide(engine, host);
    expect(await readdir(files)).toEqual(["engine.jar", "other.jar"]);
  });

  it("fetches again what is damaged, cut short or more than it was (C1)", async () => {
    await mavenThatGives(jar);
    const { folder: files } = await provide(engine, host);
    await truncate(join(files, "other.jar"));
    await provide(engine, host);
    expect(await readFile(join(files, "other.jar"), "utf8")).toBe("x");
    await writeFile(join(files, "stranger.jar"), "y");
    await provide(engine, host);
    expect(await readdir(files)).not.toContain("stranger.jar");
    await rm(join(files, "..", "contents.json"));
    await provide(engine, host);
    expect(await runs()).toBe(4);
  });

  it("refuses an engine that is not the pinned one, and keeps nothing of it (C3)", async () => {
    await mavenThatGives("another engine");
    await expect(provide(engine, host)).rejects.toThrow("not the pinned");
    expect(await readdir(host.cacheFolder)).toEqual([]);
  });

  it("refuses an engine that comes with another file than it was pinned with, and keeps nothing of it (C3)", async () => {
    await mavenThatGives(jar);
    const mvn = await readFile(join(folder, "commands", "mvn"), "utf8");
    await writeFile(join(folder, "commands", "mvn"), mvn.replace("printf 'x'", "printf 'y'"));
    await expect(provide(engine, host)).rejects.toThrow(/files whose list has SHA-256 .* not the pinned/);
    expect(await readdir(host.cacheFolder)).toEqual([]);
  });

  it("goes on where a process died that held the lock or was fetching", async () => {
    await mavenThatGives(jar);
    await mkdir(join(host.cacheFolder, "cassandra-0.0.1.part-dead"), { recursive: true });
    // No process has this id: the system's maximum is far lower.
    await writeFile(join(host.cacheFolder, "cassandra-0.0.1.lock"), "999999999");
    await utimes(join(host.cacheFolder, "cassandra-0.0.1.part-dead"), new Date(0), new Date(0));
    expect((await provide(engine, host)).javaHome).toBe(host.javaHome);
    expect(await readdir(host.cacheFolder)).toEqual(["cassandra-0.0.1"]);
  });

  it("tells what is fetched, and that it is there", async () => {
    await mavenThatGives(jar);
    const lines: string[] = [];
    await provide(engine, host, (line) => lines.push(line));
    expect(lines.map((line) => line.replace(/\d+ s$/, "N s"))).toEqual([
      "Fetching cassandra 0.0.1: it is kept for later starts …",
      "Fetched cassandra 0.0.1 in N s",
    ]);
    await provide(engine, host, (line) => lines.push(line));
    expect(lines).toHaveLength(2);
  });

  it("tells of another process that is waited for, once", async () => {
    await mavenThatGives(jar);
    await mkdir(host.cacheFolder, { recursive: true });
    const lock = join(host.cacheFolder, "cassandra-0.0.1.lock");
    await writeFile(lock, String(process.ppid));
    const lines: string[] = [];
    const providing = provide(engine, host, (line) => lines.push(line));
    await expect.poll(() => lines.length).toBe(1);
    await rm(lock);
    await providing;
    expect(lines[0]).toBe(`Waiting for process ${process.ppid}, which fetches cassandra …`);
    expect(lines.filter((line) => line.startsWith("Waiting"))).toHaveLength(1);
  });

  it("says what the machine lacks", async () => {
    await expect(provide(engine, host)).rejects.toThrow(
      new EngineUnavailable("cassandra is fetched with Maven, and there is no command mvn"),
    );
    const noJdk = { ...engine, jdk: { min: 98, max: 98 } };
    await expect(provide(noJdk, host)).rejects.toThrow("needs a JDK 98, and none was found");
  });

  it("tells why Maven failed", async () => {
    await program("commands/mvn", "echo 'no such artifact'; exit 3");
    await expect(provide(engine, host)).rejects.toThrow(EngineUnavailable);
    await expect(provide(engine, host)).rejects.toThrow(/exit code 3.*no such artifact/s);
  });
});
