import { parseTimestamp } from "../protocol/identifiers.ts";

/** Unix milliseconds of a timestamp that a document's format already checked. */
export function instantOf(timestamp: string): number {
  const instant = parseTimestamp(timestamp);
  if (instant === null) throw new RangeError(`Not a timestamp: ${timestamp}`);
  return instant;
}
