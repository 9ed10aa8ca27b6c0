import fc from "fast-check";
import { expect, it } from "vitest";
import { prefersHtml } from "./request-parts.ts";

it.each([
  "text/html",
  "TEXT/HTML; charset=utf-8",
  // The Accept headers of Chromium, Firefox and Safari.
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "text/html,*/*",
  "application/json;q=0.5, text/html;q=0.6",
  "text/html, application/json",
  "*/*, text/html",
  "text/*",
  "text/html;q=0.001",
])("answers a page to %s", (accept) => {
  expect(prefersHtml(accept)).toBe(true);
});

it.each([
  "",
  "*/*",
  "application/json",
  // Both are preferred equally, so the caller's order decides.
  "application/json, text/html",
  "text/html;q=0",
  "text/html; Q=0.000, */*",
  "text/*, text/html;q=0",
  "text/html;q=0.5, application/json",
  "text/html;q=0.5, */*;q=0.8",
  // No page has that parameter.
  'text/html;note="a,b;q=1"',
  "text/htmlx, xtext/html",
  'application/x;note="text/html,text/html"',
])("answers JSON to %s", (accept) => {
  expect(prefersHtml(accept)).toBe(false);
});

it("bears a quote that is never closed", () => {
  expect(prefersHtml(`application/x;note="${'\\"'.repeat(100_000)}, text/html`)).toBe(false);
  expect(prefersHtml(`text/html;q="${'\\",'.repeat(100_000)}`)).toBe(true);
});

it("answers something to whatever a header may hold", () => {
  const word = fc.constantFrom(
    "text/html",
    "application/json",
    "*/*",
    ",",
    ";",
    "q=",
    "0.5",
    '"',
    "\\",
    "=",
    " ",
    "\t",
  );
  const header = fc.array(fc.oneof(word, fc.string({ maxLength: 3 })), { maxLength: 30 });
  fc.assert(
    fc.property(header, (parts) => {
      expect(prefersHtml(parts.join(""))).toBeTypeOf("boolean");
    }),
  );
});
