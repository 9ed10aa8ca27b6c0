import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chooseJdk, findJdks } from "./jdk.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-jdk-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function makeJdk(name: string, release: string): Promise<string> {
  const home = join(folder, name);
  await mkdir(join(home, "bin"), { recursive: true });
  await writeFile(join(home, "bin", "java"), "");
  await chmod(join(home, "bin", "java"), 0o755);
  await writeFile(join(home, "release"), release);
  return home;
}

describe("JDKs", () => {
  it("are found by JAVA_HOME and by the command on the path, each once", async () => {
    const first = await makeJdk("a", 'IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n');
    const second = await makeJdk("b", 'JAVA_VERSION="25"\n');
    const commands = join(folder, "commands");
    await mkdir(commands);
    await symlink(join(second, "bin", "java"), join(commands, "java"));
    const found = findJdks({ javaHome: first, path: [commands, join(first, "bin"), join(folder, "none")] });
    expect(found.filter(({ home }) => home.startsWith(folder))).toEqual([
      { home: first, major: 17 },
      { home: second, major: 25 },
    ]);
  });

  it("of old name their release second; what is no JDK is none", async () => {
    const old = await makeJdk("old", 'JAVA_VERSION="1.8.0_402"\n');
    expect(findJdks({ javaHome: old, path: [] })[0]).toEqual({ home: old, major: 8 });
    const broken = await makeJdk("broken", "nothing here");
    expect(findJdks({ javaHome: broken, path: [] }).some(({ home }) => home === broken)).toBe(false);
  });

  it("are chosen by release, the newest within the range", () => {
    const jdks = [11, 17, 21, 25, 26].map((major) => ({ home: `jdk-${major}`, major }));
    expect(chooseJdk(jdks, { min: 17, max: 17 })?.major).toBe(17);
    expect(chooseJdk(jdks, { min: 21, max: 25 })?.major).toBe(25);
    expect(chooseJdk(jdks, { min: 30, max: 31 })).toBeNull();
  });
});
