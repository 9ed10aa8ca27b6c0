// Pages for people: self-contained, without script. Text that is not ours is always escaped.
//   G1. A page is understood without colour: what colour says is also said in words.
//   G2. It is read in light and dark, on a narrow screen, enlarged and printed; a printed page names the addresses of its links.

import { toBase64, utf8 } from "../protocol/bytes.ts";
import { sha256 } from "../protocol/hash.ts";

const light =
  "--ink:#1b1b1f;--quiet:#55565c;--paper:#fff;--line:#d9d9de;--link:#0b4fb3;" +
  "--good:#0a5c33;--good-paper:#e8f6ee;--warn:#654a00;--warn-paper:#fff5dc;--bad:#8f1717;--bad-paper:#fdecec";
const dark =
  "--ink:#ececf0;--quiet:#b6b7bf;--paper:#16161a;--line:#3a3a42;--link:#9cc2ff;" +
  "--good:#86e3ad;--good-paper:#10291c;--warn:#f3cf76;--warn-paper:#2d2408;--bad:#ffa3a3;--bad-paper:#331315";

const style = [
  `:root{color-scheme:light dark;${light}}`,
  `@media (prefers-color-scheme:dark){:root{${dark}}}`,
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1.5rem 1rem 3rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}",
  "h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.5rem 0}",
  "a{color:var(--link)}a:focus-visible{outline:3px solid var(--link);outline-offset:2px}",
  ".verdict{border-inline-start:.4rem solid;border-radius:.25rem;padding:.75rem 1rem;margin:1rem 0}.verdict strong{display:block;font-size:1.15rem}",
  ...["good", "warn", "bad"].map((tone) => `.${tone}{color:var(--${tone});background:var(--${tone}-paper)}`),
  "dl{margin:0}dl>div{display:grid;grid-template-columns:11rem 1fr;gap:0 1rem;padding:.4rem 0;border-bottom:1px solid var(--line)}dt{color:var(--quiet)}dd{margin:0}",
  "code{font-family:ui-monospace,monospace;font-size:.9em}",
  "@media (max-width:32rem){dl>div{grid-template-columns:1fr}h1{font-size:1.35rem}}",
  `@media print{:root{${light}}body{max-width:none;padding:0;font-size:10pt}.verdict{border:1pt solid}h2,dl>div{break-inside:avoid}h2{break-after:avoid}a[href]::after{content:" (" attr(href) ")";font-size:.85em}}`,
].join("");

/** Headers of every page: it runs nothing, loads nothing, cannot be framed, and sends no referrer. */
export const pageHeaders: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${toBase64(sha256(utf8(style)))}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
});

/** Text that is HTML already. */
export interface Html {
  readonly html: string;
}

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
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">` +
    `<title>${name}</title><style>${style}</style></head><body><main><h1>${name}</h1>${blocks.join("")}</main></body></html>`
  );
}

/** The answer at a glance; the tone repeats what the words say (G1). */
export function verdict(tone: "good" | "warn" | "bad", heading: string, sentence: string): string {
  return `<div class="verdict ${tone}"><strong>${escapeHtml(heading)}</strong>${escapeHtml(sentence)}</div>`;
}

/** Names with what they are, one below another. */
export function table(rows: readonly (readonly [name: string, value: string | Html])[]): string {
  const facts = rows.map(
    ([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${htmlOf(value)}</dd></div>`,
  );
  return `<dl>${facts.join("")}</dl>`;
}

export function link(href: string, text: string): Html {
  return { html: `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>` };
}

/** An identifier or a hash. */
export function code(text: string): Html {
  return { html: `<code>${escapeHtml(text)}</code>` };
}

const instant = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "medium", timeZone: "UTC" });

/** An instant of the wire format, as people read it; null is said in words. */
export function time(timestamp: string | null, otherwise = "–"): Html {
  if (timestamp === null) return { html: escapeHtml(otherwise) };
  const words = `${instant.format(new Date(timestamp))} UTC`;
  return { html: `<time datetime="${escapeHtml(timestamp)}">${escapeHtml(words)}</time>` };
}

function htmlOf(value: string | Html): string {
  return typeof value === "string" ? escapeHtml(value) : value.html;
}
