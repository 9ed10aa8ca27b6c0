import { createHash } from "node:crypto";
import { h } from "preact";
import { expect, it } from "vitest";
import { selfContainedHeaders, selfContainedPage } from "./document.ts";
import { paragraph } from "./parts.ts";

const page = (title: string, text: string) =>
  selfContainedPage({ title, language: "en", content: paragraph(text) });

it("WD1: a self-contained page allows its own style and nothing else", () => {
  const html = page("<b>", "x");
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
  const hash = createHash("sha256").update(style).digest("base64");
  const policy = selfContainedHeaders["content-security-policy"] ?? "";
  expect(style).toContain("--ink");
  expect(policy.split("; ").sort()).toEqual(
    [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].sort(),
  );
  expect(html).not.toMatch(/<script| style=| on[a-z]+=|url\(|@import/);
  expect(selfContainedHeaders["referrer-policy"]).toBe("no-referrer");
});

it("a text is never HTML, wherever it stands", () => {
  const hostile = `</title><script>alert("1")</script>&`;
  const html = selfContainedPage({
    title: hostile,
    language: "en",
    content: h("a", { href: hostile, title: hostile }, hostile),
  });
  expect(html).not.toContain("<script");
  expect(html.match(/&lt;script>/g)).toHaveLength(5);
});
