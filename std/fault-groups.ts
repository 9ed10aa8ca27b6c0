// Groups the faults of many records by their cause: the same mistake usually is in all of them.

/** A fault in the form in which records and batches are refused; `pointer` is absent where it is about no member. */
export interface GroupedFault {
  readonly code: string;
  readonly pointer?: string;
  readonly detail: string;
  readonly suggestion?: string;
  /** What the record has there. */
  readonly value?: string | null;
}

export interface FaultGroup<P> {
  readonly code: string;
  /** JSON pointer with `*` in place of every index; empty for a record or batch as a whole. */
  readonly where: string;
  readonly detail: string;
  readonly suggestion: string | null;
  /** The first value of the group. */
  readonly value: string | null;
  readonly places: readonly P[];
}

/** The groups, the most frequent first. */
export function groupFaults<P>(
  faults: readonly { readonly place: P; readonly errors: readonly GroupedFault[] }[],
): readonly FaultGroup<P>[] {
  const groups = new Map<string, FaultGroup<P> & { readonly places: P[] }>();
  for (const { place, errors } of faults) {
    for (const { code, pointer = "", detail, suggestion = null, value = null } of errors) {
      const where = pointer.replaceAll(/\/[0-9]+(?=\/|$)/g, "/*");
      // Different wrong names may be meant differently.
      const key = `${code} ${where} ${suggestion}`;
      const group = groups.get(key) ?? { code, where, detail, suggestion, value, places: [] };
      group.places.push(place);
      groups.set(key, group);
    }
  }
  return [...groups.values()].sort((a, b) => b.places.length - a.places.length);
}
