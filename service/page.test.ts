import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { page, pageHeaders } from "./page.ts";

it("a page allows its own style and nothing else", () => {
  const html = page("<b>", ["<p>x</p>"]);
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
  const hash = createHash("sha256").update(style).digest("base64");
  const policy = pageHeaders["content-security-policy"] ?? "";
  expect(policy.split("; ").sort()).toEqual(
    [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].sort(),
  );
  expect(html).not.toMatch(/<script| style=| on[a-z]+=/);
  expect(pageHeaders["referrer-policy"]).toBe("no-referrer");
});
