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
  readonly insteads: ReadonlyMap<string, string>;
}

export interface CodeEntry {
  readonly code: string;
  /** English name for display. */
  readonly name: string;
}

/**
 * Reads a list written as `code name; code name`; an entry without a name uses its code as the name. `insteads` are written as
 * `wrong code`, and as `wrong` alone where several may be meant.
 */
export function codeList(source: {
  readonly name: string;
  readonly version: number;
  readonly standard: string;
  readonly entries: string;
  readonly insteads?: string;
}): CodeList {
  const entries = parseEntries(source.entries);
  return {
    ...source,
    entries,
    codes: new Set(entries.map((entry) => entry.code)),
    insteads: new Map(parseEntries(source.insteads ?? "").map(({ code, name }) => [code, name])),
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
  if (known !== undefined) return codes.has(known) ? known : null;
  return [upper, upper.toLowerCase()].find((each) => codes.has(each)) ?? null;
}

/** The entries of a text `code name; code name`, with white space collapsed. */
export function parseEntries(text: string): readonly CodeEntry[] {
  return text
    .split(";")
    .map((part) => part.trim().replaceAll(/\s+/g, " "))
    .filter((part) => part !== "")
    .map((part) => {
      const space = part.indexOf(" ");
      return space < 0
        ? { code: part, name: part }
        : { code: part.slice(0, space), name: part.slice(space + 1) };
    });
}
