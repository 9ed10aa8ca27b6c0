// The stylesheet of all pages: tokens first, then what a document needs.

import { readFileSync } from "node:fs";

function sheet(name: string): string {
  const text = readFileSync(new URL(`./style/${name}.css`, import.meta.url), "utf8");
  return text.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/\s*\n\s*/g, "");
}

/** For a page that is one column of text. */
export const documentStyle: string = sheet("tokens") + sheet("document");

/** For pages that are worked with: wide, dense, and live. */
export const applicationStyle: string = documentStyle + sheet("application");
