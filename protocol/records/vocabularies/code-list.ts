/** A controlled vocabulary: the only values allowed in the fields that name it. */
export interface CodeList {
  readonly name: string;
  /** Counts the published versions from 1. A published code stays in every later version. */
  readonly version: number;
  /** The standard from which the codes come; `svc` for the service's own. */
  readonly standard: string;
  readonly entries: readonly CodeEntry[];
  readonly codes: ReadonlySet<string>;
  /** What people write in place of a code, in upper case; it is never accepted, only explained. */
  readonly insteads: ReadonlyMap<string, string | null>;
}

export interface CodeEntry {
  readonly code: string;
  /** English name for display. */
  readonly name: string;
}

/** Reads a list from names by their codes. `insteads` has null for what may mean several codes. */
export function codeList(source: {
  readonly name: string;
  readonly version: number;
  readonly standard: string;
  readonly entries: Readonly<Record<string, string>>;
  readonly insteads?: Readonly<Record<string, string | null>>;
}): CodeList {
  const entries = Object.entries(source.entries).map(([code, name]) => ({ code, name }));
  return {
    ...source,
    entries,
    codes: new Set(entries.map(({ code }) => code)),
    insteads: new Map(Object.entries(source.insteads ?? {})),
  };
}

/**
 * The code that is meant by a value which is none, or null where nobody can know. `nearest` finds what is spelled alike, which
 * tells something of words only: of codes of a few letters each letter counts, and CK is not what UK is meant to be.
 */
export function meantCode(
  value: string,
  list: CodeList,
  nearest: (value: string, codes: readonly string[]) => string | null,
): string | null {
  return (
    usualCode(value, list) ?? (list.standard.startsWith("ISO ") ? null : nearest(value, [...list.codes]))
  );
}

/** The code that people are known to mean by a value which is none; null where nobody can know. */
export function usualCode(value: string, { codes, insteads }: CodeList): string | null {
  const upper = value.trim().toUpperCase();
  const known = insteads.get(upper);
  if (known !== undefined) return known;
  return [upper, upper.toLowerCase()].find((each) => codes.has(each)) ?? null;
}
