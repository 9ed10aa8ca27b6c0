// Content negotiation (RFC 9110 §12.5.1), for addresses that offer a page for people besides the JSON for machines.

import Negotiator from "negotiator";

const json = "application/json";
const html = "text/html; charset=utf-8";

/**
 * Whether a page is wanted rather than JSON: the caller prefers text/html, as browsers do, or names it first of the two.
 * A caller that accepts anything gets JSON, and so does one that accepts neither.
 */
export function prefersHtml(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, html]) === html;
}
