// Which files may import which: one row per folder, and the check that a file conforms to its row.
// A pattern is a folder (`protocol`: all below it), a file (`crypto/port.ts`), the files of one folder (`storage/*.ts`),
// each subfolder separately (`actors/*`), or `*` for anything. What a row does not allow is a fault.

import { posix } from "node:path";
import type { Fault, SourceFile, SourceImport } from "./source.ts";

export interface ImportRow {
  /** Pattern for the files that the row covers. The most specific row of a file applies; what matches it is «itself». */
  readonly of: string;
  /** Allowed imports, besides the row itself and {@link groundFloor}, which every file may import. */
  readonly may: readonly string[];
  /** Allowed as `import type` only. */
  readonly mayTypes?: readonly string[];
  /** Exceptions from `may`. */
  readonly butNot?: readonly string[];
  /** Allowed packages, with `node:*` for the platform's modules and `*` for any. */
  readonly packages: readonly string[];
}

const ports = ["storage/*.ts", "transport/*.ts", "crypto/port.ts"];
const adapters = ["storage/sqlite", "storage/cassandra", "storage/elasticsearch", "transport/*", "crypto"];
/** Parts of a node that only programs and the composition root begin. */
const programs = ["node/doctor", "node/sandbox"];
const surfaces = ["api", "ops", "portal", "cli", "node"];

/** A subject of `service/`, with the other subjects that it may import. */
function serviceRow(
  subject: string,
  may: readonly string[] = [],
  mayTypes: readonly string[] = [],
): ImportRow {
  const inService = (each: string): string => `service/${each}`;
  return {
    of: inService(subject),
    may: [
      "protocol",
      "collections",
      "verifier",
      "actors/messages",
      "service/*.ts",
      ...ports,
      ...may.map(inService),
    ],
    mayTypes: ["actors/system/definition.ts", ...mayTypes.map(inService)],
    packages: [],
  };
}

/** Technical building blocks without any concept of the service: it imports nothing else. */
const groundFloor = "std";

