import { parseTimestamp } from "../protocol/identifiers.ts";

/** The Unix milliseconds of a timestamp whose format has already been checked. */
export function instantOf(timestamp: string): number {
  const instant = parseTimestamp(timestamp);
  if (instant === null) throw new RangeError(`Not a timestamp: ${timestamp}`);
  return instant;
}
