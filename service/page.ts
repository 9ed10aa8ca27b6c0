// Pages for people: self-contained, without script. Text that is not ours is always escaped.

import { toBase64, utf8 } from "../protocol/bytes.ts";
import { sha256 } from "../protocol/hash.ts";

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}" +
  "table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;overflow-wrap:anywhere}" +
  "th{width:12rem;font-weight:600}";

/** Headers of every page: it runs nothing, loads nothing, cannot be framed, and sends no referrer. */
export const pageHeaders: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${toBase64(sha256(utf8(style)))}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
});

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** A document of blocks that are already HTML. */
export function page(title: string, blocks: readonly string[]): string {
  const name = escapeHtml(title);
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${name}</title><style>${style}</style></head><body><h1>${name}</h1>${blocks.join("")}</body></html>`
  );
}

export function table(rows: readonly (readonly [name: string, value: string])[]): string {
  const cells = rows.map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return `<table>${cells.join("")}</table>`;
}
