import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { noInspection, openOps } from "../ops.fixture.ts";

const server = openOps({
  inspection: {
    ...noInspection,
    nodes: async () => [],
  },
});
const get = async (url: string) => server.inject({ url, headers: { host: "localhost:80" } });

describe("the operators' pages", () => {
  it("are found from the root of the surface", async () => {
    const answer = await get("/");
    expect([answer.statusCode, answer.headers.location]).toEqual([302, "/ui/"]);
  });

  it("have a policy without anything inline, and with Trusted Types", async () => {
    const answer = await get("/ui/");
    expect(answer.statusCode).toBe(200);
    const policy = String(answer.headers["content-security-policy"]);
    expect(policy.split("; ").sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
    expect(answer.body).not.toMatch(
      /<style| style=| on[a-z]+="|<script(?! type="module" src="\/ui\/assets\/)/,
    );
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("OP2: load assets whose address has the hash of their content", async () => {
    const { body } = await get("/ui/");
    const found = [...body.matchAll(/"(\/ui\/assets\/[a-z]+\.([0-9a-f]{16})\.(?:css|js|svg))"/g)];
    expect(found).toHaveLength(3);
    for (const [, path = "", hash = ""] of found) {
      const asset = await get(path);
      expect(asset.headers["cache-control"]).toContain("immutable");
      expect(createHash("sha256").update(asset.rawPayload).digest("hex").slice(0, 16)).toBe(hash);
    }
    expect((await get("/ui/assets/app.0000000000000000.js")).statusCode).toBe(404);
  });

  it("OP1: say what is not there, with the status of the API", async () => {
    const answer = await get("/ui/actors/push/nobody");
    expect(answer.statusCode).toBe(404);
    expect(answer.headers["content-type"]).toContain("text/html");
    expect(answer.body).toContain("No actor of this kind and id was ever claimed.");
  });

  it("write what somebody searches for as text, in the title as well", async () => {
    const { body } = await get(`/ui/search?q=${encodeURIComponent('</title><script>alert(1)</script>"')}`);
    expect(body).not.toContain("<script>");
    expect(body.match(/&lt;script>alert/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it("lead a browser that may not read to where one signs in, from another machine", async () => {
    const hosts = ["localhost:80"];
    const far = openOps({ access: { hosts, token: "t".repeat(40), isLoopback: false } });
    const ask = (url: string) => far.inject({ url, headers: { host: "localhost:80" } });
    const answer = await ask("/ui/actors?kind=push");
    expect(answer.statusCode).toBe(303);
    const next = encodeURIComponent("/ui/actors?kind=push");
    expect(answer.headers.location).toBe(`/ui/sign-in?next=${next}`);
    const page = await ask(String(answer.headers.location));
    expect(page.statusCode).toBe(200);
    const [, style = ""] = /href="(\/ui\/assets\/style[^"]+)"/.exec(page.body) ?? [];
    expect((await ask(style)).statusCode).toBe(200);
    for (const closed of ["/ops/nodes", "/ops/live/counts", "/metrics"])
      expect((await ask(closed)).statusCode, closed).toBe(401);
  });

  it("lead to their own pages alone after signing in", async () => {
    for (const next of [
      "https://elsewhere.example/",
      "//elsewhere.example/",
      "/ui/\\elsewhere",
      "/ops/session",
    ]) {
      const { body } = await get(`/ui/sign-in?next=${encodeURIComponent(next)}`);
      expect(body).toContain("&quot;next&quot;:&quot;/ui/&quot;");
    }
    expect((await get("/ui/sign-in?next=%2Fui%2Factors")).body).toContain(
      "&quot;next&quot;:&quot;/ui/actors&quot;",
    );
  });
});
