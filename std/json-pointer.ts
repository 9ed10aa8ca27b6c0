// JSON pointers (RFC 6901): the way in which a fault names the member that it concerns.

/** The pointer to a member of the value at `pointer`. */
export function joinPointer(pointer: string, name: string): string {
  return `${pointer}/${escapeToken(name)}`;
}

/** A name as one token of a pointer (RFC 6901 §3). Most names need no escaping, and those are not copied. */
export function escapeToken(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}

/** The value at a pointer; undefined where there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** Whether a parsed JSON value is an object as RFC 8259 §4 defines it: neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
