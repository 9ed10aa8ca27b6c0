import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemCodes } from "../../protocol/problem.ts";
import { lookUp, type SearchIndex } from "../../web/search-index.ts";
import { openSurfaces, type TestSurfaces } from "../surfaces.fixture.ts";
import { readProblemWords, readRemedies } from "./docs.ts";

let surfaces: TestSurfaces;
beforeAll(async () => {
  surfaces = await openSurfaces();
});
afterAll(async () => await surfaces[Symbol.asyncDispose]());

const get = (path: string, accept = "text/html", init: RequestInit = {}): Promise<Response> =>
  fetch(`${surfaces.retrievalUrl}${path}`, { ...init, headers: { accept, ...init.headers } });
const read = async (path: string, accept?: string): Promise<string> => (await get(path, accept)).text();
const docs = new URL("../../docs/", import.meta.url);

describe("a page", () => {
  it("is the same on every surface, at / as well", async () => {
    const { retrievalUrl, businessUrl, verifyUrl, toolsUrl } = surfaces;
    for (const url of [retrievalUrl, businessUrl, verifyUrl, toolsUrl])
      for (const path of ["/", "/docs"])
        expect(await (await fetch(`${url}${path}`, { headers: { accept: "text/html" } })).text()).toBe(
          await read("/docs"),
        );
  });

  it("loads nothing from elsewhere, and is held by its ETag", async () => {
    const answer = await get("/docs/choices");
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    const html = await answer.text();
    expect(html.match(/ (?:src|href)="(?!\/docs|#|https:\/\/)[^"]*"/g)).toBe(null);
    expect(html).not.toMatch(/<script|<style| style=| on[a-z]+=/);
    const etag = answer.headers.get("etag") ?? "";
    expect((await get("/docs/choices", "text/html", { headers: { "if-none-match": etag } })).status).toBe(
      304,
    );
    expect((await get("/docs/choices", "text/html", { method: "HEAD" })).status).toBe(200);
  });

  it("is Markdown for whoever prefers it, or under its own address", async () => {
    const text = await read("/docs/problems.md");
    expect(text).toMatch(/^# Problems\n/);
    expect(await read("/docs/problems", "text/markdown")).toBe(text);
    expect(await read("/docs/problems", "*/*")).toMatch(/^<!doctype html>/);
  });

  it("is not there: as a page, or as a problem", async () => {
    for (const path of [
      "/docs/nothing",
      "/docs/problems/nothing",
      "/docs/reference/retrieval/x",
      "/docs/choices/x",
    ]) {
      const page = await get(path);
      expect([page.status, await page.text()], path).toEqual([404, expect.stringContaining("no such page")]);
      const problem = await get(path, "*/*");
      expect([problem.status, await problem.json()]).toMatchObject([404, { code: "not_found" }]);
    }
    for (const path of ["/docs/schemas/..%2f..%2fpackage.json", "/docs/README"])
      expect((await get(path)).status, path).toBe(404);
    const posted = await get("/docs/choices", "*/*", { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("escapes what a text says, and shows HTML in it as it is written", async () => {
    const html = await read("/docs/reference/retrieval/get_v1_records_record_id");
    expect(html).toContain("<code>GET /v1/records/{record_id}</code>".slice(6, -7));
    expect(html).not.toMatch(/<script/);
  });
});

it("every guide is on the start page, and every link of every guide leads to a page and a heading", async () => {
  const start = await read("/docs");
  const guides = readdirSync(docs).filter((name) => name.endsWith(".md") && name !== "README.md");
  const missing = guides.filter((name) => !start.includes(`"/docs/${name.replace(/\.md$/, "")}"`));
  expect(missing).toEqual([]);
  const pages = new Map<string, string>();
  const page = async (path: string): Promise<string> => {
    const known = pages.get(path);
    if (known !== undefined) return known;
    const answer = await get(path);
    const text = answer.status === 200 ? await answer.text() : "";
    pages.set(path, text);
    return text;
  };
  const faults: string[] = [];
  const from = [
    "/docs",
    ...guides.map((name) => `/docs/${name.replace(/\.md$/, "")}`),
    "/docs/client",
    "/docs/vectors",
  ];
  for (const place of from)
    for (const [, href = ""] of (await page(place)).matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (href.startsWith("https://") || href.startsWith("http://")) continue;
      const { pathname, hash } = new URL(href, `http://x${place}`);
      const found = await page(pathname);
      const id = decodeURIComponent(hash.slice(1));
      if (found === "" || (id !== "" && !found.includes(` id="${id}"`))) faults.push(`${place}: ${href}`);
    }
  expect(faults).toEqual([]);
  expect(pages.size).toBeGreaterThan(40);
});

describe("problems", () => {
  it("each have one row in docs/problems.md, and a page that is made of it", async () => {
    const rows = readProblemWords(readFileSync(new URL("problems.md", docs), "utf8"));
    const codes = Object.entries(problemCodes).map(([code, { status }]) => `${status} ${code}`);
    expect(rows.map(({ status, code }) => `${status} ${code}`).toSorted()).toEqual(codes.toSorted());
    for (const { code, means, remedy } of rows) {
      const text = await read(`/docs/problems/${code}.md`);
      expect(text, code).toContain(problemCodes[code as keyof typeof problemCodes].title);
      expect(text.replaceAll("/docs/", "").replaceAll(/\]\([^)]*\)/g, "]"), code).toContain(
        remedy.replaceAll(/\]\([^)]*\)/g, "]"),
      );
      expect(means.length, code).toBeGreaterThan(15);
    }
  });

  it("and faults of records have a remedy in plain words", () => {
    const remedies = readRemedies(readFileSync(new URL("problems.md", docs), "utf8"));
    for (const code of [
      ...Object.keys(problemCodes),
      "value_invalid",
      "hold_expired",
      "display_domain_mismatch",
    ])
      expect(remedies.get(code), code).toMatch(/^(?!.*\]\()[^`|]{15,}$/);
  });

  it("lead from their type to that page, on the surface that refused", async () => {
    const { retrievalUrl, businessUrl, verifyUrl, toolsUrl } = surfaces;
    for (const url of [retrievalUrl, businessUrl, verifyUrl, toolsUrl]) {
      const refused = await fetch(`${url}/v1/nowhere`);
      const { type } = (await refused.json()) as { readonly type: string };
      const page = await fetch(new URL(type, refused.url), { headers: { accept: "text/html" } });
      expect([page.status, await page.text()]).toEqual([
        200,
        expect.stringContaining("Nothing was found here"),
      ]);
    }
  });
});

describe("the reference", () => {
  it("has every operation of the document, with its parameters, examples and problems", async () => {
    const document = JSON.parse(await read("/openapi.json")) as {
      readonly tags: readonly { readonly name: string }[];
      readonly paths: Readonly<
        Record<string, Readonly<Record<string, { operationId: string; tags: string[] }>>>
      >;
    };
    const list = await read("/docs/reference/retrieval");
    const operations = Object.values(document.paths).flatMap((each) => Object.values(each));
    expect(operations.length).toBeGreaterThan(40);
    const tags = new Set(document.tags.map(({ name }) => name));
    for (const { operationId, tags: own } of operations) {
      expect(list, operationId).toContain(`"/docs/reference/retrieval/${operationId}"`);
      expect(tags.has(own[0] ?? ""), operationId).toBe(true);
    }
    const search = await read("/docs/reference/retrieval/post_v1_products_search");
    for (const part of [
      "SVC-Sandbox-Key",
      "filter.all",
      "&quot;heirloom",
      "/docs/problems/sort_required",
      "svc-retrieval",
    ])
      expect(search, part).toContain(part);
  });

  it("has a JSON Schema of each body that is whole by itself", async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const schema = JSON.parse(await read("/docs/reference/retrieval/post_v1_search.json"));
    const judge = ajv.compile(schema);
    const question = {
      collection: "products",
      q: "a",
      filter: { all: [{ country: "IE" }] },
      sort_by: "_text_match:desc",
    };
    expect(judge(question)).toBe(true);
    expect(judge({ ...question, limit: 51 })).toBe(false);
    const { paths } = JSON.parse(await read("/openapi.json")) as {
      readonly paths: Readonly<
        Record<string, Readonly<Record<string, { operationId: string; requestBody?: object }>>>
      >;
    };
    for (const { operationId, requestBody } of Object.values(paths).flatMap((each) => Object.values(each)))
      if (requestBody !== undefined)
        ajv.compile(JSON.parse(await read(`/docs/reference/retrieval/${operationId}.json`)));
  });
});

it("llms.txt is the start page, and names texts that are there", async () => {
  const text = await read("/llms.txt", "*/*");
  expect(text).toMatch(/^# svc\n\n> A service .*\n\n## /);
  const links = [...text.matchAll(/\]\((\/docs\/[^)]+)\)/g)].map(([, href = ""]) => href);
  expect(links.length).toBeGreaterThan(20);
  for (const href of links)
    expect((await get(href, "*/*")).headers.get("content-type"), href).toMatch(/^text\/markdown/);
});

it("the index finds headings, codes and operations by the beginnings of their words", async () => {
  const index = JSON.parse(await read("/docs/search.json")) as SearchIndex;
  const first = (query: string): string | undefined => lookUp(index, query)[0]?.[0];
  expect(first("threat model")).toBe("/docs/hardening#threat-model");
  expect(first("nonce_reus")).toBe("/docs/problems/nonce_reused");
  expect(lookUp(index, "problem rate_limited").map(([href]) => href)).toContain(
    "/docs/problems/rate_limited",
  );
  expect(lookUp(index, "receipts own").map(([href]) => href)).toContain(
    "/docs/reference/retrieval/get_v1_receipts",
  );
  expect(lookUp(index, "the")).toEqual([]);
  expect(lookUp(index, "zzzz")).toEqual([]);
  const page = await read("/docs/search?q=anything");
  for (const [href] of index.entries) expect(page, href).toContain(`href="${href}"`);
  expect(JSON.stringify(index).length).toBeLessThan(300_000);
});