export const importTable: readonly ImportRow[] = [
  { of: groundFloor, may: [], packages: [] },
  { of: "protocol", may: [], packages: ["@noble/*", "canonicalize", "structured-headers"] },
  { of: "collections", may: ["protocol"], mayTypes: ["storage/row-index.ts"], packages: [] },
  { of: "crypto/port.ts", may: ["protocol"], packages: [] },
  { of: "crypto", may: ["protocol"], packages: ["node:*"] },
  { of: "machines", may: ["protocol"], mayTypes: ["actors/messages"], packages: ["xstate"] },
  {
    of: "actors/messages",
    may: ["protocol"],
    mayTypes: ["storage/*.ts"],
    packages: [],
  },
  {
    of: "actors/system",
    may: ["protocol", ...ports, "machines/runs"],
    mayTypes: ["machines", "actors/messages"],
    packages: ["xstate"],
  },
  {
    of: "actors/*",
    may: [
      "protocol",
      "collections",
      "machines",
      "actors/messages",
      "actors/system/definition.ts",
      "actors/system/row-table.ts",
      // Whether what was sealed still stands is decided by actors and verifiers alike.
      "verifier/standing.ts",
      ...ports,
    ],
    packages: [],
  },
  { of: "storage/*.ts", may: ["protocol"], mayTypes: ["actors/messages/refs.ts"], packages: [] },
  { of: "transport/*.ts", may: ["protocol"], mayTypes: ["actors/messages/refs.ts"], packages: [] },
  { of: "storage/*", may: ["protocol", "collections", "storage/*.ts"], packages: ["*", "node:*"] },
  { of: "transport/*", may: ["protocol", "collections", "transport/*.ts"], packages: ["*", "node:*"] },
  // The subjects of what a request asks for: each may import those that are named, and what all of them share.
  serviceRow("*.ts", ["retrieval/receipts.ts"]),
  serviceRow("register"),
  serviceRow("authentication", ["register"]),
  serviceRow("money"),
  serviceRow("log", ["register"]),
  serviceRow("retrieval", ["register", "authentication", "money", "log"], ["ads"]),
  serviceRow("verification", ["register", "retrieval", "log"]),
  serviceRow("publishing", ["register", "retrieval"]),
  serviceRow("portal", ["register", "publishing", "retrieval"], ["ads"]),
  serviceRow("ads", ["register", "authentication", "retrieval", "publishing", "verification"]),
  {
    of: "cluster",
    may: ["protocol", "actors/messages", ...ports],
    mayTypes: ["actors/system/definition.ts", "actors/system/ports.ts"],
    packages: [],
  },
  { of: "verifier", may: ["protocol"], packages: [] },
  { of: "client", may: ["protocol", "verifier"], mayTypes: ["collections"], packages: ["*", "node:*"] },
  {
    of: "web",
    may: ["protocol"],
    packages: ["marked", "preact", "preact/*", "preact-render-to-string", "rolldown", "node:*"],
  },
  // What runs in the browser of a reader.
  { of: "api/pages/browser", may: ["protocol", "verifier", "web"], packages: ["preact"] },
  {
    of: "api",
    may: ["protocol", "collections", "service", "web"],
    mayTypes: ["crypto/port.ts"],
    packages: ["*", "node:*"],
  },
  {
    of: "ops",
    // What every surface answers in the same way, including answers that the platform would otherwise generate.
    may: [
      "protocol",
      "collections",
      "service",
      "web",
      "api/edge.ts",
      "api/one-at-a-time.ts",
      "api/open-api.ts",
      "api/http-server.ts",
      "api/body.ts",
      "api/request-parts.ts",
      "api/pages/docs.ts",
      "api/pages/docs-routes.ts",
      "api/examples.json",
    ],
    mayTypes: ["crypto/port.ts", "api/route.ts"],
    packages: ["*", "node:*"],
  },
  {
    of: "portal",
    // It is a surface like those for callers, of pages and forms.
    may: [
      "protocol",
      "actors/messages/members.ts",
      "service",
      "web",
      "api/body.ts",
      "api/edge.ts",
      "api/http-server.ts",
      "api/multipart.ts",
      "api/request-parts.ts",
      "api/route.ts",
    ],
    mayTypes: ["crypto/port.ts", "actors/messages"],
    packages: [
      "@simplewebauthn/*",
      "fastify",
      "negotiator",
      "preact",
      "preact/*",
      "node:crypto",
      "node:async_hooks",
    ],
  },
  {
    of: "mcp",
    may: ["protocol", "collections", "client", "verifier"],
    packages: ["@modelcontextprotocol/*", "negotiator", "node:*"],
  },
  { of: "node/composition", may: ["*"], butNot: ["sim", "node/doctor"], packages: ["*", "node:*"] },
  {
    of: "node/configuration",
    may: ["*"],
    butNot: [
      "sim",
      "node/composition",
      "node/keeping",
      "node/inspection",
      "node/keys",
      "node/images",
      ...programs,
    ],
    packages: ["*", "node:*"],
  },
  {
    of: "node/doctor",
    may: ["*"],
    butNot: ["sim", "node/inspection", "node/sandbox"],
    packages: ["*", "node:*"],
  },
  {
    of: "node/sandbox",
    may: ["*"],
    butNot: ["sim", "node/composition", "node/doctor"],
    packages: ["*", "node:*"],
  },
  {
    of: "node/*",
    may: ["*"],
    mayTypes: ["node/composition/capabilities.ts"],
    butNot: ["sim", "node/composition", ...programs],
    packages: ["*", "node:*"],
  },
  { of: "node", may: ["*"], butNot: ["sim"], packages: ["*", "node:*"] },
  {
    of: "cli",
    // What operators' commands read is described where the surface answers it.
    may: [
      "client",
      "verifier",
      "mcp",
      "node",
      "protocol/shape.ts",
      "ops/shapes.ts",
      "ops/inspection-shapes.ts",
      "crypto/durable-file.ts",
    ],
    packages: ["*", "node:*"],
  },
  {
    of: "sim",
    // Whose turn it is at a node is decided by surfaces and nodes; a storm in simulated time is decided by the same code.
    may: [
      "*",
      "crypto/port.ts",
      "api/edge.ts",
      "node/keeping/thread-turns.ts",
      "node/images/decoding-turns.ts",
    ],
    butNot: [...adapters, ...surfaces],
    packages: ["*", "node:*"],
  },
  { of: "bench", may: ["*"], packages: ["*", "node:*"] },
  { of: "tools", may: ["*"], packages: ["*", "node:*"] },
  { of: "vitest.config.ts", may: ["tools"], packages: ["vitest/config", "node:os"] },
];

