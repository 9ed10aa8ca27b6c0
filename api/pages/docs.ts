// The documentation that every node serves: the Markdown of `docs/`, a page for each problem, and a reference of every surface.
//   DC1. A page is made when it is first asked for, and is the same bytes for all readers afterwards.
//   DC2. Only what is listed is read, so no address leads out of the folder.
//   DC3. A page loads nothing from elsewhere, and is whole without its script.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setImmediate as immediate } from "node:timers/promises";
import { type ComponentChild, type ComponentChildren, h } from "preact";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { type ProblemCode, problemCodes } from "../../protocol/problem.ts";
import { makeDocument, type PublicDocument } from "../../service/verification/published-reads.ts";
import { type Assets, assetAt, createAssets } from "../../web/assets.ts";
import { applicationPage } from "../../web/document.ts";
import { type Markdown, readMarkdown } from "../../web/markdown.ts";
import { indexOf, type Searched } from "../../web/search-index.ts";
import { english } from "../../web/texts/catalogue.ts";
import { type Reference, readReference } from "./reference.ts";

export type DocsFormat = "html" | "markdown";

export interface Docs {
  /** What is at a path below `/docs`, which is `""`, or `llms.txt`; null if there is nothing. */
  find(path: string, format: DocsFormat): Promise<PublicDocument | null>;
  /** The page that says so. */
  notFound(): Promise<string>;
  /** What `problems.md` says is to be done about a code of a problem or of a record's fault, as plain text; null where it says nothing. */
  remedyOf(code: string): string | null;
  /** Adds a surface to the reference: the last part of its address, and its OpenAPI document. */
  describe(surface: string, document: () => JsonObject): void;
}

export interface DocsOptions {
  /** The folder that has `docs`. */
  readonly root?: URL;
  readonly failed: (error: unknown) => void;
}

const texts = english.docs;
export const docsBase = "/docs";
const searchPath = "search";

