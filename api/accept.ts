// What a caller accepts (RFC 9110 §12.5.1), where there is a page for a person beside the JSON for a machine.

/** Media range with its parameters; a comma inside a quoted string does not end it. An open quote ends with the header. */
const element = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const parameter = /;\s*([^\s;=]+)\s*=\s*("(?:[^"\\]|\\.)*"?|[^\s;]*)/g;
/** RFC 9110 §12.4.2. */
const qvalue = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * Whether a page is wanted rather than JSON: who names text/html and does not prefer JSON to it, as browsers do. What
 * takes anything gets JSON, and so does who accepts neither.
 */
export function prefersHtml(accept: string): boolean {
  const ranges = qualities(accept);
  const html = qualityOf("text", "html", ranges);
  const json = qualityOf("application", "json", ranges);
  return html > 0 && (html > json || (html === json && ranges.has("text/html")));
}

/** Qualities by media range, lower case; a range whose q is none is not taken, and of a repeated one the last is. */
function qualities(accept: string): ReadonlyMap<string, number> {
  const ranges = new Map<string, number>();
  for (const [text] of accept.matchAll(element)) {
    const range = (text.split(";", 1)[0] as string).trim().toLowerCase();
    let quality = "1";
    for (const [, name, value] of text.matchAll(parameter)) {
      if (name?.toLowerCase() === "q") quality = value ?? "";
    }
    if (qvalue.test(quality)) ranges.set(range, Number(quality));
  }
  return ranges;
}

/** Of the most exact range that has the media type; 0, not acceptable, where none has it. */
function qualityOf(type: string, subtype: string, ranges: ReadonlyMap<string, number>): number {
  return ranges.get(`${type}/${subtype}`) ?? ranges.get(`${type}/*`) ?? ranges.get("*/*") ?? 0;
}
