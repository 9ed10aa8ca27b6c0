// Content negotiation (RFC 9110 §12.5.1), for addresses that offer something else besides one JSON document: a page for
// people, or one document per line.

import Negotiator from "negotiator";

const json = "application/json";
const lines = "application/x-ndjson";
const html = "text/html; charset=utf-8";

/**
 * Whether a page is wanted rather than JSON: the caller prefers text/html, as browsers do, or names it first of the two.
 * A caller that accepts anything gets JSON, and so does one that accepts neither.
 */
export function prefersHtml(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, html]) === html;
}

/** Whether one JSON document per line is wanted; a caller that accepts anything gets a single document. */
export function prefersLines(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, lines]) === lines;
}
