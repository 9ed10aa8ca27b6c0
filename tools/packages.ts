// Builds what is installed without the checkout: the client, the verifier, and the programs that call a service. One table says what each
// package has. What a package needs is bundled into it, with its licences, so that it has no dependencies and runs nothing at install.
//   PK1. Each package compiles against no more of the language than Node 20 has, and is written in no newer syntax.
//   PK2. A package that names the platform as `neutral` imports nothing at all: it runs in browsers as it is.
//   PK3. Without a scope of the deployment's own, a package is marked as private, which npm does not publish.
//   PK4. With the deployment's domain, both tool servers have what a registry of MCP servers reads of them, and the package with the local
//        one has its name there (server.json, schema 2025-12-11).
//   PK5. A packed page leads nowhere but to itself and to what is packed with it, and names no command of `svc` that the package lacks.
// Usage: npm run packages -- FOLDER [--scope @SCOPE] [--domain DOMAIN --mcp-url URL]

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseSync, Visitor } from "oxc-parser";
import { type Plugin, rolldown } from "rolldown";
import { clientCommands } from "../cli/client-commands.ts";
import { pureFunctions } from "../web/pure-functions.ts";
import { root, runNode } from "./process.ts";
import { binOf } from "./steps.ts";

export interface PackageRow {
  readonly description: string;
  readonly platform: "neutral" | "node";
  /** Source files by the name under which a program imports them; each has declarations. */
  readonly entries: Readonly<Record<string, string>>;
  /** Those of the entries that are one file each, with nothing in it that only others need. */
  readonly alone?: readonly string[];
  /** Source files of programs, by their names. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Files that are packed as they are, by their paths in the package. */
  readonly files: Readonly<Record<string, string>>;
  /** The most bytes that an entry, minified and compressed by gzip, has with all that it needs. */
  readonly compressedMax?: Readonly<Record<string, number>>;
  /** The most bytes of the package once it is installed. */
  readonly installedMax: number;
}

export const packages: Readonly<Record<string, PackageRow>> = {
  client: {
    description:
      "Client of the signed business-data service: seal, publish, withdraw and watch records, search, fetch, and verify answers.",
    platform: "node",
    entries: { ".": "client/index.ts", "./vectors": "tools/vectors/run.ts" },
    files: { "README.md": "client/README.md", "feed-mapping-1.json": "docs/schemas/feed-mapping-1.json" },
    installedMax: 2_500_000,
  },
  verifier: {
    description: "Verifies answers of the signed business-data service offline, in Node and in browsers.",
    platform: "neutral",
    entries: { ".": "verifier/index.ts", "./rows": "verifier/rows.ts", "./vectors": "tools/vectors/run.ts" },
    alone: ["./rows"],
    files: { "README.md": "verifier/README.md" },
    compressedMax: { ".": 100_000, "./rows": 60_000 },
    installedMax: 1_100_000,
  },
  svc: {
    description:
      "The programs svc and svc-mcp: publish, search, fetch and verify signed business data, and serve an assistant.",
    platform: "node",
    entries: {},
    programs: { svc: "cli/client.ts", "svc-mcp": "mcp/command.ts" },
    files: { "README.md": "docs/svc.md" },
    installedMax: 5_000_000,
  },
};

const licenceFiles = ["LICENSE", "NOTICE"];
/** A scope that is nobody's: see PK3. */
const noScope = "@unpublished";

export interface BuiltPackage {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
}

/** Writes a package into `folder` as a folder. `scope` is the deployment's own, with its `@`; see PK4 for its domain. */
export async function buildPackage(
  id: string,
  folder: string,
  scope: string | null = null,
  domain: string | null = null,
): Promise<BuiltPackage> {
  const row = packages[id];
  if (row === undefined) throw new Error(`There is no package ${id}.`);
  const target = join(resolve(folder), id);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const modules = await bundle(row, target);
  await declare(row, { target, modules });
  const isToolServer = domain !== null && row.programs?.[localServer] !== undefined;
  const mcpName = isToolServer ? { mcpName: registryName(domain, localServer) } : {};
  const manifest = { ...manifestOf(id, row, scope), ...mcpName };
  await writeFile(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of licenceFiles) await cp(join(root, name), join(target, name));
  await writeFile(join(target, "LICENSES-OF-OTHERS.txt"), licencesOf(packagesOf(modules)));
  for (const [name, source] of Object.entries(row.files)) {
    const text = await readFile(join(root, source), "utf8");
    const page = name.endsWith(".md") ? packedPage(withScope(text, scope), { source, row }) : text;
    await writeFile(join(target, name), page);
  }
  return { name: manifest.name, version: manifest.version, folder: target };
}

