// JSON pointers (RFC 6901): how a fault names the member it is about.

/** The pointer of a member of the place that `pointer` names. */
export function joinPointer(pointer: string, name: string): string {
  return `${pointer}/${escapeToken(name)}`;
}

/** A name as one token of a pointer (RFC 6901 §3). Most names need no escape, and those are not copied. */
export function escapeToken(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}
