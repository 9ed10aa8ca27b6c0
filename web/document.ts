// The document around a page's content, and the headers with which it is sent. Content is a tree of Preact nodes, so text
// is always escaped: no page puts HTML together from strings.
//   WD1. A self-contained document loads nothing and runs nothing: its one style is allowed by its hash.
//   WD2. No page can be framed, sends a referrer, or is taken for another media type.

import { createHash } from "node:crypto";
import type { ComponentChildren } from "preact";
import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { documentStyle } from "./stylesheet.ts";

export interface Page {
  readonly title: string;
  /** A language tag (BCP 47). */
  readonly language: string;
  readonly content: ComponentChildren;
}

const everyPage = { "content-type": "text/html; charset=utf-8", "referrer-policy": "no-referrer" };
const nothingElse = "base-uri 'none'; frame-ancestors 'none'";

/** The headers of a self-contained document (WD1, WD2). */
export const selfContainedHeaders: Readonly<Record<string, string>> = Object.freeze({
  ...everyPage,
  "content-security-policy": `default-src 'none'; style-src 'sha256-${sha256(documentStyle)}'; form-action 'none'; ${nothingElse}`,
});

/** A document that needs nothing besides itself: it can be saved, sent and printed. */
export function selfContainedPage({ title, language, content }: Page): string {
  const body = h("body", null, h("main", null, h("h1", null, title), content));
  return documentOf({ title, language }, `<style>${documentStyle}</style>`, renderToString(body));
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