/** Pages name packages under the scope that is nobody's. */
function withScope(text: string, scope: string | null): string {
  return scope === null ? text : text.replaceAll(`${noScope}/`, `${scope}/`);
}

/** A page of the checkout as a package has it (PK5). */
function packedPage(
  text: string,
  { source, row }: { readonly source: string; readonly row: PackageRow },
): string {
  const linked = text.replace(
    /\[([^\]]+)\]\((?!https?:|#)([^)#]+)[^)]*\)/g,
    (_link, words: string, to: string) => {
      const path = join(dirname(source), to);
      const packed = Object.entries(row.files).find(([, each]) => each === path)?.[0];
      if (packed !== undefined) return `[${words}](${packed})`;
      const where = `\`${path}\` of the repository`;
      return path.endsWith(words) ? where : `${words} (${where})`;
    },
  );
  return row.programs?.["svc"] === undefined ? linked : withOwnCommands(linked);
}

/** Without the lines of other commands, and without the sections that have no others. */
function withOwnCommands(page: string): string {
  const own = new Set(clientCommands.map(({ name }) => name));
  const isForeign = (line: string): boolean => {
    const [, command, second = ""] = /^- `svc ([a-z-]+)(?: ([a-z-]+))?/.exec(line) ?? [];
    return command !== undefined && !own.has(command) && !own.has(`${command} ${second}`);
  };
  const sections = page.split(/^(?=## )/m).flatMap((section) => {
    const lines = section.split("\n");
    const kept = lines.filter((line) => !isForeign(line));
    const isEmpty = kept.length < lines.length && !kept.some((line) => line.startsWith("- `svc "));
    return isEmpty ? [] : [kept.join("\n")];
  });
  return `${sections.join("").trimEnd()}\n`;
}

function manifestOf(id: string, row: PackageRow, scope: string | null) {
  const project = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly version: string;
    readonly license: string;
  };
  const exported = Object.entries(row.entries).map(([name, source]) => [
    name,
    { types: `./types/${declarationOf(source)}`, default: `./dist/${chunkName(name)}.js` },
  ]);
  const programs = Object.keys(row.programs ?? {}).map((name) => [name, `dist/${name}.js`]);
  return {
    name: `${scope ?? noScope}/${id}`,
    version: project.version,
    ...(scope === null ? { private: true } : {}),
    description: row.description,
    license: project.license,
    type: "module",
    engines: { node: ">=20.16" },
    sideEffects: false,
    exports: Object.fromEntries([
      ...exported,
      ...Object.keys(row.files)
        .filter((name) => name.endsWith(".json"))
        .map((name) => [`./${name}`, `./${name}`]),
      ["./package.json", "./package.json"],
    ]),
    ...(programs.length === 0 ? {} : { bin: Object.fromEntries(programs) }),
    files: ["dist", "types", "LICENSES-OF-OTHERS.txt", "NOTICE", ...Object.keys(row.files)],
  };
}

function declarationOf(source: string): string {
  return source.replace(/\.ts$/, ".d.ts");
}

function chunkName(entry: string): string {
  return entry === "." ? "index" : entry.slice(2);
}

// ---- JavaScript ----

/** Writes the modules into `dist`, and returns the files of which something is in them. */
async function bundle(row: PackageRow, target: string): Promise<readonly string[]> {
  const { alone = [], programs = {} } = row;
  const input = (isWanted: (name: string) => boolean) =>
    Object.fromEntries(
      Object.entries(row.entries).flatMap(([name, source]) =>
        isWanted(name) ? [[chunkName(name), source]] : [],
      ),
    );
  const inputs = [
    { ...input((name) => !alone.includes(name)), ...programs },
    ...alone.map((each) => input((name) => name === each)),
  ];
  const modules = [];
  for (const each of inputs) modules.push(...(await bundleOf(row, each, target)));
  for (const name of Object.keys(programs)) await chmod(join(target, "dist", `${name}.js`), 0o755);
  return modules;
}

