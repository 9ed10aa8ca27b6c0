/** Whether a parsed JSON value is an object as RFC 8259 §4 defines it: neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
