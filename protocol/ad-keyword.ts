// Keywords of ads are compared whole: an ad matches a keyword that is the same text, whatever the case of its letters and the
// way in which its accents are encoded.

/** Two keywords are the same if this is. */
export function foldKeyword(keyword: string): string {
  return keyword.normalize("NFC").toLowerCase();
}