async function bundleOf(
  row: PackageRow,
  input: Readonly<Record<string, string>>,
  target: string,
): Promise<readonly string[]> {
  const built = await rolldown({
    cwd: root,
    input,
    platform: row.platform,
    resolve: { mainFields: ["module", "main"] },
    transform: { target: "es2022" },
    treeshake: { moduleSideEffects: false, manualPureFunctions: [...pureFunctions] },
    onLog: (level, { message }) => {
      if (level === "warn") throw new Error(message);
    },
    plugins: row.platform === "neutral" ? [withoutWords] : [],
  });
  const { output } = await built.write({
    dir: join(target, "dist"),
    format: "es",
    chunkFileNames: "[name]-[hash].js",
    banner: ({ name, isEntry }) =>
      isEntry && row.programs?.[name] !== undefined ? "#!/usr/bin/env node" : "",
  });
  await built.close();
  return output.flatMap((each) =>
    each.type === "chunk"
      ? Object.entries(each.modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
      : [],
  );
}

const vocabularies = join(root, "protocol", "records", "vocabularies");
/** Modules that show the names of codes, or the descriptions of members. Nothing in a package without them may need one. */
const showsWords = /vocabulary-document|subdivision-names|company-name-rule/;

/** Empties what is called a name, and the values of objects of names by code. */
function withoutName(this: unknown, key: string, value: unknown): unknown {
  if (key === "name" && Object.hasOwn(Object(this), "categories")) return "";
  if (key === "entries") return namesOf(value);
  if (key !== "lists") return value;
  return Object.fromEntries(Object.entries(Object(value)).map(([name, list]) => [name, namesOf(list)]));
}

function namesOf(list: unknown): object {
  return Object.fromEntries(Object.keys(Object(list)).map((code) => [code, ""]));
}

/** Leaves out what only people read: the names of codes, and the descriptions of members in published schemas. */
const withoutWords: Plugin = {
  name: "without-words",
  load: (id) => {
    if (showsWords.test(id)) throw new Error(`${id} needs the words that are left out.`);
    if (dirname(id) !== vocabularies || !/(?:countries|currencies|languages|taxonomy)\.json$/.test(id))
      return null;
    const list = JSON.parse(readFileSync(id, "utf8")) as Readonly<Record<string, object>>;
    return { code: JSON.stringify(list, withoutName), moduleType: "json" };
  },
  transform: (code, id) => {
    if (!id.endsWith(".ts") || !code.includes("described(")) return null;
    const spans: [number, number][] = [];
    new Visitor({
      CallExpression: ({ callee, arguments: [, text] }) => {
        if (callee.type === "Identifier" && callee.name === "described" && text !== undefined)
          spans.push([text.start, text.end]);
      },
    }).visit(parseSync(id, code).program);
    return spans
      .sort(([a], [b]) => b - a)
      .reduce((rest, [start, end]) => `${rest.slice(0, start)}""${rest.slice(end)}`, code);
  },
};

function packageFolderOf(id: string): string | null {
  const [, name] = /^(?:.*[/\\])?node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(id) ?? [];
  return name === undefined ? null : join(root, "node_modules", name);
}

/** The folders of the packages that the files are of. */
function packagesOf(files: readonly string[]): readonly string[] {
  return [...new Set(files.map(packageFolderOf).filter((each) => each !== null))].sort();
}

function licencesOf(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    const { name, version, license, author } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    ) as Readonly<Record<"name" | "version" | "license" | "author", string>>;
    // A few packages name their licence and their author without its text.
    const text = file === undefined ? `${license}, ${author}` : readFileSync(join(folder, file), "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return `Parts of these packages are in this one.\n\n${texts.join("\n----\n\n")}`;
}

// ---- Declarations ----

interface Bundled {
  readonly target: string;
  readonly modules: readonly string[];
}

/** Compiles what was bundled (PK1), and keeps the declarations that the entries lead to in `types`. */
async function declare(row: PackageRow, { target, modules }: Bundled): Promise<void> {
  const project = join(target, "tsconfig.json");
  const all = join(target, "all-types");
  await writeFile(project, JSON.stringify(compilation(row, all)));
  const compiled = await runNode([binOf("typescript", "tsc"), "-p", project]);
  // A fault in a module that was left out of the bundle is none of the package.
  const bundled = new Set(modules.map((path) => relative(root, path)));
  const faults = compiled.output.split("\n").filter((line) => bundled.has(line.split("(")[0] ?? ""));
  if (faults.length > 0 || !existsSync(all))
    throw new Error(`The package cannot be compiled:\n${faults.join("\n") || compiled.output}`);
  const wanted = Object.values(row.entries).map(declarationOf);
  const kept = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    const text = (await readFile(join(all, name), "utf8")).replaceAll(sourceImport, '$1.js"');
    for (const [, path = ""] of text.matchAll(declaredImport)) {
      const found = join(dirname(name), path).replace(/\.js$/, ".d.ts");
      if (existsSync(join(all, found))) wanted.push(found);
    }
    await mkdir(join(target, "types", dirname(name)), { recursive: true });
    await writeFile(join(target, "types", name), text);
  }
  await rm(project);
  await rm(all, { recursive: true });
}

