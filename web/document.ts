// The document around a page's content, and the headers with which it is sent. Content is a tree of Preact nodes, so text
// is always escaped: no page puts HTML together from strings.
//   WD1. A self-contained document loads nothing and runs nothing: its one style is allowed by its hash.
//   WD2. An application's document loads its own script and style and talks to its own host; no text becomes a script (Trusted Types).
//   WD3. No page can be framed, sends a referrer, or is taken for another media type.

import { createHash } from "node:crypto";
import { type ComponentChildren, Fragment, h } from "preact";
import { renderToString } from "preact-render-to-string";
import { type Assets, documentStyle } from "./assets.ts";

export interface Page {
  readonly title: string;
  /** A language tag (BCP 47). */
  readonly language: string;
  readonly content: ComponentChildren;
  /** What a reader has to know before everything else. */
  readonly mark?: ComponentChildren;
}

const everyPage = { "content-type": "text/html; charset=utf-8", "referrer-policy": "no-referrer" };
const nothingElse = "base-uri 'none'; frame-ancestors 'none'";

/** The headers of a self-contained document (WD1, WD3). */
export const selfContainedHeaders: Readonly<Record<string, string>> = Object.freeze({
  ...everyPage,
  "content-security-policy": `default-src 'none'; style-src 'sha256-${sha256(documentStyle)}'; form-action 'none'; ${nothingElse}`,
});

/** A document that needs nothing besides itself: it can be saved, sent and printed. */
export function selfContainedPage({ title, language, content, mark }: Page): string {
  const body = h("body", null, h("main", null, mark, h("h1", null, title), content));
  return documentOf({ title, language }, `<style>${documentStyle}</style>`, renderToString(body));
}

/** The headers of an application's document (WD2, WD3). */
export const applicationHeaders: Readonly<Record<string, string>> = Object.freeze({
  ...everyPage,
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; " +
    `require-trusted-types-for 'script'; trusted-types 'none'; ${nothingElse}`,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
});

/** The body is `content` alone: an application has a frame of its own around it. */
export function applicationPage(page: Page, { style, icon, script }: Assets): string {
  const loaded = [
    h("link", { rel: "stylesheet", href: style.path }),
    h("link", { rel: "icon", href: icon.path }),
    script === null ? null : h("script", { type: "module", src: script.path }),
  ];
  const head = renderToString(h(Fragment, null, loaded));
  return documentOf(page, head, renderToString(h("body", { class: "application" }, page.content)));
}

/** `head` and `body` are HTML. */
function documentOf(
  { title, language }: Pick<Page, "title" | "language">,
  head: string,
  body: string,
): string {
  const meta = renderToString(h("meta", { name: "viewport", content: "width=device-width,initial-scale=1" }));
  return (
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">${meta}` +
    `${renderToString(h("title", null, title))}${head}</head>${body}</html>`
  );
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
