// What a caller accepts (RFC 9110 §12.5.1), where there is a page for a person beside the JSON for a machine.

import Negotiator from "negotiator";

const json = "application/json";
const html = "text/html; charset=utf-8";

/**
 * Whether a page is wanted rather than JSON: who prefers text/html, as browsers do, or names it first of the two. What
 * takes anything gets JSON, and so does who accepts neither.
 */
export function prefersHtml(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, html]) === html;
}
