// Builds the client as a package of its own: `client/index.ts` and all that it needs of this project, as ES modules with
// declarations, packed as npm would publish it. Packages from elsewhere stay dependencies.
// Usage: node tools/run.mjs tools/client-package.ts FOLDER

import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { root, runNode } from "./process.ts";
import { binOf } from "./steps.ts";

export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

export function clientManifest(): PackageManifest {
  return JSON.parse(readFileSync(join(root, "client", "package.json"), "utf8")) as PackageManifest;
}

/** Writes the package into `folder` as a folder, and returns its path. */
export async function buildClientPackage(folder: string): Promise<string> {
  const target = join(resolve(folder), "package");
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await compileInto(target, "client/index.ts");
  const copies: readonly (readonly [string, string])[] = [
    ["client/package.json", "package.json"],
    ["client/README.md", "README.md"],
    ["docs/schemas/feed-mapping-1.json", "feed-mapping-1.json"],
    ["LICENSE", "LICENSE"],
    ["NOTICE", "NOTICE"],
  ];
  for (const [from, to] of copies) await cp(join(root, from), join(target, to));
  return target;
}

/** Compiles a source file of the project, and all that it imports, into the folder `dist` of `target`. */
export async function compileInto(target: string, source: string): Promise<void> {
  const project = join(target, "tsconfig.json");
  await writeFile(project, JSON.stringify(compilation(target, source)));
  const compiled = await runNode([binOf("typescript", "tsc"), "-p", project]);
  if (compiled.code !== 0) throw new Error(`${source} cannot be compiled:\n${compiled.output}`);
  await rm(project);
  await renameImports(join(target, "dist"));
}

/** Node 20 is the oldest that the package runs on; types of the platform are those of Node. */
function compilation(target: string, source: string) {
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: join(target, "dist"),
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      target: "es2023",
      typeRoots: [join(root, "node_modules", "@types")],
    },
    include: [],
    files: [join(root, source), join(root, "protocol", "platform.d.ts")],
  };
}

const sourceImport = /((?:from|import\()\s*"\.[^"]*)\.ts"/g;
const jsonImport = /(from "\.[^"]*\.json)" with \{ type: "json" \}/g;

/** The compiler leaves the names of source files in declarations, and data as JSON, of which old platforms warn: it becomes modules. */
async function renameImports(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    if (name.endsWith(".json")) {
      await writeFile(`${path}.js`, `export default ${await readFile(path, "utf8")}`);
      await rm(path);
    } else if (name.endsWith(".ts") || name.endsWith(".js")) {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replaceAll(sourceImport, '$1.js"').replaceAll(jsonImport, '$1.js"'));
    }
  }
}

/** Names of the packages that the built files import. */
export function importedPackages(folder: string): ReadonlySet<string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".js"),
  );
  const found = names.flatMap((name) => {
    const { module } = parseSync(name, readFileSync(join(folder, name), "utf8"));
    const exported = module.staticExports.flatMap(({ entries }) =>
      entries.map((each) => each.moduleRequest?.value),
    );
    return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...exported];
  });
  const packages = found.filter((name) => name !== undefined && !name.startsWith(".") && !isBuiltin(name));
  return new Set(packages.map((name = "") => name.split("/", name.startsWith("@") ? 2 : 1).join("/")));
}

/** The arguments that start npm, whichever way this process was started. */
export function npmCommand(): readonly string[] {
  const npm = process.env["npm_execpath"];
  return npm !== undefined && /npm-cli\.c?js$/.test(npm) ? [process.execPath, npm] : ["npm"];
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined || folder.startsWith("-")) {
    console.error("Usage: npm run client:pack -- FOLDER");
    process.exit(2);
  }
  const built = await buildClientPackage(folder);
  console.log(`${built} is ready; npm pack ${built} makes the file to publish.`);
}
