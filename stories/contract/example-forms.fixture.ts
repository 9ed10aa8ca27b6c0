// What differs between two runs of a node in its answers, for the examples.

const forms: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, "<time>"],
  [/\d{4}-\d{2}-\d{2}/g, "<day>"],
  [/T?\d{2}%3A\d{2}%3A\d{2}\.\d{3}Z/g, "<time of day>"],
  [/sha256(:|%3A)[0-9a-f]{64}/g, "<hash>"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>"],
  [/(svc|bf|evt|job|upd|ad|aip)_[a-z2-7]{26}/g, "<record id>"],
  [/bat_[0-9a-f]{24}/g, "<push id>"],
  [/(\d+-ret|ret|event)_[0-9a-f]{32}/g, "<retrieval id>"],
  [/ref_[0-9a-f]{24}/g, "<refusal id>"],
  [/bup_[0-9a-f]{24}/g, "<upload id>"],
  [/(svc\/log)\n\d+/g, "$1\n<size>"],
  [/http:\/\/(?:127\.0\.0\.1|localhost):\d+/g, "<host>"],
  [/[A-Za-z0-9+/_-]{40,}={0,2}/g, "<bytes>"],
];

/** What may differ between runs, compared by its form alone. */
export function formOf(value: unknown, name = ""): unknown {
  if (typeof value === "string")
    return forms.reduce((text, [pattern, form]) => text.replaceAll(pattern, form), value);
  if (typeof value === "number") return volatileNumbers.has(name) || value > 1e9 ? "<number>" : value;
  if (Array.isArray(value)) return value.map((each) => formOf(each));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      String(formOf(key)),
      volatileMembers.has(key) || isOfSamples(key, each) ? `<${key}>` : formOf(each, key),
    ]),
  );
}
/** Rows of a node's samples; the order among equal ones is random. */
function isOfSamples(key: string, rows: unknown): boolean {
  return key === "rows" && Array.isArray(rows) && rows.some((row) => row.type !== "products");
}

const volatileNumbers = new Set([
  "epoch",
  "head",
  "change",
  "seq",
  "next_after",
  "leaf_index",
  "tree_size",
  "to_size",
]);
/** Names that depend on chance or on the hour, and actor fields that depend on what came first. */
const volatileMembers = new Set([
  "retrieval_id",
  "grant",
  "mandate_id",
  "context",
  "lastEvents",
  "outbox",
  "state",
  "proof",
]);

/** The number of list items, and of lines of a text, that are shown. */
export const shownMax = 2;
/** A longer word is cut to this many characters, so that base64 stays base64. */
const wordMax = 1_024;
const cutWord = 64;

/** Lists are cut, except those whose items belong together. */
export function shortened(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) {
    const whole = name === "signatures" || name === "proof" || name === "required";
    return (whole ? value : value.slice(0, shownMax)).map((each) => shortened(each));
  }
  if (typeof value === "string") return value.length > wordMax ? value.slice(0, cutWord) : value;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each, key)]));
}
