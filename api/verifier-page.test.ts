// GET /verify: the page, what it loads, and what it may do (api/pages/verifier-page.ts). What its script says is seen in a real browser
// (stories/verification/verify-page-in-browser.full.test.ts).

import { afterAll, beforeAll, expect, it } from "vitest";
import { sendRaw } from "./raw-request.fixture.ts";
import { openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
beforeAll(async () => {
  surfaces = await openSurfaces();
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const compressedMax = 100_000;

it("is a page that loads its own script, submits nothing and has the anchors of the deployment", async () => {
  for (const url of [surfaces.verifyUrl, surfaces.retrievalUrl]) {
    const answer = await fetch(`${url}/verify`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    const html = await answer.text();
    expect(html).not.toMatch(
      /<form|<style| style=| on[a-z]+=|<script(?! type="module" src="\/verify\/assets\/)/,
    );
    for (const { key_id } of surfaces.services.anchors.roots) expect(html).toContain(key_id);
    expect(html).toContain("Sandbox");
    const etag = answer.headers.get("etag") ?? "";
    expect((await fetch(`${url}/verify`, { headers: { "if-none-match": etag } })).status).toBe(304);
  }
});

it("takes no query, so that nothing of a file can be in its address", async () => {
  const answer = await fetch(`${surfaces.verifyUrl}/verify?text=x`);
  expect([answer.status, await answer.json()]).toMatchObject([400, { code: "request_invalid" }]);
});

it("loads no more than its row allows, compressed where the browser takes that", async () => {
  const html = await (await fetch(`${surfaces.verifyUrl}/verify`)).text();
  const paths = [...html.matchAll(/(?:src|href)="(\/verify\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(paths.map((path) => /[a-z]+$/.exec(path)?.[0])).toEqual(["css", "svg", "js"]);
  for (const path of paths) {
    const answer = await fetch(`${surfaces.verifyUrl}${path}`, {
      headers: { "accept-encoding": "identity" },
    });
    expect([answer.status, answer.headers.get("content-encoding")]).toEqual([200, null]);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    if (!path.endsWith(".js")) continue;
    const request = `GET ${path} HTTP/1.1\r\nhost: ${new URL(surfaces.verifyUrl).host}\r\naccept-encoding: gzip, br\r\n`;
    const packed = await sendRaw(surfaces.verifyUrl, `${request}connection: close\r\n\r\n`);
    expect(packed.headers["content-encoding"]).toBe("br");
    expect(Number(packed.headers["content-length"])).toBeLessThanOrEqual(compressedMax);
  }
});

it("has no other assets", async () => {
  const answer = await fetch(`${surfaces.verifyUrl}/verify/assets/app.0000000000000000.js`);
  expect([answer.status, await answer.json()]).toMatchObject([404, { code: "not_found" }]);
});