/** Throws where the folder is not there. */
export function createDocs({ root = new URL("../../", import.meta.url), failed }: DocsOptions): Docs {
  const guides = listGuides(root);
  const surfaces = new Map<string, () => readonly Reference[]>();
  const made = new Map<string, Promise<PublicDocument | null>>();
  const assets = createAssets({
    entry: new URL("./browser/search.ts", import.meta.url),
    base: `${docsBase}/assets/`,
    failed,
  });
  let searched: Promise<readonly Searched[]> | null = null;
  const site: Site = {
    root,
    guides,
    surfaces,
    assets,
    searched: () => {
      searched ??= searchedOf(site).catch((error: unknown) => {
        searched = null;
        throw error;
      });
      return searched;
    },
  };
  const remedies = once(() => readRemedies(readFileSync(new URL("docs/problems.md", root), "utf8")));
  return {
    find: (path, format) => {
      const key = `${format} ${path}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const making = make(site, path, format);
      made.set(key, making);
      // What is not there, or could not be made, is not kept: a caller could name any number of addresses.
      const forget = (): void => void made.delete(key);
      making.then((found) => found === null && forget(), forget);
      return making;
    },
    notFound: async () => {
      const content = [
        h("p", null, texts.notFound.words),
        h("p", null, h("a", { href: docsBase }, texts.notFound.start)),
      ];
      return htmlOf(await assets(), { path: null, title: texts.notFound.title, content });
    },
    remedyOf: (code) => remedies().get(code) ?? null,
    describe: (surface, document) => {
      surfaces.set(
        surface,
        once(() => readReference(document(), `${docsBase}/reference/${surface}`)),
      );
    },
  };
}

interface Site {
  readonly root: URL;
  /** The file of each guide, relative to the root, by the last part of its address. */
  readonly guides: ReadonlyMap<string, string>;
  readonly surfaces: ReadonlyMap<string, () => readonly Reference[]>;
  readonly assets: () => Promise<Assets>;
  /** What the search finds, made once for all formats. */
  readonly searched: () => Promise<readonly Searched[]>;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const elsewhere = {
  client: "client/README.md",
  vectors: "vectors/README.md",
  verifier: "verifier/README.md",
};

function listGuides(root: URL): ReadonlyMap<string, string> {
  const names = readdirSync(new URL("docs/", root)).filter((name) => /^[a-z-]+\.md$/.test(name));
  return new Map([
    ...names.map((name) => [name.replace(/\.md$/, ""), `docs/${name}`] as const),
    ...Object.entries(elsewhere),
  ]);
}

async function make(site: Site, path: string, format: DocsFormat): Promise<PublicDocument | null> {
  if (path === "search.json") return json(indexOf(await site.searched()));
  if (path === "llms.txt") return text(startOf(site), "text/plain; charset=utf-8");
  if (path.startsWith("assets/")) return assetOf(await site.assets(), path);
  if (/^(?:schemas|inspector|pages|portal)\/[a-z0-9_-]+\.(?:json|png)$/.test(path)) return fileOf(site, path);
  const schema = schemaOf(site, path);
  if (schema !== null) return json(schema);
  if (path === searchPath && format === "html") return text(await searchPage(site), htmlType);
  const markdown = markdownOf(site, path.replace(/\.md$/, "").replace(/^index$/, ""));
  if (markdown === null) return null;
  if (format === "markdown" || path.endsWith(".md")) return text(markdown, "text/markdown; charset=utf-8");
  return text(guidePage(await site.assets(), path, markdown), htmlType);
}

const htmlType = "text/html; charset=utf-8";
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

function text(content: string, mediaType: string): PublicDocument {
  return makeDocument(content, { mediaType, maxAgeSeconds: 300 }, sha256);
}

function json(content: unknown): PublicDocument {
  return makeDocument(content, { maxAgeSeconds: 300 }, sha256);
}

const forEver = "public, max-age=31536000, immutable";

function assetOf(assets: Assets, path: string): PublicDocument | null {
  const asset = assetAt(assets, `${docsBase}/${path}`);
  if (asset === null) return null;
  const { body, mediaType } = asset;
  return { bytes: body, hash: path, mediaType, cacheControl: forEver };
}

/** A schema or a picture beside the guides (DC2). */
async function fileOf({ root }: Site, path: string): Promise<PublicDocument | null> {
  const bytes = await readFile(new URL(`docs/${path}`, root)).catch(() => null);
  if (bytes === null) return null;
  const mediaType = path.endsWith(".png") ? "image/png" : "application/schema+json";
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { bytes, hash, mediaType, cacheControl: "public, max-age=300" };
}

// What the pages say, as Markdown.

function markdownOf(site: Site, path: string): string | null {
  if (path === "") return startOf(site);
  const [first = "", second, third, more] = path.split("/");
  const file = site.guides.get(path);
  if (file !== undefined) return served(site, file);
  if (first === "problems" && second !== undefined && third === undefined) return problemText(site, second);
  if (first !== "reference" || more !== undefined) return null;
  if (second === undefined) return referenceStart(site);
  const operations = site.surfaces.get(second)?.();
  if (operations === undefined) return null;
  if (third === undefined) return surfaceText(second, operations);
  return operations.find(({ id }) => id === third)?.markdown ?? null;
}

/** The guides by role, in the form of llms.txt (https://llmstxt.org). */
function startOf(site: Site): string {
  return `${served(site, "docs/README.md")}- [Reference](${docsBase}/reference.md): every request and answer of every surface\n`;
}

/** A file of Markdown whose links lead to what is served; one to anything else is its text. */
function served({ root, guides }: Site, file: string): string {
  const places = new Map([...guides].map(([name, place]) => [place, `${docsBase}/${name}.md`]));
  const base = new URL(file, "file:///");
  return readFileSync(new URL(file, root), "utf8").replaceAll(
    /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g,
    (whole, picture: string, words: string, href: string) => {
      if (/^(?:https?:|#)/.test(href)) return whole;
      const { pathname, hash } = new URL(href, base);
      const place = places.get(pathname.slice(1));
      if (place !== undefined) return `[${words}](${place}${hash})`;
      if (/\.(?:png|json)$/.test(href) && pathname.startsWith("/docs/"))
        return `${picture}[${words}](${pathname})`;
      return words;
    },
  );
}

/** One row of the table in `docs/problems.md`. */
export interface ProblemWords {
  readonly status: string;
  readonly code: string;
  readonly means: string;
  readonly remedy: string;
}

/** The rows of the table of problems. */
export function readProblemWords(markdown: string): readonly ProblemWords[] {
  const rows = markdown.matchAll(/^\| (\d{3}) \| `([a-z_]+)` \| (.*) \| (.*) \|$/gm);
  return [...rows].map(([, status = "", code = "", means = "", remedy = ""]) => ({
    status,
    code,
    means,
    remedy,
  }));
}

/** What is to be done, by the code of a problem or of a record's fault, without the marks of Markdown. */
export function readRemedies(markdown: string): ReadonlyMap<string, string> {
  const ofRecords = markdown.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| (.*) \|$/gm);
  const rows = [
    ...[...ofRecords].flatMap(([, codes = "", remedy = ""]) =>
      [...codes.matchAll(/[a-z_]+/g)].map(([code]) => [code, remedy] as const),
    ),
    ...readProblemWords(markdown).map(({ code, remedy }) => [code, remedy] as const),
  ];
  const plain = (text: string) => text.replaceAll("`", "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return new Map(rows.map(([code, remedy]) => [code, plain(remedy)]));
}

function problemText(site: Site, code: string): string | null {
  const found = readProblemWords(served(site, "docs/problems.md")).find((each) => each.code === code);
  if (found === undefined || !Object.hasOwn(problemCodes, code)) return null;
  const { status, title } = problemCodes[code as ProblemCode];
  return [
    `# ${title}: \`${code}\``,
    `Answered with the status ${status}.`,
    `**What it means.** ${found.means}`,
    `**What to do.** ${found.remedy}`,
    `[All problems](${docsBase}/problems.md), and the members of a problem.`,
    "",
  ].join("\n\n");
}

function referenceStart({ surfaces }: Site): string {
  const list = [...surfaces.keys()].map((name) => `- [${titleOf(name)}](${docsBase}/reference/${name}.md)`);
  return `# Reference\n\nMade of the OpenAPI document that each surface answers at \`/openapi.json\`.\n\n${list.join("\n")}\n`;
}

function titleOf(surface: string): string {
  return `${surface.slice(0, 1).toUpperCase()}${surface.slice(1)}`;
}

function surfaceText(surface: string, operations: readonly Reference[]): string {
  const byTag = [...Map.groupBy(operations, ({ tag }) => tag)];
  const parts = byTag.map(([tag, each]) => {
    const lines = each.map(
      ({ id, name, summary }) => `- [\`${name}\`](${docsBase}/reference/${surface}/${id}.md): ${summary}`,
    );
    return `## ${tag}\n\n${lines.join("\n")}`;
  });
  return `# ${titleOf(surface)}\n\n${parts.join("\n\n")}\n`;
}

/** The JSON Schema of what an operation takes. */
function schemaOf({ surfaces }: Site, path: string): JsonObject | null {
  const [, surface = "", id] = /^reference\/([a-z]+)\/([a-z0-9_]+)\.json$/i.exec(path) ?? [];
  const operations = surfaces.get(surface)?.() ?? [];
  return operations.find((each) => each.id === id)?.schema ?? null;
}

// The pages.

function read(markdown: string): Markdown {
  return readMarkdown(markdown, {
    address: (href) => (href.startsWith(docsBase) ? href.replace(/(?:\/README)?\.md(?=#|$)/, "") : href),
    tableName: texts.table,
  });
}

function guidePage(assets: Assets, path: string, markdown: string): string {
  const { title, content, sections } = read(markdown);
  const parts = sections.filter(({ depth }) => depth === 2);
  const contents =
    parts.length < 4
      ? null
      : h(
          "nav",
          { "aria-label": texts.contents },
          h(
            "ul",
            { class: "contents" },
            parts.map(({ id, title: words }) => item(`#${id}`, words)),
          ),
        );
  const source = h("p", null, h("a", { href: `${docsBase}/${path || "index"}.md` }, texts.asMarkdown));
  return htmlOf({ ...assets, script: null }, { path, title, content: [contents, content, source] });
}

function item(href: string, words: string): ComponentChild {
  return h("li", null, h("a", { href }, words));
}

interface Shown {
  /** Null for a page that is not there. */
  readonly path: string | null;
  readonly title: string;
  readonly content: ComponentChildren;
}

function htmlOf(assets: Assets, { path, title, content }: Shown): string {
  const entry = (place: string, words: string): ComponentChild => {
    const isHere = path === place || (place !== "" && path?.startsWith(`${place}/`) === true);
    const href = place === "" ? docsBase : `${docsBase}/${place}`;
    return h("a", { href, ...(isHere ? { "aria-current": "page" as const } : {}) }, words);
  };
  const { navigation, search } = texts;
  const bar = h(
    "header",
    { class: "bar" },
    h("a", { class: "brand", href: docsBase }, texts.brand),
    h(
      "nav",
      { "aria-label": navigation.label },
      entry("", navigation.start),
      entry("reference", navigation.reference),
      entry("problems", navigation.problems),
    ),
    h(
      "form",
      { class: "row", role: "search", action: `${docsBase}/${searchPath}`, method: "get" },
      h("input", { type: "search", name: "q", maxLength: 200, "aria-label": search.label }),
      h("button", { type: "submit" }, search.button),
    ),
  );
  const main = h("main", { id: "content", tabIndex: -1 }, h("h1", null, title), content);
  const whole = h(
    "div",
    { class: "docs" },
    h("a", { class: "skip", href: "#content" }, texts.skip),
    bar,
    main,
  );
  return applicationPage(
    { title: `${title} – ${texts.brand}`, language: english.language, content: whole },
    assets,
  );
}

// The search: an index of words that a script looks up. Without it the page is a list of all headings.

async function searchedOf(site: Site): Promise<readonly Searched[]> {
  const all: Searched[] = [];
  // Others have their turn between two surfaces, and between two pages.
  for (const operations of site.surfaces.values()) {
    await immediate();
    operations();
  }
  for (const path of allPaths(site)) {
    await immediate();
    const isReference = path.startsWith("reference/");
    const markdown = markdownOf(site, path) ?? "";
    // Nobody looks for what an example has in it, nor for what every request can be refused by.
    const shown = isReference ? markdown.replaceAll(/^(?: {4}|- \d{3}:).*$/gm, "") : markdown;
    const { title: page, sections } = read(shown);
    const place = `${docsBase}${path === "" ? "" : `/${path}`}`;
    if (isReference) {
      // Its parts have the same names on every page.
      all.push({ href: place, title: page, text: sections.map(({ text: words }) => words).join(" ") });
      continue;
    }
    for (const { id, title, text: words } of sections)
      all.push({
        href: id === "" ? place : `${place}#${id}`,
        title: id === "" ? page : `${page}: ${title}`,
        text: words,
      });
  }
  return all;
}

function allPaths({ guides, surfaces }: Site): readonly string[] {
  const reference = [...surfaces].flatMap(([name, operations]) => [
    `reference/${name}`,
    ...operations().map(({ id }) => `reference/${name}/${id}`),
  ]);
  const problems = Object.keys(problemCodes).map((code) => `problems/${code}`);
  return ["", ...guides.keys(), ...problems, "reference", ...reference];
}

async function searchPage(site: Site): Promise<string> {
  const { search } = texts;
  const list = (await site.searched()).map(({ href, title }) => item(href, title));
  const said = {
    id: "said",
    role: "status",
    "data-found": search.found,
    "data-none": search.none,
    "data-failed": search.failed,
  };
  const content = [
    h("p", said, search.words),
    h("ul", { id: "found", "data-index": `${docsBase}/search.json` }, list),
  ];
  return htmlOf(await site.assets(), { path: searchPath, title: search.title, content });
}
