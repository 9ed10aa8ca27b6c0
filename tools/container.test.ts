import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { programFiles, readContextRules } from "./image/build.ts";
import { root } from "./process.ts";
import { listFiles, loadSource } from "./tidy/source.ts";

const { allowed, isLeftOut, lines } = await readContextRules();

/** Every file of the project that the program reaches through its imports. */
function reached(entry: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [entry];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    if (path.endsWith(".json")) continue;
    const here = dirname(path);
    const imports = loadSource(root, path).imports.filter((each) => each.specifier.startsWith("."));
    open.push(...imports.map((each) => normalize(join(here, each.specifier))));
  }
  return found;
}

describe("the container image", () => {
  const program = reached("cli/main.ts");

  it("gets everything that the program imports", () => {
    expect(program.size).toBeGreaterThan(300);
    const missing = [...program].filter((path) => !allowed.has(path.split("/")[0] ?? "") || isLeftOut(path));
    expect(missing).toEqual([]);
  });

  it("gets no folder that the program does not use", () => {
    const used = new Set([...program].map((path) => path.split("/")[0]));
    const folders = [...allowed].filter((name) =>
      listFiles(root, [".ts"]).some((path) => path.startsWith(`${name}/`)),
    );
    expect(folders.filter((name) => !used.has(name))).toEqual([]);
  });

  it("is made of the same files with and without a container engine", async () => {
    const files = new Set(await programFiles());
    expect([...program].filter((path) => !files.has(path))).toEqual([]);
    expect([...files].filter((path) => !allowed.has(path.split("/")[0] ?? "") || isLeftOut(path))).toEqual(
      [],
    );
  });

  it("gets the test vectors and the documentation, which a node serves", async () => {
    const files = await programFiles();
    for (const path of [
      "vectors/index.json",
      "docs/README.md",
      "docs/ops.md",
      "docs/schemas/jobs-1.json",
      "client/README.md",
      "verifier/README.md",
    ])
      expect(files).toContain(path);
  });

  it("begins by leaving everything out", () => {
    expect(lines[0]).toBe("*");
  });
});
