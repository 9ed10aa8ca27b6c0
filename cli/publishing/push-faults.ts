// Prints the faults of many records by their cause.

import { ownIdOf, parseJsonText } from "../../client/record-set.ts";
import type { RecordFault } from "../../client/service-client.ts";
import { type FaultGroup, groupFaults } from "../../std/fault-groups.ts";
import { valueAt } from "../../std/json-pointer.ts";

export interface PlacedFaults {
  /** Line or item of the input; 0 where it is not known. */
  readonly place: number;
  readonly errors: readonly ShownFault[];
}

/** A fault with what the record has there, cut to a bounded length; null where it has nothing. */
export type ShownFault = RecordFault & { readonly value?: string | null };

const valueLengthMax = 120;

/** The business's own id of a record, and its faults with their values. */
export function shownFaults(
  bytes: Uint8Array,
  errors: readonly RecordFault[],
): { readonly id: string | null; readonly errors: readonly ShownFault[] } {
  const parsed = parseJsonText(new TextDecoder().decode(bytes));
  const record = parsed.ok ? parsed.value : null;
  return {
    id: ownIdOf(record),
    errors: errors.map((error) => ({ ...error, value: textAt(record, error.pointer) })),
  };
}

function textAt(record: unknown, pointer: string): string | null {
  const value = valueAt(record, pointer);
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > valueLengthMax ? `${text.slice(0, valueLengthMax - 1)}…` : text;
}

const placesShownMax = 8;
const groupsShownMax = 20;

/** Lines to print, the most frequent fault first. */
export function formatFaults(faults: readonly PlacedFaults[], placeName: "line" | "item"): readonly string[] {
  const sorted = groupFaults(faults);
  const lines = sorted.slice(0, groupsShownMax).flatMap((group) => groupLines(group, placeName));
  const hidden = sorted.length - groupsShownMax;
  return hidden > 0 ? [...lines, `and ${hidden} other kinds of fault`] : lines;
}

function groupLines(
  { code, where, detail, suggestion, value, places }: FaultGroup<number>,
  placeName: string,
): readonly string[] {
  const distinct = [...new Set(places)];
  const shown = distinct.slice(0, placesShownMax).join(", ");
  const more = distinct.length > placesShownMax ? ` and ${distinct.length - placesShownMax} more` : "";
  const plural = distinct.length === 1 ? "" : "s";
  const meant = suggestion === null || detail.includes(suggestion) ? "" : ` Did you mean ${suggestion}?`;
  return [
    `${code} at ${where === "" ? "the record" : where}: ${detail}${meant}`,
    `  ${placeName}${plural} ${shown}${more}${where === "" || value === null ? "" : `, such as ${JSON.stringify(value)}`}`,
  ];
}
