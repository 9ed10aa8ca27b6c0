import { expect, it } from "vitest";
import { prefersHtml } from "./accept.ts";

it.each([
  "text/html",
  "TEXT/HTML; charset=utf-8",
  // Chromium, Firefox and Safari.
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "text/html,*/*",
  "application/json;q=0.5, text/html;q=0.6",
  "application/json, text/html",
  "text/*",
  "text/html;q=0.001",
  'text/html;note="a,b;q=0";q=1',
])("answers a page to %s", (accept) => {
  expect(prefersHtml(accept)).toBe(true);
});

it.each([
  "",
  "*/*",
  "application/json",
  "text/html;q=0",
  "text/html; Q=0.000, */*",
  "text/*, text/html;q=0",
  "text/html;q=0.5, application/json",
  "text/html;q=0.5, */*;q=0.8",
  // No q of RFC 9110: the range says nothing.
  "text/html;q=2",
  "text/html;q=",
  "text/htmlx, xtext/html",
  'application/x;note="text/html,text/html"',
])("answers JSON to %s", (accept) => {
  expect(prefersHtml(accept)).toBe(false);
});

it("bears a quote that is never closed", () => {
  expect(prefersHtml(`text/html;note="${'\\"'.repeat(100_000)}`)).toBe(true);
  expect(prefersHtml(`text/html;q="${'\\",'.repeat(100_000)}`)).toBe(false);
});