/** Folders without a platform: they use neither `node:*` nor clocks, randomness or timers of their own. */
export const pureFolders: readonly string[] = [
  groundFloor,
  "protocol",
  "collections",
  "machines",
  "actors",
  "service",
  "cluster",
  "verifier",
  "storage/*.ts",
  "transport/*.ts",
  "crypto/port.ts",
];

/** Tests, and files that only tests may import. They may import anything themselves. */
export function isTestFile(path: string): boolean {
  return /\.(test|conformance|fixture)\.ts$/.test(path);
}

export function matchesAny(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchOf(path, pattern) !== null);
}

/** The part of `path` that the pattern names, which counts as «itself»; null when it does not match. */
function matchOf(path: string, pattern: string): string | null {
  if (pattern === "*" || pattern === path) return pattern;
  if (pattern.endsWith("/*.ts")) return posix.dirname(path) === posix.dirname(pattern) ? pattern : null;
  if (pattern.endsWith("/*")) {
    const [first, second, ...rest] = path.split("/");
    return `${first}/*` === pattern && rest.length > 0 ? `${first}/${second}` : null;
  }
  return path.startsWith(`${pattern}/`) ? pattern : null;
}

/** Entries of `table` that match no file or folder among `paths`, each as `row: pattern`. */
export function stalePatterns(
  paths: readonly string[],
  table: readonly ImportRow[] = importTable,
): readonly string[] {
  return table.flatMap(({ of, may, mayTypes = [], butNot = [] }) =>
    [of, ...may, ...mayTypes, ...butNot]
      .filter((pattern) => !paths.some((path) => matchOf(path, pattern) !== null))
      .map((pattern) => `${of}: ${pattern}`),
  );
}

/** The faults of a file's imports against its row of `table`. */
export function importFaults(file: SourceFile, table: readonly ImportRow[] = importTable): readonly Fault[] {
  if (isTestFile(file.path)) return [];
  const row = rowOf(file.path, table);
  if (row === null) return [fault(file, 1, "no row of the import table is about this file")];
  return file.imports.flatMap((each) => {
    const detail = each.specifier.startsWith(".")
      ? innerFault(file.path, row, each)
      : packageFault(row, each);
    return detail === null ? [] : [fault(file, each.line, detail)];
  });
}

/** The first row that names the file exactly, else the first that matches: the table goes from specific to general. */
function rowOf(path: string, table: readonly ImportRow[]): ImportRow | null {
  return table.find((row) => row.of === path) ?? table.find((row) => matchOf(path, row.of) !== null) ?? null;
}

function innerFault(path: string, row: ImportRow, each: SourceImport): string | null {
  const target = posix.join(posix.dirname(path), each.specifier);
  if (isTestFile(target)) return `imports ${target}, which is for tests only`;
  if (!/\.(ts|mjs|json)$/.test(target)) return `imports ${each.specifier} without its extension`;
  const itself = matchOf(path, row.of);
  if (itself !== null && matchOf(target, itself) !== null) return null;
  if (matchOf(target, groundFloor) !== null) return null;
  const allowed = each.typeOnly ? [...row.may, ...(row.mayTypes ?? [])] : row.may;
  // A pattern that names the file exactly takes precedence over an exception by folder.
  if (allowed.includes(target)) return null;
  if (matchesAny(target, allowed) && !matchesAny(target, row.butNot ?? [])) return null;
  return `${row.of} may not import ${target}`;
}

function packageFault(row: ImportRow, each: SourceImport): string | null {
  const platform = each.specifier.startsWith("node:");
  const allowed = row.packages.some((pattern) => {
    if (pattern === "*") return !platform;
    if (pattern === "node:*") return platform;
    if (pattern.endsWith("/*")) return each.specifier.startsWith(pattern.slice(0, -1));
    return each.specifier === pattern;
  });
  return allowed ? null : `${row.of} may not import ${each.specifier}`;
}

function fault(file: SourceFile, line: number, detail: string): Fault {
  return { rule: "imports", path: file.path, line, detail };
}