const sourceImport = /((?:from |import\()"\.[^"]*)\.ts"/g;
const declaredImport = /(?:from |import\()"(\.[^"]*)"/g;

/** Node 20 has the methods of ES2024 for well-formed texts; where the platform's base64 is missing, `protocol/bytes.ts` has its own. */
function compilation(row: PackageRow, outDir: string) {
  const sources = [...Object.values(row.entries), ...Object.values(row.programs ?? {})];
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      incremental: false,
      emitDeclarationOnly: true,
      declaration: true,
      rootDir: root,
      outDir,
      lib: ["es2023", "es2024.string", "esnext.typedarrays"],
      types: row.platform === "node" ? ["node"] : [],
      typeRoots: [join(root, "node_modules", "@types")],
    },
    include: [],
    files: [...sources, "protocol/platform.d.ts"].map((source) => join(root, source)),
  };
}

// ---- Registries of tool servers (PK4) ----

const localServer = "svc-mcp";
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** Names there begin with a domain that the publisher controls, backwards. */
function registryName(domain: string, server: string): string {
  return `${domain.split(".").toReversed().join(".")}/${server}`;
}

/** The entries of both tool servers: the one in the package, and the one that the service hosts at `mcpUrl`. */
export function registryEntries(
  domain: string,
  mcpUrl: string,
  { name: identifier, version }: Pick<BuiltPackage, "name" | "version">,
) {
  const local = {
    $schema: registrySchema,
    name: registryName(domain, localServer),
    title: "Signed business data",
    description:
      "Search, fetch and verify signed business records with your own key; every answer has a receipt.",
    version,
    packages: [
      {
        registryType: "npm",
        identifier,
        version,
        transport: { type: "stdio" },
        packageArguments: [
          {
            type: "named",
            name: "--config",
            description: "File with the addresses of the service and your key",
            isRequired: true,
            format: "filepath",
          },
        ],
      },
    ],
  };
  const hosted = {
    $schema: registrySchema,
    name: registryName(domain, "public-verification"),
    title: "Public verification",
    description:
      "Check signed business records, certificates, keys and the transparency log, without an account.",
    version,
    remotes: [{ type: "streamable-http", url: mcpUrl }],
  };
  return { local, hosted };
}

/** The arguments that start npm, whichever way this process was started. */
export function npmCommand(): readonly string[] {
  const npm = process.env["npm_execpath"];
  return npm !== undefined && /npm-cli\.c?js$/.test(npm) ? [process.execPath, npm] : ["npm"];
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { scope: { type: "string" }, domain: { type: "string" }, "mcp-url": { type: "string" } },
  });
  const [folder] = positionals;
  const { scope = null, domain = null, "mcp-url": mcpUrl = null } = values;
  const isDomain = domain === null || /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(domain);
  const isScope = scope === null || /^@[a-z0-9][a-z0-9._-]*$/.test(scope);
  if (folder === undefined || !isScope || !isDomain || (domain === null) !== (mcpUrl === null)) {
    console.error("Usage: npm run packages -- FOLDER [--scope @SCOPE] [--domain DOMAIN --mcp-url URL]");
    process.exit(2);
  }
  for (const id of Object.keys(packages)) {
    const built = await buildPackage(id, folder, scope, domain);
    console.log(`${built.name} ${built.version} is in ${relative(process.cwd(), built.folder)}`);
    if (domain === null || mcpUrl === null || packages[id]?.programs?.[localServer] === undefined) continue;
    for (const [name, entry] of Object.entries(registryEntries(domain, mcpUrl, built)))
      await writeFile(join(folder, `server-${name}.json`), `${JSON.stringify(entry, null, 2)}\n`);
  }
  console.log("npm pack FOLDER makes the file to install or publish of each.");
}
